# SPDX-License-Identifier: Apache-2.0
"""array_ops.py: tf.constant, tf.concat, tf.gather and other array functions that are more
than
one op or take Python values."""

from __future__ import annotations

import builtins
import numbers

import _situ
from situ._src.framework import style, tensor_shape
from situ._src.framework.api import export, op_functions
from situ._src.framework.dtypes import as_dtype, beyond_int32, dtype_of
from situ._src.framework.graph import get_default_graph, scope
from situ._src.framework.keywords import with_order
from situ._src.framework.tensor import GraphTensor, constant_value
from situ._src.ops.composite_dispatch import ragged_version
from situ._src.ops.constant_op import (
    cast,
    constant,
    convert_to_tensor,
    holds_dtype,
    holds_tensor,
    is_tensor,
    op,
)

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import (
        Any,
        Axis,
        Callable,
        DTypeLike,
        Operation,
        ShapeLike,
        Tensor,
        TensorLike,
    )


@export(v1="placeholder")
def placeholder(dtype: DTypeLike, shape: ShapeLike = None, name: str | None = None) -> Tensor:
    """Creates a placeholder for a value that each run must feed.

    Args:
      dtype: The element type of fed values.
      shape: The shape of fed values. Unknown if None.
      name: A name for the operation (optional).

    Returns:
      A tensor to be used as a key of `feed_dict`; it cannot be evaluated without a feed.

    Raises:
      RuntimeError: In eager mode.
    """
    if _situ.executing_eagerly():
        raise RuntimeError("tf.placeholder() is not compatible with eager execution.")
    return op("Placeholder", dtype=as_dtype(dtype).base_dtype, shape=shape, name=name)


def _filled(value):
    def make(shape: ShapeLike, dtype: DTypeLike = "float32", name: str | None = None) -> Tensor:
        """Creates a tensor with all elements set to zero (`tf.zeros`) or one (`tf.ones`).

        Args:
          shape: A list of integers, a tuple, or a 1-D integer tensor.
          dtype: The element type.
          name: A name for the operation (optional).

        Returns:
          A tensor of this shape and type.
        """
        dtype = as_dtype(dtype).base_dtype
        kind = "zeros" if value == 0 else "ones"
        if type(shape).__name__ == "DynamicRaggedShape":
            return shape._add_row_partitions(make(shape.inner_shape, dtype, name))
        with scope(name, kind) as full:
            zero = (
                builtins.bool(value) if dtype.is_bool else ("" if dtype.name == "string" else value)
            )
            sizes = _vector(shape)
            fixed = not hasattr(sizes, "_as_graph_element")
            if fixed and (
                dtype.name == "string" or not _situ.executing_eagerly() and _is_small(sizes)
            ):
                import numpy

                array = numpy.full([int(s) for s in sizes], zero, dtype.as_numpy_dtype)
                return constant(array, dtype, name=full)
            if isinstance(sizes, (list, tuple)) and not sizes:
                return constant(zero, dtype, name=full)
            return op("Fill", _sizes(sizes), constant(zero, dtype), name=full)

    return make


def _vector(shape):
    """Normalizes a shape: a scalar n means [n], and integral floats are accepted."""
    if isinstance(shape, tensor_shape.TensorShape):
        return shape.as_list()
    if (
        isinstance(shape, (list, tuple))
        and any(isinstance(s, float) for s in shape)
        and all(isinstance(s, numbers.Real) and s == int(s) for s in shape)
    ):
        return [int(s) for s in shape]
    if isinstance(shape, numbers.Integral):
        return [shape]
    if dtype_of(shape) is not None and getattr(shape.shape, "rank", 1) == 0:
        return op("Reshape", shape, [-1])
    return shape


def _sizes(sizes):
    """Converts a shape to a tensor, with the node name that TensorFlow uses."""
    if hasattr(sizes, "_as_graph_element") or _situ.executing_eagerly():
        return sizes
    sizes = list(sizes)
    inferred = holds_dtype(sizes) or beyond_int32(*sizes)
    return convert_to_tensor(
        sizes,
        None if inferred else "int32",
        None if holds_dtype(sizes) else "shape_as_tensor",
    )


def _is_small(sizes):
    try:
        count = 1
        for size in sizes:
            count *= int(size)
        return count < 1000
    except (TypeError, ValueError):
        return False


zeros = export("zeros")(_filled(0))
ones = export("ones")(_filled(1))


def _likes(kind, make):
    @export(kind)
    def like(
        tensor: TensorLike = None,
        dtype: DTypeLike = None,
        name: str | None = None,
        optimize: bool = True,
        input: TensorLike = None,
    ) -> Tensor:
        """Creates a tensor of zeros or ones with the shape of another tensor.

        Args:
          tensor: The tensor to take the shape from.
          dtype: The element type; by default that of `tensor`.
          optimize: Whether `tf.zeros_like` in a graph may use the static shape of `tensor` instead
            of its value.
          input: The name of `tensor` in TensorFlow 2.
          name: A name for the operation (optional).

        Returns:
          A tensor.
        """
        tensor = tensor if tensor is not None else input
        if hasattr(tensor, "with_flat_values"):  # ragged rows
            return tensor.with_flat_values(like(tensor.flat_values, dtype, name, optimize))
        with scope(name, kind) as full:
            tensor = convert_to_tensor(tensor, name="tensor")
            if dtype is None or as_dtype(dtype) is tensor.dtype:
                dtype = tensor.dtype
                known = (
                    make is zeros
                    and not _situ.executing_eagerly()
                    and optimize
                    and tensor_shape.as_shape(tensor.shape).is_fully_defined()
                )
                if not known:
                    return op("ZerosLike" if make is zeros else "OnesLike", tensor, name=full)
            return make(shape_of(tensor), dtype, name=full)

    return like


zeros_like, ones_like = _likes("zeros_like", zeros), _likes("ones_like", ones)


def shape_of(tensor):
    """Returns the static shape as a list if it is fully defined, otherwise the op Shape."""
    known = tensor_shape.as_shape(tensor.shape)
    return known.as_list() if known.is_fully_defined() else op("Shape", tensor)


for _name, _type in (
    ("to_bfloat16", "bfloat16"),
    ("to_complex64", "complex64"),
    ("to_complex128", "complex128"),
    ("to_float", "float32"),
    ("to_double", "float64"),
    ("to_int32", "int32"),
    ("to_int64", "int64"),
):

    def _to(x, name=None, _type=_type):
        return cast(x, _type, name=name)

    export(v1=_name)(_to)


@export("shape")
@ragged_version("ragged_broadcast", "ragged_shape")
def shape(input: TensorLike, out_type: DTypeLike = "int32", name: str | None = None) -> Tensor:
    """Returns the shape of a tensor as a 1-D integer tensor.

    Args:
      input: A tensor.
      out_type: The element type of the result, int32 or int64.
      name: A name for the operation (optional).

    Returns:
      A 1-D tensor of `out_type`. In a graph it is a constant if the static shape is fully defined.
    """
    if is_sparse(input):
        return op("Cast", input.dense_shape, DstT=as_dtype(out_type), name=name)
    tensor = convert_to_tensor(input)
    known = tensor_shape.as_shape(tensor.shape)
    if isinstance(tensor, GraphTensor) and known.is_fully_defined():
        return constant(known.as_list(), out_type, name=name or "Shape")
    return op("Shape", tensor, out_type=as_dtype(out_type), name=name)


def is_sparse(value: Any) -> bool:
    """Returns whether a value is a sparse tensor."""
    return type(value).__name__ in ("SparseTensor", "SparseTensorValue")


@export("transpose")
def transpose(
    a: TensorLike, perm: TensorLike = None, name: str | None = "transpose", conjugate: bool = False
) -> Tensor:
    """Permutes the dimensions of a tensor.

    Args:
      a: A tensor.
      perm: For each dimension of the result, the dimension of `a` it comes from. By default the
        order of the dimensions is reversed.
      conjugate: Whether complex elements are conjugated.
      name: A name for the operation (optional).

    Returns:
      A tensor.
    """
    with scope(name, "transpose") as full:
        a = convert_to_tensor(a, name="a")
        if perm is None:
            rank = tensor_shape.as_shape(a.shape).rank
            perm = (
                op("Sub", op("Rank", a), op("Range", 1, op("Add", op("Rank", a), 1), 1))
                if rank is None
                else list(range(rank))[::-1]
            )
        if conjugate and a.dtype.is_complex:
            a = op("Conj", a)
        return op("Transpose", a, perm, name=full)


@export(v2="transpose")
def transpose_v2(
    a: TensorLike, perm: TensorLike = None, conjugate: bool = False, name: str | None = "transpose"
) -> Tensor:
    """Permutes the dimensions of a tensor; see `tf.compat.v1.transpose`.

    Args:
      a: A tensor.
      perm: For each dimension of the result, the dimension of `a` it comes from. By default the
        order of the dimensions is reversed.
      conjugate: Whether complex elements are conjugated.
      name: A name for the operation (optional).
    """
    return transpose(a, perm, name, conjugate)


@export("concat")
def concat(values: TensorLike, axis: Axis, name: str | None = "concat") -> Tensor:
    """Concatenates tensors along one dimension.

    Args:
      values: A list of tensors with equal types and equal shapes except along `axis`.
      axis: The dimension to concatenate. Negative values count from the end.
      name: A name for the operation (optional).

    Returns:
      A tensor.

    Raises:
      ValueError: If the shapes do not match (InvalidArgumentError in eager mode).
    """
    if not isinstance(values, (list, tuple)):
        values = [values]
    if len(values) == 1:
        tensor_shape.as_shape(convert_to_tensor(axis, "int32").shape).assert_has_rank(0)
        return op("Identity", values[0], name=name)
    return op("ConcatV2", list(values), axis, name=name)


def _axis_error(axis, rank):
    """Returns the text of the error for an axis that tensors of a rank do not have."""
    if style.is_graph():  # of TensorFlow 1
        return f"axis = {axis} not in [{-rank}, {rank})"
    return f"Argument `axis` = {axis} not in range [{-rank}, {rank})"


@export("stack")
def stack(values: TensorLike, axis: Axis = 0, name: str | None = "stack") -> Tensor:
    """Stacks tensors of rank R into one tensor of rank R + 1.

    Args:
      values: A list of tensors of equal shape and type.
      axis: The position of the new dimension. Negative values count from the end.
      name: A name for the operation (optional).

    Returns:
      A tensor.

    Raises:
      ValueError: If `axis` is out of range or the shapes differ (InvalidArgumentError in eager
        mode).
    """
    if axis == 0 and not (isinstance(values, (list, tuple)) and holds_tensor(values)):
        try:
            return convert_to_tensor(values, name=name)
        except (TypeError, ValueError):
            pass
    values = list(values)
    if not any(is_tensor(v) or hasattr(v, "flat_values") for v in values):  # as the first
        first = convert_to_tensor(values[0])
        values = [first, *[convert_to_tensor(v, first.dtype) for v in values[1:]]]
    rank = tensor_shape.as_shape(getattr(values[0], "shape", None)).rank if values else None
    if rank is not None and not -rank - 1 <= axis <= rank:
        raise ValueError(_axis_error(axis, rank + 1))
    return op("Pack", values, axis=axis, name=name)


@export(v1="pack")
def pack(values: TensorLike, axis: Axis = 0, name: str | None = "pack") -> Tensor:
    """Stacks tensors along a new dimension; the name of `tf.stack` before TensorFlow 1.

    Args:
      values: List of tensors of equal types and shapes.
      axis: Index of the new dimension.
      name: A name for the operation (optional).
    """
    return op("Pack", list(values), axis=axis, name=name)


@export("unstack", v1="unpack")
def unstack(
    value: TensorLike, num: int | None = None, axis: Axis = 0, name: str | None = "unstack"
) -> list[Tensor]:
    """Splits a tensor of rank R into tensors of rank R - 1.

    Args:
      value: A tensor of rank 1 or more.
      num: The size of dimension `axis`. By default the static shape tells it.
      axis: The dimension to unstack. Negative values count from the end.
      name: A name for the operation (optional).

    Returns:
      A list of tensors.

    Raises:
      ValueError: If `axis` is out of range, or `num` is None and the size is unknown.
    """
    value = convert_to_tensor(value)
    if num is None:
        known = tensor_shape.as_shape(value.shape)
        if known.rank is not None and not -known.rank <= axis < known.rank:
            raise ValueError(_axis_error(axis, known.rank))
        num = None if known.rank is None else known.as_list()[axis]
        if num is None:
            argument = "num" if style.is_graph() else "argument `num`"
            raise ValueError(f"Cannot infer {argument} from shape {value.shape}")
    if num == 0 and 0 in tensor_shape.as_shape(value.shape):
        return []
    return op("Unpack", value, num=num, axis=axis, name=name)


@export("split")
@ragged_version("ragged_partition_ops", "split")
def split(
    value: TensorLike,
    num_or_size_splits: TensorLike,
    axis: Axis = 0,
    num: int | None = None,
    name: str | None = "split",
) -> list[Tensor]:
    """Splits a tensor into several along one dimension.

    Args:
      value: A tensor.
      num_or_size_splits: The number of equal parts, or a list with the size of each part.
      axis: The dimension to split. Negative values count from the end.
      num: The number of parts, if `num_or_size_splits` is a tensor of unknown shape.
      name: A name for the operation (optional).

    Returns:
      A list of tensors.

    Raises:
      ValueError: If the dimension cannot be split this way (InvalidArgumentError in eager mode).
    """
    if isinstance(num_or_size_splits, int):
        return op("Split", axis, value, num_split=num_or_size_splits, name=name)
    sizes = convert_to_tensor(num_or_size_splits)
    if sizes.shape.ndims == 0:
        raise ValueError(
            "Rank-0 tensors are not supported as the num_or_size_splits argument to split. "
            f"Argument provided: {num_or_size_splits}"
        )
    if num is None:
        num = None if sizes.shape.ndims is None else sizes.shape.as_list()[0]
        if num is None:
            raise ValueError(f"Cannot infer argument `num` from shape {num_or_size_splits}")
    return op("SplitV", value, sizes, axis, num_split=num, name=name)


@export(v1=("gather", "manip.gather"))
def gather(
    params: TensorLike,
    indices: TensorLike,
    validate_indices: bool | None = None,
    name: str | None = None,
    axis: Axis = None,
    batch_dims: int = 0,
) -> Tensor:
    """Gathers slices of `params` along an axis.

    Args:
      params: A tensor or a variable.
      indices: A tensor of int32 or int64.
      validate_indices: Ignored; indices are always checked.
      axis: The dimension of `params` that `indices` index; by default `batch_dims`.
      batch_dims: The number of leading dimensions that `params` and `indices` share.
      name: A name for the operation (optional).

    Returns:
      A tensor of shape `params.shape[:axis] + indices.shape[batch_dims:] + params.shape[axis +
      1:]`.

    Raises:
      InvalidArgumentError: If an index is out of range.
      ValueError: If `batch_dims` does not fit `axis` and the ranks.
    """
    del validate_indices  # indices are always checked
    if batch_dims:
        from situ._src.ops.gather_ops import gather_in_batches

        return gather_in_batches(params, indices, axis, batch_dims, name)
    if hasattr(params, "sparse_read") and not axis:
        return params.sparse_read(indices, name=name)
    return op("GatherV2", params, indices, 0 if axis is None else axis, name=name)


@export(v2="gather")
def gather_v2(
    params: TensorLike,
    indices: TensorLike,
    validate_indices: bool | None = None,
    axis: Axis = None,
    batch_dims: int = 0,
    name: str | None = None,
) -> Tensor:
    """Gathers slices of `params` along an axis.

    Args:
      params: A tensor or a variable.
      indices: A tensor of int32 or int64.
      validate_indices: Ignored; indices are always checked.
      axis: The dimension of `params` that `indices` index; by default `batch_dims`.
      batch_dims: The number of leading dimensions that `params` and `indices` share.
      name: A name for the operation (optional).

    Returns:
      A tensor of shape `params.shape[:axis] + indices.shape[batch_dims:] + params.shape[axis +
      1:]`.

    Raises:
      InvalidArgumentError: If an index is out of range.
      ValueError: If `batch_dims` does not fit `axis` and the ranks.
    """
    return gather(params, indices, validate_indices, name, axis, batch_dims)


@export("one_hot")
@ragged_version("ragged_partition_ops", "one_hot")
def one_hot(
    indices: TensorLike,
    depth: TensorLike,
    on_value: TensorLike = None,
    off_value: TensorLike = None,
    axis: Axis = None,
    dtype: DTypeLike = None,
    name: str | None = None,
) -> Tensor:
    """Encodes indices as one-hot vectors.

    Args:
      indices: A tensor of integers. Indices out of range give vectors of `off_value` only.
      depth: The size of the new dimension.
      on_value: The value at the index, 1 by default.
      off_value: The value elsewhere, 0 by default.
      axis: The position of the new dimension, the last one by default.
      dtype: The element type of the result. By default that of `on_value` or `off_value`, or
        float32.
      name: A name for the operation (optional).

    Returns:
      A tensor of one rank more than `indices`.
    """
    values = [v for v in (on_value, off_value) if v is not None]
    kind = as_dtype(
        dtype if dtype is not None else convert_to_tensor(values[0]).dtype if values else "float32"
    )
    if type(indices).__module__ == "numpy" and indices.dtype.kind == "f":
        indices = indices.astype("int64")  # tensors of real numbers are refused
    with scope(name, "one_hot") as full:
        on_value = convert_to_tensor(1 if on_value is None else on_value, kind, "on_value")
        off_value = convert_to_tensor(0 if off_value is None else off_value, kind, "off_value")
        return op(
            "OneHot",
            indices,
            depth,
            on_value,
            off_value,
            axis=-1 if axis is None else axis,
            name=full,
        )


@export("range")
def range_(
    start: TensorLike,
    limit: TensorLike = None,
    delta: TensorLike = 1,
    dtype: DTypeLike = None,
    name: str | None = "range",
) -> Tensor:
    """Creates a sequence of numbers from `start` (inclusive) to `limit` (exclusive).

    Args:
      start: The first number; `limit` if that is None, and the sequence begins at 0.
      limit: The upper bound.
      delta: The difference of neighboring numbers.
      dtype: The element type. By default it is inferred from the arguments.
      name: A name for the operation (optional).

    Returns:
      A 1-D tensor.
    """
    if limit is None:
        start, limit = 0, start
    with scope(name, "range") as full:
        kinds = (
            [as_dtype(dtype)]
            if dtype is not None
            else [
                dtype_of(v)
                or as_dtype(
                    "float32" if isinstance(v, float) else "int64" if beyond_int32(v) else "int32"
                )
                for v in (start, limit, delta)
            ]
        )
        order = ["int32", "int64", "float16", "bfloat16", "float32", "float64"]
        kind = as_dtype(max((k.name for k in kinds), key=order.index))
        parts = [
            cast(v, kind) if dtype_of(v) else convert_to_tensor(v, kind, name=n)
            for v, n in ((start, "start"), (limit, "limit"), (delta, "delta"))
        ]
        return op("Range", *parts, name=full)


def _where(op_name, ragged_name):
    def where(
        condition: TensorLike, x: TensorLike = None, y: TensorLike = None, name: str | None = None
    ) -> Tensor:
        """Selects elements of `x` or `y`, or finds the true elements of a condition.

        Args:
          condition: A boolean tensor.
          x: The values where `condition` is true.
          y: The values where it is false.
          name: A name for the operation (optional).

        Returns:
          A tensor of elements of `x` and `y`. Without both, the indices of the true elements, an
          int64 tensor of shape [count, rank].

        Raises:
          ValueError: If only one of `x` and `y` is given.
        """
        if (x is None) != (y is None):
            raise ValueError("x and y must both be non-None or both be None.")
        return (
            op("Where", condition, name=name)
            if x is None
            else op(op_name, condition, x, y, name=name)
        )

    return ragged_version("ragged_math", ragged_name)(where)


where = export("where", v1="where_v2")(_where("SelectV2", "where"))
export(v1="where")(_where("Select", "where_v1"))


identity = op_functions()["identity"]
reshape = export("manip.reshape")(op_functions()["reshape"])


@export(v1=("placeholder_with_default",))
def placeholder_with_default(
    input: TensorLike, shape: ShapeLike, name: str | None = None
) -> Tensor:
    """Creates a placeholder that has a value if nothing is fed.

    Args:
      input: The default value.
      shape: The shape of fed values, compatible with that of `input`.
      name: A name for the operation (optional).

    Returns:
      A tensor.
    """
    return op("PlaceholderWithDefault", input, shape=tensor_shape.as_shape(shape), name=name)


@export("group")
def group(*inputs: Any, **kwargs: Any) -> Operation | None:
    """Creates an operation that groups others.

    Args:
      *inputs: Operations, tensors, or nested lists of them.
      **kwargs: `name`, a name for the operation.

    Returns:
      An operation that finishes when all inputs have finished. None in eager mode.

    Raises:
      TypeError: If an input is neither.
      ValueError: If an unknown keyword is given.
    """
    name = kwargs.pop("name", None)
    if kwargs:
        raise ValueError("Unknown keyword arguments: " + ", ".join(kwargs))
    if _situ.executing_eagerly():
        return None
    from situ._src.framework import nest

    graph = get_default_graph()
    flat = nest.flatten(inputs, expand_composites=True)
    for one in flat:
        if one is not None and not hasattr(one, "device"):
            raise TypeError(
                "'inputs' should be zero or more (nested) Tensors. "
                f"Received '{one}' with type '{type(one)}'."
            )
    ops = [_operation(i) for i in flat if i is not None]
    by_device: dict = {}
    for one in ops:
        by_device.setdefault(one.device, []).append(one)
    if not ops:
        return op("NoOp", name=name or "group_deps")
    if len(by_device) == 1:
        ((where_, deps),) = by_device.items()
        with graph.device(where_), graph.control_dependencies(deps):
            return op("NoOp", name=name or "group_deps")
    with graph.name_scope(name or "group_deps") as full:
        parts = []
        for where_ in sorted(by_device):
            with graph.device(where_), graph.control_dependencies(by_device[where_]):
                parts.append(op("NoOp"))
        with graph.control_dependencies(parts):
            return op("NoOp", name=full)


def _operation(item):
    """Returns the operation of a tensor; for a variable of a function, the one that produced its
    value."""
    result = getattr(item, "op", item)
    return item._situ_tensor_().op if result is None else result


@export("tuple")
def tuple_(
    tensors: TensorLike, name: str | None = None, control_inputs: TensorLike = None
) -> list[Tensor]:
    """Returns the tensors, each available only after all of them and `control_inputs` are
    computed.

    Args:
      tensors: List of tensors and None.
      name: A name for the operation (optional).
      control_inputs: Further operations to wait for.
    """
    with scope(name, "tuple"):
        done = group(*[t for t in tensors if t is not None], *(control_inputs or []))
        if done is None:
            return list(tensors)
        with get_default_graph().control_dependencies([done]):
            return [
                None
                if t is None
                else t.with_values(identity(t.values))
                if hasattr(t, "with_values")
                else identity(t)
                for t in tensors
            ]


export(v2="tuple")(with_order(tuple_, "tensors", "control_inputs", "name"))


@export("get_static_value", v1="contrib.util.constant_value")
def get_static_value(tensor: TensorLike, partial: bool = False) -> Any:
    """Returns the value of a tensor as a NumPy array if it is known while building a graph, or
    None. With `partial`, the unknown elements of a stacked tensor are None.

    Args:
      tensor: A tensor; any other value is returned as it is.
      partial: Whether unknown elements of a vector may be None.
    """
    if not is_tensor(tensor):
        return tensor
    operation = getattr(tensor, "op", None) if isinstance(tensor, GraphTensor) else None
    if not partial or operation is None or operation.type != "Pack":
        return constant_value(tensor)
    if operation.get_attr("axis") != 0:
        return None  # as in TensorFlow
    import numpy

    return numpy.array([get_static_value(x, partial) for x in operation.inputs])


@export("register_tensor_conversion_function", v1="register_tensor_conversion_function")
def register_tensor_conversion_function(
    base_type: Any, conversion_func: Callable[..., Any], priority: int = 100
) -> None:
    """Registers a function that converts objects of a class to tensors.

    Args:
      base_type: A class or a tuple of classes.
      conversion_func: A function (value, dtype, name, as_ref) that returns a tensor. It is called
        with dtype=None, name=None and as_ref=False.
      priority: Functions of a smaller number are called first, those of equal numbers in the order
        of their registration. One that returns NotImplemented leaves the value to the next.
    """
    for kind in base_type if isinstance(base_type, tuple) else (base_type,):
        if getattr(kind, "_situ_tensor_", _convert_registered) is _convert_registered:
            kind._situ_tensor_ = _convert_registered
            _conversions.append((priority, kind, conversion_func))
    _conversions.sort(key=lambda entry: entry[0])


_conversions: list = []  # (priority, class, function), by priority


def _convert_registered(value):
    """Converts an object with the first registered function that accepts it."""
    for _, kind, function in _conversions:
        if isinstance(value, kind):
            result = function(value, dtype=None, name=None, as_ref=False)
            if result is not NotImplemented:
                return result
    raise TypeError(f"No conversion function accepts {value!r}.")


@export("identity_n")
def identity_n(input: TensorLike, name: str | None = None) -> list[Tensor]:
    """Returns tensors with the same values as a list of tensors.

    Args:
      input: List of tensors.
      name: A name for the operation (optional).
    """
    tensors = [convert_to_tensor(x) for x in input]
    if any(x.dtype.name == "string" for x in tensors):  # no kernel copies strings
        with scope(name, "IdentityN"):
            return [op("Identity", x) for x in tensors]
    return list(op("IdentityN", tensors, name=name))
