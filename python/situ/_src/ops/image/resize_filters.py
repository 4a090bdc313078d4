# SPDX-License-Identifier: Apache-2.0
"""resize_filters.py: resizes images by matrices of filter weights for rows and columns: bicubic,
Lanczos,
Gaussian and others, with optional antialiasing."""

from __future__ import annotations

import math

from situ._src.framework import errors
from situ._src.framework.api import OPS, export
from situ._src.framework.graph import scope
from situ._src.ops.array_ops import cast, convert_to_tensor, op

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Tensor, TensorLike


def _where(condition, one, other):
    return op("SelectV2", condition, one, other)


def _number(value):
    return convert_to_tensor(value, "float32")


def _cubic(b, c):
    """Returns the kernel and radius of a Mitchell-Netravali cubic filter."""

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
        result = (
            radius
            * op("Sin", math.pi * safe)
            * op("Sin", math.pi * safe / radius)
            / (math.pi**2 * safe * safe)
        )
        return _where(op("Less", x, _number(1e-3)), op("OnesLike", x), result)

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
    """Returns the matrix [after, before] of filter weights."""
    kernel, radius = KERNELS[method]
    step = cast(before, "float32") / cast(after, "float32")
    width = op("Maximum", step, _number(1.0)) if antialias else _number(1.0)
    zero, one = convert_to_tensor(0, "int32"), convert_to_tensor(1, "int32")
    centers = (cast(op("Range", zero, after, one), "float32") + 0.5) * step
    places = cast(op("Range", zero, before, one), "float32") + 0.5
    distance = op("Abs", op("ExpandDims", places, 0) - op("ExpandDims", centers, 1)) / width
    result = _where(
        op("Less", distance, _number(radius)), kernel(distance), op("ZerosLike", distance)
    )
    return result / OPS["Sum"](result, convert_to_tensor([1], "int32"), keep_dims=True)


def _weights_v1(before, after, align_corners):
    """Returns the filter weights of TensorFlow 1's bicubic resize, with indices clamped to the
    border."""
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
    low, result = op("Floor", at), None
    for k in (-1, 0, 1, 2):
        place = op("Minimum", op("Maximum", cast(low, "int32") + k, one - 1), last)
        hot = op("OneHot", place, before, _number(1.0), _number(0.0))
        part = op("ExpandDims", kernel(op("Abs", at - low - float(k))), 1) * hot
        result = part if result is None else result + part
    return result


def _apply(images, size, weights):
    from situ._src.framework.api import BOTH

    einsum = BOTH["einsum"]
    images, size = cast(convert_to_tensor(images), "float32"), convert_to_tensor(size, "int32")
    sizes = OPS["Shape"](images)
    rows, columns = weights(sizes[1], size[0]), weights(sizes[2], size[1])
    return einsum("pw,bowc->bopc", columns, einsum("oh,bhwc->bowc", rows, images))


def resize_by_weights(images, size, method, antialias):
    """Resizes a batch of images with a filter; returns float32."""
    return _apply(images, size, lambda a, b: _weights(a, b, method, antialias))


@export(v1="image.resize_bicubic")
def resize_bicubic(
    images: TensorLike,
    size: TensorLike,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:
    """Resizes a batch of images with bicubic interpolation."""
    if half_pixel_centers and align_corners:
        raise errors.invalid_argument("If half_pixel_centers is True, align_corners must be False.")
    with scope(name, "ResizeBicubic") as full:
        if half_pixel_centers:
            result = resize_by_weights(images, size, "bicubic", False)
        else:
            result = _apply(images, size, lambda a, b: _weights_v1(a, b, align_corners))
        return op("Identity", result, name=full) if name and full else result
