# SPDX-License-Identifier: Apache-2.0
"""padded_batch.py: the padded shapes and padding values of Dataset.padded_batch."""

import numpy

from situ._src.data.structure import DatasetSpec, tensor
from situ._src.framework.api import OPS
from situ._src.framework.nest import DATA
from situ._src.framework.tensor import EagerTensor, GraphTensor, constant_value
from situ._src.framework.tensor_shape import as_shape
from situ._src.framework.type_spec import TensorSpec
from situ._src.ops.array_ops import convert_to_tensor

_TENSORS = (EagerTensor, GraphTensor)


def _size(value):
    """Normalizes a dimension: an integer, None for the longest element of a batch, or a tensor."""
    if value is None or isinstance(value, GraphTensor):
        return value
    if value < -1:
        raise ValueError(f"Dimension {value} must be >= 0")
    return None if value == -1 else int(value)


def _sizes(shape):
    """Normalizes a shape: a list of dimensions, a tensor if it is unknown, or None."""
    if isinstance(shape, _TENSORS):
        is_index = shape.dtype.is_integer if isinstance(shape, EagerTensor) else None
        _check_vector(shape, shape.shape, shape.dtype, is_index)
        known = constant_value(shape)
        known = None if known is None else numpy.asarray(known)
        if known is None or (isinstance(shape, GraphTensor) and numpy.any(known < -1)):
            return tensor(shape)  # the op checks it
        shape = known.tolist()
    sizes = as_shape(shape).as_list() if isinstance(shape, int) else shape
    sizes = getattr(shape, "as_list", lambda: sizes)()
    if sizes is None:
        return None
    if any(isinstance(n, (list, tuple, float)) for n in sizes):
        made = convert_to_tensor(sizes)
        _check_vector(shape, made.shape, made.dtype)
    return [_size(n) for n in sizes]


def _check_vector(given, shape, dtype, is_index=None):
    """Checks that a padded shape that is, or becomes, a tensor is a vector of int64."""
    start = f"Padded shape {given} must be a `tf.int64` vector tensor, but its"
    if shape.rank not in (None, 1):
        raise ValueError(f"{start} shape was {shape}.")
    if not (dtype.name == "int64" if is_index is None else is_index):
        raise TypeError(f"{start} element type was {dtype.name}.")


def _static(sizes):
    """Returns the static shape."""
    if isinstance(sizes, GraphTensor):
        return as_shape(
            [None] * sizes.shape.as_list()[0] if sizes.shape.is_fully_defined() else None
        )
    return as_shape(
        None if sizes is None else [None if isinstance(n, GraphTensor) else n for n in sizes]
    )


def _vector(sizes):
    """Converts a shape to a tensor; -1 stands for the longest element."""
    if isinstance(sizes, GraphTensor):
        return sizes
    if sizes is None:
        raise ValueError(
            "A padded shape of unknown rank cannot be combined with one that is a tensor."
        )
    if not any(isinstance(n, GraphTensor) for n in sizes):
        return tensor([-1 if n is None else n for n in sizes], "int64")

    return tensor(
        OPS["Pack"](
            [OPS["Cast"](convert_to_tensor(-1 if n is None else n), DstT="int64") for n in sizes]
        )
    )


def check_types(spec):
    """Raises TypeError if an element has components that cannot be padded."""
    for one in DATA.flatten(spec):
        if isinstance(one, TensorSpec):
            continue
        if isinstance(one, DatasetSpec):
            raise TypeError("`padded_batch` is not supported for datasets of datasets")
        raise TypeError(
            "`padded_batch` is only supported for datasets that produce tensor elements but type "
            f"spec of elements in the input dataset is not a subclass of TensorSpec: `{one}`."
        )


def shapes(padded_shapes, spec):
    """Returns (static padded shapes of the components, the shapes as tensors or None if all are
    static)."""
    specs = DATA.flatten(spec)
    if padded_shapes is None:
        for i, one in enumerate(specs):
            if one.shape.rank is None:
                raise ValueError(
                    "You must provide `padded_shapes` argument because component "
                    f"{i} has unknown rank."
                )
        return [s.shape for s in specs], None

    sizes_of = [_sizes(part) for part in DATA.flatten_like(spec, padded_shapes)]
    for one, sizes in zip(specs, sizes_of):
        _check(one, _static(sizes))
    dynamic = any(
        isinstance(s, GraphTensor) or any(isinstance(n, GraphTensor) for n in s or ())
        for s in sizes_of
    )
    return [_static(s) for s in sizes_of], [_vector(s) for s in sizes_of] if dynamic else None


def _check(spec, shape):
    """Checks that elements are padded, not truncated."""
    if spec.shape.rank is None or shape.rank is None:
        return
    pairs = list(zip(spec.shape.as_list(), shape.as_list()))
    if spec.shape.rank != shape.rank or any(
        None not in pair and pair[0] > pair[1] for pair in pairs
    ):
        raise ValueError(
            f"The padded shape {tuple(shape.as_list())} is not compatible with the "
            f"shape {tuple(spec.shape.as_list())} of the corresponding input "
            "component."
        )


def values(padding_values, specs):
    """Returns the padding values of the components."""
    padding_values = (
        [padding_values] * len(specs)
        if padding_values is None or not DATA.is_nested(padding_values)
        else DATA.flatten(padding_values)
    )
    return [_value(v, s.dtype) for v, s in zip(padding_values, specs)]


def _value(value, dtype):
    if value is None:
        return tensor({"string": "", "bool": False}.get(dtype.name, 0), dtype)
    try:
        result = tensor(value, None if isinstance(value, _TENSORS) else dtype)
        if result.dtype == dtype:
            return result
    except TypeError:
        result = tensor(value)
    raise TypeError(
        f"Invalid `padding_values`. `padding_values` values type {result.dtype!r} does "
        f"not match type {dtype!r} of the corresponding input component."
    )


def batched(spec, rows):
    """Returns the spec of a batch."""
    return TensorSpec(
        None if spec.shape.rank is None else [rows] + spec.shape.as_list(), spec.dtype
    )
