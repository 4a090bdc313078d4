# SPDX-License-Identifier: Apache-2.0
"""test_mutable_arguments.py: arguments whose conversion runs code that changes their container."""

import numpy as np
import pytest

import situ

tf = situ.compat.v1


class Number:
    """A number that calls a function when it is asked for its value."""

    def __init__(self, value, action):
        self.value, self.action = value, action

    def __index__(self):
        self.action()
        return self.value

    def __float__(self):
        self.action()
        return float(self.value)


class Array:
    """An array that calls a function when NumPy asks for its elements."""

    def __init__(self, value, action):
        self.value, self.action = value, action

    def __array__(self, dtype=None, copy=None):
        self.action()
        return np.asarray(self.value, dtype)


@pytest.fixture(autouse=True)
def graph(request):
    """A graph, but for tests of eager calls."""
    if request.node.name.startswith("test_eager"):
        yield None
        return
    with tf.Graph().as_default() as made:
        yield made


def test_a_feed_adds_feeds():
    places = [tf.placeholder(tf.float32, []) for _ in range(200)]
    feeds = {}

    def grow():
        feeds.update(dict.fromkeys(places[2:], 1.0))

    feeds[places[0]] = Array(2.0, grow)
    feeds[places[1]] = 3.0
    with tf.Session() as session:
        assert session.run(places[0] + places[1], feeds) == 5.0
        assert len(feeds) == 200
        assert session.run(places[0] + places[1], feeds) == 5.0


def test_a_feed_removes_feeds():
    places = [tf.placeholder(tf.float32, [2]) for _ in range(40)]
    feeds = {}
    feeds[places[0]] = Array([2.0, 2.0], feeds.clear)
    feeds.update({place: np.ones(2, "float32") for place in places[1:]})
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(tf.add_n(places), feeds), [41.0, 41.0])
    assert not feeds


def test_a_feed_closes_the_session():
    place = tf.placeholder(tf.float32, [])
    session = tf.Session()
    with pytest.raises(RuntimeError, match="Attempted to use a closed Session."):
        session.run(place + 1.0, {place: Array(2.0, session.close)})


def test_a_key_that_is_looked_at_changes_the_feeds():
    place = tf.placeholder(tf.float32, [])
    feeds = {}

    class Key:
        def __getattr__(self, name):
            feeds.clear()
            raise AttributeError(name)

    feeds[Key()] = 1.0
    feeds[place] = 2.0
    with tf.Session() as session, pytest.raises((TypeError, ValueError)):
        session.run(place + 1.0, feeds)


def test_a_fetch_changes_the_fetches():
    x = tf.constant(1.0)
    fetches = []

    class Fetch:
        @property
        def _situ_parts_(self):
            return [x] * next(self.sizes)

        def _situ_value_(self, values, session):
            return values

    fetch = Fetch()
    fetch.sizes = iter([1] * 3 + [50] * 50)
    fetches.append(fetch)
    with tf.Session() as session, pytest.raises(RuntimeError, match="The fetches changed"):
        for _ in range(50):
            session.run(fetches)


def test_a_fetch_that_is_read_drops_the_others():
    x = tf.constant(1.0)
    fetches = []

    class Fetch:
        @property
        def _situ_parts_(self):
            del fetches[1:]
            return [x]

        def _situ_value_(self, values, session):
            return values

    fetches[:] = [Fetch()] + [tf.constant(float(i)) for i in range(100)]
    with tf.Session() as session:
        assert session.run(fetches) == [[1.0]]


CHANGES = [
    lambda rows: rows[1].clear(),
    lambda rows: rows[1].extend([7] * 1000),
    lambda rows: rows.clear(),
    lambda rows: rows[0].clear(),
    lambda rows: rows.__setitem__(1, 5),
    lambda rows: rows.__setitem__(1, [[1], [2]]),
    lambda rows: rows.__setitem__(1, ["a", "b"]),
]


def convert(make, change):
    """Converts a list that changes meanwhile: an error, or nothing where it was emptied before its
    elements were read."""
    rows = []
    rows[:] = [[Number(1, lambda: change(rows)), 2], [3, 4]]
    try:
        made = make(rows)
    except (ValueError, TypeError):
        return
    assert made.shape == [0] and not rows


@pytest.mark.parametrize("change", CHANGES)
def test_eager_lists_change_while_they_become_a_tensor(change):
    convert(situ.constant, change)


@pytest.mark.parametrize("change", CHANGES)
def test_a_list_changes_while_it_becomes_a_tensor(change):
    convert(lambda rows: tf.constant(rows, tf.int32), change)


def test_a_shape_changes_while_it_is_read():
    sizes = []
    sizes[:] = [Number(2, sizes.clear), 3]
    assert tf.placeholder(tf.float32, sizes).shape.as_list() == [2, 3]


def test_a_list_of_inputs_changes_while_it_is_read():
    inputs = []

    class Tensor:
        """Stands for a tensor; the package asks it for one."""

        def _situ_tensor_(self):
            del inputs[1:]
            return tf.constant(1.0)

    inputs[:] = [Tensor()] + [tf.constant(float(i)) for i in range(100)]
    with tf.Session() as session:
        assert session.run(tf.add_n(inputs)) == 1.0 + sum(range(100))


def test_a_list_attribute_changes_while_it_is_read():
    strides = []
    strides[:] = [Number(1, strides.clear), 1, 1, 1]
    image = tf.zeros([1, 4, 4, 1])
    out = tf.raw_ops.MaxPool(input=image, ksize=[1, 2, 2, 1], strides=strides, padding="VALID")
    assert out.shape.as_list() == [1, 3, 3, 1]


def test_results_of_a_python_function_change_while_they_are_read():
    results = []
    results[:] = [Array(1.0, results.clear), np.float32(2)]

    def function():
        return results

    a, b = tf.py_func(function, [], [tf.float32, tf.float32])
    with tf.Session() as session:
        try:
            assert session.run([a, b]) == [1.0, 2.0]
        except (tf.errors.OpError, TypeError, ValueError):
            pass  # an honest error will do


def test_eager_sources_of_a_gradient_change_while_it_is_computed():
    sources = [situ.constant(float(i)) for i in range(1, 20)]

    @situ.custom_gradient
    def double(x):
        def backward(dy):
            del sources[1:]
            return dy * 2.0

        return x * 2.0, backward

    with situ.GradientTape() as tape:
        tape.watch(sources)
        y = double(sources[0]) + situ.add_n(sources[1:])
    gradients = tape.gradient(y, sources)
    assert [float(g) for g in gradients] == [2.0] + [1.0] * 18
