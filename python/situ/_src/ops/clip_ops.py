# SPDX-License-Identifier: Apache-2.0
"""clip_ops.py: tensors kept within bounds, by value or by norm."""

from situ._src.framework.api import OPS, export
from situ._src.framework.graph import scope
from situ._src.framework.indexed_slices import is_slices
from situ._src.ops.array_ops import constant, convert_to_tensor, op


def _values(tensor):
    """The numbers of a tensor, or of slices of one."""
    return tensor.values if is_slices(tensor) else convert_to_tensor(tensor)


def _with_values(tensor, values):
    return tensor.with_values(values) if is_slices(tensor) else values


@export("clip_by_value")
def clip_by_value(t, clip_value_min, clip_value_max, name=None):
    """t, with what is below clip_value_min or above clip_value_max replaced by that."""
    clipped = op(
        "ClipByValue", _values(t), clip_value_min, clip_value_max, name=name or "clip_by_value"
    )
    return _with_values(t, clipped)


@export("clip_by_norm")
def clip_by_norm(t, clip_norm, axes=None, name=None):
    """t, scaled down where its norm (over axes) is above clip_norm."""
    with scope(name, "clip_by_norm") as full:
        values = _values(t)
        limit = convert_to_tensor(clip_norm, values.dtype)
        total = OPS["Sum"](op("Mul", values, values), axes, True)
        positive = op("Greater", total, op("ZerosLike", total))
        safe = op("SelectV2", positive, total, op("OnesLike", total))
        norm = op("SelectV2", positive, op("Sqrt", safe), total)
        clipped = op("RealDiv", op("Mul", values, limit), op("Maximum", norm, limit), name=full)
        return _with_values(t, clipped)


@export(v1="clip_by_average_norm")
def clip_by_average_norm(t, clip_norm, name=None):
    """t, scaled down where its norm over the number of its elements is above clip_norm."""
    with scope(name, "clip_by_average_norm") as full:
        t = convert_to_tensor(t)
        limit = convert_to_tensor(clip_norm, t.dtype)
        count = op("Cast", op("Size", t), t.dtype)
        inverse = op("Mul", count, op("Rsqrt", OPS["Sum"](op("Mul", t, t), None)))
        scale = op("Minimum", inverse, op("RealDiv", constant(1, t.dtype), limit))
        return op("Mul", op("Mul", t, limit), scale, name=full)


@export("linalg.global_norm", v1="global_norm")
def global_norm(t_list, name=None):
    """The norm of all tensors of a list together."""
    with scope(name, "global_norm") as full:
        halves = [OPS["L2Loss"](_values(t)) for t in t_list if t is not None]
        total = OPS["Sum"](op("Pack", halves), 0)
        return op("Sqrt", op("Mul", total, constant(2, total.dtype)), name=full)


@export("clip_by_global_norm")
def clip_by_global_norm(t_list, clip_norm, use_norm=None, name=None):
    """(the tensors, scaled so that their norm together is at most clip_norm; that norm before)"""
    if not hasattr(t_list, "__iter__") or hasattr(t_list, "dtype"):
        raise TypeError(f"`t_list` should be a sequence of tensors. Received {type(t_list)}.")
    norm = global_norm(t_list) if use_norm is None else use_norm
    with scope(name, "clip_by_global_norm"):
        limit = convert_to_tensor(clip_norm, norm.dtype)
        one = constant(1, norm.dtype)
        scale = op("Mul", limit, op("Minimum", op("RealDiv", one, norm), op("RealDiv", one, limit)))
        nan = constant(float("nan"), norm.dtype)
        scale = op("SelectV2", op("IsFinite", norm), scale, nan)
        return [
            None if t is None else _with_values(t, op("Mul", _values(t), scale)) for t in t_list
        ], norm
