# SPDX-License-Identifier: Apache-2.0
"""image_utils.py: images as arrays and in files: tf.keras.utils.load_img and others (Pillow)."""

from __future__ import annotations

import os
from typing import Any

import numpy

from situ._src.framework import api
from situ._src.keras import context
from situ._src.keras.registry import keras_export

_FILTERS = {
    "nearest": "NEAREST",
    "bilinear": "BILINEAR",
    "bicubic": "BICUBIC",
    "hamming": "HAMMING",
    "box": "BOX",
    "lanczos": "LANCZOS",
}


def pillow():
    """Returns PIL.Image; raises an ImportError with installation instructions."""
    try:
        from PIL import Image
    except ImportError:
        raise ImportError(
            "Could not import PIL.Image. The use of `load_img` and its kin requires "
            "Pillow: pip install pillow"
        ) from None
    return Image


def _names(name):
    return keras_export(f"utils.{name}", f"preprocessing.image.{name}")


@_names("img_to_array")
def img_to_array(img: Any, data_format: str | None = None, dtype: Any = None):
    """Converts a PIL image to an array [height, width, channels], or with "channels_first"
    [channels, height, width].

    Args:
      img: PIL image.
      data_format: "channels_last" or "channels_first".
      dtype: Type of the array; default: `tf.keras.backend.floatx()`.

    Raises:
      ValueError: If the image has another rank than 2 or 3.
    """
    data_format = data_format or context.setting("format")
    x = numpy.asarray(img, dtype=dtype or context.setting("float"))
    if x.ndim == 2:
        x = x[..., None]
    if x.ndim != 3:
        raise ValueError(f"Unsupported image shape: {x.shape}")
    return x.transpose(2, 0, 1) if data_format == "channels_first" else x


@_names("array_to_img")
def array_to_img(x: Any, data_format: str | None = None, scale: bool = True, dtype: Any = None):
    """Converts an array to a PIL image.

    Args:
      x: Array of rank 3.
      data_format: "channels_last" or "channels_first".
      scale: Whether to scale the values to the range from 0 to 255.
      dtype: Type of the computation.
    """
    Image = pillow()
    x = numpy.asarray(x, dtype=dtype or context.setting("float"))
    if x.ndim != 3:
        raise ValueError(
            f"Expected image array to have rank 3 (single image). Got array with shape: {x.shape}"
        )
    if (data_format or context.setting("format")) == "channels_first":
        x = x.transpose(1, 2, 0)
    if scale:
        x = x - x.min()
        most = x.max()
        x = x / most * 255 if most != 0 else x
    if x.shape[2] not in (1, 3, 4):
        raise ValueError(f"Unsupported channel number: {x.shape[2]}")
    if x.shape[2] == 1:
        if x.max() > 255:
            return Image.fromarray(x[:, :, 0].astype("int32"), "I")
        return Image.fromarray(x[:, :, 0].astype("uint8"), "L")
    return Image.fromarray(x.astype("uint8"), "RGB" if x.shape[2] == 3 else "RGBA")


@_names("save_img")
def save_img(
    path: Any,
    x: Any,
    data_format: str | None = None,
    file_format: str | None = None,
    scale: bool = True,
    **kwargs: Any,
):
    """Saves an array as an image file.

    Args:
      path: The path.
      x: Array of rank 3.
      data_format: "channels_last" or "channels_first".
      file_format: Format; default: that of the suffix.
      scale: Whether to scale the values to the range from 0 to 255.
      **kwargs: Not supported.
    """
    img = array_to_img(x, data_format, scale)
    if img.mode == "RGBA" and (
        file_format in ("jpg", "jpeg") or str(path).lower().endswith((".jpg", ".jpeg"))
    ):
        img = img.convert("RGB")
    img.save(path, format=file_format, **kwargs)


@_names("load_img")
def load_img(
    path: Any,
    grayscale: bool = False,
    color_mode: str = "rgb",
    target_size: tuple[int, int] | None = None,
    interpolation: str = "nearest",
    keep_aspect_ratio: bool = False,
):
    """Loads an image file as a PIL image, optionally resized.

    Args:
      path: The path.
      grayscale: Old form of color_mode="grayscale".
      color_mode: "grayscale", "rgb" or "rgba".
      target_size: Height and width of the result; default: those of the image.
      interpolation: Name of a filter of Pillow: "nearest", "bilinear", "bicubic" and others.
      keep_aspect_ratio: Whether to crop instead of distorting.
    """
    Image = pillow()
    with open(path, "rb") if isinstance(path, (str, os.PathLike)) else path as file:
        img = Image.open(file)
        img.load()
    mode = {"grayscale": "L", "rgba": "RGBA", "rgb": "RGB"}.get(
        "grayscale" if grayscale else color_mode
    )
    if mode is None:
        raise ValueError('color_mode must be "grayscale", "rgb", or "rgba"')
    if not (mode == "L" and img.mode in ("L", "I;16", "I")) and img.mode != mode:
        img = img.convert(mode)
    if target_size is None:
        return img
    if interpolation not in _FILTERS:
        raise ValueError(
            f"Invalid interpolation method {interpolation} specified. Supported "
            f"methods are {', '.join(_FILTERS)}"
        )
    height, width = target_size
    how = getattr(Image, _FILTERS[interpolation])
    if keep_aspect_ratio:
        img = img.crop(_middle(img.width, img.height, width, height))
    return img if img.size == (width, height) else img.resize((width, height), how)


def _middle(width, height, to_width, to_height):
    """Returns the largest centered box with the aspect ratio of another."""
    w = min(width, height * to_width // to_height)
    h = min(height, width * to_height // to_width)
    return (width - w) // 2, (height - h) // 2, (width + w) // 2, (height + h) // 2


@_names("smart_resize")
def smart_resize(x: Any, size: Any, interpolation: str = "bilinear"):
    """Resizes an image to size without distortion, by cropping its center first.

    Args:
      x: Array of rank 3.
      size: Height and width of the result.
      interpolation: Name of a filter of Pillow: "nearest", "bilinear", "bicubic" and others.
    """
    array = numpy.asarray(x)
    height, width = array.shape[-3], array.shape[-2]
    left, top, right, bottom = _middle(width, height, size[1], size[0])
    cut = array[..., top:bottom, left:right, :]
    result = api.named("image.resize")(cut, size, method=interpolation)
    return result.numpy() if isinstance(x, numpy.ndarray) else result
