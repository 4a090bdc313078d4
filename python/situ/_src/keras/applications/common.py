# SPDX-License-Identifier: Apache-2.0
"""common.py: code that the networks of tf.keras.applications share: input layer, classifier,
weights, preprocessing, and the names of the ImageNet classes."""

from __future__ import annotations

import functools
import inspect
import json
import os
from typing import Any

import numpy

from situ._src.framework import api
from situ._src.keras import context, input_layer, model, registry
from situ._src.keras.registry import keras_export


def layers():
    """Returns an object whose attributes are the layers of tf.keras.layers."""
    return _LAYERS


class _Layers:
    """Layer classes as attributes."""

    def __getattr__(self, name):
        return registry.LAYERS.find(name)


_LAYERS = _Layers()


def folder():
    home = os.environ.get("KERAS_HOME", os.path.expanduser("~/.keras"))
    return os.path.join(home, "models")


_PARAMETERS = {  # of networks
    "include_top": "Whether to include the layers of classification.",
    "weights": '"imagenet", the path of a file of weights, or None for random ones.',
    "input_tensor": "Symbolic tensor to use as the input; default: a new one.",
    "input_shape": """Shape of an image, in the order of `image_data_format()`; default: that of the
    images the network was trained with if include_top, otherwise 3 channels of any size.""",
    "pooling": """Without include_top: "avg" or "max" reduces each channel to one number; None, the
    default, does not.""",
    "classes": "Number of classes; must be 1000 with include_top and the weights of ImageNet.",
    "classifier_activation": "Activation of the last layer; None returns logits.",
    "alpha": "Factor of the numbers of channels.",
    "depth_multiplier": "Number of output channels per input channel of depthwise convolutions.",
    "dropout": "Rate of dropout before the classifier.",
    "name": "Name of the model; default: that of the network.",
}
_RESULT = """
Returns:
  A `tf.keras.Model`.

Raises:
  ValueError: If weights, classes or input_shape do not fit.
  FileNotFoundError: If the file of the ImageNet weights is not in `~/.keras/models`.
"""


def _explained(summary, parameters):
    """Returns the doc string of a network."""
    lines = [f"  {name}: {_PARAMETERS[name]}" for name in parameters]
    return "\n".join([summary, "", "Args:", *lines, _RESULT])


def named(module, *kinds):
    """Decorator: exports a network under tf.keras.applications and in the module of its family, and
    adds the explanation of its parameters to its doc string."""

    def record(function):
        @functools.wraps(function)
        def network(*args, name=None, **kwargs):
            result = function(*args, **kwargs)
            result._name = result.name if name is None else name
            return result

        whole = inspect.signature(function)
        network.__signature__ = whole.replace(
            parameters=[
                *whole.parameters.values(),
                inspect.Parameter(
                    "name",
                    inspect.Parameter.KEYWORD_ONLY,
                    default=None,
                    annotation="str | None",
                ),
            ]
        )
        parameters = network.__signature__.parameters
        network.__doc__ = _explained(inspect.getdoc(function) or "", parameters)
        places = [f"applications.{m}.{function.__name__}" for m in (module, *kinds)]
        keras_export(f"applications.{function.__name__}", *places)(network)
        return network

    return record


def check(weights, include_top, classes):
    if not (weights in ("imagenet", None) or os.path.exists(weights)):
        raise ValueError(
            "The `weights` argument should be either `None` (random initialization), "
            "`imagenet` (pre-training on ImageNet), or the path to the weights file "
            f"to be loaded.  Received: `weights={weights}`"
        )
    if weights == "imagenet" and include_top and classes != 1000:
        raise ValueError(
            "If using `weights` as `'imagenet'` with `include_top` as true, `classes` "
            f"should be 1000.  Received `classes={classes}`"
        )


def image_input(input_tensor, input_shape, default, least, include_top, weights=None):
    """Returns the input of a network: a new symbolic tensor, or the given one."""
    first = context.setting("format") == "channels_first"
    if input_shape is None and input_tensor is None:
        input_shape = (default, default, 3) if include_top else (None, None, 3)
        if first:
            input_shape = (3, *input_shape[:2])
    if input_shape is not None:
        sizes = input_shape[1:] if first else input_shape[:2]
        if len(input_shape) != 3:
            raise ValueError("`input_shape` must be a tuple of three integers.")
        if include_top and weights == "imagenet" and tuple(sizes) != (default, default):
            raise ValueError(
                "When setting `include_top=True` and loading `imagenet` weights, "
                f"`input_shape` should be {(default, default, 3)}.  Received: "
                f"input_shape={input_shape}"
            )
        if any(s is not None and s < least for s in sizes):
            raise ValueError(
                f"Input size must be at least {least}x{least}; Received: input_shape={input_shape}"
            )
    if input_tensor is None:
        return input_layer.Input(shape=input_shape)
    return (
        input_tensor
        if context.is_symbolic(input_tensor)
        else input_layer.Input(tensor=input_tensor, shape=input_shape)
    )


def axis():
    """Returns the axis of the channels."""
    return 1 if context.setting("format") == "channels_first" else 3


def pooled(x, pooling):
    if pooling == "avg":
        return layers().GlobalAveragePooling2D()(x)
    return layers().GlobalMaxPooling2D()(x) if pooling == "max" else x


def finished(inputs, x, name, weights, files, include_top):
    """Returns the model, with its weights loaded; `files` are the names with and without the
    top.
    """
    result = model.Model(inputs, x, name=name)
    if weights == "imagenet":
        path = os.path.join(folder(), files[0] if include_top else files[1])
        if not os.path.exists(path):
            raise FileNotFoundError(
                f"tf.keras.applications: situ does not download the weights of '{name}'. Put them "
                f"to {path}, or give weights=None for a network that has not learned yet."
            )
        result.load_weights(path)
    elif weights is not None:
        result.load_weights(weights)
    return result


# Preprocessing

_MODES = {  # what preprocess_input does
    None: "Returns images as they are: the network scales them itself.",
    "caffe": "Converts images from RGB to BGR and subtracts the mean of ImageNet.",
    "tf": "Scales images to values from -1 to 1.",
    "torch": "Scales images to values from 0 to 1 and normalizes them by the mean and deviation of "
    "ImageNet.",
}


def _scale_pixels(x, mode, data_format):
    first = data_format == "channels_first"
    is_array = isinstance(x, numpy.ndarray)
    if is_array and not numpy.issubdtype(x.dtype, numpy.floating):
        x = x.astype(context.setting("float"))
    elif not is_array:
        x = api.named("cast")(x, context.setting("float"))
    if mode == "tf":
        return x / 127.5 - 1.0
    shape = (-1, 1, 1) if first else (-1,)
    if mode == "torch":
        x = x / 255.0
        mean, deviation = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
        return (x - _vector(x, mean, shape)) / _vector(x, deviation, shape)
    flip = (
        (slice(None, None, -1), slice(None), slice(None))
        if first
        else (Ellipsis, slice(None, None, -1))
    )
    if first and len(x.shape) == 4:
        flip = (slice(None), *flip)
    return x[flip] - _vector(x, [103.939, 116.779, 123.68], shape)


def _vector(x, values, shape):
    return numpy.array(
        values, x.dtype if isinstance(x, numpy.ndarray) else x.dtype.as_numpy_dtype
    ).reshape(shape)


def preprocessing(mode, *modules):
    """Exports preprocess_input and decode_predictions of families of networks."""

    def preprocess_input(x: Any, data_format: str | None = None) -> Any:
        return (
            x if mode is None else _scale_pixels(x, mode, data_format or context.setting("format"))
        )

    preprocess_input.__doc__ = f"""{_MODES[mode]}

    Args:
      x: Image or batch of images with values from 0 to 255: an array or a tensor.
      data_format: "channels_last" or "channels_first"; default: `image_data_format()`.

    Returns:
      Images as the network was trained with them.
    """
    keras_export(*[f"applications.{m}.preprocess_input" for m in modules])(preprocess_input)
    keras_export(*[f"applications.{m}.decode_predictions" for m in modules])(decode_predictions)


@keras_export("applications.imagenet_utils.preprocess_input")
def preprocess_input(x: Any, data_format: str | None = None, mode: str = "caffe") -> Any:
    """Scales images as the network expects them.

    Args:
      x: Image or batch of images with values from 0 to 255.
      data_format: "channels_last" or "channels_first"; default: `image_data_format()`.
      mode: "caffe": BGR without the mean of ImageNet; "tf": from -1 to 1; "torch": normalized by
        the mean and deviation of ImageNet.

    Raises:
      ValueError: If the mode is unknown.
    """
    if mode not in ("caffe", "tf", "torch"):
        raise ValueError(
            f"Expected mode to be one of `caffe`, `tf` or `torch`. Received: mode={mode}"
        )
    return _scale_pixels(x, mode, data_format or context.setting("format"))


@keras_export("applications.imagenet_utils.decode_predictions")
def decode_predictions(preds: Any, top: Any = 5) -> list:
    """Returns the most likely ImageNet classes: (WordNet id, name, score).

    Args:
      preds: Predictions of shape `(batch, 1000)`.
      top: Number of classes per example.

    Raises:
      ValueError: If preds has another shape.
      FileNotFoundError: If `~/.keras/models` does not have imagenet_class_index.json.
    """
    preds = numpy.asarray(preds)
    if preds.ndim != 2 or preds.shape[1] != 1000:
        raise ValueError(
            "`decode_predictions` expects a batch of predictions (i.e. a 2D array of "
            f"shape (samples, 1000)). Found array with shape: {preds.shape}"
        )
    path = os.path.join(folder(), "imagenet_class_index.json")
    if not os.path.exists(path):
        raise FileNotFoundError(
            "tf.keras.applications: situ does not download the names of the "
            f"classes of ImageNet. Put imagenet_class_index.json to {path}"
        )
    with open(path, encoding="utf-8") as file:
        classes = json.load(file)
    return [[(*classes[str(i)], row[i]) for i in row.argsort()[-top:][::-1]] for row in preds]
