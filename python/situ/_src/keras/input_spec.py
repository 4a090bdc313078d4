# SPDX-License-Identifier: Apache-2.0
"""input_spec.py: tf.keras.layers.InputSpec: checks of the rank and the axes of layer inputs."""

from __future__ import annotations

from typing import Any

from situ._src.framework import nest, tensor_shape
from situ._src.keras.registry import keras_export


@keras_export("layers.InputSpec")
class InputSpec:
    """Rank and axes that a layer requires of its input.

    Args:
      dtype: Kept as an attribute, but not checked.
      shape: Kept as an attribute, but not checked.
      ndim: Rank of the input.
      max_ndim: Largest rank of the input.
      min_ndim: Smallest rank of the input.
      axes: Dictionary from axes to their sizes; None: any size.
      allow_last_axis_squeeze: Has no effect.
      name: Kept as an attribute, but not checked.
    """

    def __init__(
        self,
        dtype: Any = None,
        shape: Any = None,
        ndim=None,
        max_ndim=None,
        min_ndim=None,
        axes=None,
        allow_last_axis_squeeze: bool = False,
        name: str | None = None,
    ) -> None:
        self.dtype, self.shape, self.ndim, self.max_ndim = dtype, shape, ndim, max_ndim
        self.min_ndim, self.axes, self.name = min_ndim, axes or {}, name

    def wrong(self, sizes):
        """Returns what is wrong with an input of these sizes, or None."""
        rank, full = len(sizes), f"Full shape received: {tuple(sizes)}"
        if self.ndim is not None and rank != self.ndim:
            return f"expected ndim={self.ndim}, found ndim={rank}. {full}"
        if self.max_ndim is not None and rank > self.max_ndim:
            return f"expected max_ndim={self.max_ndim}, found ndim={rank}"
        if self.min_ndim is not None and rank < self.min_ndim:
            return f"expected min_ndim={self.min_ndim}, found ndim={rank}. {full}"
        for axis, size in self.axes.items():
            if size is not None and sizes[axis] not in (size, None):
                return (
                    f"expected axis {axis} of input shape to have value {size}, but received "
                    f"input with shape {tuple(sizes)}"
                )
        return None


def check(layer, inputs):
    """Raises a ValueError if an input does not match the input_spec of a layer."""
    specs = layer.input_spec
    if specs is None:
        return
    for i, (spec, value) in enumerate(zip(nest.flatten(specs), nest.flatten(inputs))):
        known = tensor_shape.as_shape(getattr(value, "shape", None))
        text = None if known.rank is None or spec is None else spec.wrong(known.as_list())
        if text is not None:
            raise ValueError(
                f'Input {i} of layer "{layer.name}" is incompatible with the layer: ' + text
            )
