# SPDX-License-Identifier: Apache-2.0
"""test_einsum_op.py: the op Einsum, which GraphDefs have: values, gradients, shapes and errors."""

import numpy as np
import pytest

import situ as tf

CASES = [
    ("ij,jk->ik", (3, 4), (4, 2)),
    ("abc,dca->bd", (2, 3, 4), (5, 4, 2)),
    ("...ij,jk...->...ik", (5, 1, 3, 4), (4, 2, 6)),
    ("i...j,j...k->i...k", (3, 1, 2, 2), (2, 2, 3, 1, 4)),
    ("...,...->...", (2, 1, 3), (4, 1)),
    ("aab,b->ab", (2, 2, 3), (3,)),
    ("ab,cb->c", (2, 3), (4, 3)),
    ("ba,bc->bca", (2, 3), (2, 4)),
    ("ab,ab->", (2, 3), (2, 3)),
    ("iij->", (3, 3, 2)),
    ("a...b->...", (2, 3, 4, 2)),
    ("ijk->kij", (2, 3, 4)),
    ("abcdefg,abcdefg->gfedcba", (1, 2, 1, 2, 1, 2, 3), (1, 2, 1, 2, 1, 2, 3)),
]


def operands(shapes, dtype="float64"):
    rng = np.random.RandomState(0)
    values = [rng.randn(*s).astype(dtype) for s in shapes]
    if np.dtype(dtype).kind == "c":
        values = [v + 1j * rng.randn(*v.shape).astype(dtype) for v in values]
    return values


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize(("equation", "shapes"), [(c[0], c[1:]) for c in CASES])
def test_values_are_numpys(equation, shapes, dtype):
    values = operands(shapes, dtype)
    made = tf.raw_ops.Einsum(inputs=values, equation=equation)
    assert np.allclose(made, np.einsum(equation, *values))


@pytest.mark.parametrize(("equation", "shapes"), [(c[0], c[1:]) for c in CASES])
def test_gradients_are_those_of_a_linear_function(equation, shapes):
    values = [tf.constant(v) for v in operands(shapes)]
    with tf.GradientTape() as tape:
        tape.watch(values)
        made = tf.raw_ops.Einsum(inputs=values, equation=equation)
    weights = np.random.RandomState(1).randn(*made.shape)
    for i, gradient in enumerate(tape.gradient(made, values, output_gradients=weights)):
        step = np.random.RandomState(2).randn(*values[i].shape)
        moved = [step if k == i else v for k, v in enumerate(values)]
        change = (np.einsum(equation, *moved) * weights).sum()
        assert gradient.shape == values[i].shape
        assert np.isclose((gradient.numpy() * step).sum(), change)


def test_repeated_letters_in_the_result_are_diagonals():
    made = tf.raw_ops.Einsum(inputs=[[1.0, 2.0]], equation="i->ii")
    assert made.numpy().tolist() == [[1, 0], [0, 2]]


def test_shapes_are_inferred_as_far_as_possible():
    @tf.function(input_signature=[tf.TensorSpec([None, 3, None]), tf.TensorSpec(None)])
    def f(a, b):
        known = tf.raw_ops.Einsum(inputs=[a, tf.ones([2, 1, 3, 5])], equation="...ij,...ik->...jk")
        assert known.shape.as_list() == [2, None, None, 5]
        return known, tf.raw_ops.Einsum(inputs=[a, b], equation="...ij,jk->...ik")

    a, b = operands([(4, 3, 2), (2, 6)], "float32")
    first, second = f(a, b)
    assert first.shape == (2, 4, 2, 5)
    assert np.allclose(second, a @ b, atol=1e-5)


@pytest.mark.parametrize(
    ("equation", "shapes", "message"),
    [
        ("ij,jk->ik", [(1, 2, 3), (3, 4)], "Expected input 0 to have rank 2 but got: 3"),
        ("...ij,jk->ik", [(3,), (3, 4)], "rank at least 2"),
        ("ij,jk->ik", [(2, 3), (4, 4)], "Expected dimension 3 at axis 0"),
        ("...ij,...jk->...ik", [(5, 2, 3), (7, 3, 4)], "Expected dimension 5"),
        ("...ij,...jk->ik", [(2, 2, 3), (3, 4)], "no ellipsis"),
        ("ij->ik", [(2, 3)], "not present in the input subscripts"),
        ("ij", [(2, 3)], "exactly one '->'"),
        ("i,j,k->ijk", [(2,), (3,)], "1 or 2 input subscripts"),
        ("i.j->i", [(2, 3)], "Expected at most one ellipsis"),
    ],
)
def test_errors_name_the_equation(equation, shapes, message):
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match=message):
        tf.raw_ops.Einsum(inputs=operands(shapes), equation=equation)
