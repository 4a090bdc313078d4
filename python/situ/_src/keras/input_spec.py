# SPDX-License-Identifier: Apache-2.0
"""input_spec.py: tf.keras.layers.InputSpec: checks of the rank and the axes of layer inputs."""

from __future__ import annotations

from typing import Any

from situ._src.framework import nest, tensor_shape
from situ._src.framework.dtypes import as_dtype
from situ._src.keras.registry import keras_export

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Axis, TensorLike


@keras_export("layers.InputSpec")
class InputSpec:
    """Rank and axes that a layer requires of its input.

    Args:
      dtype: Name of the type of the input.
      shape: Shape of the input; None: any size.
      ndim: Rank of the input; default: that of shape.
      max_ndim: Largest rank of the input.
      min_ndim: Smallest rank of the input.
      axes: Dictionary from axes to their sizes; None: any size.
      allow_last_axis_squeeze: Whether the input and the shape may differ by a last axis of size 1.
      name: Key of the input, if the inputs are a dictionary.
    """

    def __init__(
        self,
        dtype: Any = None,
        shape: Any = None,
        ndim: int | None = None,
        max_ndim: int | None = None,
        min_ndim: int | None = None,
        axes: Axis = None,
        allow_last_axis_squeeze: bool = False,
        name: str | None = None,
    ) -> None:
        self.dtype = None if dtype is None else as_dtype(dtype).name
        shape = None if shape is None else tensor_shape.as_shape(shape)
        self.shape = None if shape is None or shape.rank is None else tuple(shape.as_list())
        self.ndim = ndim if self.shape is None else len(self.shape)
        self.max_ndim, self.min_ndim, self.name = max_ndim, min_ndim, name
        self.axes, self.allow_last_axis_squeeze = axes or {}, allow_last_axis_squeeze

    def wrong(self, sizes: TensorLike) -> str | None:
        """Returns what is wrong with an input of these sizes, or None."""
        rank, full = len(sizes), f"Full shape received: {tuple(sizes)}"
        if self.ndim is not None and rank != self.ndim and not self.allow_last_axis_squeeze:
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
        if self.shape is not None and not self._fits(tuple(sizes)):
            return f"expected shape={self.shape}, found shape={tuple(sizes)}"
        return None

    def _fits(self, sizes):
        """Whether an input of these sizes has the shape."""
        shape = self.shape
        if self.allow_last_axis_squeeze:
            sizes, shape = (s[:-1] if s and s[-1] == 1 else s for s in (sizes, shape))
        return all(a == b or None in (a, b) for a, b in zip(shape, sizes))


def _dtype_name(value):
    dtype = getattr(value, "dtype", None)
    return None if dtype is None else as_dtype(dtype).base_dtype.name


def _flat_inputs(specs, inputs):
    """Returns the inputs in the order of the specs; those of a dictionary by the specs' names."""
    names = [getattr(spec, "name", None) for spec in specs]
    if not isinstance(inputs, dict) or not all(names):
        return nest.flatten(inputs)
    for name in names:
        if name not in inputs:
            raise ValueError(
                f'Missing data for input "{name}". You passed a data dictionary with keys '
                f"{list(inputs)}. Expected the following keys: {names}"
            )
    return [inputs[name] for name in names]


def check(layer, inputs):
    """Raises a ValueError if an input does not match the input_spec of a layer."""
    specs = layer.input_spec
    if specs is None:
        return
    specs = nest.flatten(specs)
    for i, (spec, value) in enumerate(zip(specs, _flat_inputs(specs, inputs))):
        known = tensor_shape.as_shape(getattr(value, "shape", None))
        text = None if known.rank is None or spec is None else spec.wrong(known.as_list())
        if text is None and spec is not None and spec.dtype not in (None, _dtype_name(value)):
            text = f"expected dtype={spec.dtype}, found dtype={_dtype_name(value)}"
        if text is not None:
            raise ValueError(
                f'Input {i} of layer "{layer.name}" is incompatible with the layer: ' + text
            )
