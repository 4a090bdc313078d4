# SPDX-License-Identifier: Apache-2.0
"""resize_filters.py: images in other sizes by weights of their rows and columns: cubic, Lanczos
and other filters, also with antialias."""

import math

from situ._src.framework.api import OPS, export
from situ._src.ops.array_ops import cast, convert_to_tensor, op


def _where(condition, one, other):
    return op("SelectV2", condition, one, other)


def _number(value):
    return convert_to_tensor(value, "float32")


def _cubic(b, c):
    """The family of cubic filters of Mitchell and Netravali."""

    def kernel(x):
        near = ((12 - 9 * b - 6 * c) * x * x * x + (-18 + 12 * b + 6 * c) * x * x + 6 - 2 * b) / 6
        far = (
            (-b - 6 * c) * x * x * x
            + (6 * b + 30 * c) * x * x
            - (12 * b + 48 * c) * x
            + 8 * b
            + 24 * c
        ) / 6
        return _where(op("Less", x, _number(1.0)), near, far)

    return kernel, 2.0


def _lanczos(radius):
    def kernel(x):
        safe = _where(op("Less", x, _number(1e-3)), op("OnesLike", x), x)
        made = (
            radius
            * op("Sin", math.pi * safe)
            * op("Sin", math.pi * safe / radius)
            / (math.pi**2 * safe * safe)
        )
        return _where(op("Less", x, _number(1e-3)), op("OnesLike", x), made)

    return kernel, radius


def _gaussian(x):
    return op("Exp", -2.0 * x * x)


KERNELS = {
    "bicubic": _cubic(0.0, 0.5),
    "mitchellcubic": _cubic(1 / 3, 1 / 3),
    "lanczos3": _lanczos(3.0),
    "lanczos5": _lanczos(5.0),
    "gaussian": (_gaussian, 1.5),
    "bilinear": (lambda x: 1.0 - x, 1.0),
}
NUMBERS = {0: "bilinear", 2: "bicubic"}


def _weights(before, after, method, antialias):
    """[after, before]: how much each old row counts for each new one."""
    kernel, radius = KERNELS[method]
    step = cast(before, "float32") / cast(after, "float32")
    width = op("Maximum", step, _number(1.0)) if antialias else _number(1.0)
    zero, one = convert_to_tensor(0, "int32"), convert_to_tensor(1, "int32")
    centers = (cast(op("Range", zero, after, one), "float32") + 0.5) * step
    places = cast(op("Range", zero, before, one), "float32") + 0.5
    far = op("Abs", op("ExpandDims", places, 0) - op("ExpandDims", centers, 1)) / width
    made = _where(op("Less", far, _number(radius)), kernel(far), op("ZerosLike", far))
    return made / OPS["Sum"](made, convert_to_tensor([1], "int32"), keep_dims=True)


def _old_weights(before, after, align_corners):
    """The same of TensorFlow 1's cubic filter: of four rows around, those at the rim count again
    for the ones that would lie outside."""
    kernel, _ = _cubic(0.0, 0.75)
    one, last = convert_to_tensor(1, "int32"), before - 1
    ratio = cast(before, "float32") / cast(after, "float32")
    if align_corners:
        ratio = _where(
            op("Greater", after, one),
            cast(last, "float32") / cast(op("Maximum", after - 1, one), "float32"),
            ratio,
        )
    at = cast(op("Range", convert_to_tensor(0, "int32"), after, one), "float32") * ratio
    low, made = op("Floor", at), None
    for k in (-1, 0, 1, 2):
        place = op("Minimum", op("Maximum", cast(low, "int32") + k, one - 1), last)
        hot = op("OneHot", place, before, _number(1.0), _number(0.0))
        part = op("ExpandDims", kernel(op("Abs", at - low - float(k))), 1) * hot
        made = part if made is None else made + part
    return made


def _apply(images, size, weights):
    from situ._src.framework.api import BOTH

    einsum = BOTH["einsum"]
    images, size = cast(convert_to_tensor(images), "float32"), convert_to_tensor(size, "int32")
    sizes = OPS["Shape"](images)
    rows, columns = weights(sizes[1], size[0]), weights(sizes[2], size[1])
    return einsum("pw,bowc->bopc", columns, einsum("oh,bhwc->bowc", rows, images))


def resize_by_weights(images, size, method, antialias):
    """[batch, height, width, channels] in another size, as float32."""
    return _apply(images, size, lambda a, b: _weights(a, b, method, antialias))


@export(v1="image.resize_bicubic")
def resize_bicubic(images, size, align_corners=False, name=None, half_pixel_centers=False):
    """Images in another size, by a cubic filter."""
    if half_pixel_centers:
        return resize_by_weights(images, size, "bicubic", False)
    return _apply(images, size, lambda a, b: _old_weights(a, b, align_corners))
