# SPDX-License-Identifier: Apache-2.0
"""layers_pool.py: pooling layers of one and two dimensions, by windows and global; UpSampling."""

from situ._src.framework import api
from situ._src.keras import context
from situ._src.keras.layer import Layer
from situ._src.keras.layers_conv import normalize_tuple
from situ._src.keras.layers_core import named
from situ._src.ops.array_ops import cast, op
from situ._src.ops.nn import pool

_ROWS = {"Max": ("MaxPool", pool.max_pool), "Average": ("AvgPool", pool.avg_pool)}


class _Pool(Layer):
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
    RANK, ROW = 2, None

    def __init__(self, data_format=None, keepdims=False, **kwargs):
        super().__init__(**kwargs)
        self.data_format, self.keepdims = data_format or context.setting("format"), keepdims

    def axes(self):
        begin = 2 if self.data_format == "channels_first" else 1
        return list(range(begin, begin + self.RANK))

    def call(self, inputs):
        return op(self.ROW, inputs, self.axes(), keep_dims=self.keepdims)

    def get_config(self):
        return {**super().get_config(), "data_format": self.data_format, "keepdims": self.keepdims}


class _MaskedMean(_Global):
    """The mean over steps that are not masked."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.supports_masking = True

    def call(self, inputs, mask=None):
        if mask is None:
            return super().call(inputs)
        mask = op("ExpandDims", cast(mask, inputs.dtype), 2)
        total = op("Sum", inputs * mask, [1], keep_dims=self.keepdims)
        return total / op("Sum", mask, [1], keep_dims=self.keepdims)

    def compute_mask(self, inputs, mask=None):
        return None


def _make():
    for kind, (_, function) in _ROWS.items():
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
                        "__doc__": f"The {kind.lower()} of each window.",
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
                        "ROW": "Max" if kind == "Max" else "Mean",
                        "__doc__": f"The {kind.lower()} of each channel.",
                    },
                )
            )


_make()


def _pairs(value, rank, what):
    """Numbers on both sides of each dimension."""
    if isinstance(value, int):
        return ((value, value),) * rank
    if rank == 1 and len(value) == 2 and all(isinstance(v, int) for v in value):
        return (tuple(value),)
    if len(value) != rank:
        raise ValueError(f"`{what}` should have {rank} elements. Found: {value}.")
    return tuple((v, v) if isinstance(v, int) else tuple(v) for v in value)


class _Border(Layer):
    RANK, WORD = 2, ""

    def __init__(self, amount=1, data_format=None, **kwargs):
        super().__init__(**kwargs)
        self.data_format = data_format or context.setting("format")
        self.amount = _pairs(amount, self.RANK, self.WORD)

    def spread(self, whole):
        """One pair for each dimension of the input."""
        inner = list(self.amount)
        return (
            [whole, whole, *inner]
            if self.data_format == "channels_first" and self.RANK > 1
            else [whole, *inner, whole]
        )

    def get_config(self):
        config = {**super().get_config(), self.WORD: self.amount}
        return {**config, "data_format": self.data_format} if self.RANK > 1 else config


class _Padding(_Border):
    """Zeros around."""

    WORD = "padding"

    def __init__(self, padding=1, data_format=None, **kwargs):
        super().__init__(padding, data_format, **kwargs)
        self.padding = self.amount

    def call(self, inputs):
        return op("Pad", inputs, [list(p) for p in self.spread((0, 0))])


class _Cropping(_Border):
    """Cuts the borders off."""

    WORD = "cropping"

    def __init__(self, cropping=1, data_format=None, **kwargs):
        super().__init__(cropping, data_format, **kwargs)
        self.cropping = self.amount

    def call(self, inputs):
        return inputs[tuple(slice(a, -b if b else None) for a, b in self.spread((0, 0)))]


for _rank in (1, 2, 3):
    for _base, _word in ((_Padding, "ZeroPadding"), (_Cropping, "Cropping")):
        named(f"{_word}{_rank}D")(type(f"{_word}{_rank}D", (_base,), {"RANK": _rank}))


@named("UpSampling2D")
class UpSampling2D(Layer):
    """Each pixel several times, or interpolated."""

    def __init__(self, size=(2, 2), data_format=None, interpolation="nearest", **kwargs):
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

    def get_config(self):
        return {
            **super().get_config(),
            "size": self.size,
            "data_format": self.data_format,
            "interpolation": self.interpolation,
        }


def repeated(x, axis, times):
    """Every slice along an axis several times, one behind the other."""
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
    """Each step several times."""

    def __init__(self, size=2, **kwargs):
        super().__init__(**kwargs)
        self.size = int(size)

    def call(self, inputs):
        return repeated(inputs, 1, self.size)

    def get_config(self):
        return {**super().get_config(), "size": self.size}


@named("UpSampling3D")
class UpSampling3D(Layer):
    """Each element of a volume several times."""

    def __init__(self, size=(2, 2, 2), data_format=None, **kwargs):
        super().__init__(**kwargs)
        self.size = normalize_tuple(size, 3, "size")
        self.data_format = data_format or context.setting("format")

    def call(self, inputs):
        start = 2 if self.data_format == "channels_first" else 1
        for i, times in enumerate(self.size):
            inputs = repeated(inputs, start + i, times)
        return inputs

    def get_config(self):
        return {**super().get_config(), "size": self.size, "data_format": self.data_format}
