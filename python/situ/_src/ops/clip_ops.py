# SPDX-License-Identifier: Apache-2.0
"""clip_ops.py: clip_by_value, clip_by_norm and clip_by_global_norm, also for IndexedSlices."""

from __future__ import annotations

from situ._src.framework.api import OPS, export
from situ._src.framework.graph import scope
from situ._src.framework.indexed_slices import is_slices
from situ._src.ops.array_ops import constant, convert_to_tensor, op

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, Axis, Tensor, TensorLike


def _values(tensor):
    """Returns the values of a tensor or of IndexedSlices."""
    return tensor.values if is_slices(tensor) else convert_to_tensor(tensor)


def _with_values(tensor, values):
    return tensor.with_values(values) if is_slices(tensor) else values


@export("clip_by_value")
def clip_by_value(
    t: TensorLike, clip_value_min: TensorLike, clip_value_max: TensorLike, name: str | None = None
) -> Any:
    """Clips the elements of a tensor to a range.

    Args:
      t: A tensor or IndexedSlices.
      clip_value_min: The smallest value, a scalar or a tensor that broadcasts.
      clip_value_max: The largest value, a scalar or a tensor that broadcasts.
      name: A name for the operation (optional).

    Returns:
      A tensor or IndexedSlices of the type of `t`.
    """
    if hasattr(t, "with_flat_values"):  # ragged rows
        flat = clip_by_value(t.flat_values, clip_value_min, clip_value_max, name)
        return t.with_flat_values(flat)
    clipped = op(
        "ClipByValue", _values(t), clip_value_min, clip_value_max, name=name or "clip_by_value"
    )
    return _with_values(t, clipped)


@export("clip_by_norm")
def clip_by_norm(
    t: TensorLike, clip_norm: TensorLike, axes: Axis = None, name: str | None = None
) -> Any:
    """Scales a tensor down to a maximum L2 norm.

    Args:
      t: A tensor or IndexedSlices.
      clip_norm: The maximum norm.
      axes: The dimensions over which the norm is computed; all by default.
      name: A name for the operation (optional).

    Returns:
      A tensor or IndexedSlices of the type of `t`.
    """
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
def clip_by_average_norm(t: TensorLike, clip_norm: TensorLike, name: str | None = None) -> Tensor:
    """Scales a tensor so that its L2 norm divided by its number of elements is at most
    `clip_norm`.

    Args:
      t: A tensor.
      clip_norm: The largest norm.
      name: A name for the operation (optional).
    """
    with scope(name, "clip_by_average_norm") as full:
        t = convert_to_tensor(t)
        limit = convert_to_tensor(clip_norm, t.dtype)
        count = op("Cast", op("Size", t), t.dtype)
        inverse = op("Mul", count, op("Rsqrt", OPS["Sum"](op("Mul", t, t), None)))
        scale = op("Minimum", inverse, op("RealDiv", constant(1, t.dtype), limit))
        return op("Mul", op("Mul", t, limit), scale, name=full)


@export("linalg.global_norm", v1="global_norm")
def global_norm(t_list: TensorLike, name: str | None = None) -> Tensor:
    """Computes the L2 norm of all tensors of a list together; None entries are ignored.

    Args:
      t_list: A list of tensors or IndexedSlices.
      name: A name for the operation (optional).
    """
    with scope(name, "global_norm") as full:
        halves = [OPS["L2Loss"](_values(t)) for t in t_list if t is not None]
        total = OPS["Sum"](op("Pack", halves), 0)
        return op("Sqrt", op("Mul", total, constant(2, total.dtype)), name=full)


@export("clip_by_global_norm")
def clip_by_global_norm(
    t_list: TensorLike, clip_norm: TensorLike, use_norm: TensorLike = None, name: str | None = None
) -> Any:
    """Scales a list of tensors so that their global norm is at most `clip_norm`.

    Args:
      t_list: A list of tensors, IndexedSlices or None.
      clip_norm: The maximum global norm.
      use_norm: The global norm, if it is known already.
      name: A name for the operation (optional).

    Returns:
      A pair (list of scaled tensors, global norm before).

    Raises:
      TypeError: If `t_list` is not a sequence.
    """
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
