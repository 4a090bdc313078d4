# SPDX-License-Identifier: Apache-2.0
"""test_data_compared.py: invalid, failing, packed and counted datasets, compared with
TensorFlow."""

import gzip

import numpy as np
import pytest

import situ as tf

Dataset, experimental = tf.data.Dataset, tf.data.experimental


def values(data):
    return [x.tolist() if hasattr(x, "tolist") else x for x in data.as_numpy_iterator()]


def test_packed_files_in_functions(tmp_path):
    names = [str(tmp_path / n) for n in "ab"]
    for name in names:
        with tf.io.TFRecordWriter(name, "GZIP") as writer:
            for word in (b"x", b"", b"yz"):
                writer.write(word)
    read = lambda name: tf.data.TFRecordDataset(name, compression_type="GZIP")
    assert values(Dataset.from_tensor_slices(names).flat_map(read)) == [b"x", b"", b"yz"] * 2
    assert values(Dataset.from_tensor_slices(names).interleave(read, cycle_length=2)) == [
        b"x",
        b"x",
        b"",
        b"",
        b"yz",
        b"yz",
    ]
    assert values(tf.data.TFRecordDataset(names, "GZIP", num_parallel_reads=2)) == [
        b"x",
        b"x",
        b"",
        b"",
        b"yz",
        b"yz",
    ]
    (tmp_path / "c").write_bytes(gzip.compress(b"one\ntwo\n"))
    assert values(
        tf.data.FixedLengthRecordDataset(str(tmp_path / "c"), 4, compression_type="GZIP")
    ) == [b"one\n", b"two\n"]


def test_how_many_there_are():
    assert int(Dataset.from_tensor_slices([[1, 2], [3, 4]]).unbatch().cardinality()) == 4
    assert int(Dataset.counter().cardinality()) == -1 == int(Dataset.counter(5, -2).cardinality())
    some = Dataset.range(4).filter(lambda x: x >= 0)
    assert len(some.apply(experimental.assert_cardinality(4))) == 4
    for count, words in ((3, "at least 4"), (6, "only 4")):
        with pytest.raises(
            tf.errors.FailedPreconditionError,
            match=f"expected to contain {count} elements but contained {words}",
        ):
            values(some.apply(experimental.assert_cardinality(count)))


def test_batches_of_several_sizes():
    assert values(Dataset.range(7).batch(7).rebatch([2, 3])) == [[0, 1], [2, 3, 4], [5, 6]]


def test_lists_inside_of_elements_are_tensors():
    data = Dataset.range(2).map(lambda x: ((x,), [x, x]))
    assert data.element_spec[1].shape.as_list() == [2]
    assert [tuple(b.tolist()) for _, b in data.as_numpy_iterator()] == [(0, 0), (1, 1)]


def test_rows_that_fail_are_passed_by():
    data = Dataset.range(3).map(lambda x: (tf.fill([x + 1], x), tf.fill([2], x))).unbatch()
    iterator, found = iter(data), []
    for _ in range(4):
        try:
            found.append(tuple(int(x) for x in next(iterator)))
        except tf.errors.InvalidArgumentError as error:
            found.append("same batch size" in str(error))
    assert found == [True, (1, 1), (1, 1), True]


@pytest.mark.parametrize(
    "make,kind,words",
    [
        (lambda: Dataset.range(), ValueError, "between 1 and 3"),
        (lambda: Dataset.zip((Dataset.range(2), 3)), TypeError, "Invalid input to `zip`"),
        (
            lambda: Dataset.range(2).concatenate(Dataset.from_tensors("a")),
            TypeError,
            "Incompatible",
        ),
        (
            lambda: Dataset.range(2).concatenate(Dataset.range(2).enumerate()),
            TypeError,
            "Incompatible",
        ),
        (
            lambda: Dataset.from_tensors([1]).filter(lambda x: x > 1),
            ValueError,
            "Invalid `predicate`",
        ),
        (lambda: Dataset.range(2).unbatch(), ValueError, "scalar components"),
        (
            lambda: Dataset.from_tensors(([1], [1, 2])).unbatch(),
            ValueError,
            "Encountered both 1 and 2",
        ),
        (
            lambda: Dataset.range(2).batch(2).padded_batch(2, [None], 1.5),
            TypeError,
            "padding_values",
        ),
        (
            lambda: Dataset.range(2).batch(2).padded_batch(2, [None, 1]),
            ValueError,
            "not compatible",
        ),
        (lambda: tf.data.TextLineDataset(5), TypeError, "must contain `tf.string` elements"),
        (lambda: Dataset.range(2).map(lambda x: object()), TypeError, "Unsupported return value"),
        (lambda: Dataset.range(2).scan(0, lambda s, x: s), TypeError, "should return a pair"),
        (
            lambda: Dataset.range(2).group_by_window(lambda x: x, lambda k, w: w),
            ValueError,
            "Either",
        ),
    ],
)
def test_wrong_datasets(make, kind, words):
    with pytest.raises(kind, match=words):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: Dataset.range(1, 5, 0),
        lambda: Dataset.range(2).interleave(lambda x: Dataset.range(x), cycle_length=0),
        lambda: Dataset.range(2).batch(0),
    ],
)
def test_wrong_numbers(make):
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be"):
        values(make())


def test_shuffles_without_bounds():
    assert values(Dataset.range(4).shuffle(-2, seed=3)) == [0, 1, 2, 3]  # so says chance
    assert sorted(values(Dataset.range(400).shuffle(tf.data.UNKNOWN_CARDINALITY))) == list(
        range(400)
    )


def test_shapes_of_padding_are_tensors():
    rows = Dataset.range(4).map(lambda x: tf.fill([x], x))
    assert values(rows.padded_batch(4, tf.constant([4]), np.int64(-1))) == [
        [[-1] * 4, [1, -1, -1, -1], [2, 2, -1, -1], [3, 3, 3, -1]]
    ]


def test_caches_in_files(tmp_path):
    calls, name = [], str(tmp_path / "c")

    def note(x):
        calls.append(int(x))
        return x

    data = lambda n: (
        Dataset.range(n)
        .map(lambda x: tf.numpy_function(note, [x], tf.int64))
        .map(lambda x: (x, tf.fill([2], tf.strings.as_string(x))))
        .cache(name)
    )
    want = [(n, [str(n).encode()] * 2) for n in range(3)]
    read = lambda some: [(int(a), b.tolist()) for a, b in some.as_numpy_iterator()]
    assert read(data(3).take(2)) == want[:2] and not list(tmp_path.glob("*"))
    assert read(data(3).repeat(2)) == want * 2
    assert read(data(9)) == want and calls == [0, 1, 0, 1, 2]
    file = tmp_path / "c.cache"
    file.write_bytes(file.read_bytes()[:-3])
    with pytest.raises(tf.errors.DataLossError, match="is damaged at byte"):
        read(data(3))
    with pytest.raises(tf.errors.NotFoundError):
        read(Dataset.range(3).cache(str(tmp_path / "none" / "c")))


def test_options_are_those_of_all_steps():
    first, second = tf.data.Options(), tf.data.Options()
    first.deterministic = False
    first.experimental_distribute.auto_shard_policy = experimental.AutoShardPolicy.DATA
    second.threading.private_threadpool_size = 3
    made = Dataset.range(3).with_options(first).map(lambda x: x).with_options(second).options()
    assert made.deterministic is False and made.threading.private_threadpool_size == 3
    assert made.experimental_distribute.auto_shard_policy == experimental.AutoShardPolicy.DATA
    assert tf.data.Options().merge(first).deterministic is False


def test_small_things():
    assert int(experimental.at(Dataset.range(5), 3)) == 3
    assert experimental.get_structure(Dataset.range(3)) == tf.TensorSpec([], tf.int64)
    pairs = experimental.from_list([(1, "a"), (2, "b")])
    assert [(int(a), b) for a, b in pairs.as_numpy_iterator()] == [(1, b"a"), (2, b"b")]
    assert int(experimental.Optional.from_value(3).get_value()) == 3
    assert not experimental.Optional.empty(tf.TensorSpec([], tf.int32)).has_value()


def test_batches_of_features(tmp_path):
    name = str(tmp_path / "r")
    with tf.io.TFRecordWriter(name) as writer:
        for i in range(5):
            number = tf.train.Feature(int64_list=tf.train.Int64List(value=[i]))
            writer.write(
                tf.train.Example(
                    features=tf.train.Features(feature={"a": number, "b": number})
                ).SerializeToString()
            )
    kinds = {k: tf.io.FixedLenFeature([], tf.int64) for k in "ab"}
    made = experimental.make_batched_features_dataset(
        name, 2, kinds, label_key="b", num_epochs=1, shuffle=False
    )
    found = [(f["a"].tolist(), list(f), label.tolist()) for f, label in made.as_numpy_iterator()]
    assert found == [([0, 1], ["a"], [0, 1]), ([2, 3], ["a"], [2, 3]), ([4], ["a"], [4])]


def test_elements_that_are_datasets():
    nested = Dataset.range(3).map(lambda x: (x, Dataset.range(x).map(lambda y: y * x)))
    assert isinstance(nested.element_spec[1], tf.data.DatasetSpec)
    assert [values(inner) for _, inner in nested] == [[], [0], [0, 2]]
    flat = nested.flat_map(lambda x, inner: inner.map(lambda y: y + 10 * x))
    assert values(flat) == [10, 20, 22]
    windows = Dataset.range(7).window(3)
    assert values(windows.map(lambda w: w.batch(3)).flat_map(lambda b: b)) == [
        [0, 1, 2],
        [3, 4, 5],
        [6],
    ]
    assert values(windows.map(lambda w: w.cardinality())) == [3, 3, 1]


@pytest.mark.parametrize(
    "shapes, error, text",
    [
        (
            [[1, 1], [1, 1]],
            ValueError,
            r"must be a `tf.int64` vector tensor, but its shape was \(2, 2\)",
        ),
        ([2.5], TypeError, "but its element type was float32"),
        (np.array([1.5, 2.0]), TypeError, "but its element type was float"),
        ([-2], ValueError, "must be >= 0"),
        ([2], ValueError, r"The padded shape \(2,\) is not compatible with the shape \(3,\)"),
    ],
)
def test_padded_shapes_that_are_not_shapes(shapes, error, text):
    elements = tf.data.Dataset.from_tensors([1, 2, 3])
    for given in (shapes, tf.constant(shapes)):
        with pytest.raises(error, match=text):
            elements.padded_batch(5, given)


def test_padded_shapes_are_sizes_or_vectors():
    elements = tf.data.Dataset.from_tensors([1, 2, 3])
    for given in (4, [4], (4,), tf.TensorShape([4]), tf.constant([4]), np.array([4])):
        (batch,) = elements.padded_batch(2, given)
        assert batch.numpy().tolist() == [[1, 2, 3, 0]]
    with tf.Graph().as_default():
        elements = tf.data.Dataset.from_tensors(tf.compat.v1.placeholder(tf.int32))
        padded = elements.padded_batch(2, tf.constant([-1, 7], tf.int64))
        assert padded.element_spec.shape.as_list() == [None, None, 7]
        with pytest.raises(TypeError, match="but its element type was int32"):
            elements.padded_batch(2, tf.constant([4]))


def test_rows_of_tensors_and_none():
    elements = tf.data.Dataset.from_tensor_slices(([0, 1, 2], None))
    assert [(int(x), y) for x, y in elements] == [(0, None), (1, None), (2, None)]
    assert [b[0].numpy().tolist() for b in elements.batch(2)] == [[0, 1], [2]]
    with pytest.raises(TypeError, match=r"not a subclass of TensorSpec: `NoneTensorSpec\(\)`"):
        elements.padded_batch(2)
    with pytest.raises(ValueError, match="should not be empty"):
        tf.data.Dataset.from_tensor_slices((None,))
    nested = tf.data.Dataset.range(3).map(lambda _: tf.data.Dataset.range(1))
    with pytest.raises(TypeError, match="datasets of datasets"):
        nested.padded_batch(2)
