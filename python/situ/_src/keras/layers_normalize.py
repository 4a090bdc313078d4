# SPDX-License-Identifier: Apache-2.0
"""layers_normalize.py: Normalization, Discretization and CategoryEncoding. adapt computes their
statistics from NumPy arrays, batch by batch."""

from __future__ import annotations

from typing import Any

import numpy

from situ._src.framework import api, tensor_shape
from situ._src.framework.keywords import unsupported
from situ._src.keras import context
from situ._src.keras.layer import Layer
from situ._src.keras.layers_core import named as plain_named
from situ._src.ops.array_ops import cast, convert_to_tensor, op


def named(name):
    """Registers a layer under tf.keras.layers and tf.keras.layers.experimental.preprocessing."""
    return plain_named(name, "experimental.preprocessing." + name)


def arrays_of(data, steps=None):
    """Yields the batches of the data of adapt as arrays."""
    if hasattr(data, "element_spec"):
        for i, batch in enumerate(data):
            if steps is not None and i >= steps:
                return
            batch = batch[0] if isinstance(batch, tuple) else batch
            yield numpy.asarray(batch.numpy())
    else:
        data = data.numpy() if hasattr(data, "numpy") else data
        yield numpy.asarray(data)


class Adapting(Layer):
    """Base class of layers that learn from data in adapt."""

    _computes_in_variable_dtype = True

    def __call__(self, inputs, *args, **kwargs):
        if isinstance(inputs, (list, tuple)):  # of numbers or texts: one tensor
            inputs = convert_to_tensor(inputs)
        return super().__call__(inputs, *args, **kwargs)

    def adapt(self, data, batch_size=None, steps=None):
        """Learns the state of the layer from data; previous state is discarded.

        Args:
          data: Array, tensor or `tf.data.Dataset`.
          batch_size: Size of the batches of an array that steps counts; default: 32.
          steps: Number of batches; default: all.
        """
        with context.eager():
            self.reset_state()
            if steps is not None and not hasattr(data, "element_spec"):
                data = data[: steps * (batch_size or 32)]
            for array in arrays_of(data, steps):
                self.update_state(array)
            self.finalize_state()


@named("Normalization")
class Normalization(Adapting):
    """Normalizes features: `(inputs - mean) / sqrt(variance)`.

    Args:
      axis: Axes that have their own mean and variance; None: one for all elements.
      mean: Mean, if it is known; otherwise adapt learns it.
      variance: Variance, if it is known.
      invert: Whether to apply the inverse.

    Raises:
      ValueError: If only one of mean and variance is given.
    """

    def __init__(
        self, axis: Any = -1, mean=None, variance=None, invert: bool = False, **kwargs
    ) -> None:
        super().__init__(**kwargs)
        axis = () if axis is None else axis
        self.axis = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
        if (mean is None) != (variance is None):
            raise ValueError(
                "When setting values directly, both `mean` and `variance` must be "
                f"set. Got mean: {mean} and variance: {variance}"
            )
        self.input_mean, self.input_variance, self.invert = mean, variance, invert
        self._sums = self._kept = self._fixed = None

    mean = property(lambda s: s._learned(0))
    variance = property(lambda s: s._learned(1))

    def _learned(self, which):
        """Returns the mean (0) or the variance (1) in a shape that broadcasts to the input."""
        if self._kept is None or self._fixed is not None:
            return self._fixed and self._fixed[which]
        return op("Reshape", (self.adapt_mean, self.adapt_variance)[which], self._kept[1])

    def _learn_shape(self, sizes):
        rank = len(sizes)
        kept = sorted(a % rank for a in self.axis) if rank else []
        self._kept = kept, [sizes[a] if a in kept else 1 for a in range(rank)]
        if any(sizes[a] is None for a in kept):
            raise ValueError(
                "All `axis` values to be kept must have known shape. Got axis: "
                f"{self.axis}, input shape: {sizes}"
            )

    def build(self, input_shape):
        sizes = list(tensor_shape.as_shape(input_shape).as_list())
        self._learn_shape(sizes)
        shape = [sizes[a] for a in self._kept[0]]
        if self.input_mean is None:
            self.adapt_mean = self.add_weight("mean", shape, initializer="zeros", trainable=False)
            self.adapt_variance = self.add_weight(
                "variance", shape, initializer="ones", trainable=False
            )
            self.count = self.add_weight(
                "count", (), dtype="int64", initializer="zeros", trainable=False
            )
            self.finalize_state()
        else:
            spread = lambda v: convert_to_tensor(
                numpy.broadcast_to(numpy.asarray(v, self.dtype), shape).reshape(self._kept[1])
            )
            with context.eager():  # tensors of every graph that the layer is used in
                self._fixed = spread(self.input_mean), spread(self.input_variance)
        self.built = True

    def reset_state(self) -> None:
        self._sums = None

    def update_state(self, array):
        if self.input_mean is not None:
            raise ValueError(
                "Cannot `adapt` a Normalization layer that is initialized with "
                "static `mean` and `variance`."
            )
        array = array.astype("float64")
        if array.ndim == 1 and self.axis:
            array = array[:, None]
        if not self.built:
            with context.layer_call(self, None):
                self.build([None, *array.shape[1:]])
        kept = [a % array.ndim for a in self.axis]
        over = tuple(a for a in range(array.ndim) if a not in kept)
        count = int(numpy.prod([array.shape[a] for a in over]))
        mean, variance = array.mean(over), array.var(over)
        if self._sums is not None:
            n, m, v = self._sums
            total = n + count
            middle = (n * m + count * mean) / total
            variance = (
                n * (v + (m - middle) ** 2) + count * (variance + (mean - middle) ** 2)
            ) / total
            count, mean = total, middle
        self._sums = count, mean, variance

    def finalize_state(self):
        if self._sums is not None:
            for weight, value in zip(
                (self.count, self.adapt_mean, self.adapt_variance), self._sums
            ):
                weight.assign(numpy.asarray(value, weight.dtype.base_dtype.as_numpy_dtype))

    def call(self, inputs):
        inputs = cast(convert_to_tensor(inputs), self.dtype)
        mean, variance = self.mean, self.variance
        spread = op("Maximum", op("Sqrt", variance), cast(1e-7, self.dtype))
        return inputs * spread + mean if self.invert else (inputs - mean) / spread

    def get_config(self) -> dict[str, Any]:
        listed = lambda v: v if v is None else numpy.asarray(v).tolist()
        return {
            **super().get_config(),
            "axis": list(self.axis),
            "invert": self.invert,
            "mean": listed(self.input_mean),
            "variance": listed(self.input_variance),
        }


@named("Discretization")
class Discretization(Adapting):
    """Maps numbers to the indices of bins.

    Args:
      bin_boundaries: Increasing boundaries of the bins.
      num_bins: Number of bins, if adapt is to learn the boundaries (quantiles).
      epsilon: Kept in the configuration, but has no effect; the quantiles are exact.
      output_mode: "int", "one_hot", "multi_hot" or "count".
      sparse: Only False is supported.

    Raises:
      NotImplementedError: If sparse is set.
      ValueError: Unless exactly one of bin_boundaries and num_bins is given.
    """

    def __init__(
        self,
        bin_boundaries=None,
        num_bins=None,
        epsilon=0.01,
        output_mode="int",
        sparse=False,
        **kwargs,
    ):
        unsupported("Discretization", sparse=(sparse, False))
        super().__init__(**kwargs)
        if (bin_boundaries is None) == (num_bins is None):
            raise ValueError("Discretization needs either `bin_boundaries` or `num_bins`.")
        self.num_bins, self.epsilon, self.output_mode = num_bins, epsilon, output_mode
        self.bin_boundaries = None if bin_boundaries is None else list(bin_boundaries)
        self._seen = []

    def reset_state(self) -> None:
        self._seen = []

    def update_state(self, array):
        self._seen.append(array.reshape(-1))

    def finalize_state(self):
        if self.num_bins is None:
            raise ValueError(
                "Cannot adapt a Discretization layer that has been initialized with "
                "`bin_boundaries`, use `num_bins` instead."
            )
        shares = numpy.linspace(0, 1, self.num_bins + 1)[1:-1]
        self.bin_boundaries = numpy.quantile(numpy.concatenate(self._seen), shares).tolist()

    def call(self, inputs):
        if self.bin_boundaries is None:
            raise ValueError("Discretization: call `adapt` before the layer is used.")
        x = op("ExpandDims", cast(convert_to_tensor(inputs), "float32"), -1)
        above = op("GreaterEqual", x, convert_to_tensor(self.bin_boundaries, "float32"))
        outputs = op("Sum", cast(above, "int64"), [-1])
        return encoded(outputs, self.output_mode, len(self.bin_boundaries) + 1, self.dtype)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "bin_boundaries": self.bin_boundaries,
            "num_bins": None if self.bin_boundaries is not None else self.num_bins,
            "epsilon": self.epsilon,
            "output_mode": self.output_mode,
        }


def encoded(indices, mode, count, dtype, weights=None):
    """Encodes category indices by mode: "int", "one_hot", "multi_hot" or "count" (weighted)."""
    if mode == "int":
        return indices
    rank = indices.shape.rank
    if mode == "one_hot":
        last = indices.shape.as_list()[-1] if rank else None
        indices = op("Squeeze", indices, [-1]) if rank and last == 1 else indices
        return api.named("one_hot")(indices, count, dtype=dtype)
    if rank == 0:
        indices, rank = op("ExpandDims", indices, 0), 1
        alone = True
    else:
        alone = rank == 1
    rows = api.named("one_hot")(indices, count, dtype=dtype)
    if weights is not None:
        rows = rows * op("ExpandDims", cast(convert_to_tensor(weights), dtype), -1)
    axis = [0] if alone else [1]
    result = op("Max" if mode == "multi_hot" else "Sum", rows, axis)
    return result


@named("CategoryEncoding")
class CategoryEncoding(Layer):
    """Encodes category indices as vectors.

    Args:
      num_tokens: Number of categories.
      output_mode: "one_hot", "multi_hot" or "count".
      sparse: Only False is supported.

    Call arguments:
      inputs: Integer tensor of shape `(batch, ...)`.
      count_weights: Weights of the inputs with output_mode "count".

    Raises:
      NotImplementedError: If sparse is set.
      ValueError: If num_tokens is missing.
    """

    _computes_in_variable_dtype = True

    def __init__(
        self, num_tokens=None, output_mode="multi_hot", sparse: bool = False, **kwargs
    ) -> None:
        unsupported("CategoryEncoding", sparse=(sparse, False))
        if "max_tokens" in kwargs:
            num_tokens = kwargs.pop("max_tokens")
        super().__init__(**kwargs)
        if output_mode == "binary":
            output_mode = "multi_hot"
        if num_tokens is None:
            raise ValueError("num_tokens must be set to use this layer.")
        self.num_tokens, self.output_mode = num_tokens, output_mode

    def call(self, inputs, count_weights=None):
        indices = cast(convert_to_tensor(inputs), "int64")
        return encoded(indices, self.output_mode, self.num_tokens, self.dtype, count_weights)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "num_tokens": self.num_tokens,
            "output_mode": self.output_mode,
        }
