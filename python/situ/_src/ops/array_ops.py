# SPDX-License-Identifier: Apache-2.0
"""array_ops.py: constants, shapes, concatenation, padding: what is more than one op, or has
Python's form."""

import builtins
import numbers

import _situ
from situ._src.framework import tensor_shape
from situ._src.framework.api import OPS, export, op_functions
from situ._src.framework.dtypes import as_dtype, beyond_int32, check_supported, dtype_of
from situ._src.framework.graph import get_default_graph, scope
from situ._src.framework.tensor import GraphTensor, Tensor, constant_value


def op(op_name, *args, **words):
    return OPS[op_name](*args, **words)


@export("convert_to_tensor")
def convert_to_tensor(value, dtype=None, name=None, preferred_dtype=None, dtype_hint=None):
    """A tensor of a number, a list, an array, a variable or a tensor."""
    if dtype is None and not _is_tensor(value):
        hint = preferred_dtype if preferred_dtype is not None else dtype_hint
        if hint is not None:
            try:
                return _situ.constant(value, as_dtype(hint), name or None)
            except (TypeError, ValueError):
                pass
    return _situ.constant(
        value, None if dtype is None else as_dtype(dtype).base_dtype, name or None
    )


def _eagerly_shaped(array, shape, count):
    import numpy

    if array.size == count:
        return array.reshape(shape)
    if array.size == 1:
        return numpy.full(shape, array.reshape([])[()])
    raise TypeError(
        "Eager execution of tf.constant with unsupported shape. Tensor "
        f"{array.tolist()} (converted from {array.size} elements) has {array.size} "
        f"elements, but got `shape` {tuple(shape)} with {count} elements."
    )


def _shaped(value, dtype, shape, fills, verify=False):
    """A value as an array of a shape. fills: whether the last element stands for missing ones, as
    in tf.compat.v1; else only a single one stands for all."""
    import numpy

    shape = tensor_shape.as_shape(shape).as_list()
    array = numpy.asarray(_situ.host(value, dtype).numpy())
    count = 1
    for size in shape:
        count *= size
    if _situ.executing_eagerly():
        return _eagerly_shaped(array, shape, count)
    if not count and not hasattr(value, "dtype"):
        return array.ravel()[:0].reshape(shape)
    is_wrong = (
        list(array.shape) != shape
        if verify
        else not fills and array.size != count and array.shape not in ((), (1,))
    )
    if is_wrong:
        raise TypeError(f"Expected Tensor's shape: {tuple(shape)}, but got {array.shape}.")
    if array.size > count:
        raise ValueError(
            f"Too many elements provided. Takes at most {count}, but got {array.size}."
        )
    last = array.ravel()[-1] if array.size else array.dtype.type()
    flat = numpy.concatenate([array.ravel(), numpy.full(count - array.size, last, array.dtype)])
    return flat.reshape(shape)


def _converted(tensor, dtype):
    """An eager tensor as a constant of another type: integers may become real numbers."""
    have = dtype_of(tensor)
    if have is dtype:
        return tensor
    if not (have.is_integer or have.is_floating and not dtype.is_integer) or not (
        dtype.is_integer or dtype.is_floating
    ):
        raise TypeError(f"Cannot convert {tensor!r} to EagerTensor of dtype {dtype.name}")
    return cast(tensor, dtype)


def _constant(value, dtype, shape, name, fills, verify=False):
    dtype = None if dtype is None else as_dtype(dtype).base_dtype
    if dtype is not None and _is_tensor(value) and _situ.executing_eagerly():
        value = _converted(value, dtype)
    if shape is not None:
        value = _shaped(value, dtype, shape, fills, verify)
    result = _situ.constant(value, dtype, name or "Const")
    if isinstance(result, GraphTensor):
        result._constant = value
    return result


@export(v2="constant")
def constant(value, dtype=None, shape=None, name="Const"):
    """A constant tensor; with `shape`, of as many elements, or of a single one that is repeated."""
    return _constant(value, dtype, shape, name, False)


@export(v1="constant")
def constant_v1(value, dtype=None, shape=None, name="Const", verify_shape=False):
    """A constant tensor; with `shape`, the last element is repeated as often as needed."""
    return _constant(value, dtype, shape, name, True, verify_shape)


@export(v1="placeholder")
def placeholder(dtype, shape=None, name=None):
    """A value that every run is given through feed_dict."""
    if _situ.executing_eagerly():
        raise RuntimeError("tf.placeholder() is not compatible with eager execution.")
    return op("Placeholder", dtype=as_dtype(dtype).base_dtype, shape=shape, name=name)


def _filled(value):
    def make(shape, dtype="float32", name=None):
        dtype = as_dtype(dtype).base_dtype
        kind = "zeros" if value == 0 else "ones"
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
    """A shape of which a single size may stand for [size], and 3.0 for 3."""
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
    """A shape as a tensor; called as TensorFlow calls it."""
    if hasattr(sizes, "_as_graph_element") or _situ.executing_eagerly():
        return sizes
    sizes = list(sizes)
    free = _holds(sizes) or beyond_int32(*sizes)
    return convert_to_tensor(
        sizes, None if free else "int32", None if _holds(sizes) else "shape_as_tensor"
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
    def like(tensor=None, dtype=None, name=None, optimize=True, input=None):
        with scope(name, kind) as full:
            tensor = convert_to_tensor(tensor if tensor is not None else input, name="tensor")
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
    """The shape as a list where it is known, else the op Shape."""
    known = tensor_shape.as_shape(tensor.shape)
    return known.as_list() if known.is_fully_defined() else op("Shape", tensor)


@export("cast", "dtypes.cast")
def cast(x, dtype, name=None):
    """The same elements as another type."""
    dtype = as_dtype(dtype).base_dtype
    if hasattr(x, "with_flat_values"):  # ragged rows
        return x.with_flat_values(cast(x.flat_values, dtype))
    x = convert_to_tensor(x, name="x")
    return x if x.dtype == dtype else op("Cast", x, dtype, name=name)


for _name, _type in (
    ("to_float", "float32"),
    ("to_double", "float64"),
    ("to_int32", "int32"),
    ("to_int64", "int64"),
):

    def _to(x, name=None, _type=_type):
        return cast(x, _type, name=name)

    export(v1=_name)(_to)


@export("shape")
def shape(input, out_type="int32", name=None):
    tensor = convert_to_tensor(input)
    known = tensor_shape.as_shape(tensor.shape)
    if isinstance(tensor, GraphTensor) and known.is_fully_defined():
        return constant(known.as_list(), out_type, name=name or "Shape")
    return op("Shape", tensor, out_type=as_dtype(out_type), name=name)


@export("transpose")
def transpose(a, perm=None, name="transpose", conjugate=False):
    with scope(name, "transpose") as full:
        a = convert_to_tensor(a, name="a")
        if perm is None:
            rank = tensor_shape.as_shape(a.shape).rank
            perm = (
                op("Sub", op("Rank", a), op("Range", 1, op("Add", op("Rank", a), 1), 1))
                if rank is None
                else list(range(rank))[::-1]
            )
        return op("Transpose", a, perm, name=full)


@export("concat")
def concat(values, axis, name="concat"):
    if not isinstance(values, (list, tuple)):
        values = [values]
    if len(values) == 1:
        tensor_shape.as_shape(convert_to_tensor(axis, "int32").shape).assert_has_rank(0)
        return op("Identity", values[0], name=name)
    return op("ConcatV2", list(values), axis, name=name)


@export("stack")
def stack(values, axis=0, name="stack"):
    """Tensors of one shape as one tensor, along a new axis."""
    if axis == 0 and not (isinstance(values, (list, tuple)) and _holds_tensor(values)):
        try:
            return convert_to_tensor(values, name=name)
        except (TypeError, ValueError):
            pass
    values = list(values)
    if not any(_is_tensor(v) or hasattr(v, "flat_values") for v in values):  # as the first
        first = convert_to_tensor(values[0])
        values = [first, *[convert_to_tensor(v, first.dtype) for v in values[1:]]]
    return op("Pack", values, axis=axis, name=name)


@export(v1="pack")
def pack(values, axis=0, name="pack"):
    return op("Pack", list(values), axis=axis, name=name)


@export("unstack", v1="unpack")
def unstack(value, num=None, axis=0, name="unstack"):
    value = convert_to_tensor(value)
    if num is None:
        known = tensor_shape.as_shape(value.shape)
        if known.rank is not None and not -known.rank <= axis < known.rank:
            raise ValueError(f"Argument `axis` = {axis} not in range [{-known.rank}, {known.rank})")
        num = None if known.rank is None else known.as_list()[axis]
        if num is None:
            raise ValueError(f"Cannot infer num from shape {value.shape}")
        if num == 0:
            return []
    return op("Unpack", value, num=num, axis=axis, name=name)


@export("split")
def split(value, num_or_size_splits, axis=0, num=None, name="split"):
    if isinstance(num_or_size_splits, int):
        return op("Split", axis, value, num_split=num_or_size_splits, name=name)
    return op(
        "SplitV",
        value,
        num_or_size_splits,
        axis,
        num_split=num or len(num_or_size_splits),
        name=name,
    )


@export(v1=("gather", "manip.gather"))
def gather(params, indices, validate_indices=None, name=None, axis=None, batch_dims=0):
    """The slices of params along an axis with these numbers."""
    if batch_dims:
        from situ._src.ops.gather_ops import gather_in_batches

        return gather_in_batches(params, indices, axis, batch_dims)
    if hasattr(params, "sparse_read") and not axis:
        return params.sparse_read(indices, name=name)
    return op("GatherV2", params, indices, 0 if axis is None else axis, name=name)


@export(v2="gather")
def gather_v2(params, indices, validate_indices=None, axis=None, batch_dims=0, name=None):
    return gather(params, indices, validate_indices, name, axis, batch_dims)


@export("one_hot")
def one_hot(indices, depth, on_value=None, off_value=None, axis=None, dtype=None, name=None):
    given = [v for v in (on_value, off_value) if v is not None]
    kind = as_dtype(
        dtype if dtype is not None else convert_to_tensor(given[0]).dtype if given else "float32"
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
def range_(start, limit=None, delta=1, dtype=None, name="range"):
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
        order = ["int32", "int64", "float32", "float64"]
        for kind in kinds:
            check_supported(as_dtype(kind))
        kind = as_dtype(max((k.name for k in kinds), key=order.index))
        parts = [
            cast(v, kind) if dtype_of(v) else convert_to_tensor(v, kind, name=n)
            for v, n in ((start, "start"), (limit, "limit"), (delta, "delta"))
        ]
        return op("Range", *parts, name=full)


def _where(row):
    def where(condition, x=None, y=None, name=None):
        """Elements of x where the condition holds, else of y; without both, the places of what
        holds."""
        if (x is None) != (y is None):
            raise ValueError("x and y must both be non-None or both be None.")
        return (
            op("Where", condition, name=name) if x is None else op(row, condition, x, y, name=name)
        )

    return where


where = export("where", v1="where_v2")(_where("SelectV2"))
export(v1="where")(_where("Select"))


identity = op_functions()["identity"]
export("manip.reshape")(op_functions()["reshape"])


@export(v1=("placeholder_with_default",))
def placeholder_with_default(input, shape, name=None):
    """A value that may be fed; else the default."""
    return op("PlaceholderWithDefault", input, shape=tensor_shape.as_shape(shape), name=name)


def _pack_values(values, dtype, name):
    """A list that holds tensors, as one tensor."""
    have = _kind(values)
    kind = have if dtype is None else dtype
    if kind is not have:
        values = [_cast_all(v, kind) for v in values]
    graph = _situ.current_graph()
    if graph is None:
        return op("Pack", [convert_to_tensor(v, kind) for v in values])
    whole = name if name.endswith("/") else graph._unique("", name) + "/"
    with scope(whole):
        parts = [convert_to_tensor(v, kind, str(i)) for i, v in enumerate(values)]
    return op("Pack", parts, name=whole)


def _cast_all(value, kind):
    """The tensors of a nested list in another type."""
    if isinstance(value, (list, tuple)):
        return [_cast_all(v, kind) for v in value]
    return cast(value, kind) if _is_tensor(value) else value


def _is_tensor(value):
    return isinstance(value, Tensor) or hasattr(value, "_situ_tensor_")


def _holds_tensor(values):
    return any(_is_tensor(v) or isinstance(v, (list, tuple)) and _holds_tensor(v) for v in values)


def _kind(value):
    """The type of the first tensor of a nested list."""
    if isinstance(value, (list, tuple)):
        return next((k for k in map(_kind, value) if k is not None), None)
    return dtype_of(value) if _is_tensor(value) else None


def _holds(values):
    return any(
        dtype_of(v) is not None or isinstance(v, (list, tuple)) and _holds(v) for v in values
    )


_situ.hook("pack", _pack_values)


@export("group")
def group(*inputs, **words):
    """An operation that is done when all of these are."""
    name = words.pop("name", None)
    if words:
        raise ValueError("Unknown keyword arguments: " + ", ".join(words))
    flat = _flat(inputs)
    if _situ.executing_eagerly():
        return None
    graph = get_default_graph()
    ops = [_operation(i) for i in flat]
    by_device = {}
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
    """The operation behind a tensor; of a variable in a function, the one that gave its value."""
    found = getattr(item, "op", item)
    return item._situ_tensor_().op if found is None else found


def _flat(items):
    for item in items:
        if isinstance(item, (list, tuple)):
            yield from _flat(item)
        elif item is not None:
            yield item


@export("tuple")
def tuple_(tensors, name=None, control_inputs=None):
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


@export("get_static_value", v1="contrib.util.constant_value")
def get_static_value(tensor, partial=False):
    value = constant_value(tensor)
    return value


@export("pad")
def pad(tensor, paddings, mode="CONSTANT", constant_values=0, name=None):
    """The tensor with margins: of a value, or that mirror it (REFLECT, SYMMETRIC)."""
    if mode.upper() in ("REFLECT", "SYMMETRIC"):
        return op("MirrorPad", tensor, paddings, mode=mode.upper(), name=name)
    if mode.upper() != "CONSTANT":
        raise ValueError(f"Unknown padding mode: {mode}")
    if isinstance(constant_values, (int, float)) and constant_values == 0:
        return op("Pad", tensor, paddings, name=name)
    return op("PadV2", tensor, paddings, constant_values, name=name)


@export(v1="pad")
def pad_v1(tensor, paddings, mode="CONSTANT", name=None, constant_values=0):
    return pad(tensor, paddings, mode, constant_values, name)


@export("shape_n", v1="shape_n")
def shape_n(input, out_type="int32", name=None):
    with scope(name, "ShapeN"):
        return [op("Shape", convert_to_tensor(x), out_type=out_type) for x in input]


@export("register_tensor_conversion_function", v1="register_tensor_conversion_function")
def register_tensor_conversion_function(base_type, conversion_func, priority=100):
    """Objects of a class become tensors by a function wherever a tensor is expected."""

    def convert(self):
        return conversion_func(self, dtype=None, name=None, as_ref=False)

    for kind in base_type if isinstance(base_type, tuple) else (base_type,):
        if not hasattr(kind, "_situ_tensor_"):
            kind._situ_tensor_ = convert


@export("identity_n")
def identity_n(input, name=None):
    """Each of the tensors as it is."""
    given = [convert_to_tensor(x) for x in input]
    if any(x.dtype.name == "string" for x in given):  # no kernel copies texts
        with scope(name, "IdentityN"):
            return [op("Identity", x) for x in given]
    return list(op("IdentityN", given, T=[x.dtype for x in given], name=name))


@export("parallel_stack")
def parallel_stack(values, name="parallel_stack"):
    """The tensors side by side along a new first axis."""
    return stack(values, 0, name)
