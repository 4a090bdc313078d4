# SPDX-License-Identifier: Apache-2.0
"""affine_transform.py: affine transforms of images: pixel (x, y) of the result is that of the
image at (a x + b y + c, d x + e y + f); `fill_mode` determines pixels outside of the image."""

from situ._src.ops.array_ops import cast, convert_to_tensor, op

MODES = ("reflect", "wrap", "constant", "nearest")


def _between(at, size):
    return op("ClipByValue", at, cast(0.0, at.dtype), size - 1.0)


def _mapped(at, size, mode):
    """Maps a coordinate into the image; with "constant" it may stay outside."""
    if mode == "constant":
        return at
    if mode == "reflect":
        turn = op("FloorMod", at, 2.0 * size)
        at = op("SelectV2", op("GreaterEqual", turn, size), 2.0 * size - turn - 1.0, turn)
    elif mode == "wrap":
        at = op("FloorMod", at, size)
    return _between(at, size)


def _read(images, x, y, width, height, value):
    """Returns the pixels at integer coordinates [batch, h, w]; `value` outside."""
    inside = op(
        "LogicalAnd",
        op("LogicalAnd", op("GreaterEqual", x, cast(0.0, x.dtype)), op("Less", x, width)),
        op("LogicalAnd", op("GreaterEqual", y, cast(0.0, y.dtype)), op("Less", y, height)),
    )
    column, row = (cast(_between(v, s), "int32") for v, s in ((x, width), (y, height)))
    sizes = op("Shape", images)
    flat = op("Reshape", images, op("Pack", [convert_to_tensor(-1), op("GatherV2", sizes, 3, 0)]))
    first = op("Range", cast(0, "int32"), op("GatherV2", sizes, 0, 0), cast(1, "int32"))
    first = op("Reshape", first, [-1, 1, 1]) * cast(height * width, "int32")
    result = op("GatherV2", flat, first + row * cast(width, "int32") + column, 0)
    return op("SelectV2", op("ExpandDims", inside, -1), result, cast(value, images.dtype))


def warp(images, maps, fill_mode="reflect", fill_value=0.0, interpolation="bilinear"):
    """Applies affine maps [batch, 6] to images [batch, h, w, channels]."""
    if fill_mode not in MODES:
        raise ValueError(f"Unknown `fill_mode` {fill_mode}. Only {', '.join(MODES)} are supported.")
    sizes = cast(op("Shape", images), "float32")
    height, width = (op("GatherV2", sizes, i, 0) for i in (1, 2))
    x = op("Reshape", op("Range", cast(0.0, "float32"), width, cast(1.0, "float32")), [1, 1, -1])
    y = op("Reshape", op("Range", cast(0.0, "float32"), height, cast(1.0, "float32")), [1, -1, 1])
    a, b, c, d, e, f = (op("Reshape", m, [-1, 1, 1]) for m in op("Unpack", maps, num=6, axis=1))
    at_x = _mapped(a * x + b * y + c, width, fill_mode)
    at_y = _mapped(d * x + e * y + f, height, fill_mode)
    look = lambda u, v: _read(images, u, v, width, height, fill_value)
    if interpolation == "nearest":
        result = look(op("Round", at_x), op("Round", at_y))
    else:
        left, top = op("Floor", at_x), op("Floor", at_y)
        u, v = op("ExpandDims", at_x - left, -1), op("ExpandDims", at_y - top, -1)
        above = look(left, top) * (1.0 - u) + look(left + 1.0, top) * u
        below = look(left, top + 1.0) * (1.0 - u) + look(left + 1.0, top + 1.0) * u
        result = above * (1.0 - v) + below * v
    result.set_shape(images.shape)
    return result
