# SPDX-License-Identifier: Apache-2.0
"""padded_batch.py: shapes and values that rows of a batch are filled up with."""

import numpy

from situ._src.data import structure as trace
from situ._src.data.structure import flatten, tensor
from situ._src.framework.tensor import EagerTensor, GraphTensor, constant_value
from situ._src.framework.tensor_shape import as_shape
from situ._src.framework.type_spec import TensorSpec
from situ._src.ops.array_ops import convert_to_tensor

_TENSORS = (EagerTensor, GraphTensor)


def _size(value):
    """One size of a shape: a number, None for that of the largest row, or a tensor."""
    if isinstance(value, GraphTensor):
        return value
    return None if value is None or int(value) < 0 else int(value)


def _sizes(shape):
    """The sizes of a shape that somebody gave; a vector that is not known yet; or None."""
    if isinstance(shape, _TENSORS):
        known = constant_value(shape)
        return tensor(shape) if known is None else [_size(n) for n in numpy.asarray(known)]
    sizes = getattr(shape, "as_list", lambda: shape)()
    return None if sizes is None else [_size(n) for n in sizes]


def _static(sizes):
    """What is known of a shape."""
    if isinstance(sizes, GraphTensor):
        return as_shape(
            [None] * sizes.shape.as_list()[0] if sizes.shape.is_fully_defined() else None
        )
    return as_shape(
        None if sizes is None else [None if isinstance(n, GraphTensor) else n for n in sizes]
    )


def _vector(sizes):
    """A shape as a tensor: -1 is the size of the largest row."""
    if isinstance(sizes, GraphTensor):
        return sizes
    if sizes is None:
        raise ValueError("A padded shape of unknown rank cannot stand beside one that is a tensor.")
    if not any(isinstance(n, GraphTensor) for n in sizes):
        return tensor([-1 if n is None else n for n in sizes], "int64")
    from situ._src.framework.api import OPS

    return tensor(
        OPS["Pack"](
            [OPS["Cast"](convert_to_tensor(-1 if n is None else n), DstT="int64") for n in sizes]
        )
    )


def shapes(given, spec):
    """The padded shapes of the parts of an element: as far as they are known, and as tensors where
    one of them is known later, else None."""
    specs = flatten(spec)
    if given is None:
        for i, one in enumerate(specs):
            if one.shape.rank is None:
                raise ValueError(
                    "You must provide `padded_shapes` argument because component "
                    f"{i} has unknown rank."
                )
        return [s.shape for s in specs], None

    def walk(structure, part):
        if trace.is_structure(structure):
            keys = sorted(structure) if isinstance(structure, dict) else range(len(structure))
            return [s for k in keys for s in walk(structure[k], part[k])]
        return [_sizes(part)]

    found = walk(spec, given)
    for one, sizes in zip(specs, found):
        _check(one, _static(sizes))
    late = any(
        isinstance(s, GraphTensor) or any(isinstance(n, GraphTensor) for n in s or ())
        for s in found
    )
    return [_static(s) for s in found], [_vector(s) for s in found] if late else None


def _check(spec, shape):
    """Rows may be filled up, but not cut."""
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


def values(given, specs):
    """The padding values of parts."""
    given = (
        [given] * len(specs) if given is None or not trace.is_structure(given) else flatten(given)
    )
    return [_value(v, s.dtype) for v, s in zip(given, specs)]


def _value(given, dtype):
    if given is None:
        return tensor("" if dtype.name == "string" else 0, dtype)
    try:
        made = tensor(given, None if isinstance(given, _TENSORS) else dtype)
        if made.dtype == dtype:
            return made
    except TypeError:
        made = tensor(given)
    raise TypeError(
        f"Invalid `padding_values`. `padding_values` values type {made.dtype!r} does "
        f"not match type {dtype!r} of the corresponding input component."
    )


def batched(spec, rows):
    """The spec of a batch of what a spec says."""
    return TensorSpec(
        None if spec.shape.rank is None else [rows] + spec.shape.as_list(), spec.dtype
    )
