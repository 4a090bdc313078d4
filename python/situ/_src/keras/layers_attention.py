# SPDX-License-Identifier: Apache-2.0
"""layers_attention.py: EinsumDense and MultiHeadAttention."""

from __future__ import annotations

import copy
from typing import Any

from situ._src.framework import api, style, tensor_shape
from situ._src.keras import context, initializers, seed_generator
from situ._src.keras.layer import Layer
from situ._src.keras.layers_core import Weighted, named, serialize_attributes
from situ._src.keras.mixed_precision import large_negative
from situ._src.keras.seed_generator import SeedGenerator
from situ._src.ops import init_ops
from situ._src.ops.array_ops import cast, op


@named("EinsumDense", "experimental.EinsumDense")
class EinsumDense(Weighted):
    """Dense layer whose product is an einsum: `activation(einsum(equation, inputs, kernel) +
    bias)`.

    Args:
      equation: Equation of two operands, for example "abc,cd->abd"; it may begin with "...".
      output_shape: Shape of the output without the batch; None for sizes of the input.
      activation: Activation function, or its name.
      bias_axes: Letters of the output axes that the bias has; None: no bias.
      kernel_initializer: Initializer of the kernel.
      bias_initializer: Initializer of the bias.
      **kwargs: Regularizers and constraints as in `Dense`, and arguments of `Layer`.

    Call arguments:
      inputs: The first operand.
    """

    def __init__(
        self,
        equation,
        output_shape,
        activation: Any = None,
        bias_axes=None,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        **kwargs,
    ) -> None:
        super().__init__(
            activation, bias_axes is not None, kernel_initializer, bias_initializer, **kwargs
        )
        self.equation, self.bias_axes = equation, bias_axes
        self.partial_output_shape = (
            tuple(output_shape) if isinstance(output_shape, (list, tuple)) else (output_shape,)
        )

    def build(self, input_shape):
        known = tensor_shape.as_shape(input_shape).as_list()
        left, right = self.equation.replace(" ", "").split("->")
        inputs, kernel = left.split(",")
        outputs = right
        if "..." in inputs:  # the named ones are the last
            inputs, outputs = inputs.replace("...", ""), right.replace("...", "")
        sizes = dict(zip(reversed(inputs), reversed(known)))
        given = [None] * (len(outputs) - len(self.partial_output_shape)) + list(
            self.partial_output_shape
        )
        for letter, size in zip(outputs, given):
            if size is not None:
                sizes[letter] = size
        self._fill_kernel(kernel, outputs, sizes)

    def _scaled_initializer(self, kernel, outputs):
        """Returns the kernel initializer; variance scaling counts the units of the equation."""
        given = self.kernel_initializer
        if style.is_graph() or not isinstance(given, init_ops.VarianceScaling):
            return given
        if given.input_axes is not None:
            return given
        result: Any = copy.copy(given)
        result.input_axes = [i for i, c in enumerate(kernel) if c not in outputs]
        result.output_axes = [i for i, c in enumerate(kernel) if c in outputs]
        return result

    def _fill_kernel(self, kernel, outputs, sizes):
        unknown = [c for c in kernel if sizes.get(c) is None]
        if unknown:
            raise ValueError(
                f"EinsumDense: the equation '{self.equation}' needs the size of "
                f"'{unknown[0]}', which the input does not tell."
            )
        self.kernel = self.add_weight(
            "kernel",
            [sizes[c] for c in kernel],
            initializer=self._scaled_initializer(kernel, outputs),
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
        )
        if self.bias_axes is not None:
            first = min(outputs.index(c) for c in self.bias_axes)
            shape = [sizes[c] if c in self.bias_axes else 1 for c in outputs[first:]]
            self.bias = self.add_weight(
                "bias",
                shape,
                initializer=self.bias_initializer,
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
            )
        self.built = True

    def call(self, inputs):
        outputs = api.named("einsum")(self.equation, inputs, self.kernel)
        return self.activation(outputs if self.bias is None else outputs + self.bias)

    def get_config(self) -> dict[str, Any]:
        config = {
            **super().get_config(),
            "equation": self.equation,
            "bias_axes": self.bias_axes,
            "output_shape": self.partial_output_shape,
        }
        del config["use_bias"]
        return config


def _copied_initializer(value):
    """Returns an initializer with the arguments of another, which draws a seed of its own."""
    if isinstance(value, init_ops.Initializer):
        return type(value).from_config(value.get_config())
    return value


@named("MultiHeadAttention")
class MultiHeadAttention(Layer):
    """Multi-head attention of "Attention is all you need".

    Args:
      num_heads: Number of heads.
      key_dim: Size of each head of query and key.
      value_dim: Size of each head of the value; default: key_dim.
      dropout: Fraction of the attention weights to drop during training.
      use_bias: Whether the projections have biases.
      output_shape: Size of the output; default: that of the query.
      attention_axes: Only None and 1 are supported.
      kernel_initializer: Initializer of the projections.
      bias_initializer: Initializer of their biases.
      kernel_regularizer: Regularizer of the projections.
      bias_regularizer: Regularizer of their biases.
      kernel_constraint: Constraint of the projections.
      bias_constraint: Constraint of their biases.
      seed: Seed of dropout.
      **kwargs: Arguments of `Layer`.

    Call arguments:
      query: Tensor of shape `(batch, T, dim)`.
      value: Tensor of shape `(batch, S, dim)`.
      key: Tensor of shape `(batch, S, dim)`; default: value.
      attention_mask: Boolean tensor of shape `(batch, T, S)`; False hides a position.
      return_attention_scores: Whether to return the attention weights, too.
      training: Whether to apply dropout.
      use_causal_mask: Whether position i attends to positions up to i only.

    Returns:
      Tensor of shape `(batch, T, output size)`, and the attention weights if requested.

    Raises:
      ValueError: If attention_axes is another axis, or the query does not have rank 3.
    """

    CONFIG_KEYS = (
        "kernel_initializer",
        "bias_initializer",
        "kernel_regularizer",
        "bias_regularizer",
        "kernel_constraint",
        "bias_constraint",
    )

    def __init__(
        self,
        num_heads: int,
        key_dim: int,
        value_dim: int | None = None,
        dropout: float | None = 0.0,
        use_bias: bool = True,
        output_shape=None,
        attention_axes=None,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        seed: int | None = None,
        **kwargs,
    ) -> None:
        super().__init__(**kwargs)
        if attention_axes is not None and tuple(
            [attention_axes] if isinstance(attention_axes, int) else attention_axes
        ) != (1,):
            raise ValueError(
                f"MultiHeadAttention: attention over axes {attention_axes} is not "
                "there: reshape to [batch, steps, features]."
            )
        self._num_heads, self._key_dim = num_heads, key_dim
        self._value_dim = value_dim or key_dim
        self._dropout, self._use_bias, self._output_size = dropout, use_bias, output_shape
        kernel_initializer = initializers.get(kernel_initializer)
        bias_initializer, self.seed = initializers.get(bias_initializer), seed
        self.supports_masking, given = True, locals()
        self._weight_options = {n: given[n] for n in self.CONFIG_KEYS}
        for name, value in self._weight_options.items():
            setattr(self, "_" + name, value)
        self._query_dense = self._key_dense = self._value_dense = self._output_dense = None

    num_heads = property(lambda s: s._num_heads)
    key_dim = property(lambda s: s._key_dim)

    def _projection(self, name, equation, sizes, bias_axes):
        kwargs = {k: _copied_initializer(v) for k, v in self._weight_options.items()}
        return EinsumDense(
            equation,
            sizes,
            bias_axes=bias_axes if self._use_bias else None,
            name=name,
            dtype=self._policy or self._dtype,
            **kwargs,
        )

    def _make(self, width):
        heads = lambda size: [None, self._num_heads, size]
        self._query_dense = self._projection("query", "abc,cde->abde", heads(self._key_dim), "de")
        self._key_dense = self._projection("key", "abc,cde->abde", heads(self._key_dim), "de")
        self._value_dense = self._projection("value", "abc,cde->abde", heads(self._value_dim), "de")
        if self._dropout:
            self.seed_generator = SeedGenerator(self.seed)
        outer = self._output_size or width
        outer = outer[-1] if isinstance(outer, (list, tuple)) else outer
        self._output_dense = self._projection(
            "attention_output", "abcd,cde->abe", [None, outer], "e"
        )

    def build(self, input_shape):
        known = tensor_shape.as_shape(input_shape).as_list()
        if len(known) != 3:
            raise ValueError(
                "MultiHeadAttention: the query must have the shape [batch, steps, "
                f"features], found {known}."
            )
        self._make(known[-1])
        self.built = True

    def call(
        self,
        query,
        value,
        key=None,
        attention_mask=None,
        return_attention_scores=False,
        training=None,
        use_causal_mask=False,
    ):
        key = value if key is None else key
        kept = self._kept(query, value, key, attention_mask, use_causal_mask)
        einsum = api.named("einsum")
        q, k, v = self._query_dense(query), self._key_dense(key), self._value_dense(value)
        scores = einsum("atnh,asnh->ants", q * (float(self._key_dim) ** -0.5), k)
        if kept is not None:
            while kept.shape.rank < 4:
                kept = op("ExpandDims", kept, -3)
            scores = scores + (1.0 - cast(kept, scores.dtype)) * large_negative(scores.dtype)
        scores = op("Softmax", scores)
        used = scores
        if training and self._dropout:
            used = seed_generator.dropout(scores, self._dropout, None, self.seed_generator)
        outputs = self._output_dense(einsum("ants,asnh->atnh", used, v))
        return (outputs, scores) if return_attention_scores else outputs

    @staticmethod
    def _kept(query, value, key, given, causal):
        """Returns the mask of scores: attention_mask, the masks of the inputs and the causal
        mask; or None.
        """
        parts = [] if given is None else [cast(given, "bool")]
        for tensor, axis in ((query, -1), (value, -2), (key if key is not value else None, -2)):
            mask = None if tensor is None else context.get_mask(tensor)
            if mask is not None:
                parts.append(op("ExpandDims", mask, axis))
        if causal:
            size = lambda t: op("Shape", t)[1]
            ones = op("Fill", op("Pack", [size(query), size(value)]), cast(1, "int32"))
            parts.append(op("ExpandDims", cast(op("MatrixBandPart", ones, -1, 0), "bool"), 0))
        result = parts[0] if parts else None
        for other in parts[1:]:
            result = op("LogicalAnd", result, other)
        return result

    def compute_mask(self, inputs, mask=None):
        return context.get_mask(inputs)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "num_heads": self._num_heads,
            "key_dim": self._key_dim,
            "value_dim": self._value_dim,
            "dropout": self._dropout,
            "use_bias": self._use_bias,
            "output_shape": self._output_size,
            **({"seed": self.seed} if self.seed is not None else {}),
            **{
                k[1:]: v
                for k, v in serialize_attributes(self, *["_" + n for n in self.CONFIG_KEYS]).items()
            },
        }
