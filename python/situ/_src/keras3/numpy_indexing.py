# SPDX-License-Identifier: Apache-2.0
"""numpy_indexing.py: diagonals, triangles and elements by index in keras.ops.numpy."""

from __future__ import annotations

import builtins
from typing import Any

from situ._src.framework.keywords import unsupported
from situ._src.keras3 import operands
from situ._src.keras3.dtypes import standardize_dtype
from situ._src.keras3.exports import tf
from situ._src.keras3.numpy_manipulation import moveaxis
from situ._src.keras3.operands import sizes, tensor
from situ._src.keras3.operation import operation

_op = operation("numpy", "numpy")


# Diagonals


@_op
def diag(x: Any, k: int = 0):
    """Returns a matrix with a diagonal, or the diagonal of a matrix.

    Args:
      x: Vector: the elements of the diagonal; or tensor of rank 2 or more: see diagonal.
      k: Index of the diagonal: 0 is the main one, positive ones are above it.

    Raises:
      ValueError: If x is a scalar.
    """
    x = tensor(x)
    return _diagonal_matrix(x, k) if operands.rank(x) == 1 else diagonal(x, k)


def _diagonal_matrix(x, k):
    """Returns a matrix with a vector on diagonal k."""
    more = builtins.abs(k)
    matrix = tf.pad(tf.linalg.diag(x), [[0, more], [0, more]])
    return tf.roll(matrix, more, axis=1 if k > 0 else 0)


@_op
def diagflat(x: Any, k: int = 0):
    """Returns a matrix with the flattened elements on a diagonal.

    Args:
      x: Tensor of any shape.
      k: Index of the diagonal: 0 is the main one, positive ones are above it.
    """
    return _diagonal_matrix(tf.reshape(tensor(x), [-1]), k)


@_op
def diagonal(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1):
    """Returns a diagonal of two axes, as the last axis.

    Args:
      x: Tensor of rank 2 or more.
      offset: Index of the diagonal: 0 is the main one, positive ones are above it.
      axis1: Axis of the rows.
      axis2: Axis of the columns.

    Raises:
      ValueError: If an axis is out of range.
    """
    x = moveaxis(x, (axis1, axis2), (-2, -1))
    part = x[..., -offset:, :] if offset < 0 else x[..., :, offset:]
    length = builtins.min(*sizes(part)[-2:])
    return tf.linalg.diag_part(part[..., :length, :length])


@_op
def trace(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1):
    """Returns the sum of a diagonal.

    Args:
      x: Tensor of rank 2 or more; bool, int8 and int16 are added as int32.
      offset: Index of the diagonal: 0 is the main one, positive ones are above it.
      axis1: Axis of the rows.
      axis2: Axis of the columns.

    Raises:
      ValueError: If an axis is out of range.
    """
    x = tensor(x)
    x = tf.cast(x, "int32") if x.dtype.name in ("bool", "int8", "int16") else x
    return tf.reduce_sum(diagonal(x, offset, axis1, axis2), -1)


def _triangle(x, keep):
    x = tensor(x)
    rows, columns = sizes(x)[-2:]
    row, column = tf.range(rows)[:, None], tf.range(columns)[None, :]
    return tf.where(keep(row, column), x, tf.zeros_like(x))


@_op
def tril(x: Any, k: int = 0):
    """Returns the lower triangle; elements above diagonal k are 0.

    Args:
      x: Tensor with matrices in its last two axes.
      k: Index of the diagonal: 0 is the main one, positive ones are above it.
    """
    return _triangle(x, lambda row, column: column - row <= k)


@_op
def triu(x: Any, k: int = 0):
    """Returns the upper triangle; elements below diagonal k are 0.

    Args:
      x: Tensor with matrices in its last two axes.
      k: Index of the diagonal: 0 is the main one, positive ones are above it.
    """
    return _triangle(x, lambda row, column: column - row >= k)


# Indexing


@_op
def get_item(x: Any, key: Any):
    """Returns x[key].

    Args:
      x: Tensor.
      key: Integer, slice, `...` or None, or a tuple or list of them, one per axis.
    """
    return tensor(x)[key if not isinstance(key, list) else tuple(key)]


@_op
def take(x: Any, indices: Any, axis: Any = None):
    """Returns elements by index.

    Args:
      x: Tensor.
      indices: Integer tensor; negative ones count from the end.
      axis: Axis; default: the flattened tensor.
    """
    x, indices = tensor(x), tensor(indices)
    indices = indices if indices.dtype.name in ("int32", "int64") else tf.cast(indices, "int32")
    x, axis = (tf.reshape(x, [-1]), 0) if axis is None else (x, axis)
    length = tf.cast(sizes(x)[axis], indices.dtype)
    return tf.gather(x, tf.where(indices < 0, indices + length, indices), axis=axis)


@_op
def take_along_axis(x: Any, indices: Any, axis: Any = None):
    """Returns elements by one index per position along an axis.

    Args:
      x: Tensor.
      indices: Integer tensor of the rank of x.
      axis: Axis; default: both flattened.
    """
    x, indices = tensor(x), tensor(indices)
    if axis is None:
        return (
            tf.reshape(take(x, indices), [-1])
            if operands.rank(indices) == 1
            else take(x, tf.reshape(indices, [-1]))
        )
    ndim_x = operands.rank(x)
    last = axis % ndim_x
    x, indices = moveaxis(x, last, -1), moveaxis(indices, last, -1)
    lengths = sizes(x)
    indices = tf.where(indices < 0, indices + tf.cast(lengths[-1], indices.dtype), indices)
    lead = tf.broadcast_dynamic_shape(tf.shape(x)[:-1], tf.shape(indices)[:-1])
    x = tf.broadcast_to(x, tf.concat([lead, tf.shape(x)[-1:]], 0))
    indices = tf.broadcast_to(indices, tf.concat([lead, tf.shape(indices)[-1:]], 0))
    return moveaxis(tf.gather(x, indices, batch_dims=ndim_x - 1), -1, last)


@_op
def view(x: Any, dtype: Any = None):
    """Returns a tensor as another type of the same bits; only its own type is supported.

    Args:
      x: Tensor.
      dtype: Only the type of x is supported; default: that.

    Raises:
      NotImplementedError: If dtype is another type.
      ValueError: If dtype is not a known type.
    """
    x = tensor(x)
    unsupported("ops.view", dtype=(standardize_dtype(dtype or x.dtype), x.dtype.name))
    return x


@_op
def vectorize(pyfunc: Any, *, excluded: Any = None, signature: Any = None):
    """Returns a function of arrays that calls a function of elements.

    Args:
      pyfunc: Function of elements.
      excluded: Only None is supported.
      signature: Only None is supported.
    """
    unsupported("ops.vectorize", excluded=(excluded, None), signature=(signature, None))

    def vectorized(*args):
        args = [tensor(a) for a in args]
        shape = tf.shape(builtins.sum(args[1:], args[0]))
        flat = [tf.reshape(tf.broadcast_to(a, shape), [-1]) for a in args]
        rows = [pyfunc(*row) for row in zip(*[tf.unstack(f) for f in flat])]
        return tf.reshape(tf.stack(rows), shape)

    return vectorized
