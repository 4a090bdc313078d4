# SPDX-License-Identifier: Apache-2.0
"""layers_language.py: layers of language models of Keras 3: GroupQueryAttention and
ReversibleEmbedding."""

from __future__ import annotations

from typing import Any

from situ._src.framework import api, tensor_shape
from situ._src.keras import constraints, context, initializers, regularizers, seed_generator
from situ._src.keras.layer import Layer
from situ._src.keras.layers_attention import EinsumDense, MultiHeadAttention, _copied_initializer
from situ._src.keras.layers_core import Embedding, named, serialize_attributes
from situ._src.keras.mixed_precision import large_negative
from situ._src.keras.seed_generator import SeedGenerator
from situ._src.ops.array_ops import cast, convert_to_tensor, op, transpose

_OPTIONS = (
    "kernel_initializer",
    "bias_initializer",
    "kernel_regularizer",
    "bias_regularizer",
    "activity_regularizer",
    "kernel_constraint",
    "bias_constraint",
)


@named("GroupQueryAttention")
class GroupQueryAttention(Layer):
    """Attention whose query heads share fewer heads of keys and values.

    Args:
      head_dim: Size of each head.
      num_query_heads: Number of query heads, a multiple of num_key_value_heads.
      num_key_value_heads: Number of heads of keys and values.
      dropout: Fraction of the attention weights to drop during training.
      use_bias: Whether the projections have biases.
      sliding_window: Distance from which on positions do not see each other; None: none.
      flash_attention: Has no effect: it computes the same values.
      kernel_initializer, bias_initializer: Initializers of the projections.
      kernel_regularizer, bias_regularizer, activity_regularizer: Their regularizers.
      kernel_constraint, bias_constraint: Their constraints.
      use_gate: Whether a sigmoid of a projection of the query multiplies the heads.
      seed: Seed of dropout.
      **kwargs: Arguments of `Layer`.

    Call arguments:
      query: Tensor of shape `(batch, T, dim)`.
      value: Tensor of shape `(batch, S, dim)`.
      key: Tensor of shape `(batch, S, dim)`; default: value.
      query_mask, value_mask, key_mask: Masks of shape `(batch, T)` and `(batch, S)`.
      attention_mask: Boolean tensor of shape `(batch, T, S)`; False hides a position.
      return_attention_scores: Whether to return the attention weights, too.
      training: Whether to apply dropout.
      use_causal_mask: Whether position i attends to positions up to i only.

    Raises:
      ValueError: If the numbers of heads do not fit, or sliding_window is not positive.
    """

    def __init__(
        self,
        head_dim: int,
        num_query_heads: int,
        num_key_value_heads: int,
        dropout: float = 0.0,
        use_bias: bool = True,
        sliding_window: int | None = None,
        flash_attention: Any = None,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        use_gate: bool = False,
        seed: int | None = None,
        **kwargs,
    ) -> None:
        del flash_attention  # it would compute the same values
        super().__init__(**kwargs)
        if num_query_heads % num_key_value_heads:
            raise ValueError("`num_query_heads` must be divisible by `num_key_value_heads`.")
        is_size = isinstance(sliding_window, int) and sliding_window > 0
        if sliding_window is not None and not is_size:
            raise ValueError(
                "`sliding_window` must be `None` or a positive integer. Received: "
                f"sliding_window={sliding_window}"
            )
        self.head_dim, self.num_query_heads = head_dim, num_query_heads
        self.num_key_value_heads, self.dropout = num_key_value_heads, dropout
        self.use_bias = use_bias
        self.sliding_window, self.use_gate, self.seed = sliding_window, use_gate, seed
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.bias_initializer = initializers.get(bias_initializer)
        self.kernel_regularizer = regularizers.get(kernel_regularizer)
        self.bias_regularizer = regularizers.get(bias_regularizer)
        self._projection_regularizer = regularizers.get(activity_regularizer)
        self.kernel_constraint = constraints.get(kernel_constraint)
        self.bias_constraint = constraints.get(bias_constraint)
        self.supports_masking = True
        if dropout:
            self.seed_generator = SeedGenerator(seed)

    def _projection(self, name, equation, sizes, bias_axes, activation=None):
        options = {
            option: _copied_initializer(getattr(self, option))
            for option in _OPTIONS
            if option != "activity_regularizer"
        }
        return EinsumDense(
            equation,
            sizes,
            activation=activation,
            bias_axes=bias_axes if self.use_bias else None,
            name=name,
            dtype=self._policy or self._dtype,
            activity_regularizer=self._projection_regularizer,
            **options,
        )

    def build(self, input_shape):
        width = tensor_shape.as_shape(input_shape).as_list()[-1]
        queries = [None, self.num_query_heads, self.head_dim]
        keys = [None, self.num_key_value_heads, self.head_dim]
        self._query_dense = self._projection("query", "bqm,muh->bquh", queries, "uh")
        self._key_dense = self._projection("key", "bkm,mvh->bkvh", keys, "vh")
        if self.use_gate:
            self._gate_dense = self._projection("gate", "bqm,muh->bquh", queries, "uh", "sigmoid")
        self._value_dense = self._projection("value", "bkm,mvh->bkvh", keys, "vh")
        self._output_dense = self._projection(
            "attention_output", "bquh,uhm->bqm", [None, width], "m"
        )
        self.built = True

    def call(
        self,
        query,
        value,
        key=None,
        query_mask=None,
        value_mask=None,
        key_mask=None,
        attention_mask=None,
        return_attention_scores=False,
        training=None,
        use_causal_mask=False,
    ):
        key = value if key is None else key
        for tensor, mask in ((query, query_mask), (value, value_mask), (key, key_mask)):
            if mask is not None:
                context.set_mask(tensor, cast(mask, "bool"))
        kept = MultiHeadAttention._kept(query, value, key, attention_mask, use_causal_mask)
        kept = self._with_window(kept, query, value)
        einsum, repeat = api.named("einsum"), api.named("repeat")
        times = self.num_query_heads // self.num_key_value_heads
        gate = self._gate_dense(query) if self.use_gate else None
        q = self._query_dense(query) * (float(self.head_dim) ** -0.5)
        k, v = (
            repeat(dense(x), times, axis=2)
            for dense, x in ((self._key_dense, key), (self._value_dense, value))
        )
        scores = einsum("bquh,bkuh->buqk", q, k)
        if kept is not None:
            while kept.shape.rank < 4:
                kept = op("ExpandDims", kept, -3)
            scores = scores + (1.0 - cast(kept, scores.dtype)) * large_negative(scores.dtype)
        scores = used = op("Softmax", scores)
        if training and self.dropout:
            used = seed_generator.dropout(scores, self.dropout, None, self.seed_generator)
        heads = einsum("buqk,bkuh->bquh", used, v)
        outputs = self._output_dense(heads if gate is None else heads * gate)
        return (outputs, scores) if return_attention_scores else outputs

    def _with_window(self, kept, query, value):
        """Returns the mask of scores with that of the sliding window."""
        if self.sliding_window is None:
            return kept
        rows, columns = (
            api.named("range")(op("Shape", x)[1], dtype="int32") for x in (query, value)
        )
        distance = op("Abs", op("ExpandDims", rows, 1) - op("ExpandDims", columns, 0))
        near = op("ExpandDims", distance < convert_to_tensor(self.sliding_window, "int32"), 0)
        return near if kept is None else op("LogicalAnd", kept, near)

    def compute_mask(self, inputs, mask=None):
        return context.get_mask(inputs)

    def get_config(self) -> dict[str, Any]:
        names = ("head_dim", "num_query_heads", "num_key_value_heads", "use_bias", "use_gate")
        saved = [option for option in _OPTIONS if option != "activity_regularizer"]
        return {
            **super().get_config(),
            **{n: getattr(self, n) for n in (*names, "sliding_window", "dropout", "seed")},
            **serialize_attributes(self, *saved),
            "activity_regularizer": serialize_attributes(self, "_projection_regularizer")[
                "_projection_regularizer"
            ],
        }


@named("ReversibleEmbedding")
class ReversibleEmbedding(Embedding):
    """Embedding that also maps vectors back to scores of the indices.

    Args:
      input_dim: Size of the vocabulary.
      output_dim: Size of each embedding vector.
      tie_weights: Whether both directions share the matrix.
      embeddings_initializer: Initializer of the matrix.
      embeddings_regularizer: Regularizer of the matrix.
      embeddings_constraint: Constraint of the matrix.
      mask_zero: Whether index 0 is padding that later layers mask.
      reverse_dtype: Type of the computation of scores; default: that of the layer.
      logit_soft_cap: Limit that scores approach by a tanh; None: none.
      **kwargs: Arguments of `Layer`.

    Call arguments:
      inputs: Indices; with reverse, vectors.
      reverse: Whether to return scores.
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        tie_weights: bool = True,
        embeddings_initializer: Any = "uniform",
        embeddings_regularizer: Any = None,
        embeddings_constraint: Any = None,
        mask_zero: bool = False,
        reverse_dtype: Any = None,
        logit_soft_cap: float | None = None,
        **kwargs,
    ) -> None:
        super().__init__(
            input_dim,
            output_dim,
            embeddings_initializer=embeddings_initializer,
            embeddings_regularizer=embeddings_regularizer,
            embeddings_constraint=embeddings_constraint,
            mask_zero=mask_zero,
            **kwargs,
        )
        self.tie_weights, self.reverse_dtype = tie_weights, reverse_dtype
        self.logit_soft_cap = logit_soft_cap

    def build(self, input_shape=None):
        super().build(input_shape)
        if not self.tie_weights:
            self.reverse_embeddings = self.add_weight(
                "reverse_embeddings",
                [self.output_dim, self.input_dim],
                initializer=self.embeddings_initializer,
            )

    def call(self, inputs, reverse=False):
        if not reverse:
            return super().call(inputs)
        tied = transpose(convert_to_tensor(self.embeddings), [1, 0]) if self.tie_weights else None
        kernel = tied if tied is not None else convert_to_tensor(self.reverse_embeddings)
        if self.reverse_dtype is not None:
            inputs, kernel = cast(inputs, self.reverse_dtype), cast(kernel, self.reverse_dtype)
        scores = api.named("tensordot")(inputs, cast(kernel, inputs.dtype), 1)
        if self.logit_soft_cap is None:
            return scores
        return op("Tanh", scores / self.logit_soft_cap) * self.logit_soft_cap

    def compute_mask(self, inputs, mask=None):
        return None if inputs.dtype.is_floating else super().compute_mask(inputs, mask)

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        config.pop("input_length")
        own = ("tie_weights", "reverse_dtype", "logit_soft_cap")
        return {**config, **{name: getattr(self, name) for name in own}}
