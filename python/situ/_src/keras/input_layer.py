# SPDX-License-Identifier: Apache-2.0
"""input_layer.py: tf.keras.Input and InputLayer: the symbolic inputs of functional models."""

from __future__ import annotations

from typing import Any

from situ._src.framework import tensor_shape
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.keywords import unsupported
from situ._src.framework.type_spec import TensorSpec
from situ._src.keras import composite, context, nodes
from situ._src.keras.layer import Layer
from situ._src.keras.registry import LAYERS, keras_export, unique
from situ._src.ops.ragged_tensor import RaggedTensor
from situ._src.ops.sparse_ops import SparseTensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import DTypeLike, ShapeLike, TensorLike

_WITH_TYPE_SPEC = (
    "When `type_spec` is not None, all other args except `name` must be None, but {} is not None."
)


def _check_type_spec(type_spec, **others):
    """Raises a ValueError if an argument besides type_spec is given."""
    if type_spec is None:
        return
    for name, value in others.items():
        if value is not None and value is not False:
            raise ValueError(_WITH_TYPE_SPEC.format(name))


@keras_export("layers.InputLayer")
class InputLayer(Layer):
    """Layer of a symbolic input tensor; `tf.keras.Input` creates it.

    Args:
      input_shape: Shape without the batch dimension.
      batch_size: Batch size, if it is static.
      dtype: Type of the tensor.
      input_tensor: Symbolic tensor to use instead of a new one.
      sparse: Whether the input is a sparse tensor.
      name: Name of the layer.
      ragged: Whether the input is a ragged tensor.
      type_spec: TypeSpec of a batch, instead of all other arguments but name.
      batch_input_shape: Shape with the batch dimension.
      shape: Name of input_shape in Keras 3.
      batch_shape: Name of batch_input_shape in Keras 3.
      optional: Whether a call of a model may pass None for the input.

    Raises:
      ValueError: If neither a shape nor a tensor nor a type_spec is given, both sparse and ragged
        are set, or other arguments are given with type_spec.
    """

    def __init__(
        self,
        input_shape: ShapeLike = None,
        batch_size: int | None = None,
        dtype: DTypeLike = None,
        input_tensor: TensorLike = None,
        sparse: bool | None = None,
        name: str | None = None,
        ragged: bool | None = None,
        type_spec: Any = None,
        batch_input_shape: Any = None,
        shape: ShapeLike = None,
        batch_shape: ShapeLike = None,
        optional: bool = False,
        **kwargs: Any,
    ):
        if sparse and ragged:
            raise ValueError("Cannot set both sparse and ragged to True in a Keras input.")
        batch_input_shape = batch_input_shape if batch_input_shape is not None else batch_shape
        input_shape = input_shape if input_shape is not None else shape
        type_spec = None if type_spec is None else composite.spec_from_config(type_spec)
        _check_type_spec(
            type_spec,
            **{"(input_)shape": input_shape, "batch_input_shape": batch_input_shape},
            batch_size=batch_size,
            dtype=dtype,
            input_tensor=input_tensor,
            sparse=sparse,
            ragged=ragged,
        )
        if batch_input_shape is None and input_shape is not None:
            known = tensor_shape.as_shape(input_shape)
            batch_input_shape = (batch_size, *(known.as_list() if known.rank is not None else ()))
        described = input_tensor if type_spec is None else type_spec
        if described is not None:
            known = tensor_shape.as_shape(described.shape)
            batch_input_shape = None if known.rank is None else tuple(known.as_list())
            dtype = described.dtype.base_dtype.name
        if batch_input_shape is None and described is None:
            raise ValueError(
                "Please provide to Input a `shape` or a `tensor` or a `type_spec` argument. Note "
                "that `shape` does not include the batch dimension."
            )
        if batch_input_shape is not None:
            kwargs["batch_input_shape"] = batch_input_shape
        super().__init__(
            name=name or unique("input", False), dtype=dtype or context.setting("float"), **kwargs
        )
        if input_tensor is None:
            spec = type_spec or self._spec_of_arguments(sparse, ragged)
            input_tensor = nodes.placeholder_of(context.KerasGraph(), spec, self.name)
        self.built, self.optional = True, bool(optional)
        self.sparse = isinstance(input_tensor, SparseTensor)
        self.ragged = isinstance(input_tensor, RaggedTensor)
        self._type_spec_argument, self.is_placeholder = type_spec, True
        input_tensor._keras_optional = self.optional
        nodes.Node(self, [], (), {}, input_tensor)

    def _spec_of_arguments(self, sparse, ragged):
        """Returns the spec of the placeholder that the shape, sparse and ragged describe."""
        shape = list(self._batch_input_shape)
        if sparse or ragged:
            return composite.input_spec(shape, as_dtype(self.dtype), sparse)
        return TensorSpec(shape, self.dtype)

    input = property(lambda s: s.output)
    input_shape = property(lambda s: s.output_shape)

    def get_config(self) -> dict[str, Any]:
        if self._type_spec_argument is not None:
            spec = composite.spec_config(self._type_spec_argument)
            return {"name": self.name, "type_spec": spec}
        return {
            "batch_input_shape": list(self._batch_input_shape),
            "dtype": self.dtype,
            "sparse": self.sparse,
            "ragged": self.ragged,
            "name": self.name,
            **({"optional": True} if self.optional else {}),
        }


LAYERS.add(InputLayer)


@keras_export("Input", "layers.Input")
def Input(
    shape: Any = None,
    batch_size: int | None = None,
    name: str | None = None,
    dtype: Any = None,
    sparse: bool | None = None,
    tensor: TensorLike = None,
    ragged: bool | None = None,
    type_spec: Any = None,
    batch_shape: ShapeLike = None,
    batch_input_shape: Any = None,
    optional: bool = False,
    **kwargs: Any,
) -> Any:
    """Creates a symbolic tensor: an input of a functional model.

    Args:
      shape: Shape without the batch dimension; None marks an unknown size, with ragged a ragged
        dimension.
      batch_size: Batch size, if it is static.
      name: Name of the input.
      dtype: Type; default: `tf.keras.backend.floatx()`.
      sparse: Whether the input is a sparse tensor. If not, sparse tensors that are passed to the
        model become dense.
      tensor: Symbolic tensor to use as the input; it has its own shape and type.
      ragged: Whether the input is a ragged tensor.
      type_spec: TypeSpec of a whole batch, such as a tf.RaggedTensorSpec, instead of all other
        arguments but name.
      batch_shape: Shape with the batch dimension.
      batch_input_shape: Former name of batch_shape; used if shape, batch_shape and tensor are
        missing.
      optional: Whether calls of the model may pass None for the input.
      **kwargs: Rejected.

    Returns:
      A symbolic tensor or composite tensor.

    Raises:
      NotImplementedError: If tensor is one of a graph of the program.
      ValueError: If neither a shape nor a tensor nor a type_spec is given, the tensor is eager,
        arguments exclude each other, or for unknown arguments.
    """
    if kwargs:
        raise ValueError(f"Unrecognized keyword arguments: {list(kwargs)}")
    if shape is None and batch_shape is None and tensor is None:
        batch_shape = batch_input_shape
    if isinstance(shape, int):
        shape = (shape,)
    if tensor is not None and not context.is_symbolic(tensor):
        if hasattr(tensor, "numpy"):
            raise ValueError(
                "You should not pass an EagerTensor to `Input`. For example, instead of creating "
                "an `InputLayer`, you should instantiate your model and directly call it on your "
                "input."
            )
        unsupported("Input", tensor=(tensor, None))
    layer = InputLayer(
        input_shape=shape,
        batch_size=batch_size,
        name=name,
        dtype=dtype,
        sparse=sparse,
        ragged=ragged,
        input_tensor=tensor,
        type_spec=type_spec,
        batch_input_shape=batch_shape,
        optional=optional,
    )
    return layer._inbound_nodes[0].outputs
