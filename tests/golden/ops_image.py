# SPDX-License-Identifier: Apache-2.0
"""ops_image.py: ops on images, in NumPy, for ops.py."""
import colorsys

import numpy as np


def scale_of(attrs, have, want):
    corners = attrs.get("align_corners") and want > 1
    return np.float32(have - 1) / np.float32(want - 1) if corners else \
        np.float32(have) / np.float32(want)


def places(attrs, have, want):
    """Where the pixels of a new size lie in the old one."""
    i, scale = np.arange(want, dtype=np.float32), scale_of(attrs, have, want)
    if attrs.get("half_pixel_centers"):
        return (i + np.float32(0.5)) * scale - np.float32(0.5)
    return i * scale


def weights(attrs, have, want):
    """A matrix [want, have]: what each old pixel counts for in each new one."""
    made, at = np.zeros((want, have)), places(attrs, have, want)
    for i, place in enumerate(at):
        low, high = max(int(np.floor(place)), 0), min(int(np.ceil(place)), have - 1)
        part = float(place - np.floor(place))
        made[i, low] += 1 - part
        made[i, high] += part
    return made


def nearest(attrs, have, want):
    made = np.zeros((want, have))
    i, scale = np.arange(want, dtype=np.float32), scale_of(attrs, have, want)
    at = (i + np.float32(0.5)) * scale if attrs.get("half_pixel_centers") else i * scale
    at = np.floor(at + np.float32(0.5)) if attrs.get("align_corners") else np.floor(at)
    for row, place in enumerate(at):
        made[row, min(max(int(place), 0), have - 1)] = 1
    return made


def area(attrs, have, want):
    made, scale = np.zeros((want, have)), float(scale_of(attrs, have, want))
    for i in range(want):
        for k in range(int(np.floor(i * scale)), int(np.ceil((i + 1) * scale))):
            part = min(k + 1, (i + 1) * scale) - max(k, i * scale)
            made[i, min(k, have - 1)] += part / scale
    return made


def resize(matrix, real=False):
    def run(attrs, images, size):
        down = matrix(attrs, images.shape[1], int(size[0]))
        across = matrix(attrs, images.shape[2], int(size[1]))
        made = np.einsum("ab,ibjc,dj->iadc", down, images.astype(float), across)
        return made if real or images.dtype.kind == "f" else made.astype(np.int64)
    return run


def resize_grad(matrix, attrs, grads, height, width):
    down = matrix(attrs, height, grads.shape[1])
    across = matrix(attrs, width, grads.shape[2])
    return np.einsum("ab,iadc,dj->ibjc", down, grads.astype(float), across)


def colors(function):
    def run(_, images):
        return np.array([function(*row) for row in images.reshape(-1, 3)]).reshape(images.shape)
    return run


IMAGE = {
    "ResizeBilinear": resize(weights, True), "ResizeNearestNeighbor": resize(nearest),
    "ResizeArea": resize(area, True),
    "ResizeBilinearGrad": lambda a, dy, x: resize_grad(weights, a, dy, *x.shape[1:3]),
    "ResizeNearestNeighborGrad": lambda a, dy, s: resize_grad(nearest, a, dy, int(s[0]),
                                                              int(s[1])),
    "RGBToHSV": colors(colorsys.rgb_to_hsv), "HSVToRGB": colors(colorsys.hsv_to_rgb),
}
