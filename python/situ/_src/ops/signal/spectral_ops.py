# SPDX-License-Identifier: Apache-2.0
"""spectral_ops.py: tf.signal: short-time Fourier transforms, modified discrete cosine transforms,
mel spectrograms and MFCCs."""

from __future__ import annotations

import math

from situ._src.framework.api import export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import scope
from situ._src.framework.tensor import GraphTensor, constant_value
from situ._src.ops.array_ops import cast, convert_to_tensor, op
from situ._src.ops.reduction_ops import linspace
from situ._src.ops.signal.dct_ops import dct
from situ._src.ops.signal.fft_ops import irfft, rfft
from situ._src.ops.signal.frame_ops import (
    at_least_0,
    dims_of,
    frame,
    overlap_and_add,
    pad_axis,
    scalar,
)
from situ._src.ops.signal.window_ops import hann_window, vorbis_window

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, Callable, DTypeLike, Tensor, TensorLike


def _enclosing_power_of_two(length):
    if isinstance(length, int):
        return 1 << max(0, length - 1).bit_length()
    exponent = op("Ceil", op("Log", cast(length, "float64")) / math.log(2.0))
    return cast(op("Rint", op("Pow", convert_to_tensor(2.0, "float64"), exponent)), "int32")


def _fft_length(fft_length, length):
    if fft_length is None:
        return _enclosing_power_of_two(length)
    return scalar(fft_length, "fft_length")


@export("signal.stft")
def stft(
    signals: TensorLike,
    frame_length: TensorLike,
    frame_step: TensorLike,
    fft_length: TensorLike = None,
    window_fn: Callable | None = hann_window,
    pad_end: bool = False,
    name: str | None = None,
) -> Tensor:
    """Computes the short-time Fourier transform of signals.

    Args:
      signals: A float32 or float64 tensor of shape [..., samples].
      frame_length: The length of the window, an integer scalar.
      frame_step: The number of samples between windows, an integer scalar.
      fft_length: The length of the FFT; by default the smallest power of 2 that holds a frame.
      window_fn: A function of a length and the keyword `dtype` that returns a window, or None.
      pad_end: Whether frames that reach over the end are padded with zeros; otherwise they are left
        out.
      name: A name for the operation (optional).

    Returns:
      A complex64 or complex128 tensor of shape [..., frames, fft_length // 2 + 1].

    Raises:
      ValueError: If the rank of `signals` is 0, or a length is not a scalar.
    """
    with scope(name, "stft"):
        signals = convert_to_tensor(signals)
        signals.shape.with_rank_at_least(1)
        length, step = scalar(frame_length, "frame_length"), scalar(frame_step, "frame_step")
        frames = frame(signals, length, step, pad_end=pad_end)
        if window_fn is not None:
            frames = frames * window_fn(length, dtype=frames.dtype)
        return rfft(frames, [_fft_length(fft_length, length)])


@export("signal.inverse_stft_window_fn")
def inverse_stft_window_fn(
    frame_step: TensorLike, forward_window_fn: Callable = hann_window, name: str | None = None
) -> Callable:
    """Returns a window function with which `tf.signal.inverse_stft` inverts `tf.signal.stft`.

    Args:
      frame_step: The number of samples between windows, an integer scalar.
      forward_window_fn: The window function of `tf.signal.stft`.
      name: A name for the operations (optional).

    Returns:
      A function of a length and the keyword `dtype` that returns the forward window divided by the
      sum of the squares of all windows that overlap.
    """

    def inverse_stft_window_fn_inner(frame_length, dtype):
        with scope(name, "inverse_stft_window_fn"):
            step = scalar(frame_step, "frame_step")
            length = scalar(frame_length, "frame_length")
            window = forward_window_fn(length, dtype=dtype)
            overlaps = -(-length // step)
            sums = pad_axis(op("Square", window), 0, overlaps * step - length)
            sums = op("Sum", op("Reshape", sums, [overlaps, step]), [0], keep_dims=True)
            sums = op("Reshape", op("Tile", sums, [overlaps, 1]), [-1])
            return op("DivNoNan", window, sums[:length])  # 0 where no window is

    return inverse_stft_window_fn_inner


@export("signal.inverse_stft")
def inverse_stft(
    stfts: TensorLike,
    frame_length: TensorLike,
    frame_step: TensorLike,
    fft_length: TensorLike = None,
    window_fn: Callable | None = hann_window,
    name: str | None = None,
) -> Tensor:
    """Computes the inverse short-time Fourier transform.

    Args:
      stfts: A complex64 or complex128 tensor of shape [..., frames, fft_length // 2 + 1].
      frame_length: The length of the window, an integer scalar.
      frame_step: The number of samples between windows, an integer scalar.
      fft_length: The length of the FFT; by default the smallest power of 2 that holds a frame.
      window_fn: A function of a length and the keyword `dtype` that returns a window, or None. See
        `tf.signal.inverse_stft_window_fn`.
      name: A name for the operation (optional).

    Returns:
      A float32 or float64 tensor of shape [..., samples].

    Raises:
      ValueError: If the rank of `stfts` is less than 2, or a length is not a scalar.
    """
    with scope(name, "inverse_stft"):
        stfts = convert_to_tensor(stfts)
        stfts.shape.with_rank_at_least(2)
        length, step = scalar(frame_length, "frame_length"), scalar(frame_step, "frame_step")
        frames = irfft(stfts, [_fft_length(fft_length, length)])
        rank = frames.shape.rank
        frames = pad_axis(frames, rank - 1, at_least_0(length - dims_of(frames)[-1]))[..., :length]
        if window_fn is not None:
            frames = frames * window_fn(length, dtype=frames.dtype)
        return overlap_and_add(frames, step)


@export("signal.mdct")
def mdct(
    signals: TensorLike,
    frame_length: TensorLike,
    window_fn: Callable | None = vorbis_window,
    pad_end: bool = False,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Computes the modified discrete cosine transform of signals.

    Args:
      signals: A float32 or float64 tensor of shape [..., samples].
      frame_length: The length of the window, an integer scalar divisible by 4.
      window_fn: A function of a length and the keyword `dtype` that returns a window; None for a
        constant window of 1 / sqrt(2).
      pad_end: Whether frames that reach over the end are padded with zeros; otherwise they are left
        out.
      norm: None, or "ortho" for an orthonormal transform.
      name: A name for the operation (optional).

    Returns:
      A tensor of shape [..., frames, frame_length // 2].

    Raises:
      ValueError: If the rank of `signals` is 0, or `frame_length` is not a scalar divisible by 4.
    """
    with scope(name, "mdct"):
        signals = convert_to_tensor(signals)
        signals.shape.with_rank_at_least(1)
        length = scalar(frame_length, "frame_length")
        if isinstance(length, int) and length % 4:
            raise ValueError("The frame length must be a multiple of 4.")
        frames = frame(signals, length, length // 2, pad_end=pad_end)
        if window_fn is None:
            frames = frames * (1.0 / math.sqrt(2))
        else:
            frames = frames * window_fn(length, dtype=frames.dtype)
        quarter = length // 4
        a, b = frames[..., :quarter], frames[..., quarter : 2 * quarter]
        c, d = frames[..., 2 * quarter : 3 * quarter], frames[..., 3 * quarter :]
        folded = op("ConcatV2", [-c[..., ::-1] - d, a - b[..., ::-1]], -1)
        return dct(folded, type=4, norm=norm)


@export("signal.inverse_mdct")
def inverse_mdct(
    mdcts: TensorLike,
    window_fn: Callable | None = vorbis_window,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Computes the inverse modified discrete cosine transform.

    Args:
      mdcts: A float32 or float64 tensor of shape [..., frames, frame_length // 2].
      window_fn: The window function of `tf.signal.mdct`.
      norm: The normalization of `tf.signal.mdct`.
      name: A name for the operation (optional).

    Returns:
      A tensor of shape [..., (frames + 1) * (frame_length // 2)].

    Raises:
      ValueError: If the rank of `mdcts` is less than 2.
    """
    with scope(name, "inverse_mdct"):
        mdcts = convert_to_tensor(mdcts)
        mdcts.shape.with_rank_at_least(2)
        half = dims_of(mdcts)[-1]
        y = dct(mdcts, type=4, norm=norm)
        if norm is None:
            y = y * (0.5 / cast(convert_to_tensor(half), y.dtype))
        first, second = y[..., : half // 2], y[..., half // 2 :]
        frames = op("ConcatV2", [second, -second[..., ::-1], -first[..., ::-1], -first], -1)
        if window_fn is None:
            frames = frames * (1.0 / math.sqrt(2))
        else:
            frames = frames * window_fn(2 * half, dtype=frames.dtype)
        return overlap_and_add(frames, half)


def _check_mel(num_mel_bins, sample_rate, lower, upper, dtype):
    if num_mel_bins <= 0:
        raise ValueError(f"num_mel_bins must be positive. Got: {num_mel_bins}")
    if lower < 0.0:
        raise ValueError(f"lower_edge_hertz must be non-negative. Got: {lower}")
    if lower >= upper:
        raise ValueError(f"lower_edge_hertz {lower:.1f} >= upper_edge_hertz {upper:.1f}")
    if not isinstance(sample_rate, GraphTensor):
        if sample_rate <= 0.0:
            raise ValueError(f"sample_rate must be positive. Got: {sample_rate}")
        if upper > sample_rate / 2:
            raise ValueError(
                "upper_edge_hertz must not be larger than the Nyquist frequency (sample_rate / 2). "
                f"Got {upper} for sample_rate: {sample_rate}"
            )
    if not dtype.is_floating:
        raise ValueError(f"dtype must be a floating point type. Got: {dtype}")


def _mel(hertz):
    """Returns frequencies on the mel scale."""
    return 1127.0 * op("Log", 1.0 + hertz / 700.0)


@export("signal.linear_to_mel_weight_matrix")
def linear_to_mel_weight_matrix(
    num_mel_bins: int = 20,
    num_spectrogram_bins: TensorLike = 129,
    sample_rate: TensorLike = 8000,
    lower_edge_hertz: float = 125.0,
    upper_edge_hertz: float = 3800.0,
    dtype: DTypeLike = "float32",
    name: str | None = None,
) -> Tensor:
    """Returns a matrix that converts spectrograms from a linear scale to the mel scale.

    Args:
      num_mel_bins: The number of bands on the mel scale.
      num_spectrogram_bins: The number of frequencies of the spectrogram, from 0 to half the sample
        rate.
      sample_rate: Samples per second.
      lower_edge_hertz: The lowest frequency of the mel spectrogram.
      upper_edge_hertz: The highest frequency of the mel spectrogram.
      dtype: A floating-point type.
      name: A name for the operation (optional).

    Returns:
      A tensor of shape [num_spectrogram_bins, num_mel_bins]: triangular bands of height 1.

    Raises:
      ValueError: If a number is not positive, or the frequencies are not in order.
    """
    with scope(name, "linear_to_mel_weight_matrix"):
        dtype = as_dtype(dtype)
        rate: Any = sample_rate
        if hasattr(rate, "dtype") and constant_value(convert_to_tensor(rate)) is not None:
            rate = float(constant_value(convert_to_tensor(rate)))
        _check_mel(num_mel_bins, rate, lower_edge_hertz, upper_edge_hertz, dtype)
        rate = cast(convert_to_tensor(rate), dtype)
        zero = convert_to_tensor(0.0, dtype)
        # The band of frequency 0 is empty.
        frequencies = linspace(zero, rate / 2.0, num_spectrogram_bins)[1:]
        bins = op("ExpandDims", _mel(frequencies), 1)
        low = _mel(convert_to_tensor(lower_edge_hertz, dtype))
        high = _mel(convert_to_tensor(upper_edge_hertz, dtype))
        edges = op("ExpandDims", linspace(low, high, num_mel_bins + 2), 0)
        left, center, right = edges[:, :-2], edges[:, 1:-1], edges[:, 2:]
        rising = (bins - left) / (center - left)
        falling = (right - bins) / (right - center)
        weights = op("Maximum", zero, op("Minimum", rising, falling))
        return op("Pad", weights, [[1, 0], [0, 0]])


@export("signal.mfccs_from_log_mel_spectrograms")
def mfccs_from_log_mel_spectrograms(
    log_mel_spectrograms: TensorLike, name: str | None = None
) -> Tensor:
    """Computes the mel-frequency cepstral coefficients of spectrograms, as HTK scales them.

    Args:
      log_mel_spectrograms: A float32 or float64 tensor of shape [..., num_mel_bins].
      name: A name for the operation (optional).

    Returns:
      A tensor of the type and shape of `log_mel_spectrograms`.

    Raises:
      ValueError: If `num_mel_bins` is 0.
    """
    with scope(name, "mfccs_from_log_mel_spectrograms"):
        x = convert_to_tensor(log_mel_spectrograms)
        bins = dims_of(x)[-1]
        if isinstance(bins, int) and bins == 0:
            raise ValueError(f"num_mel_bins must be positive. Got: {x}")
        y = dct(x, type=2)
        return y * op("Rsqrt", cast(convert_to_tensor(bins), y.dtype) * 2.0)
