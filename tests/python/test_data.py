# SPDX-License-Identifier: Apache-2.0
"""test_data.py: tf.data in eager style: elements, order, structures, files, errors, threads."""

import collections
import gc
import threading
import time

import numpy as np
import pytest

import situ as tf

Dataset = tf.data.Dataset


def _list(dataset):
    return [x.tolist() if hasattr(x, "tolist") else x for x in dataset.as_numpy_iterator()]


def test_elements_keep_their_structure():
    point = collections.namedtuple("Point", "x y")
    data = Dataset.from_tensor_slices({"b": [1, 2], "a": ([3.0, 4.0], ["x", "y"])})
    first = next(iter(data))
    assert list(first) == ["b", "a"] and first["a"][1].numpy() == b"x" and first["b"].numpy() == 1
    assert data.element_spec["a"][0] == tf.TensorSpec([], tf.float32)
    named = Dataset.from_tensors(point([1, 2], 3)).map(lambda p: point(p.y, p.x))
    assert isinstance(next(iter(named)), point) and next(iter(named)).x.numpy() == 3
    pair = Dataset.range(3).map(lambda x: [x, x + 1])  # a list is a tuple
    assert next(iter(pair))[1].numpy() == 1


def test_shapes_are_known():
    data = Dataset.from_tensor_slices(np.zeros((5, 2, 3), "float32"))
    assert data.element_spec.shape.as_list() == [2, 3]
    assert data.batch(2).element_spec.shape.as_list() == [None, 2, 3]
    assert data.batch(2, drop_remainder=True).element_spec.shape.as_list() == [2, 2, 3]
    assert (
        repr(data.batch(2)) == "<_BatchDataset element_spec=TensorSpec(shape=(None, 2, 3), "
        "dtype=tf.float32, name=None)>"
    )
    assert len(data.batch(2)) == 3
    with pytest.raises(TypeError, match="infinite"):
        len(data.repeat())
    with pytest.raises(TypeError, match="unknown"):
        len(data.filter(lambda x: True))


def test_order_of_shuffling_is_tensorflows():
    tf.random.set_seed(7)
    assert _list(Dataset.range(10).shuffle(10)) == [8, 9, 2, 3, 1, 5, 4, 6, 7, 0]
    assert _list(Dataset.range(10).shuffle(4, seed=3)) == [3, 0, 1, 4, 6, 5, 9, 8, 2, 7]
    same = Dataset.range(10).shuffle(5, seed=1, reshuffle_each_iteration=False)
    assert _list(same) == _list(same)
    other = Dataset.range(100).shuffle(100, seed=1)
    assert _list(other) != _list(other)


def test_nested_datasets():
    assert _list(Dataset.range(3).flat_map(lambda x: Dataset.range(x + 1))) == [0, 0, 1, 0, 1, 2]
    turns = Dataset.range(1, 4).interleave(
        lambda x: Dataset.from_tensors(x).repeat(3), cycle_length=2, block_length=2
    )
    assert _list(turns) == [1, 1, 2, 2, 1, 2, 3, 3, 3]
    parallel = Dataset.range(1, 4).interleave(
        lambda x: Dataset.from_tensors(x).repeat(3), 2, 2, num_parallel_calls=tf.data.AUTOTUNE
    )
    assert _list(parallel) == [1, 1, 2, 2, 1, 2, 3, 3, 3]
    windows = Dataset.range(7).window(3, shift=2, drop_remainder=True)
    assert _list(windows.flat_map(lambda w: w.batch(3))) == [[0, 1, 2], [2, 3, 4], [4, 5, 6]]
    assert [_list(w) for w in Dataset.range(3).window(2)] == [[0, 1], [2]]
    pairs = Dataset.zip((Dataset.range(4), Dataset.range(4, 8))).window(2)
    both = pairs.flat_map(lambda a, b: Dataset.zip((a.batch(2), b.batch(2))))
    assert [(a.tolist(), b.tolist()) for a, b in both.as_numpy_iterator()] == [
        ([0, 1], [4, 5]),
        ([2, 3], [6, 7]),
    ]


def test_values_from_outside():
    offset = tf.constant(10, tf.int64)
    assert _list(
        Dataset.range(2).flat_map(lambda x: Dataset.range(2).map(lambda y: x * 2 + y + offset))
    ) == [10, 11, 12, 13]


def test_python_functions():
    def rows():
        yield 1, [1.0, 2.0]
        yield 2, [3.0]

    data = Dataset.from_generator(rows, (tf.int32, tf.float32), ([], [None]))
    assert [(int(a), b.numpy().tolist()) for a, b in data] == [(1, [1, 2]), (2, [3])]
    padded = data.padded_batch(2, ([], [None]), (0, -1.0))
    assert next(iter(padded))[1].numpy().tolist() == [[1, 2], [3, -1]]
    doubled = Dataset.range(4).map(
        lambda x: tf.numpy_function(lambda v: v * 2, [x], tf.int64), num_parallel_calls=2
    )
    assert _list(doubled) == [0, 2, 4, 6]
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected type was int32"):
        list(Dataset.from_generator(lambda: iter(["a"]), tf.int32))
    with pytest.raises(tf.errors.UnknownError, match="ZeroDivisionError"):
        list(Dataset.from_generator(lambda: (1 // x for x in [0]), tf.int32))


def test_a_function_is_traced_once():
    calls = []
    data = Dataset.range(50).map(lambda x: calls.append(x) or x + 1, num_parallel_calls=4)
    assert _list(data) == list(range(1, 51)) and len(calls) == 1


def test_errors_name_the_op_and_come_once():
    data = Dataset.from_tensor_slices([1.0, 0.0, 2.0]).map(
        lambda x: tf.debugging.check_numerics(1.0 / x, "wrong number"), num_parallel_calls=2
    )
    iterator = iter(data.prefetch(2))
    assert next(iterator).numpy() == 1
    with pytest.raises(tf.errors.InvalidArgumentError, match="wrong number.*(?s:.)*CheckNumerics"):
        next(iterator)
    assert next(iterator).numpy() == 0.5
    assert next(iterator, None) is None
    with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence"):
        iterator.get_next()
    shapes = Dataset.from_generator(lambda: iter([[1], [1, 2]]), tf.int32).batch(2)
    with pytest.raises(
        tf.errors.InvalidArgumentError,
        match=r"Cannot batch tensors with different "
        r"shapes in component 0. First element had shape \[1\] and element 1 had "
        r"shape \[2\]",
    ):
        list(shapes)


def test_files(tmp_path):
    lines = tmp_path / "lines.txt"
    lines.write_bytes(b"a,1\r\nb,2\nc,3")
    assert _list(tf.data.TextLineDataset(str(lines))) == [b"a,1", b"b,2", b"c,3"]
    names = Dataset.list_files(str(tmp_path / "*.txt"))
    assert _list(names.flat_map(tf.data.TextLineDataset)) == [b"a,1", b"b,2", b"c,3"]
    csv = tf.data.experimental.CsvDataset(str(lines), [tf.string, tf.int32])
    assert [(a.numpy(), int(b)) for a, b in csv] == [(b"a", 1), (b"b", 2), (b"c", 3)]
    fixed = tmp_path / "fixed.bin"
    fixed.write_bytes(b"HEADabcdefghF")
    data = tf.data.FixedLengthRecordDataset([str(fixed)], 4, header_bytes=4, footer_bytes=1)
    assert _list(data) == [b"abcd", b"efgh"]
    with pytest.raises(tf.errors.InvalidArgumentError, match="not an exact multiple"):
        list(tf.data.FixedLengthRecordDataset([str(fixed)], 4))
    with pytest.raises(tf.errors.NotFoundError, match="No such file"):
        list(tf.data.TextLineDataset(str(tmp_path / "none")))


@pytest.mark.parametrize("packing", [None, "GZIP", "ZLIB"])
def test_tf_records(tmp_path, packing):
    path = str(tmp_path / "some.tfrecord")
    with tf.io.TFRecordWriter(path, packing) as writer:
        for word in (b"one", b"two"):
            writer.write(word)
    assert _list(tf.data.TFRecordDataset(path, packing)) == [b"one", b"two"]


def test_damaged_records_name_file_and_place(tmp_path):
    path = tmp_path / "bad.tfrecord"
    with tf.io.TFRecordWriter(str(path)) as writer:
        writer.write(b"one")
        writer.write(b"two")
    data = bytearray(path.read_bytes())
    data[19 + 12] ^= 1
    path.write_bytes(data)
    iterator = iter(tf.data.TFRecordDataset(str(path)).prefetch(1))
    assert next(iterator).numpy() == b"one"
    with pytest.raises(tf.errors.DataLossError, match=r"corrupted record at 19 in .*bad.tfrecord"):
        next(iterator)


def test_threads_end_with_the_iterator():
    before = threading.active_count()
    seen = []
    data = Dataset.from_generator(lambda: iter(lambda: seen.append(1) or 1, 0), tf.int32)
    iterator = iter(data.map(lambda x: x + 1, num_parallel_calls=2).prefetch(4))
    next(iterator)
    del iterator
    gc.collect()
    count = len(seen)
    time.sleep(0.05)
    assert len(seen) == count and threading.active_count() == before


def test_functions_take_elements():
    iterator = iter(Dataset.range(3).batch(1))

    @tf.function
    def step():
        return next(iterator) * 10

    assert [step().numpy().tolist() for _ in range(3)] == [[0], [10], [20]]
    with pytest.raises(tf.errors.OutOfRangeError):
        step()


def test_the_rest():
    assert int(Dataset.range(5).reduce(np.int64(0), lambda s, x: s + x)) == 10
    assert _list(Dataset.range(5).enumerate(3).map(lambda i, x: i + x)) == [3, 5, 7, 9, 11]
    assert _list(
        Dataset.range(9).apply(
            tf.data.experimental.map_and_batch(lambda x: x + 1, 4, drop_remainder=True)
        )
    ) == [[1, 2, 3, 4], [5, 6, 7, 8]]
    assert _list(Dataset.range(5).take_while(lambda x: x < 3)) == [0, 1, 2]
    assert _list(Dataset.range(4).scan(np.int64(0), lambda s, x: (s + x, s))) == [0, 0, 1, 3]
    assert Dataset.range(4).batch(4).get_single_element().numpy().tolist() == [0, 1, 2, 3]
    assert int(tf.data.experimental.cardinality(Dataset.range(4).repeat(2))) == 8
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    assert _list(Dataset.range(2).with_options(options)) == [0, 1]
    with pytest.raises(ValueError, match="Dimensions 2 and 3 are not compatible"):
        Dataset.from_tensor_slices(([1, 2], [1, 2, 3]))


def test_caches_side_by_side_are_complete_after_one_epoch():
    calls = []

    def noted(name):
        def note(x):
            calls.append(name)
            return x

        return lambda x: tf.py_function(note, [x], tf.int64)

    a = tf.data.Dataset.range(4).map(noted("a")).cache()
    b = tf.data.Dataset.range(10, 14).map(noted("b")).cache()
    pairs = tf.data.Dataset.zip((a, b))
    epochs = [[(int(x), int(y)) for x, y in pairs] for _ in range(3)]
    assert epochs == [[(0, 10), (1, 11), (2, 12), (3, 13)]] * 3
    assert sorted(calls) == ["a"] * 4 + ["b"] * 4


def test_random_caches_side_by_side_repeat_what_they_gave():
    def drawn():
        return tf.data.Dataset.range(4).map(lambda x: tf.random.uniform([])).cache()

    pairs = tf.data.Dataset.zip((drawn(), drawn()))
    first, second = [[(float(x), float(y)) for x, y in pairs] for _ in range(2)]
    assert first == second


def test_errors_of_functions_name_the_transformation():
    divided = tf.data.Dataset.range(3).map(lambda x: 1 // x)
    text = "passed to MapDataset transformation with iterator: Iterator::Root::Map"
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        list(divided)

    def stop(_):
        raise StopIteration

    ended = tf.data.Dataset.range(3).map(lambda x: tf.numpy_function(stop, [x], tf.int64))
    with pytest.raises(tf.errors.InvalidArgumentError, match="produced OutOfRangeError"):
        list(ended)


def test_reduce_in_a_function_assigns_variables_in_order():
    count = tf.Variable(1)

    def call(new):
        def reduce(state, value):
            count.assign(new())
            return state + value

        tf.data.Dataset.range(1).reduce(np.int64(0), reduce)

    @tf.function
    def both():
        call(lambda: count + 1)
        call(lambda: count * 2)
        return count.read_value() * 0

    both()
    assert count.numpy() == 4


def test_shards_and_file_names_are_checked():
    numbers = tf.data.Dataset.range(10)
    with pytest.raises(tf.errors.InvalidArgumentError, match="greater than zero"):
        numbers.shard(0, 1)
    with pytest.raises(tf.errors.InvalidArgumentError, match="between 0 and 4 .*index = 7"):
        numbers.shard(5, 7)
    with pytest.raises(TypeError, match="dataset of `tf.int64` elements"):
        tf.data.TextLineDataset(numbers)
    names = tf.data.Dataset.from_tensors(["a", "b"])
    with pytest.raises(TypeError, match=r"elements of shape \[\]"):
        tf.data.TFRecordDataset(names)
