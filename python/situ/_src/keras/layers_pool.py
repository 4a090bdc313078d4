# SPDX-License-Identifier: Apache-2.0
"""layers_pool.py: 1-D and 2-D max and average pooling; zero padding, cropping, upsampling."""

from __future__ import annotations

from typing import Any

from situ._src.framework import api
from situ._src.keras import context
from situ._src.keras.layer import Layer
from situ._src.keras.layers_conv import normalize_tuple
from situ._src.keras.layers_core import named
from situ._src.ops.array_ops import cast, op
from situ._src.ops.nn import pool
from situ._src.ops.ragged_tensor import RaggedTensor

_POOL_FUNCTIONS = {"Max": pool.max_pool, "Average": pool.avg_pool}


class _Pool(Layer):
    """Base class of pooling over windows."""

    RANK, FUNCTION = 2, None

    def __init__(self, pool_size=2, strides=None, padding="valid", data_format=None, **kwargs):
        super().__init__(**kwargs)
        self.pool_size = normalize_tuple(pool_size, self.RANK, "pool_size")
        self.strides = (
            self.pool_size if strides is None else normalize_tuple(strides, self.RANK, "strides")
        )
        self.padding, self.data_format = padding.lower(), data_format or context.setting("format")

    def call(self, inputs):
        first = self.data_format == "channels_first"
        layout = "NCHW" if first else "NHWC"
        pool = type(self).FUNCTION
        if self.RANK == 2:
            return pool(inputs, self.pool_size, self.strides, self.padding.upper(), layout)
        axis = 2 if first else 1
        outputs = pool(
            op("ExpandDims", inputs, axis),
            (1, *self.pool_size),
            (1, *self.strides),
            self.padding.upper(),
            layout,
        )
        return op("Squeeze", outputs, [axis])

    def get_config(self):
        return {
            **super().get_config(),
            "pool_size": self.pool_size,
            "strides": self.strides,
            "padding": self.padding,
            "data_format": self.data_format,
        }


class _Global(Layer):
    """Base class of pooling over all steps or pixels."""

    RANK, OP = 2, None

    def __init__(self, data_format=None, keepdims=False, **kwargs):
        super().__init__(**kwargs)
        self.data_format, self.keepdims = data_format or context.setting("format"), keepdims

    def axes(self):
        begin = 2 if self.data_format == "channels_first" else 1
        return list(range(begin, begin + self.RANK))

    def call(self, inputs):
        return op(self.OP, inputs, self.axes(), keep_dims=self.keepdims)

    def get_config(self):
        return {**super().get_config(), "data_format": self.data_format, "keepdims": self.keepdims}


class _MaskedMean(_Global):
    """Global average pooling that skips masked steps."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.supports_masking = True

    def call(self, inputs, mask=None):
        if isinstance(inputs, RaggedTensor):
            return self._of_ragged(inputs)
        if mask is None:
            return super().call(inputs)
        mask = op("ExpandDims", cast(mask, inputs.dtype), 2)
        total = op("Sum", inputs * mask, [1], keep_dims=self.keepdims)
        return total / op("Sum", mask, [1], keep_dims=self.keepdims)

    def _of_ragged(self, inputs):
        """Returns the means of the rows of a ragged tensor."""
        return api.named("reduce_mean")(inputs, axis=self.axes()[0], keepdims=self.keepdims)

    def compute_mask(self, inputs, mask=None):
        return None


_SHAPES = "(batch, steps, features)", "(batch, height, width, channels)"
_POOL_DOC = """{} pooling over {}-D windows.

Args:
  pool_size: Size of the window: an int, or one per dimension.
  strides: Distance between windows; default: pool_size.
  padding: "valid" or "same".
  data_format: "channels_last" or "channels_first".

Call arguments:
  inputs: Tensor of shape `{}`.
"""
_GLOBAL_DOC = """{} pooling over all positions of {}-D inputs.

Args:
  data_format: "channels_last" or "channels_first".
  keepdims: Whether to keep the reduced dimensions with size 1.

Call arguments:
  inputs: Tensor of shape `{}`.

Returns:
  Tensor of shape `(batch, channels)`, or of the input's rank with keepdims.
"""


def _make():
    """Defines the pooling layers."""
    for kind, function in _POOL_FUNCTIONS.items():
        for rank in (1, 2):
            name = f"{kind}Pooling{rank}D"
            short = name.replace("Average", "Avg").replace("Pooling", "Pool")
            named(name, short)(
                type(
                    name,
                    (_Pool,),
                    {
                        "RANK": rank,
                        "FUNCTION": staticmethod(function),
                        "__doc__": _POOL_DOC.format(kind, rank, _SHAPES[rank - 1]),
                    },
                )
            )
            name, short = "Global" + name, "Global" + short
            base = _MaskedMean if rank == 1 and kind == "Average" else _Global
            named(name, short)(
                type(
                    name,
                    (base,),
                    {
                        "RANK": rank,
                        "OP": "Max" if kind == "Max" else "Mean",
                        "__doc__": _GLOBAL_DOC.format(kind, rank, _SHAPES[rank - 1]),
                    },
                )
            )


_make()


def _pairs(value, rank, what):
    """Returns (before, after) for each of `rank` dimensions."""
    if isinstance(value, int):
        return ((value, value),) * rank
    if rank == 1 and len(value) == 2 and all(isinstance(v, int) for v in value):
        return (tuple(value),)
    if len(value) != rank:
        raise ValueError(f"`{what}` should have {rank} elements. Found: {value}.")
    return tuple((v, v) if isinstance(v, int) else tuple(v) for v in value)


class _Border(Layer):
    """Base class of padding and cropping."""

    RANK, ARGUMENT = 2, ""

    def __init__(self, amount=1, data_format=None, **kwargs):
        super().__init__(**kwargs)
        self.data_format = data_format or context.setting("format")
        self.amount = _pairs(amount, self.RANK, self.ARGUMENT)

    def spread(self, whole):
        """Returns one pair for each dimension of the input."""
        inner = list(self.amount)
        return (
            [whole, whole, *inner]
            if self.data_format == "channels_first" and self.RANK > 1
            else [whole, *inner, whole]
        )

    def get_config(self):
        config = {**super().get_config(), self.ARGUMENT: self.amount}
        return {**config, "data_format": self.data_format} if self.RANK > 1 else config


class _Padding(_Border):
    """Pads with zeros.

    Args:
      padding: An int for all sides, an int per dimension, or a pair (before, after) per dimension.
      data_format: "channels_last" or "channels_first".

    Call arguments:
      inputs: Tensor of shape `(batch, ..., channels)`.
    """

    ARGUMENT = "padding"

    def __init__(self, padding=1, data_format=None, **kwargs):
        super().__init__(padding, data_format, **kwargs)
        self.padding = self.amount

    def call(self, inputs):
        return op("Pad", inputs, [list(p) for p in self.spread((0, 0))])


class _Cropping(_Border):
    """Removes the borders.

    Args:
      cropping: An int for all sides, an int per dimension, or a pair (before, after) per dimension;
        default: 1, for images 0.
      data_format: "channels_last" or "channels_first".

    Call arguments:
      inputs: Tensor of shape `(batch, ..., channels)`.
    """

    ARGUMENT = "cropping"

    def __init__(self, cropping=None, data_format=None, **kwargs):
        if cropping is None:
            cropping = 0 if self.RANK == 2 else 1
        super().__init__(cropping, data_format, **kwargs)
        self.cropping = self.amount

    def call(self, inputs):
        return inputs[tuple(slice(a, -b if b else None) for a, b in self.spread((0, 0)))]


for _rank in (1, 2, 3):
    for _base, _name in ((_Padding, "ZeroPadding"), (_Cropping, "Cropping")):
        named(f"{_name}{_rank}D")(
            type(f"{_name}{_rank}D", (_base,), {"RANK": _rank, "__doc__": _base.__doc__})
        )


@named("UpSampling2D")
class UpSampling2D(Layer):
    """Upsamples images by repeating or interpolating pixels.

    Args:
      size: Factors of height and width; one int for both.
      data_format: "channels_last" or "channels_first".
      interpolation: "nearest", "bilinear" or another method of `tf.image.resize`.

    Call arguments:
      inputs: Tensor of shape `(batch, height, width, channels)`.
    """

    def __init__(
        self, size=(2, 2), data_format: str | None = None, interpolation="nearest", **kwargs
    ) -> None:
        super().__init__(**kwargs)
        self.size, self.interpolation = normalize_tuple(size, 2, "size"), interpolation
        self.data_format = data_format or context.setting("format")

    def call(self, inputs):
        first = self.data_format == "channels_first"
        if first:
            inputs = op("Transpose", inputs, [0, 2, 3, 1])
        rows, columns = inputs.shape.as_list()[1:3]
        if self.interpolation == "nearest":
            outputs = repeated(repeated(inputs, 1, self.size[0]), 2, self.size[1])
        else:
            sizes = op("Shape", inputs)
            high = sizes[1] if rows is None else rows
            wide = sizes[2] if columns is None else columns
            outputs = api.named("image.resize")(
                inputs, [high * self.size[0], wide * self.size[1]], self.interpolation
            )
        return op("Transpose", outputs, [0, 3, 1, 2]) if first else outputs

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "size": self.size,
            "data_format": self.data_format,
            "interpolation": self.interpolation,
        }


def repeated(x, axis, times):
    """Repeats every slice along an axis."""
    known = x.shape.as_list()
    wide = op("ExpandDims", x, axis + 1)
    tiles = [1] * (len(known) + 1)
    tiles[axis + 1] = times
    now = op("Shape", x) if sum(d is None for d in known) > 1 else None
    sizes = [d if d is not None else -1 if now is None else now[i] for i, d in enumerate(known)]
    sizes[axis] = sizes[axis] * times if known[axis] is not None or now is not None else -1
    return op("Reshape", op("Tile", wide, tiles), sizes)


@named("UpSampling1D")
class UpSampling1D(Layer):
    """Repeats each time step.

    Args:
      size: Number of repetitions.

    Call arguments:
      inputs: Tensor of shape `(batch, steps, features)`.
    """

    def __init__(self, size=2, **kwargs) -> None:
        super().__init__(**kwargs)
        self.size = int(size)

    def call(self, inputs):
        return repeated(inputs, 1, self.size)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "size": self.size}


@named("UpSampling3D")
class UpSampling3D(Layer):
    """Repeats the elements of volumes along three dimensions.

    Args:
      size: Factors of the dimensions; one int for all.
      data_format: "channels_last" or "channels_first".

    Call arguments:
      inputs: Tensor of shape `(batch, depth, height, width, channels)`.
    """

    def __init__(self, size=(2, 2, 2), data_format: str | None = None, **kwargs) -> None:
        super().__init__(**kwargs)
        self.size = normalize_tuple(size, 3, "size")
        self.data_format = data_format or context.setting("format")

    def call(self, inputs):
        start = 2 if self.data_format == "channels_first" else 1
        for i, times in enumerate(self.size):
            inputs = repeated(inputs, start + i, times)
        return inputs

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "size": self.size, "data_format": self.data_format}
