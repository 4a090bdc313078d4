# SPDX-License-Identifier: Apache-2.0
"""resize_filters.py: resizes images by matrices of filter weights for rows and columns: bicubic,
Lanczos,
Gaussian and others, with optional antialiasing."""

from __future__ import annotations

import math

from situ._src.framework.api import BOTH, OPS
from situ._src.ops.array_ops import cast, convert_to_tensor, op


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


def _apply(images, size, weights):
    einsum = BOTH["einsum"]
    images, size = cast(convert_to_tensor(images), "float32"), convert_to_tensor(size, "int32")
    sizes = OPS["Shape"](images)
    rows, columns = weights(sizes[1], size[0]), weights(sizes[2], size[1])
    return einsum("pw,bowc->bopc", columns, einsum("oh,bhwc->bowc", rows, images))


def resize_by_weights(images, size, method, antialias):
    """Resizes a batch of images with a filter; returns float32."""
    return _apply(images, size, lambda a, b: _weights(a, b, method, antialias))
