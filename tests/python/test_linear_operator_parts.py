# SPDX-License-Identifier: Apache-2.0
"""test_linear_operator_parts.py: slices and gradients of operators, and operators as arguments."""

import numpy as np
import pytest

import situ as tf

L = tf.linalg
RNG = np.random.RandomState(0)
MATRIX, DIAG = RNG.randn(3, 2, 4, 4), RNG.randn(3, 2, 4)


def operators():
    full, diag = L.LinearOperatorFullMatrix(MATRIX), L.LinearOperatorDiag(DIAG[0])
    return [
        full,
        L.LinearOperatorLowerTriangular(MATRIX),
        L.LinearOperatorDiag(DIAG),
        L.LinearOperatorTridiag(RNG.randn(3, 2, 3, 4)),
        L.LinearOperatorTridiag([DIAG, DIAG, DIAG], "sequence"),
        L.LinearOperatorHouseholder(DIAG),
        L.LinearOperatorPermutation(np.tile(np.arange(4), (3, 2, 1)), dtype=tf.float64),
        L.LinearOperatorIdentity(4, [3, 2], dtype=tf.float64),
        L.LinearOperatorScaledIdentity(4, RNG.randn(3, 2)),
        L.LinearOperatorZeros(4, 4, [3, 2], dtype=tf.float64),
        L.LinearOperatorCirculant(DIAG.astype("complex128")),
        L.LinearOperatorToeplitz(DIAG, DIAG),
        L.LinearOperatorComposition([full, diag]),
        L.LinearOperatorKronecker([full, diag]),
        L.LinearOperatorBlockDiag([full, diag]),
        L.LinearOperatorLowRankUpdate(diag, MATRIX[..., :2]),
        L.LinearOperatorAdjoint(full),
    ]


SLICES = [
    (slice(1, -1),),
    (slice(1, 3), Ellipsis, slice(0, 1)),
    (0,),
    (Ellipsis, 1),
    (None, slice(0, 2)),
    (slice(None, None, 2), 0),
    (Ellipsis,),
]


@pytest.mark.parametrize("operator", operators(), ids=lambda o: type(o).__name__)
def test_slices_are_those_of_the_dense_matrices(operator):
    dense = operator.to_dense().numpy()
    for key in SLICES:
        sliced = operator[key]
        matrices = (slice(None), slice(None))
        want = dense[(*key, *matrices) if Ellipsis in key else (*key, Ellipsis, *matrices)]
        assert type(sliced) is type(operator)
        assert np.allclose(sliced.to_dense(), want)


def test_slices_of_unknown_shapes():
    @tf.function(input_signature=[tf.TensorSpec(None, tf.float64)] * 2)
    def sliced(matrix, diag):
        product = L.LinearOperatorFullMatrix(matrix) @ L.LinearOperatorDiag(diag)
        return product[1:, ..., 0].to_dense()

    want = (MATRIX @ (DIAG[0][..., None] * np.eye(4)))[1:, 0]
    assert np.allclose(sliced(MATRIX, DIAG[0]), want)


@pytest.mark.parametrize("operator", operators(), ids=lambda o: type(o).__name__)
def test_gradients_are_operators_of_the_gradients(operator):
    tensors = tf.nest.flatten(operator, expand_composites=True)
    x = tf.ones([*operator.shape[:-2], operator.shape[-1], 2], operator.dtype)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(operator)
        y = operator.matmul(x)
        again = tf.nest.pack_sequence_as(operator, tensors, expand_composites=True).matmul(x)
    assert np.allclose(y, again)
    gradient, single = tape.gradient(y, operator), tape.gradient(y, tensors)
    if all(g is None for g in single):
        assert gradient is None
        return
    assert type(gradient) is type(operator)
    for a, b in zip(tf.nest.flatten(gradient, expand_composites=True), single):
        assert np.allclose(a, tf.convert_to_tensor(b))


def test_functions_take_operators_as_tensors():
    traces = []

    @tf.function
    def dense(operator):
        traces.append(type(operator))
        return operator.to_dense()

    for scale in (1.0, 2.0):
        made = L.LinearOperatorFullMatrix(scale * MATRIX) @ L.LinearOperatorDiag(DIAG)
        assert np.allclose(dense(made), made.to_dense())
    assert traces == [L.LinearOperatorComposition]
    assert np.allclose(dense(L.LinearOperatorDiag(DIAG)), L.LinearOperatorDiag(DIAG).to_dense())
    assert len(traces) == 2


def test_specs_compare_arguments():
    spec = tf.type_spec_from_value(L.LinearOperatorDiag([1.0, 2.0]))
    assert spec == tf.type_spec_from_value(L.LinearOperatorDiag([3.0, 4.0]))
    assert spec != tf.type_spec_from_value(L.LinearOperatorDiag([1.0, 2.0], is_square=True))
    assert spec.is_compatible_with(L.LinearOperatorDiag([5.0, 6.0]))
    longer = tf.type_spec_from_value(L.LinearOperatorDiag([1.0, 2.0, 3.0]))
    assert not spec.is_compatible_with(longer)
    assert spec.is_subtype_of(spec.most_specific_common_supertype([longer]))
