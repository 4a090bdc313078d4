# SPDX-License-Identifier: Apache-2.0
"""products.py: products of vectors, matrices and tensors of tf.experimental.numpy."""

from __future__ import annotations

from situ._src.framework.keywords import bind
from situ._src.numpy_ops.arrays import (
    asarray,
    broadcast,
    choose,
    promoted,
    rank,
    size_of,
    with_rank_at_least,
)
from situ._src.numpy_ops.exports import numpy_export, tf
from situ._src.numpy_ops.manipulation import moveaxis

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, Tensor, TensorLike


def _is_scalar(*tensors):
    """Returns whether one of some tensors has rank 0: a bool, or a tensor."""
    known = [t.shape.rank for t in tensors]
    if 0 in known or None not in known:
        return 0 in known
    return tf.reduce_any([tf.equal(tf.rank(t), 0) for t in tensors if t.shape.rank is None])


@numpy_export("dot")
def dot(a: TensorLike, b: TensorLike) -> Tensor:
    """Returns the product of the last dimension of a tensor and the last but one of another.

    Args:
      a: A tensor, an array, a number or nested lists of these.
      b: The same; the product is over the only dimension of a vector. A number is a factor.

    Returns:
      A tensor.
    """
    a, b = promoted(a, b)
    is_vector = tf.equal(tf.rank(b), 1) if b.shape.rank is None else b.shape.rank == 1
    return choose(
        _is_scalar(a, b),
        lambda: tf.multiply(a, b),
        lambda: choose(
            is_vector,
            lambda: tf.tensordot(a, b, axes=[[-1], [-1]]),
            lambda: tf.tensordot(a, b, axes=[[-1], [-2]]),
        ),
    )


@numpy_export("inner")
def inner(a: TensorLike, b: TensorLike) -> Tensor:
    """Returns the product of the last dimensions of two tensors.

    Args:
      a: A tensor, an array, a number or nested lists of these.
      b: The same. A number is a factor.

    Returns:
      A tensor.
    """
    a, b = promoted(a, b)
    return choose(
        _is_scalar(a, b),
        lambda: tf.multiply(a, b),
        lambda: tf.tensordot(a, b, axes=[[-1], [-1]]),
    )


@numpy_export("outer")
def outer(a: TensorLike, b: TensorLike) -> Tensor:
    """Returns the products of all pairs of elements.

    Args:
      a: A tensor, which is flattened.
      b: A tensor, which is flattened.

    Returns:
      A matrix.
    """
    a, b = promoted(a, b)
    return tf.reshape(a, [-1, 1]) * tf.reshape(b, [-1])


@numpy_export("vdot")
def vdot(a: TensorLike, b: TensorLike) -> Tensor:
    """Returns the sum of the products of elements, those of `a` conjugated.

    Args:
      a: A tensor, which is flattened.
      b: A tensor, which is flattened.

    Returns:
      A scalar.
    """
    a, b = (tf.reshape(v, [-1]) for v in promoted(a, b))
    return dot(tf.math.conj(a) if a.dtype.is_complex else a, b)


@numpy_export("matmul")
def matmul(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Returns the product of two matrices, or of batches of matrices that are broadcast.

    Args:
      x1: A tensor; a vector is a row.
      x2: A tensor; a vector is a column.

    Returns:
      A tensor without the dimensions of rows and columns that were vectors.

    Raises:
      ValueError: An operand is a scalar.
    """
    x1, x2 = promoted(x1, x2)
    if 0 in (x1.shape.rank, x2.shape.rank):
        raise ValueError("matmul: operands must have at least one dimension.")
    is_vector = [tf.equal(rank(x), 1) for x in (x1, x2)]
    return choose(
        is_vector[1],
        lambda: tf.tensordot(x1, x2, axes=1),
        lambda: choose(
            is_vector[0],
            lambda: tf.tensordot(x1, x2, axes=[[0], [-2]]),
            lambda: tf.matmul(x1, x2),
        ),
    )


@numpy_export("tensordot")
def tensordot(a: TensorLike, b: TensorLike, axes: Any = 2) -> Tensor:
    """Returns the product of dimensions of two tensors.

    Args:
      a: A tensor.
      b: A tensor.
      axes: How many dimensions, the last ones of `a` and the first ones of `b`; or a list of the
        dimensions of `a` and a list of those of `b`.

    Returns:
      A tensor.
    """
    return tf.tensordot(*promoted(a, b), axes=axes)


@numpy_export("kron")
def kron(a: TensorLike, b: TensorLike) -> Tensor:
    """Returns the Kronecker product: a block of `b` for each element of `a`.

    Args:
      a: A tensor.
      b: A tensor.

    Returns:
      A tensor whose dimensions are the products of those of `a` and `b`.
    """
    a, b = promoted(a, b)
    a, b = with_rank_at_least(a, rank(b)), with_rank_at_least(b, rank(a))
    sizes, ones = [tf.shape(t) for t in (a, b)], tf.ones_like(tf.shape(a))
    wide_a = tf.reshape(a, tf.reshape(tf.stack([sizes[0], ones], 1), [-1]))
    wide_b = tf.reshape(b, tf.reshape(tf.stack([ones, sizes[1]], 1), [-1]))
    return tf.reshape(wide_a * wide_b, sizes[0] * sizes[1])


@numpy_export("cross")
def cross(
    a: TensorLike,
    b: TensorLike,
    axisa: int = -1,
    axisb: int = -1,
    axisc: int = -1,
    axis: int | None = None,
) -> Tensor:
    """Returns cross products of vectors.

    Args:
      a: A tensor of vectors of 2 or 3 elements.
      b: The same.
      axisa: The dimension of the vectors in `a`.
      axisb: The dimension of the vectors in `b`.
      axisc: The dimension of the vectors in the result; unused if both have 2 elements.
      axis: The dimension of the vectors in all three, instead of the others.

    Returns:
      A tensor of vectors of 3 elements; the third ones alone if all vectors have 2.
    """
    a, b = promoted(a, b)
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = moveaxis(a, axisa, -1), moveaxis(b, axisb, -1)
    is_flat = [tf.equal(size_of(t, -1), 2) for t in (a, b)]
    result = tf.linalg.cross(*broadcast(*[_with_third(t) for t in (a, b)]))
    return choose(
        tf.logical_and(*is_flat), lambda: result[..., 2], lambda: moveaxis(result, -1, axisc)
    )


def _with_third(vectors):
    """Appends 0 to vectors of 2 elements."""
    missing = 3 - size_of(vectors, -1)
    before = tf.zeros([rank(vectors) - 1, 2], "int32")
    return tf.pad(vectors, tf.concat([before, [[0, missing]]], 0))


@numpy_export("polyval")
def polyval(p: TensorLike, x: TensorLike) -> Tensor:
    """Returns the values of a polynomial.

    Args:
      p: A vector of coefficients, the highest power first.
      x: Where to evaluate the polynomial.

    Returns:
      A tensor of the shape of `x`.
    """
    p, x = promoted(p, x)
    coefficients = tf.unstack(tf.reshape(p, [1]) if p.shape.rank == 0 else p)
    return tf.broadcast_to(tf.math.polyval(coefficients, x), tf.shape(x))


@numpy_export("einsum")
def einsum(subscripts: str, *operands: TensorLike, **kwargs: Any) -> Tensor:
    """Returns a sum of products, described by letters for dimensions.

    Args:
      subscripts: The dimensions of operands and result, such as "ij,jk->ik".
      *operands: Tensors.
      **kwargs: `casting`: "safe" (the default) converts the operands to their common type, "no"
        does not; `optimize`: the order of products: False, True, "greedy" or "optimal".

    Returns:
      A tensor.

    Raises:
      ValueError: An argument has another value.
    """
    options = bind("einsum", {"casting": "safe", "optimize": False}, (), kwargs)
    casting, optimize = options["casting"], options["optimize"]
    if casting not in ("safe", "no"):
        raise ValueError(
            "Invalid value for argument `casting`. "
            f'Expected casting="safe" or casting="no". Received: casting={casting}'
        )
    if not (isinstance(optimize, bool) or optimize in ("greedy", "optimal")):
        raise ValueError(
            "Invalid value for argument `optimize`. "
            f'Expected one of {{True, "greedy", "optimal"}}. Received: optimize={optimize}'
        )
    tensors = promoted(*operands) if casting == "safe" else [asarray(x) for x in operands]
    order = "greedy" if isinstance(optimize, bool) else optimize
    return tf.einsum(subscripts, *tensors, optimize=order)
