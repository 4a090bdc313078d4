# SPDX-License-Identifier: Apache-2.0
"""layers_audio.py: layers of Keras 3 that compute spectrograms."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy

from situ._src.framework import api, tensor_shape
from situ._src.keras import context, initializers
from situ._src.keras.input_spec import InputSpec
from situ._src.keras.layer import Layer
from situ._src.keras.layers_core import named
from situ._src.keras.registry import keras_export
from situ._src.ops import init_ops
from situ._src.ops.array_ops import cast, convert_to_tensor, op, transpose

_MODES = ("log", "magnitude", "psd", "real", "imag", "angle", "stft")
_SCALINGS = (None, "density", "spectrum")


def _window(window, length, is_periodic):
    """Returns a window of a length: that of a name, or an array."""
    if not isinstance(window, str):
        return numpy.asarray(window, "float64")
    points = length if is_periodic else length - 1
    angle = 2 * numpy.pi * numpy.arange(length) / max(points, 1)
    made = {
        "hann": 0.5 - 0.5 * numpy.cos(angle),
        "hamming": 0.54 - 0.46 * numpy.cos(angle),
        "blackman": 0.42 - 0.5 * numpy.cos(angle) + 0.08 * numpy.cos(2 * angle),
        "boxcar": numpy.ones(length),
        "ones": numpy.ones(length),
        "rectangular": numpy.ones(length),
        "bartlett": 1 - numpy.abs(2 * numpy.arange(length) / max(points, 1) - 1),
    }
    if window not in made:
        raise ValueError(f"Unknown window {window!r}. situ has: {sorted(made)}, and arrays.")
    return made[window] if length > 1 else numpy.ones(1)


@keras_export("initializers.STFT", "initializers.STFTInitializer", "initializers.stft")
class STFT(init_ops.Initializer):
    """Initializer of the kernels of short-time Fourier transforms.

    Args:
      side: "real" or "imag": the cosines or the sines.
      window: Name of a window, an array of the frame length, or None.
      scaling: "density", "spectrum" or None.
      periodic: Whether a window by name is periodic instead of symmetric.

    Raises:
      ValueError: If an argument is unknown.
    """

    def __init__(
        self,
        side: str = "real",
        window: str = "hann",
        scaling: str = "density",
        periodic: bool = False,
    ):
        if side not in ("real", "imag"):
            raise ValueError(f"side should be 'real' or 'imag', not {side}")
        if scaling not in _SCALINGS:
            raise ValueError(
                "Scaling is invalid, it must be `None`, 'density' or 'spectrum'. Received "
                f"scaling={scaling}"
            )
        if isinstance(window, str):
            _window(window, 1, periodic)
        self.side, self.window, self.scaling, self.periodic = side, window, scaling, periodic

    def __call__(self, shape, dtype=None, **kwargs):
        if kwargs:
            raise TypeError(f"Unexpected arguments of STFT: {sorted(kwargs)}")
        length, _, bins = tensor_shape.as_shape(shape).as_list()
        turns = numpy.outer(numpy.arange(length), numpy.arange(bins) / ((bins - 1) * 2.0))
        kernel = (numpy.cos if self.side == "real" else numpy.sin)(-2 * numpy.pi * turns)
        if self.window is not None:
            window = _window(self.window, length, self.periodic)
            if window.shape != (length,):
                raise ValueError(
                    "The shape of `window` must be equal to [frame_length]. Received: window "
                    f"shape={window.shape}"
                )
            scale = {
                None: 1.0,
                "density": numpy.sqrt((window**2).sum()),
                "spectrum": numpy.abs(window).sum(),
            }[self.scaling]
            kernel = kernel * window[:, None] / scale
        return cast(kernel[:, None, :], dtype or context.setting("float"))

    def get_config(self) -> dict[str, Any]:
        return {
            "side": self.side,
            "window": self.window,
            "periodic": self.periodic,
            "scaling": self.scaling,
        }


for _name in ("STFT", "STFTInitializer", "stft"):
    initializers.KIND.add(STFT, _name)


def _check_frames(frame_length, frame_step, fft_length):
    """Raises a ValueError for sizes of frames that do not fit."""
    if frame_step is not None and not 1 <= frame_step <= frame_length:
        raise ValueError(
            "`frame_step` should be a positive integer not greater than `frame_length`. Received "
            f"frame_step={frame_step}, frame_length={frame_length}"
        )
    if fft_length is None:
        return
    if fft_length < frame_length:
        raise ValueError(
            "`fft_length` should be not less than `frame_length`. Received "
            f"fft_length={fft_length}, frame_length={frame_length}"
        )
    if fft_length & -fft_length != fft_length:
        warnings.warn(
            f"`fft_length` is recommended to be a power of two. Received fft_length={fft_length}",
            stacklevel=3,
        )


@named("STFTSpectrogram")
class STFTSpectrogram(Layer):
    """Spectrogram of signals, computed by convolutions whose kernels can be trained.

    Args:
      mode: "log", "magnitude", "psd", "real", "imag", "angle" or "stft" (real and imaginary parts).
      frame_length: Length of a frame.
      frame_step: Distance of frames; default: half the length.
      fft_length: Length of the transform; default: the next power of 2 from frame_length on.
      window: Name of a window, an array of the frame length, or None.
      periodic: Whether a window by name is periodic instead of symmetric.
      scaling: "density", "spectrum" or None.
      padding: "valid" or "same".
      expand_dims: Whether the output has axes of frequencies and channels instead of their product.
      data_format: "channels_last" or "channels_first".
      **kwargs: Arguments of `Layer`.

    Call arguments:
      inputs: Tensor of shape `(batch, time, channels)`.

    Raises:
      ValueError: If an argument is invalid.
    """

    def __init__(
        self,
        mode: str = "log",
        frame_length: int = 256,
        frame_step: int | None = None,
        fft_length: int | None = None,
        window: Any = "hann",
        periodic: bool = False,
        scaling: Any = "density",
        padding: str = "valid",
        expand_dims: bool = False,
        data_format: str | None = None,
        **kwargs,
    ) -> None:
        _check_frames(frame_length, frame_step, fft_length)
        if mode not in _MODES:
            raise ValueError(
                f"Output mode is invalid, it must be one of {', '.join(_MODES)}. Received: "
                f"mode={mode}"
            )
        if padding not in ("valid", "same"):
            raise ValueError(
                f"Padding is invalid, it should be 'valid', 'same'. Received: padding={padding}"
            )
        super().__init__(**kwargs)
        self.mode, self.frame_length, self.frame_step = mode, frame_length, frame_step
        self.fft_length, self.window, self.periodic = fft_length, window, periodic
        self.scaling, self.padding, self.expand_dims = scaling, padding, expand_dims
        self.data_format = data_format or context.setting("format")
        self.input_spec = InputSpec(ndim=3)
        STFT("real", window, scaling, periodic)  # raises the error of invalid arguments

    def build(self, input_shape):
        transform = self.fft_length or 2 ** math.ceil(math.log2(self.frame_length))
        shape = [self.frame_length, 1, transform // 2 + 1]
        for side in ("real", "imag"):
            if self.mode not in ("real", "imag") or self.mode == side:
                start = STFT(side, self.window, self.scaling, self.periodic)
                weight = self.add_weight(side + "_kernel", shape, initializer=start)
                setattr(self, side + "_kernel", weight)
        self.built = True

    def _transform(self, inputs, kernel):
        """Returns a tensor of shape (batch, channels, frequencies, time)."""
        channels = inputs.shape.as_list()[1]
        steps = op("Shape", inputs)[2]
        rows = op("Reshape", inputs, op("Pack", [convert_to_tensor(-1), steps, 1]))
        step = self.frame_step or self.frame_length // 2
        convolve = api.named("keras3.ops.conv")
        made = convolve(rows, cast(kernel, inputs.dtype), step, self.padding, "channels_last")
        made = transpose(made, [0, 2, 1])
        sizes = [-1, channels, made.shape.as_list()[1], op("Shape", made)[2]]
        result = op("Reshape", made, op("Pack", [convert_to_tensor(s, "int32") for s in sizes]))
        result.set_shape([inputs.shape.as_list()[0], *sizes[1:3], made.shape.as_list()[2]])
        return result

    def _arranged(self, x):
        """Returns a result in the order of axes of the data format."""
        is_last = self.data_format == "channels_last"
        if self.expand_dims:
            return transpose(x, [0, 3, 2, 1] if is_last else [0, 1, 3, 2])
        known = x.shape.as_list()
        steps = op("Shape", x)[3]
        sizes = op("Pack", [convert_to_tensor(-1), convert_to_tensor(known[1] * known[2]), steps])
        flat = op("Reshape", x, sizes)
        flat.set_shape([known[0], known[1] * known[2], known[3]])
        return transpose(flat, [0, 2, 1]) if is_last else flat

    def call(self, inputs):
        if self.data_format == "channels_last":
            inputs = transpose(inputs, [0, 2, 1])
        real = None if self.mode == "imag" else self._transform(inputs, self.real_kernel)
        imag = None if self.mode == "real" else self._transform(inputs, self.imag_kernel)
        if self.mode in ("real", "imag"):
            return self._arranged(real if imag is None else imag)
        if self.mode == "angle":
            return self._arranged(op("Atan2", imag, real))
        if self.mode == "stft":
            return self._arranged(op("ConcatV2", [real, imag], 2))
        power = op("Square", real) + op("Square", imag)
        if self.mode == "psd":
            inner = op("Pad", power[:, :, 1:-1], [[0, 0], [0, 0], [1, 1], [0, 0]])
            return self._arranged(power + inner)
        least = convert_to_tensor(context.setting("epsilon"), power.dtype)
        result = self._arranged(op("Sqrt", op("Maximum", power, least)))
        return result if self.mode == "magnitude" else op("Log", op("Maximum", result, least))

    def get_config(self) -> dict[str, Any]:
        names = (
            "mode",
            "frame_length",
            "frame_step",
            "fft_length",
            "window",
            "periodic",
            "scaling",
            "padding",
            "data_format",
            "expand_dims",
        )
        return {**super().get_config(), **{n: getattr(self, n) for n in names}}


@named("MelSpectrogram")
class MelSpectrogram(Layer):
    """Spectrogram of signals on the mel scale.

    Args:
      fft_length: Length of the transform.
      sequence_stride: Distance of windows.
      sequence_length: Length of a window; default: fft_length.
      window: "hann", "hamming", None or an array.
      sampling_rate: Sampling rate of the signals in Hertz.
      num_mel_bins: Number of bins.
      min_freq: Lowest frequency.
      max_freq: Highest frequency; default: half the sampling rate.
      power_to_db: Whether to return decibels.
      top_db: Largest distance from the maximum in decibels.
      mag_exp: Exponent of the magnitudes.
      min_power: Least power.
      ref_power: Power of 0 decibels.
      **kwargs: Arguments of `Layer`.

    Call arguments:
      inputs: Tensor of shape `(batch, time)` or `(time,)`.

    Returns:
      Tensor of shape `(batch, num_mel_bins, windows)`.

    Raises:
      ValueError: If fft_length is smaller than sequence_length.
    """

    def __init__(
        self,
        fft_length: int = 2048,
        sequence_stride: int = 512,
        sequence_length: int | None = None,
        window: Any = "hann",
        sampling_rate: int = 16000,
        num_mel_bins: int = 128,
        min_freq: float = 20.0,
        max_freq: float | None = None,
        power_to_db: bool = True,
        top_db: float = 80.0,
        mag_exp: float = 2.0,
        min_power: float = 1e-10,
        ref_power: float = 1.0,
        **kwargs,
    ) -> None:
        super().__init__(**kwargs)
        self.fft_length, self.sequence_stride = fft_length, sequence_stride
        self.sequence_length = sequence_length or fft_length
        if fft_length < self.sequence_length:
            raise ValueError(
                "`fft_length` must be greater than or equal to `sequence_length`. Received: "
                f"`sequence_length`={self.sequence_length}, `fft_length`={fft_length}."
            )
        self.window, self.sampling_rate, self.num_mel_bins = window, sampling_rate, num_mel_bins
        self.min_freq, self.max_freq = min_freq, max_freq or int(sampling_rate / 2)
        self.power_to_db, self.top_db, self.mag_exp = power_to_db, top_db, mag_exp
        self.min_power, self.ref_power = min_power, ref_power

    def call(self, inputs):
        wide = inputs if inputs.dtype.size >= 4 else cast(inputs, "float32")
        real, imag = api.named("keras3.ops.stft")(
            wide, self.sequence_length, self.sequence_stride, self.fft_length, self.window
        )
        size = op("Sqrt", op("Square", real) + op("Square", imag))
        power = op("Pow", size, convert_to_tensor(self.mag_exp, size.dtype))
        matrix = api.named("signal.linear_to_mel_weight_matrix")(
            self.num_mel_bins,
            self.fft_length // 2 + 1,
            self.sampling_rate,
            self.min_freq,
            self.max_freq,
            dtype=power.dtype,
        )
        result = api.named("tensordot")(power, matrix, 1)
        if self.power_to_db:
            result = self._decibels(result)
        axes = list(range(result.shape.rank - 2))
        return cast(transpose(result, [*axes, len(axes) + 1, len(axes)]), inputs.dtype)

    def _decibels(self, power):
        least = convert_to_tensor(self.min_power, power.dtype)
        reference = 10.0 * math.log10(max(abs(self.ref_power), self.min_power))
        result = op("Log", op("Maximum", power, least)) * (10.0 / math.log(10.0)) - reference
        return op("Maximum", result, op("Max", result) - self.top_db)

    def get_config(self) -> dict[str, Any]:
        names = (
            "fft_length",
            "sequence_stride",
            "sequence_length",
            "window",
            "sampling_rate",
            "num_mel_bins",
            "min_freq",
            "max_freq",
            "power_to_db",
            "top_db",
            "mag_exp",
            "min_power",
            "ref_power",
        )
        return {**super().get_config(), **{n: getattr(self, n) for n in names}}
