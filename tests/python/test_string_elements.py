# SPDX-License-Identifier: Apache-2.0
"""test_string_elements.py: ops that move or compare elements take strings, as in TensorFlow."""

import numpy
import pytest

import situ as tf

GRID = [[b"a", b"bb"], [b"ccc", b""]]

MOVES = {
    "transpose": (lambda t: tf.transpose(t), [[b"a", b"ccc"], [b"bb", b""]]),
    "broadcast_to": (lambda t: tf.broadcast_to(t, [1, 2, 2]), [GRID]),
    "where": (lambda t: tf.where(t == "a", t, "z"), [[b"a", b"z"], [b"z", b"z"]]),
    "zeros_like": (lambda t: tf.zeros_like(t), [[b"", b""], [b"", b""]]),
    "pad": (lambda t: tf.pad(t[0], [[1, 1]]), [b"", b"a", b"bb", b""]),
    "pad_constant": (lambda t: tf.pad(t[0], [[0, 1]], constant_values="q"), [b"a", b"bb", b"q"]),
    "pad_reflect": (lambda t: tf.pad(t[0], [[1, 0]], "REFLECT"), [b"bb", b"a", b"bb"]),
    "gather_nd": (lambda t: tf.gather_nd(t, [[0, 1], [1, 0]]), [b"bb", b"ccc"]),
    "gather_int16": (lambda t: tf.gather(t, tf.constant([1], tf.int16)), [[b"ccc", b""]]),
    "scatter_update": (
        lambda t: tf.tensor_scatter_nd_update(t, [[0, 0]], ["new"]),
        [[b"new", b"bb"], [b"ccc", b""]],
    ),
    "scatter_concatenates": (
        lambda t: tf.scatter_nd([[0], [2], [0]], t[0, :1] + tf.constant(["1", "2", "3"]), [3]),
        [b"a1a3", b"", b"a2"],
    ),
    "dynamic_partition": (lambda t: tf.dynamic_partition(t, [1, 0], 2)[0], [[b"ccc", b""]]),
    "dynamic_stitch": (
        lambda t: tf.dynamic_stitch([[0, 3], [1]], [t[0], t[1, :1]]),
        [b"a", b"ccc", b"", b"bb"],
    ),
    "roll": (lambda t: tf.roll(t, 1, 0), [[b"ccc", b""], [b"a", b"bb"]]),
    "fill": (lambda t: tf.fill([2], t[0, 1]), [b"bb", b"bb"]),
    "one_hot": (
        lambda t: tf.one_hot(tf.constant([1], tf.int8), 2, "on", "off", dtype=tf.string),
        [[b"off", b"on"]],
    ),
    "equal": (
        lambda t: tf.raw_ops.Equal(x=t, y=tf.constant([["a"], [""]])),
        [[True, False], [False, True]],
    ),
    "not_equal": (lambda t: tf.not_equal(t, "a"), [[False, True], [True, True]]),
    "strided_grad": (
        lambda t: tf.raw_ops.StridedSliceGrad(shape=[3], begin=[1], end=[3], strides=[1], dy=t[0]),
        [b"", b"a", b"bb"],
    ),
}


@pytest.mark.parametrize("name", MOVES)
def test_ops_take_strings_eagerly_and_in_functions(name):
    function, expected = MOVES[name]
    tensor = tf.constant(GRID)
    assert function(tensor).numpy().tolist() == expected
    assert tf.function(function)(tensor).numpy().tolist() == expected


def test_shapes_that_do_not_broadcast_are_unequal():
    assert not (tf.constant(["a", "b"]) == tf.constant(["a", "b", "c"])).numpy()


def test_scatter_nd_of_strings_checks_indices():
    with pytest.raises(tf.errors.InvalidArgumentError, match="is not in"):
        tf.scatter_nd([[3]], tf.constant(["a"]), [3])


def test_shuffle_keeps_all_strings():
    shuffled = tf.random.shuffle(tf.constant(["a", "b", "c", "d"])).numpy()
    assert sorted(shuffled) == [b"a", b"b", b"c", b"d"]


def test_sum_of_booleans_is_their_disjunction():
    result = tf.scatter_nd([[0], [2], [0]], tf.constant([True, True, False]), [3])
    assert result.numpy().tolist() == [True, False, True]


def test_mirror_pad_gradient_of_complex_numbers_and_integers():
    dy = numpy.arange(5) * (1 + 2j)
    for kind in ("complex64", "complex128", "int32", "uint8"):
        values = dy.astype(kind) if "complex" in kind else numpy.arange(5).astype(kind)
        result = tf.raw_ops.MirrorPadGrad(input=values, paddings=[[1, 1]], mode="SYMMETRIC")
        assert result.numpy().tolist() == [values[0] + values[1], values[2], values[3] + values[4]]


def test_segment_sums_of_complex_numbers():
    result = tf.math.unsorted_segment_sum(tf.constant([1 + 2j, 3, 4j]), [0, 1, 0], 2)
    assert result.numpy().tolist() == [1 + 6j, 3]
