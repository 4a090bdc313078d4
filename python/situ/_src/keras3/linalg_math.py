# SPDX-License-Identifier: Apache-2.0
"""linalg_math.py: keras.ops.linalg (decompositions, norms), and keras.ops.math (segments, Fourier
transforms, special functions)."""

from __future__ import annotations

import math
from typing import Any

import numpy

from situ._src.keras3 import operands
from situ._src.keras3.exports import tf, unsupported_function
from situ._src.keras3.operands import floating, promoted, sizes, tensor
from situ._src.keras3.operation import operation

_linalg = operation("linalg", "linalg")
_math = operation("math")


def _transposed(x):
    n = operands.rank(x)
    return tf.transpose(x, [*range(n - 2), n - 1, n - 2])


@_linalg
def cholesky(x: Any, upper: bool = False):
    """Cholesky factor of positive definite matrices, lower or upper.

    Args:
      x: Symmetric matrices [..., n, n].
      upper: Whether to return the upper triangular factor instead of the lower one.

    Raises:
      InvalidArgumentError: If a matrix is not positive definite.
    """
    factor = tf.linalg.cholesky(floating(x))
    return _transposed(factor) if upper else factor


@_linalg
def cholesky_inverse(x: Any, upper: bool = False):
    """Inverse of a matrix, given its Cholesky factor.

    Args:
      x: Triangular factors [..., n, n].
      upper: Whether the factors are upper triangular instead of lower.
    """
    x = floating(x)
    x = _transposed(x) if upper else x
    inverse = tf.linalg.inv(x)
    return tf.matmul(inverse, inverse, transpose_a=True)


@_linalg
def det(x: Any):
    """Determinants.

    Args:
      x: Square matrices [..., n, n].
    """
    return tf.linalg.det(floating(x))


@_linalg
def inv(x: Any):
    """Inverse matrices.

    Args:
      x: Square matrices [..., n, n].

    Raises:
      InvalidArgumentError: If a matrix is not invertible.
    """
    return tf.linalg.inv(floating(x))


@_linalg
def pinv(x: Any, rcond: Any = None):
    """Pseudo-inverse matrices.

    Args:
      x: Matrices [..., m, n].
      rcond: Singular values up to rcond times the largest count as 0; default: 10 times the size of
        the longer side times the machine epsilon of the type.

    Returns:
      Matrices [..., n, m].
    """
    return tf.linalg.pinv(floating(x), rcond)


@_linalg
def matrix_rank(x: Any, tol: Any = None):
    """Ranks of matrices.

    Args:
      x: Matrices [..., m, n].
      tol: Singular values up to it count as 0; default: the largest one times the size of the
        longer side times the machine epsilon of the type.

    Returns:
      The ranks as int32.
    """
    return tf.linalg.matrix_rank(floating(x), tol)


@_linalg
def eigh(x: Any):
    """Eigenvalues and eigenvectors of symmetric matrices.

    Args:
      x: Symmetric matrices [..., n, n].

    Returns:
      (eigenvalues [..., n] in ascending order, matrices whose columns are the eigenvectors).
    """
    return tuple(tf.linalg.eigh(floating(x)))


@_linalg
def qr(x: Any, mode: str = "reduced"):
    """QR decomposition; mode is "reduced" or "complete".

    Args:
      x: Matrices [..., m, n].
      mode: "reduced": q has min(m, n) columns; "complete": q is square.

    Returns:
      (q with orthonormal columns, r upper triangular).

    Raises:
      ValueError: If the mode is unknown.
    """
    if mode not in ("reduced", "complete"):
        raise ValueError(
            "`mode` argument value not supported. Expected one of {'reduced', 'complete'}. "
            f"Received: mode={mode}"
        )
    return tuple(tf.linalg.qr(floating(x), full_matrices=mode == "complete"))


@_linalg
def svd(x: Any, full_matrices: bool = True, compute_uv: bool = True):
    """Singular value decomposition: (u, s, v transposed), or s alone.

    Args:
      x: Matrices [..., m, n].
      full_matrices: Whether u and v are square; otherwise they have min(m, n) singular vectors.
      compute_uv: Whether to return u and v, too.
    """
    result = tf.linalg.svd(floating(x), full_matrices=full_matrices, compute_uv=compute_uv)
    if not compute_uv:
        return result
    s, u, v = result
    return u, s, _transposed(v)


@_linalg
def solve(a: Any, b: Any):
    """Solves a x = b.

    Args:
      a: Square matrices [..., n, n].
      b: Right-hand sides: vectors [..., n] if the rank is one less than that of a, otherwise
        matrices [..., n, k].

    Returns:
      x, of the shape of b.

    Raises:
      InvalidArgumentError: If a matrix is not invertible.
    """
    a, b = operands.promoted_floating(a, b)
    if operands.rank(b) == operands.rank(a) - 1:
        return tf.squeeze(tf.linalg.solve(a, tf.expand_dims(b, -1)), [-1])
    return tf.linalg.solve(a, b)


@_linalg
def solve_triangular(a: Any, b: Any, lower: bool = False):
    """Solves a x = b with a triangular a.

    Args:
      a: Triangular matrices [..., n, n]; elements of the other triangle are not read.
      b: Right-hand sides: vectors [..., n] if the rank is one less than that of a, otherwise
        matrices [..., n, k].
      lower: Whether a is lower triangular; default: upper.

    Returns:
      x, of the shape of b.
    """
    a, b = operands.promoted_floating(a, b)
    if operands.rank(b) == operands.rank(a) - 1:
        wide = tf.expand_dims(b, -1)
        return tf.squeeze(tf.linalg.triangular_solve(a, wide, lower=lower), [-1])
    return tf.linalg.triangular_solve(a, b, lower=lower)


@_linalg
def lstsq(a: Any, b: Any, rcond: Any = None):
    """Least-squares solution of a x = b.

    Args:
      a: Matrices [..., m, n].
      b: Right-hand sides: one vector [m] or matrices [..., m, k].
      rcond: Singular values of a up to rcond times the largest count as 0; default: as of pinv.

    Returns:
      x [n] or [..., n, k]: the solution with the smallest norm if there are several.
    """
    a, b = operands.promoted_floating(a, b)
    column = operands.rank(b) == 1
    result = tf.matmul(tf.linalg.pinv(a, rcond), b[:, None] if column else b)
    return result[:, 0] if column else result


@_linalg
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False):
    """Norms of vectors or matrices.

    Args:
      x: Tensor.
      ord: Order: a number, "fro", "nuc", inf or -inf; default: the 2-norm.
      axis: Axis of vectors, or pair of axes of matrices; default: all elements.
      keepdims: Whether reduced axes stay, with size 1.

    Raises:
      ValueError: If the order is unknown.
    """
    x = floating(x)
    ndim = operands.rank(x)
    if axis is None and ord is None:
        return tf.sqrt(tf.reduce_sum(tf.square(x), None, keepdims))
    axes = operands.axes(axis, ndim)
    if len(axes) == 1:
        return _vector_norm(x, ord, axes[0], keepdims)
    if len(axes) != 2:
        raise ValueError(f"Improper number of dimensions to norm: {len(axes)}")
    return _matrix_norm(x, ord, axes, keepdims)


def _vector_norm(x, ord, axis, keepdims):
    size = tf.abs(x)
    if ord is None or ord == 2:
        return tf.sqrt(tf.reduce_sum(tf.square(x), axis, keepdims))
    if ord == math.inf:
        return tf.reduce_max(size, axis, keepdims)
    if ord == -math.inf:
        return tf.reduce_min(size, axis, keepdims)
    if ord == 0:
        return tf.reduce_sum(tf.cast(tf.not_equal(x, 0), x.dtype), axis, keepdims)
    if isinstance(ord, str):
        raise ValueError(f"Invalid `ord` argument for vector norm. Received: ord={ord}")
    return tf.pow(tf.reduce_sum(tf.pow(size, ord), axis, keepdims), 1.0 / ord)


def _matrix_norm(x, ord, axes, keepdims):
    row, column = axes
    if ord in (None, "fro"):
        return tf.sqrt(tf.reduce_sum(tf.square(x), axes, keepdims))
    if ord in (1, -1, math.inf, -math.inf):
        inner, outer = (row, column) if abs(ord) == 1 else (column, row)
        sums = tf.reduce_sum(tf.abs(x), inner, True)
        reduce = tf.reduce_max if ord > 0 else tf.reduce_min
        result = reduce(sums, outer, True)
        return result if keepdims else tf.squeeze(result, axes)
    n = operands.rank(x)
    moved = tf.transpose(x, [*[i for i in range(n) if i not in axes], row, column])
    values = tf.linalg.svd(moved, compute_uv=False)
    if ord == 2:
        result = tf.reduce_max(values, -1)
    elif ord == -2:
        result = tf.reduce_min(values, -1)
    elif ord == "nuc":
        result = tf.reduce_sum(values, -1)
    else:
        raise ValueError(f"Invalid `ord` argument for matrix norm. Received: ord={ord}")
    return (
        tf.reshape(result, [1 if i in axes else m for i, m in enumerate(sizes(x))])
        if keepdims
        else result
    )


for _name in ("eig", "lu_factor"):
    for _place in ("ops.", "ops.linalg."):
        unsupported_function(_place + _name, "situ has no kernel for this decomposition.")


# keras.ops.math


@_math
def logsumexp(x: Any, axis: Any = None, keepdims: bool = False):
    """Logarithm of the sum of exponentials over axes.

    Args:
      x: Tensor.
      axis: Axis or axes to reduce; default: all.
      keepdims: Whether reduced axes stay, with size 1.
    """
    return tf.reduce_logsumexp(floating(x), axis, keepdims)


@_math
def logdet(x: Any):
    """Logarithm of the determinant of positive definite matrices.

    Args:
      x: Symmetric matrices [..., n, n].

    Raises:
      InvalidArgumentError: If a matrix is not positive definite.
    """
    return tf.linalg.logdet(floating(x))


@operation("numpy", "linalg", "numpy")
def slogdet(x: Any):
    """Sign and logarithm of the absolute determinant.

    Args:
      x: Square matrices [..., n, n].

    Returns:
      (sign, logarithm), each of shape [...].
    """
    return tuple(tf.linalg.slogdet(floating(x)))


@_math
def rsqrt(x: Any):
    """1 / sqrt(x).

    Args:
      x: Tensor; integers are converted to floating point.
    """
    return tf.math.rsqrt(floating(x))


@_math
def erf(x: Any):
    """Error function.

    Args:
      x: Real tensor; integers are converted to floating point.
    """
    return tf.math.erf(floating(x))


@_math
def erfc(x: Any):
    """1 - erf(x).

    Args:
      x: Real tensor; integers are converted to floating point.
    """
    return tf.math.erfc(floating(x))


@_math
def erfinv(x: Any):
    """Inverse of the error function, by Newton's method.

    Args:
      x: Real tensor with values in [-1, 1]; the result is NaN elsewhere.
    """
    x = floating(x)
    log_term = tf.math.log((1 - x) * (1 + x))
    a = 0.147
    first = 2 / (math.pi * a) + log_term / 2
    y = tf.sign(x) * tf.sqrt(tf.sqrt(first * first - log_term / a) - first)
    inside = tf.abs(x) < 1
    y = tf.where(inside, y, tf.zeros_like(y))
    for _ in range(3):
        y = y - (tf.math.erf(y) - x) * (math.sqrt(math.pi) / 2) * tf.exp(y * y)
    edge = tf.where(tf.equal(tf.abs(x), 1), tf.sign(x) * math.inf, tf.zeros_like(x) + math.nan)
    return tf.where(inside, y, edge)


@_math
def top_k(x: Any, k: int, sorted: bool = True):
    """Returns the k largest elements of the last axis and their indices.

    Args:
      x: Tensor of rank 1 or more.
      k: Number of elements, at most the size of the last axis.
      sorted: Has no effect: the results are always in descending order.

    Returns:
      A named tuple (values, indices as int32).
    """
    return tf.math.top_k(tensor(x), k, sorted)


@_math
def in_top_k(targets: Any, predictions: Any, k: int):
    """Returns whether class ids are among the k largest predictions.

    Args:
      targets: Class ids [batch].
      predictions: Scores [batch, classes].
      k: Number of largest scores of an example that count.

    Returns:
      A bool tensor [batch].
    """
    return tf.math.in_top_k(tensor(targets, "int32"), floating(predictions), k)


def _segment(name, compute, doc):
    def function(data: Any, segment_ids: Any, num_segments: Any = None, sorted: bool = False):
        data, ids = tensor(data), tensor(segment_ids, "int32")
        del sorted  # a hint for speed
        count = tf.reduce_max(ids) + 1 if num_segments is None else num_segments
        return compute(data, ids, count)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""{doc}

    Args:
      data: Tensor.
      segment_ids: The segment of each element of the first axis.
      num_segments: Number of segments; default: the largest id + 1.
      sorted: Whether the ids are sorted; has no effect on the result."""
    return _math(function)


segment_sum = _segment("segment_sum", tf.math.unsorted_segment_sum, "Sums of segments.")
segment_max = _segment("segment_max", tf.math.unsorted_segment_max, "Maxima of segments.")
segment_min = _segment("segment_min", tf.math.unsorted_segment_min, "Minima of segments.")
segment_prod = _segment("segment_prod", tf.math.unsorted_segment_prod, "Products of segments.")


@_math
def cdist(x: Any, y: Any):
    """Euclidean distances of all pairs of rows.

    Args:
      x: Rows [..., m, size].
      y: Rows [..., n, size].

    Returns:
      Distances [..., m, n].
    """
    x, y = operands.promoted_floating(x, y)
    gap = tf.expand_dims(x, -2) - tf.expand_dims(y, -3)
    return tf.sqrt(tf.reduce_sum(tf.square(gap), -1))


# Fourier transforms: products with the matrices of cosines and sines


def _waves(rows, columns, dtype, sign=-1.0):
    angle = sign * 2 * math.pi * numpy.outer(numpy.arange(rows), numpy.arange(columns)) / rows
    return tf.cast(numpy.cos(angle), dtype), tf.cast(numpy.sin(angle), dtype)


def _transform(real, imaginary, sign, scale):
    length = real.shape.as_list()[-1]
    cosine, sine = _waves(length, length, real.dtype, sign)
    return (
        (tf.matmul(real, cosine) - tf.matmul(imaginary, sine)) * scale,
        (tf.matmul(real, sine) + tf.matmul(imaginary, cosine)) * scale,
    )


def _complex_pair(x):
    if not isinstance(x, (tuple, list)) or len(x) != 2:
        raise ValueError(
            f"Input `x` should be a tuple of two tensors - real and imaginary. Received: x={x}"
        )
    return promoted(floating(x[0]), floating(x[1]))


def _at_least_matrix(compute, parts):
    if operands.rank(parts[0]) > 1:
        return compute(*parts)
    return tuple(r[0] for r in compute(*[p[None, :] for p in parts]))


@_math
def fft(x: Any):
    """Discrete Fourier transform of the last axis of (real, imaginary).

    Args:
      x: Pair of tensors of one shape: the real and imaginary parts.

    Returns:
      The transform as such a pair.

    Raises:
      ValueError: If x is not a pair.
    """
    return _at_least_matrix(lambda a, b: _transform(a, b, -1.0, 1.0), _complex_pair(x))


def _fft2(x, sign, scale):
    real, imaginary = _complex_pair(x)
    height, width = real.shape.as_list()[-2:]
    real, imaginary = _transform(real, imaginary, sign, 1.0 / width if scale else 1.0)
    real, imaginary = _transform(
        _transposed(real), _transposed(imaginary), sign, 1.0 / height if scale else 1.0
    )
    return _transposed(real), _transposed(imaginary)


@_math
def fft2(x: Any):
    """Discrete Fourier transform of the last two axes of (real, imaginary).

    Args:
      x: Pair of tensors of one shape of rank 2 or more: the real and imaginary parts.

    Returns:
      The transform as such a pair.

    Raises:
      ValueError: If x is not a pair.
    """
    return _fft2(x, -1.0, False)


@_math
def ifft2(x: Any):
    """Inverse of fft2.

    Args:
      x: Pair of tensors of one shape of rank 2 or more: the real and imaginary parts.

    Returns:
      The inverse transform, scaled by 1 / (height * width), as such a pair.

    Raises:
      ValueError: If x is not a pair.
    """
    return _fft2(x, 1.0, True)


def _fitted(x, length):
    have = x.shape.as_list()[-1]
    if have < length:
        return tf.pad(x, [*[[0, 0]] * (operands.rank(x) - 1), [0, length - have]])
    return x[..., :length]


@_math
def rfft(x: Any, fft_length: int | None = None):
    """Discrete Fourier transform of real values: (real, imaginary) of the lower frequencies.

    Args:
      x: Tensor.
      fft_length: Length that the last axis is cut or padded to.
    """
    x = floating(x)
    length = x.shape.as_list()[-1] if fft_length is None else fft_length
    x = _fitted(x, length)
    cosine, sine = _waves(length, length // 2 + 1, x.dtype)
    shape = [*sizes(x)[:-1], length // 2 + 1]
    flat = tf.reshape(x, [-1, length])
    return tf.reshape(tf.matmul(flat, cosine), shape), tf.reshape(tf.matmul(flat, sine), shape)


@_math
def irfft(x: Any, fft_length: int | None = None):
    """Inverse of rfft.

    Args:
      x: (real, imaginary).
      fft_length: Length of the result; default: 2 * (frequencies - 1).
    """
    real, imaginary = _complex_pair(x)
    length = 2 * (real.shape.as_list()[-1] - 1) if fft_length is None else fft_length
    real, imaginary = _fitted(real, length // 2 + 1), _fitted(imaginary, length // 2 + 1)
    count = length // 2 + 1
    weights = numpy.full(count, 2.0)
    weights[0] = 1.0
    if length % 2 == 0:
        weights[-1] = 1.0
    cosine, sine = _waves(length, count, real.dtype, 1.0)
    weights = tf.cast(weights / length, real.dtype)
    shape = [*sizes(real)[:-1], length]
    flat = [tf.reshape(v * weights, [-1, count]) for v in (real, imaginary)]
    result = tf.matmul(flat[0], cosine, transpose_b=True) - tf.matmul(
        flat[1], sine, transpose_b=True
    )
    return tf.reshape(result, shape)


@_math
def extract_sequences(x: Any, sequence_length: int, sequence_stride: int):
    """Returns windows of the last axis.

    Args:
      x: Tensor.
      sequence_length: Length of a window.
      sequence_stride: Distance of windows.
    """
    x = tensor(x)
    total = x.shape.as_list()[-1]
    count = 1 + (total - sequence_length) // sequence_stride
    places = numpy.arange(count)[:, None] * sequence_stride + numpy.arange(sequence_length)
    return tf.gather(x, places.astype("int32"), axis=-1)


def _window(window, length, fft_length, dtype):
    if window is None:
        values = numpy.ones(length)
    elif isinstance(window, str):
        if window not in ("hann", "hamming"):
            raise ValueError(
                'If a string is passed to `window`, it must be one of `"hann"`, `"hamming"`. '
                f"Received: window={window}"
            )
        share = {"hann": 0.5, "hamming": 0.54}[window]
        values = share - (1 - share) * numpy.cos(2 * math.pi * numpy.arange(length) / length)
    else:
        values = numpy.asarray(window)
    left = (fft_length - length) // 2
    return tf.cast(numpy.pad(values, (left, fft_length - length - left)), dtype)


@_math
def stft(
    x: Any,
    sequence_length: int,
    sequence_stride: int,
    fft_length: int,
    window: Any = "hann",
    center: bool = True,
):
    """Short-time Fourier transform: (real, imaginary).

    Args:
      x: Tensor.
      sequence_length: Length of a window.
      sequence_stride: Distance of windows.
      fft_length: Length of the transform.
      window: "hann", "hamming", None or an array.
      center: Whether x is padded so that windows are centered.

    Raises:
      ValueError: If the window is unknown, or fft_length is smaller than sequence_length.
    """
    if fft_length < sequence_length:
        raise ValueError(
            "`fft_length` must equal or larger than `sequence_length`. Received: "
            f"sequence_length={sequence_length}, fft_length={fft_length}"
        )
    x = floating(x)
    if center:
        half = fft_length // 2
        x = tf.pad(x, [*[[0, 0]] * (operands.rank(x) - 1), [half, half]], "REFLECT")
    frames = extract_sequences(x, fft_length, sequence_stride)
    return rfft(frames * _window(window, sequence_length, fft_length, x.dtype), fft_length)


@_math
def istft(
    x: Any,
    sequence_length: int,
    sequence_stride: int,
    fft_length: int,
    length: int | None = None,
    window: Any = "hann",
    center: bool = True,
):
    """Inverse of stft.

    Args:
      x: (real, imaginary).
      sequence_length: Length of a window.
      sequence_stride: Distance of windows.
      fft_length: Length of the transform.
      length: Length of the result; default: as long as the windows reach.
      window: "hann", "hamming", None or an array.
      center: Whether stft centered the windows.
    """
    frames = irfft(x, fft_length)
    shape = _window(window, sequence_length, fft_length, frames.dtype)
    count = frames.shape.as_list()[-2]
    total = fft_length + sequence_stride * (count - 1)
    places = (numpy.arange(count)[:, None] * sequence_stride + numpy.arange(fft_length)).ravel()
    places = tf.constant(places.astype("int32"))
    lead = sizes(frames)[:-2]
    flat = tf.transpose(tf.reshape(frames * shape, [-1, count * fft_length]))
    summed = tf.transpose(tf.math.unsorted_segment_sum(flat, places, total))
    squares = tf.reshape(tf.zeros([count, 1], frames.dtype) + tf.square(shape), [-1])
    weight = tf.math.unsorted_segment_sum(squares, places, total)
    result = tf.reshape(tf.math.divide_no_nan(summed, weight), [*lead, total])
    begin = fft_length // 2 if center else 0
    end = begin + length if length is not None else (total - begin if center else total)
    return result[..., begin:end]


@_math
def view_as_complex(x: Any):
    """Returns complex numbers whose parts are along the last axis.

    Args:
      x: Real tensor whose last axis has size 2.

    Raises:
      ValueError: If the last axis has another size.
    """
    x = tensor(x)
    if not x.shape.rank or x.shape.as_list()[-1] != 2:
        raise ValueError(
            "Last dimension of input must be size 2 (real and imaginary). Received shape: "
            f"{tuple(x.shape.as_list())}"
        )
    return tf.complex(*[tf.cast(part, "float32") for part in tf.unstack(x, axis=-1)])


@_math
def view_as_real(x: Any):
    """Returns the real and imaginary parts of complex numbers along a new last axis.

    Args:
      x: Complex tensor.
    """
    x = tf.convert_to_tensor(x)
    return tf.stack([tf.math.real(x), tf.math.imag(x)], -1)


@operation("nn", "nn")
def polar(abs_: Any, angle: Any):
    """Returns complex numbers with absolute values and angles in radians.

    Args:
      abs_: Absolute values.
      angle: Angles.
    """
    abs_, angle = floating(abs_), floating(angle)
    return tf.complex(abs_ * tf.cos(angle), abs_ * tf.sin(angle))


unsupported_function("ops.nextafter", "situ has no kernel for it.")
unsupported_function("ops.numpy.nextafter", "situ has no kernel for it.")
