# SPDX-License-Identifier: Apache-2.0
"""ops_warp.py: bicubic and projective transforms of images, in NumPy, for ops.py."""
import numpy as np

from ops_image import places, resize, resize_grad


def cubic(x, a):
    x = abs(x)
    if x < 1:
        return ((a + 2) * x - (a + 3)) * x * x + 1
    return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a if x < 2 else np.float32(0)


def bicubic(attrs, have, want):
    """A matrix [want, have]; distances are multiples of 1/1024, weights float32."""
    made, centers = np.zeros((want, have)), attrs.get("half_pixel_centers")
    a = np.float32(-0.5 if centers else -0.75)
    for i, place in enumerate(places(attrs, have, want)):
        low, total, taps = int(np.floor(place)), np.float32(0), []
        part = np.float32(np.rint((place - np.floor(place)) * np.float32(1024)) / 1024)
        for k in range(-1, 3):
            at = min(max(low + k, 0), have - 1)
            if not centers or at == low + k:
                taps.append((at, cubic(part - np.float32(k), a)))
                total += taps[-1][1]
        for at, weight in taps:
            made[i, at] += weight / total if centers else weight
    return made


def reflect(at, size):
    if size <= 1:
        return 0.0
    if at < 0:
        at += 2 * size * int(-at / (2 * size))
        at = at + 2 * size if at < -size else -at - 1
    elif at > size - 1:
        at -= 2 * size * int(at / (2 * size))
        at = 2 * size - at - 1 if at >= size else at
    return min(max(at, 0), size - 1)


def wrap(at, size):
    if size <= 1:
        return 0.0
    if at < 0:
        at += size * (int(-at / (size - 1)) + 1)
    elif at > size - 1:
        at -= size * int(at / (size - 1))
    return min(max(at, 0), size - 1)


MODES = {"CONSTANT": lambda at, size: at, "REFLECT": reflect, "WRAP": wrap,
         "NEAREST": lambda at, size: min(max(at, 0), size - 1)}


def pixel(image, v, u, c, fill):
    inside = 0 <= v < image.shape[0] and 0 <= u < image.shape[1]
    return float(image[int(v), int(u), c]) if inside else fill


def project(attrs, images, transforms, size, fill=0.0):
    made = np.zeros((images.shape[0], int(size[0]), int(size[1]), images.shape[3]))
    mode = MODES[attrs.get("fill_mode", "CONSTANT")]
    for b, y, x, c in np.ndindex(*made.shape):
        t = transforms[b if len(transforms) > 1 else 0]
        k = t[6] * x + t[7] * y + 1
        u = mode((t[0] * x + t[1] * y + t[2]) / k, images.shape[2])
        v = mode((t[3] * x + t[4] * y + t[5]) / k, images.shape[1])
        if attrs["interpolation"] == "NEAREST":
            u, v = (np.copysign(np.floor(abs(w) + 0.5), w) for w in (u, v))
            made[b, y, x, c] = pixel(images[b], v, u, c, float(fill))
            continue
        top, left = np.floor(v), np.floor(u)
        for r in (0, 1):
            for s in (0, 1):
                part = (1 - abs(v - top - r)) * (1 - abs(u - left - s))
                made[b, y, x, c] += part * pixel(images[b], top + r, left + s, c, float(fill))
    return made if images.dtype.kind == "f" else np.trunc(made).astype(np.int64)


WARP = {"ResizeBicubic": resize(bicubic, True),
        "ResizeBicubicGrad": lambda a, dy, x: resize_grad(bicubic, a, dy, *x.shape[1:3]),
        "ImageProjectiveTransformV2": project, "ImageProjectiveTransformV3": project}
