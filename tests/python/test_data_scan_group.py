# SPDX-License-Identifier: Apache-2.0
"""test_data_scan_group.py: scan, groups, buckets and samples of datasets: eagerly, in graphs
and in functions; the values are TensorFlow's."""

import numpy as np
import pytest

import situ as tf

tf1, Dataset = tf.compat.v1, tf.data.Dataset
ROWS = [[0], [1, 2, 3, 4], [5, 6, 7], [7, 8, 9, 10, 11], [13, 14, 15, 16, 19, 20], [21, 22]]


def plain(value):
    if isinstance(value, (tuple, list)):
        return tuple(plain(v) for v in value)
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return np.asarray(value).tolist()


def at_once(make):
    return [plain(e) for e in make().as_numpy_iterator()]


def one_shot(make, initialize=False):
    with tf.Graph().as_default(), tf1.Session() as sess:
        data = make()
        iterator = (
            tf1.data.make_initializable_iterator(data)
            if initialize
            else tf1.data.make_one_shot_iterator(data)
        )
        element, found = iterator.get_next(), []
        if initialize:
            sess.run(iterator.initializer)
        while True:
            try:
                found.append(plain(sess.run(element)))
            except tf.errors.OutOfRangeError:
                return found


def initializable(make):
    return one_shot(make, True)


def in_function(make):
    """The elements, counted and drawn together by a function."""

    @tf.function
    def count():
        return make().reduce(np.int64(0), lambda n, *_: n + 1)

    found = at_once(make)
    assert int(count()) == int(count()) == len(found)
    return found


@pytest.fixture(params=[at_once, one_shot, initializable, in_function])
def elements(request):
    return request.param


def words():
    return Dataset.from_generator(lambda: iter(ROWS), tf.int64, tf.TensorShape([None]))


def test_scan(elements):
    assert elements(lambda: Dataset.range(5).scan(np.int64(1), lambda s, x: (s + x, s * x))) == [
        0,
        1,
        4,
        12,
        28,
    ]
    assert elements(
        lambda: Dataset.range(3).scan(
            {"a": np.int64(0), "b": (1.0,)},
            lambda s, x: ({"a": s["a"] + x, "b": (s["b"][0] * 2,)}, (s["b"][0], {"k": x})),
        )
    ) == [(1.0, {"k": 0}), (2.0, {"k": 1}), (4.0, {"k": 2})]


def test_a_state_may_grow(elements):
    made = lambda: Dataset.range(3).scan(
        np.zeros([0], "int64"), lambda s, x: (tf.concat([s, [x]], 0), tf.reduce_sum(s))
    )
    assert elements(made) == [0, 0, 1]


def test_groups(elements):
    assert elements(
        lambda: Dataset.range(10).group_by_window(
            lambda x: x % 3, lambda key, window: window.batch(4), window_size=2
        )
    ) == [[0, 3], [1, 4], [2, 5], [6, 9], [7], [8]]
    pairs = lambda: Dataset.from_tensor_slices({"x": [5, 1, 5, 1, 5], "y": list("abcde")})
    assert elements(
        lambda: pairs().group_by_window(
            lambda e: tf.cast(e["x"], tf.int64),
            lambda key, window: window.batch(9).map(lambda e: (key, e["y"])),
            window_size_func=lambda key: key - 3 + 3 * tf.cast(tf.equal(key, 1), tf.int64),
        )
    ) == [(1, [b"b"]), (5, [b"a", b"c"]), (1, [b"d"]), (5, [b"e"])]


def test_buckets(elements):
    lengths = lambda e: tf.shape(e)[0]
    assert elements(lambda: words().bucket_by_sequence_length(lengths, [3, 5], [2, 2, 2])) == [
        [[1, 2, 3, 4], [5, 6, 7, 0]],
        [[7, 8, 9, 10, 11, 0], [13, 14, 15, 16, 19, 20]],
        [[0, 0], [21, 22]],
    ]
    assert elements(
        lambda: words().apply(
            tf.data.experimental.bucket_by_sequence_length(
                lengths, [4, 8], [2, 2, 2], pad_to_bucket_boundary=True
            )
        )
    ) == [
        [[0, 0, 0], [5, 6, 7]],
        [[1, 2, 3, 4, 0, 0, 0], [7, 8, 9, 10, 11, 0, 0]],
        [[21, 22, 0]],
        [[13, 14, 15, 16, 19, 20, 0]],
    ]


def test_a_bucket_without_an_end():
    made = words().bucket_by_sequence_length(
        lambda e: tf.shape(e)[0], [3, 5], [2, 2, 2], pad_to_bucket_boundary=True
    )
    with pytest.raises(tf.errors.InternalError, match="elements must have length <"):
        list(made)


def test_errors_of_functions_of_group_by_window():
    def shapes_below_one(key, window):
        del key
        return window.padded_batch(4, ([], tf.constant([5], tf.int64) * -1))

    def beyond_the_end(key, window):
        del key
        iterator = iter(window)
        return Dataset.from_tensors([next(iterator) for _ in range(2)])

    pairs = Dataset.range(3).map(lambda x: (x, tf.convert_to_tensor([x])))
    key = lambda *element: tf.constant(0, tf.int64)
    for made, code, name in (
        (pairs.group_by_window(key, shapes_below_one, 3), "INVALID_ARGUMENT", "shapes_below_one"),
        (Dataset.range(1).group_by_window(key, beyond_the_end, 3), "OUT_OF_RANGE", "beyond_the"),
    ):
        with pytest.raises(tf.errors.InternalError, match=f"(?s){code}.*function.*{name}"):
            list(made)
    with pytest.raises(TypeError, match="must return a single `tf.data.Dataset`"):
        pairs.group_by_window(key, lambda k, w: k, 3)


@pytest.mark.parametrize("shape", [[-5], tf.constant([-5], tf.int64), [tf.constant(-5)]])
def test_negative_padded_shapes(shape):
    with pytest.raises(ValueError, match="Dimension -5 must be >= 0"):
        Dataset.from_tensors(tf.ones([3])).padded_batch(2, shape)


def test_reductions_to_another_number_of_components():
    with pytest.raises(tf.errors.InvalidArgumentError, match="initial_state=1, output=0"):
        Dataset.range(5).reduce(0, lambda state, x: ())
    with pytest.raises(TypeError, match="Expected .*int32.* but got .*string"):
        Dataset.range(5).reduce(0, lambda state, x: "a")


def test_tensor_arrays_in_functions():
    def grow(array, x):
        return array.write(array.size(), x), array.stack()

    start = tf.TensorArray(tf.int64, 0, dynamic_size=True, element_shape=[]).write(0, -1)
    grown = Dataset.range(3).scan(start, grow)
    assert [x.tolist() for x in grown.as_numpy_iterator()] == [[-1], [-1, 0], [-1, 0, 1]]
    arrays = Dataset.range(2).map(lambda x: tf.TensorArray(tf.int64, 1).write(0, x))
    assert isinstance(arrays.element_spec, tf.TensorArraySpec)
    assert [int(x) for x in arrays.map(lambda array: array.read(0))] == [0, 1]
    assert [int(array.read(0)) for array in arrays] == [0, 1]
    spec = tf.type_spec_from_value(tf.TensorArray(tf.float32, 3, element_shape=[2]))
    assert repr(spec) == "TensorArraySpec(TensorShape([2]), tf.float32, False, True)"
    assert spec.is_compatible_with(tf.TensorArray(tf.float32, 1))
    assert not spec.is_compatible_with(tf.TensorArray(tf.int32, 1))


def test_iterators_as_arguments_of_functions():
    traces = []

    @tf.function
    def total(iterator):
        traces.append(1)
        result = tf.constant(0, tf.int64)
        for x in iterator:
            result += x
        return result

    assert [int(total(iter(Dataset.range(n)))) for n in (5, 10, 5)] == [10, 45, 10]
    assert len(traces) == 1
    first = tf.function(lambda iterator: next(iterator))
    assert int(first(iter(Dataset.range(5)))) == 0
    assert first(iter(Dataset.from_tensors(b"a"))).numpy() == b"a"
    spec = tf.data.IteratorSpec(tf.TensorSpec([], tf.int64))
    assert tf.type_spec_from_value(iter(Dataset.range(2))) == spec
    pair = tf.function(lambda i: (next(i), next(i)), input_signature=[spec])
    assert [int(x) for x in pair(iter(Dataset.range(4, 8)))] == [4, 5]


def test_each_element_once(elements):
    assert elements(lambda: Dataset.from_tensor_slices([1, 37, 2, 37, 2, 1]).unique()) == [1, 37, 2]
    assert elements(lambda: Dataset.from_tensor_slices(["b", "", "b", "ab"]).unique()) == [
        b"b",
        b"",
        b"ab",
    ]
    assert elements(lambda: Dataset.range(1000).map(lambda x: x % 300).unique()) == list(range(300))


def test_what_is_left():
    total = lambda n: Dataset.range(n).reduce(np.int64(0), lambda s, x: s + x)
    assert int(total(10)) == 45 and int(total(0)) == 0
    mean, count = Dataset.range(4).reduce(
        (0.0, 0), lambda s, x: (s[0] + tf.cast(x, tf.float32), s[1] + 1)
    )
    assert float(mean) == 6 and int(count) == 4
    with pytest.raises(TypeError, match="must match the initial state"):
        Dataset.range(4).reduce(0, lambda s, x: x)
    again = tf.function(total)
    assert [int(again(tf.constant(n, tf.int64))) for n in (3, 5)] == [3, 10]
    with tf.Graph().as_default(), tf1.Session() as sess:
        n = tf1.placeholder(tf.int64, [])
        state = total(n)
        assert [sess.run(state, {n: k}) for k in (3, 4, 0)] == [3, 6, 0]


def test_the_only_element_in_a_graph():
    with tf.Graph().as_default(), tf1.Session() as sess:
        n = tf1.placeholder(tf.int64, [])
        one = Dataset.range(n).map(lambda x: x + 7).get_single_element()
        assert sess.run(one, {n: 1}) == 7
        with pytest.raises(tf.errors.InvalidArgumentError, match="Dataset was empty."):
            sess.run(one, {n: 0})
        with pytest.raises(tf.errors.InvalidArgumentError, match="more than one element"):
            sess.run(one, {n: 2})


def test_functions_of_elements_change_variables():
    count = tf.Variable(0, dtype=tf.int64)
    assert at_once(lambda: Dataset.range(4).map(lambda x: count.assign_add(x))) == [0, 1, 3, 6]
    assert int(Dataset.range(4).reduce(np.int64(0), lambda s, x: s + count.assign_add(x))) == 34
    assert int(count) == 12


def test_samples(elements):
    two = lambda: [Dataset.range(10), Dataset.range(10, 20)]
    assert elements(lambda: Dataset.sample_from_datasets(two(), seed=3)) == [
        10,
        11,
        12,
        0,
        13,
        14,
        1,
        15,
        2,
        3,
        16,
        4,
        17,
        18,
        19,
        5,
        6,
        7,
        8,
        9,
    ]
    assert elements(lambda: Dataset.random(seed=3).take(3)) == [3534849767, 279844183, 888998500]
    parity = lambda x: tf.cast(x % 2, tf.int32)
    assert [
        x
        for _, x in elements(
            lambda: Dataset.range(10).rejection_resample(parity, [0.5, 0.5], [0.4, 0.6], seed=1)
        )
    ] == [0, 0, 1, 2, 3, 4, 2, 5, 6, 7, 4, 8, 9]
    assert [
        x
        for _, x in elements(
            lambda: Dataset.range(10).rejection_resample(parity, [0.2, 0.8], seed=1)
        )
    ] == [1, 0, 1, 2, 3, 4, 3, 5, 7, 5, 9, 6]


@pytest.mark.parametrize("calls", [None, 1])
def test_random_numbers_begin_anew_with_each_iterator(calls):
    first, second = [0.8669, 0.0891, 0.9859], [0.7997, 0.1684, 0.1442]

    def drawn(data):
        return [round(float(x), 4) for x in data.as_numpy_iterator()]

    tf.random.set_seed(7)
    data = Dataset.range(3).map(lambda x: tf.random.uniform([], seed=5), calls)
    assert drawn(data) == drawn(data) == first
    assert drawn(data.repeat(2)) == first + second
    inner = Dataset.range(2).flat_map(lambda x: data)
    assert drawn(inner) == drawn(inner) == first + second
    assert [round(float(data.reduce(0.0, lambda s, x: s + x)), 4) for _ in range(2)] == [1.9419] * 2
    branches = Dataset.range(3).map(
        lambda x: tf.cond(x < 9, lambda: tf.random.uniform([], seed=5), lambda: 0.0)
    )
    assert drawn(branches) == drawn(branches) == first
    with tf.Graph().as_default(), tf1.Session() as sess:
        tf1.set_random_seed(7)
        iterator = tf1.data.make_initializable_iterator(
            Dataset.range(3).map(lambda x: tf.random.uniform([], seed=5), calls)
        )
        element = iterator.get_next()
        for _ in range(2):
            sess.run(iterator.initializer)
            assert [round(float(sess.run(element)), 4) for _ in range(3)] == first
