# SPDX-License-Identifier: Apache-2.0
"""layers_merge.py: layers that merge several inputs: Add, Multiply, Concatenate, Dot;
Attention and AdditiveAttention."""

from __future__ import annotations

from typing import Any

from situ._src.framework import api
from situ._src.keras import seed_generator
from situ._src.keras.layer import Layer
from situ._src.keras.layers_core import named
from situ._src.keras.mixed_precision import large_negative
from situ._src.keras.registry import keras_export, to_snake_case
from situ._src.keras.seed_generator import SeedGenerator
from situ._src.ops.array_ops import cast, concat, convert_to_tensor, op, transpose
from situ._src.ops.ragged_ops import map_flat_values
from situ._src.ops.sparse_layout import concat_ as sparse_concat
from situ._src.ops.sparse_ops import SparseTensor, sparse_tensor_to_dense

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Axis


class Merge(Layer):
    """Base class of layers that merge a list of tensors."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def __call__(self, inputs, *args, **kwargs):
        if isinstance(inputs, type({}.values())):
            inputs = list(inputs)
        return super().__call__(inputs, *args, **kwargs)

    def call(self, inputs):
        if not isinstance(inputs, (list, tuple)) or not inputs:
            raise ValueError(
                "A merge layer should be called on a list of inputs. Received: "
                f"inputs={inputs} (not a list of tensors)"
            )
        if any(hasattr(t, "_situ_tensors_") for t in inputs):
            return self.merge_composites(list(inputs))
        rank = max(t.shape.rank for t in inputs)
        return self.merge([self._raised(t, rank) for t in inputs])

    @staticmethod
    def _raised(tensor, rank):
        """Inserts dimensions of size 1 after the batch."""
        while tensor.shape.rank < rank:
            tensor = op("ExpandDims", tensor, 1)
        return tensor

    def merge(self, tensors):
        raise NotImplementedError

    def merge_composites(self, tensors: list):
        """Merges tensors of which some are ragged or sparse: the latter become dense, the former
        must have equal rows."""
        tensors = [sparse_tensor_to_dense(t) if _is_sparse(t) else t for t in tensors]
        return map_flat_values(lambda *flat: self.merge(list(flat)), *tensors)

    def compute_mask(self, inputs, mask=None):
        known = [m for m in mask or [] if m is not None]
        result = known[0] if known else None
        for other in known[1:]:
            result = op("LogicalAnd", result, other)
        return result


def _is_sparse(tensor):
    return isinstance(tensor, SparseTensor)


def _folded(op_name, scale=None):
    """Returns a merge method that applies a binary op from left to right; scale: then takes the
    mean.
    """

    def merge(self, tensors):
        result = tensors[0]
        for other in tensors[1:]:
            result = op(op_name, result, other)
        return result if scale is None else result / float(len(tensors))

    return merge


_CLASS_DOC = """

Call arguments:
  inputs: List of tensors whose shapes broadcast.
"""
_FUNCTION_DOC = """

Args:
  inputs: List of tensors whose shapes broadcast.
  **kwargs: Arguments of `Layer`.

Returns:
  A tensor.
"""


def _named(name, merge, doc):
    """Defines the layer class and the function of a merge."""
    result = named(name)(type(name, (Merge,), {"merge": merge, "__doc__": doc + _CLASS_DOC}))

    def function(inputs: Any, **kwargs: Any):
        return result(**kwargs)(inputs)

    function.__name__, function.__doc__ = to_snake_case(name), doc + _FUNCTION_DOC
    keras_export("layers." + to_snake_case(name))(function)
    return result


Add = _named("Add", _folded("AddV2"), "Sum of the inputs, element by element.")
_named("Multiply", _folded("Mul"), "Product of the inputs, element by element.")
_named("Maximum", _folded("Maximum"), "Maximum of the inputs, element by element.")
_named("Minimum", _folded("Minimum"), "Minimum of the inputs, element by element.")
_named("Average", _folded("AddV2", True), "Mean of the inputs, element by element.")


def _difference(self, tensors):
    if len(tensors) != 2:
        raise ValueError(
            f"A `Subtract` layer should be called on exactly 2 inputs. Received: inputs={tensors}"
        )
    return tensors[0] - tensors[1]


_named("Subtract", _difference, "First input minus the second.")


@named("Concatenate")
class Concatenate(Merge):
    """Concatenates the inputs along an axis.

    Args:
      axis: The axis.

    Call arguments:
      inputs: List of tensors of equal shapes but for that axis.
    """

    def __init__(self, axis: Any = -1, **kwargs) -> None:
        super().__init__(**kwargs)
        self.axis = axis

    def merge(self, tensors: Any):
        return concat(tensors, self.axis)

    def merge_composites(self, tensors: list):
        """Concatenates sparse tensors to a sparse one, otherwise ragged and dense ones."""
        if all(map(_is_sparse, tensors)):
            return sparse_concat(self.axis, tensors)
        dense = [sparse_tensor_to_dense(t) if _is_sparse(t) else t for t in tensors]
        return concat(dense, self.axis)

    def compute_mask(self, inputs, mask=None):
        if not mask or all(m is None for m in mask):
            return None
        wide = []
        for tensor, one in zip(inputs, mask):
            full = cast(op("OnesLike", tensor), "bool")
            wide.append(full if one is None else op("LogicalAnd", full, op("ExpandDims", one, -1)))
        return op("All", concat(wide, self.axis), [-1])

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "axis": self.axis}


@keras_export("layers.concatenate")
def concatenate(inputs: Any, axis: Any = -1, **kwargs: Any) -> Any:
    """Concatenates a list of tensors along an axis, as a layer.

    Args:
      inputs: List of tensors.
      axis: The axis.
      **kwargs: Arguments of `Layer`.

    Returns:
      The concatenated tensor.
    """
    return Concatenate(axis=axis, **kwargs)(inputs)


@named("Dot")
class Dot(Merge):
    """Dot product of two inputs along an axis of each.

    Args:
      axes: The axis of both inputs, or a pair of axes.
      normalize: Whether to normalize both first, which gives the cosine similarity.

    Call arguments:
      inputs: List of two tensors.
    """

    def __init__(self, axes, normalize: bool = False, **kwargs) -> None:
        super().__init__(**kwargs)
        self.axes, self.normalize = axes, normalize

    def merge_composites(self, tensors: list):
        """Raises a ValueError: the product of ragged or sparse tensors is not defined."""
        raise ValueError(
            f"Layer {self.name} does not support RaggedTensors or SparseTensors as input. Inputs "
            f"received: {tensors}. You can try converting your input to an uniform tensor."
        )

    def merge(self, tensors: Any):
        x, y = tensors
        first, second = (self.axes, self.axes) if isinstance(self.axes, int) else self.axes
        first, second = first % x.shape.rank, second % y.shape.rank
        if self.normalize:
            unit = api.named("nn.l2_normalize")
            x, y = unit(x, axis=first), unit(y, axis=second)
        if x.shape.rank == 2 and y.shape.rank == 2:
            return op("Sum", x * y, [1], keep_dims=True)
        x = _moved(x, first, -1)
        y = _moved(y, second, 1)
        lone = [x.shape.rank == 2, y.shape.rank == 2]
        x = op("ExpandDims", x, 1) if lone[0] else x
        y = op("ExpandDims", y, 2) if lone[1] else y
        result = op("BatchMatMulV2", x, y)
        drop = [axis for axis, one in ((1, lone[0]), (2, lone[1])) if one]
        return op("Squeeze", result, drop) if drop else result

    def compute_mask(self, inputs, mask=None):
        return None

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "axes": self.axes, "normalize": self.normalize}


def _moved(x, axis, to):
    """Moves an axis to another position."""
    order = [a for a in range(x.shape.rank) if a != axis]
    order.insert(x.shape.rank - 1 if to == -1 else to, axis)
    return x if order == list(range(x.shape.rank)) else transpose(x, order)


@keras_export("layers.dot")
def dot(inputs: Any, axes: Axis, normalize: bool = False, **kwargs: Any) -> Any:
    """Computes the dot product of two tensors, as a layer.

    Args:
      inputs: List of two tensors.
      axes: The axis of both inputs, or a pair of axes.
      normalize: Whether to normalize both first.
      **kwargs: Arguments of `Layer`.
    """
    return Dot(axes, normalize, **kwargs)(inputs)


class _Attending(Layer):
    """Base class of attention layers: a softmax of scores of query and key weights the values."""

    def __init__(self, dropout=0.0, seed=None, **kwargs):
        super().__init__(**kwargs)
        self.dropout, self.seed, self.supports_masking = dropout, seed, True
        if dropout:
            self.seed_generator = SeedGenerator(seed)

    def scores(self, query, key):
        raise NotImplementedError

    def call(
        self, inputs, mask=None, training=None, return_attention_scores=False, use_causal_mask=False
    ):
        query, value = inputs[0], inputs[1]
        key = inputs[2] if len(inputs) > 2 else value
        scores = self.scores(query, key)
        masks = [*mask, None, None] if isinstance(mask, (list, tuple)) else [None, None]
        kept = masks[1]
        if kept is not None:
            scores = scores + large_negative(scores.dtype) * (
                1.0 - cast(op("ExpandDims", kept, 1), scores.dtype)
            )
        if use_causal_mask:
            ones = op("OnesLike", scores)
            scores = scores - 1e9 * (1.0 - op("MatrixBandPart", ones, -1, 0))
        weights = op("Softmax", scores)
        if training and self.dropout:
            weights = seed_generator.dropout(weights, self.dropout, None, self.seed_generator)
        outputs = op("BatchMatMulV2", weights, value)
        if masks[0] is not None:
            outputs = outputs * cast(op("ExpandDims", masks[0], -1), outputs.dtype)
        return (outputs, weights) if return_attention_scores else outputs

    def compute_mask(self, inputs, mask=None):
        return mask[0] if isinstance(mask, (list, tuple)) and mask else None

    def get_config(self):
        return {**super().get_config(), "dropout": self.dropout, "seed": self.seed}


@named("Attention")
class Attention(_Attending):
    """Dot-product attention (Luong).

    Args:
      use_scale: Whether to multiply the scores by a trainable scalar.
      score_mode: "dot": the scores are dot products; "concat": a trainable scalar times
        `sum(tanh(query + key))`.
      dropout: Fraction of the attention weights to drop during training.
      seed: Seed of the dropout.

    Call arguments:
      inputs: List of query `(batch, Tq, dim)`, value `(batch, Tv, dim)` and optionally key; the key
        defaults to the value.
      mask: List of the masks of query and value.
      training: Whether to apply dropout.
      return_attention_scores: Whether to return the attention weights, too.
      use_causal_mask: Whether position i attends to positions up to i only.

    Returns:
      Tensor of shape `(batch, Tq, dim)`; 0 where the mask of the query is false.

    Raises:
      ValueError: If score_mode is unknown.
    """

    def __init__(
        self,
        use_scale: bool = False,
        score_mode: str = "dot",
        dropout: float | None = 0.0,
        seed: int | None = None,
        **kwargs,
    ) -> None:
        super().__init__(dropout, seed, **kwargs)
        if score_mode not in ("dot", "concat"):
            raise ValueError(
                "Invalid value for argument score_mode. Expected one of {'dot', 'concat'}. "
                f"Received: score_mode={score_mode}"
            )
        self.use_scale, self.score_mode = use_scale, score_mode
        self.scale = self.concat_score_weight = None

    def build(self, input_shape):
        if self.use_scale:
            self.scale = self.add_weight("scale", (), initializer="ones")
        if self.score_mode == "concat":
            self.concat_score_weight = self.add_weight(
                "concat_score_weight", (), initializer="ones"
            )
        self.built = True

    def scores(self, query, key):
        if self.score_mode == "concat":
            both = op("ExpandDims", query, 2) + op("ExpandDims", key, 1)
            both = both if self.scale is None else both * self.scale
            return self.concat_score_weight * op("Sum", op("Tanh", both), [-1])
        result = op("BatchMatMulV2", query, key, adj_y=True)
        return result if self.scale is None else result * self.scale

    def get_config(self) -> dict[str, Any]:
        config = {"use_scale": self.use_scale, "score_mode": self.score_mode}
        return {**super().get_config(), **config}


@named("AdditiveAttention")
class AdditiveAttention(_Attending):
    """Additive attention (Bahdanau): scores are `sum(scale * tanh(query + key))`.

    Args:
      use_scale: Whether to use a trainable vector as scale.
      dropout: Fraction of the attention weights to drop during training.

    Call arguments:
      inputs: List of query, value and optionally key, as in `Attention`.
      mask: List of the masks of query and value.
      training: Whether to apply dropout.
    """

    def __init__(self, use_scale: bool = True, dropout: float | None = 0.0, **kwargs) -> None:
        super().__init__(dropout, **kwargs)
        self.use_scale, self.scale = use_scale, None

    def build(self, input_shape):
        if self.use_scale:
            self.scale = self.add_weight("scale", [input_shape[1].as_list()[-1]])
        self.built = True

    def scores(self, query, key):
        each = op("Tanh", op("ExpandDims", query, 2) + op("ExpandDims", key, 1))
        return op("Sum", each if self.scale is None else each * convert_to_tensor(self.scale), [-1])

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "use_scale": self.use_scale}
