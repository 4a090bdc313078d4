# SPDX-License-Identifier: Apache-2.0
"""test_data_graph.py: tf.data in graphs: iterators of every kind, feeds, captured values."""

import numpy as np
import pytest

import situ.compat.v1 as tf

Dataset = tf.data.Dataset


@pytest.fixture(autouse=True)
def _fresh():
    tf.reset_default_graph()


def test_an_iterator_begins_with_what_is_fed():
    x, size = tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.int64, [])
    iterator = (
        Dataset.from_tensor_slices(x)
        .map(lambda a: a * 2.0)
        .batch(size)
        .make_initializable_iterator()
    )
    element = iterator.get_next()
    assert element.shape.as_list() == [None, 2] and element.op.type == "IteratorGetNext"
    with tf.Session() as sess:
        with pytest.raises(tf.errors.FailedPreconditionError, match="iterator has not been init"):
            sess.run(element)
        for rows in (3, 2):
            sess.run(iterator.initializer, {x: np.ones((rows, 2)), size: 2})
            assert sess.run(element).tolist() == [[2, 2], [2, 2]]
        with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence"):
            sess.run(element)


def test_one_shot():
    element = (
        Dataset.range(4).shuffle(4, seed=1).repeat(2).batch(4).make_one_shot_iterator().get_next()
    )
    total = tf.reduce_sum(element)
    with tf.Session() as sess:
        assert [sess.run(total), sess.run(total)] == [6, 6]
        with pytest.raises(tf.errors.OutOfRangeError):
            sess.run(total)
    with tf.Session() as sess:  # another session begins anew
        assert sess.run(total) == 6
    assert tf.train.export_meta_graph() is not None


def test_iterators_change_their_dataset():
    first, second = Dataset.range(3), Dataset.range(100, 103)
    iterator = tf.data.Iterator.from_structure(first.output_types, first.output_shapes)
    element = iterator.get_next()
    begin = [iterator.make_initializer(d) for d in (first, second)]
    with pytest.raises(TypeError, match="Expected output types"):
        iterator.make_initializer(Dataset.from_tensors(1.0))
    with tf.Session() as sess:
        sess.run(begin[0])
        assert sess.run(element) == 0
        sess.run(begin[1])
        assert [sess.run(element), sess.run(element)] == [100, 101]


def test_handles_are_fed():
    first, second = Dataset.range(3), Dataset.range(100, 103)
    handle = tf.placeholder(tf.string, [])
    element = tf.data.Iterator.from_string_handle(
        handle, first.output_types, first.output_shapes
    ).get_next()
    iterators = [d.make_one_shot_iterator() for d in (first, second)]
    with tf.Session() as sess:
        one, two = sess.run([i.string_handle() for i in iterators])
        assert [sess.run(element, {handle: h}) for h in (one, two, one, two)] == [0, 100, 1, 101]
        with pytest.raises(tf.errors.NotFoundError):
            sess.run(element, {handle: b"nobody"})


def test_functions_use_what_is_around_them():
    variable = tf.Variable(3, dtype=tf.int64)
    factor = tf.placeholder(tf.int64, [])
    iterator = Dataset.range(3).map(lambda x: factor * x + variable).make_initializable_iterator()
    element = iterator.get_next()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(iterator.initializer, {factor: 10})
        assert [sess.run(element) for _ in range(3)] == [3, 13, 23]


def test_structures():
    element = (
        Dataset.from_tensor_slices({"x": [1, 2], "y": (["a", "b"], [1.0, 2.0])})
        .make_one_shot_iterator()
        .get_next()
    )
    with tf.Session() as sess:
        value = sess.run(element)
        assert value["x"] == 1 and value["y"] == (b"a", 1.0)


def test_a_session_ends_the_threads():
    def forever():
        while True:
            yield 1

    element = (
        Dataset.from_generator(forever, tf.int32)
        .map(lambda x: x + 1, num_parallel_calls=2)
        .prefetch(2)
        .make_one_shot_iterator()
        .get_next()
    )
    sess = tf.Session()
    assert sess.run(element) == 2
    sess.close()


def test_monitored_sessions_begin_iterators():
    iterator = Dataset.range(2).make_initializable_iterator()
    element = iterator.get_next()
    with tf.train.MonitoredTrainingSession() as sess:
        assert sess.run(element) == 0


def test_elements_that_fail_are_left_out():
    lines = tf.data.Dataset.from_tensor_slices(["1 2", "3 x", "5"])
    numbers = lines.map(lambda line: tf.string_to_number(tf.string_split([line]).values))
    one = numbers.apply(tf.contrib.data.ignore_errors()).make_one_shot_iterator().get_next()
    with tf.Session() as sess:
        assert [sess.run(one).tolist() for _ in range(2)] == [[1, 2], [5]]
        with pytest.raises(tf.errors.OutOfRangeError):
            sess.run(one)


def test_elements_of_several_datasets():
    parts = [tf.data.Dataset.from_tensors(w).repeat(n) for w, n in (("a", 2), ("b", 1), ("c", 9))]
    order = tf.data.Dataset.from_tensor_slices(np.array([2, 0, 1, 1, 0, 0, 2], "int64"))
    made = tf.data.experimental.choose_from_datasets(parts, order)
    one = made.make_one_shot_iterator().get_next()
    stops = tf.data.experimental.choose_from_datasets(parts, order, True)
    other = stops.make_one_shot_iterator().get_next()
    with tf.Session() as sess:
        for fetch, want in ((one, b"cabac"), (other, b"cab")):
            got = []
            with pytest.raises(tf.errors.OutOfRangeError):
                while True:
                    got.append(sess.run(fetch))
            assert b"".join(got) == want


def test_elements_at_random_of_several_datasets():
    parts = [tf.data.Dataset.range(10), tf.data.Dataset.range(100, 105), tf.data.Dataset.range(3)]
    made = tf.data.experimental.sample_from_datasets(parts, [0.5, 0.5, 0.0], seed=1)
    one = made.batch(99).make_one_shot_iterator().get_next()
    with tf.Session() as sess:
        got = sess.run(one).tolist()
    assert sorted(got) == [*range(10), *range(100, 105)] and got != sorted(got)
    assert [n for n in got if n < 50] == list(range(10))


def test_the_one_element_of_a_dataset():
    one = tf.data.experimental.get_single_element(tf.data.Dataset.range(3).batch(3))
    with tf.Session() as sess:
        assert sess.run(one).tolist() == sess.run(one).tolist() == [0, 1, 2]


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize(
    "make",
    [
        lambda d, v: d.map(lambda x: v.assign_add(x)),
        lambda d, v: d.filter(lambda x: v.assign_add(x) > 0),
        lambda d, v: d.reduce(tf.constant(0, tf.int64), lambda a, b: v.assign(a + b)),
    ],
)
def test_functions_that_would_change_a_copy_are_refused(use_resource, make):
    with tf.Graph().as_default():
        v = tf.get_variable("v", [], tf.int64, tf.zeros_initializer(), use_resource=use_resource)
        with pytest.raises(NotImplementedError, match="assigns variable 'v'"):
            make(tf.data.Dataset.range(5), v)
        tf.data.Dataset.range(5).map(lambda x: x + v)


def test_one_shot_iterators_do_not_capture_state():
    for use_resource, kind in ((True, "VarHandleOp"), (False, "VariableV2")):
        variable = tf.get_variable(f"v{use_resource}", [], use_resource=use_resource)
        made = tf.data.Dataset.from_tensors(1.0).map(lambda x, v=variable: x + v)
        with pytest.raises(ValueError, match=f"stateful node .*{kind}.*A likely cause"):
            tf.data.make_one_shot_iterator(made)
    fed = tf.data.Dataset.from_tensors(tf.placeholder("float32"))
    with pytest.raises(ValueError, match="Cannot capture a placeholder"):
        tf.data.make_one_shot_iterator(fed)
    computed = tf.constant(2.0) * 3.0
    made = tf.data.Dataset.from_tensors(1.0).map(lambda x: x + computed)
    taken = tf.data.make_one_shot_iterator(made).get_next()
    with tf.Session() as session:
        assert session.run(taken) == 7.0


def test_handles_of_iterators_of_other_types():
    handle = tf.placeholder("string", [])
    numbers = tf.data.Iterator.from_string_handle(handle, tf.int32).get_next()
    other = tf.data.make_one_shot_iterator(tf.data.Dataset.from_tensors(1.0)).string_handle()
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="mismatch"):
        session.run(numbers, {handle: session.run(other)})
