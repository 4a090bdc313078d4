# SPDX-License-Identifier: Apache-2.0
"""frame_ops.py: tf.signal: frame and overlap_and_add."""

from __future__ import annotations

import math

from situ._src.framework.api import export
from situ._src.framework.graph import scope
from situ._src.framework.tensor import constant_value
from situ._src.ops.array_ops import cast, convert_to_tensor, op
from situ._src.ops.signal.fft_ops import static_shape

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, Tensor, TensorLike


def scalar(value: TensorLike, name: str) -> Any:
    """Returns an integer scalar: an int if its value is known, else an int32 tensor.

    Raises:
      ValueError: If it is not an integer scalar.
    """
    tensor = convert_to_tensor(value, name=name)
    tensor.shape.assert_has_rank(0)
    if not tensor.dtype.is_integer:
        raise ValueError(f"{name} must be an integer. Got {tensor.dtype}")
    known = constant_value(tensor)
    return int(known) if known is not None else cast(tensor, "int32")


def dims_of(x: Tensor) -> list:
    """Returns the dimensions of a tensor of known rank: ints, and int32 tensors where unknown."""
    dims = static_shape(x)
    if dims is None:
        raise ValueError("The rank of the tensor must be known.")
    if None not in dims:
        return dims
    sizes = op("Shape", x)
    return [sizes[i] if d is None else d for i, d in enumerate(dims)]


def to_shape(dims: list) -> Any:
    """Returns a shape from ints and int32 scalars: a list of ints, or an int32 tensor."""
    if all(isinstance(d, int) for d in dims):
        return dims
    return op("Pack", [convert_to_tensor(d, "int32") for d in dims])


def at_least_0(x: Any) -> Any:
    """Returns max(0, x) of an int or an int32 tensor."""
    return max(0, x) if isinstance(x, int) else op("Maximum", x, 0)


def pad_axis(x: Tensor, axis: int, behind: Any, value: TensorLike = 0) -> Tensor:
    """Pads an axis behind."""
    if isinstance(behind, int) and behind == 0:
        return x
    rank = x.shape.rank
    paddings: Any = [[0, 0]] * axis + [[0, behind]] + [[0, 0]] * (rank - axis - 1)
    if not isinstance(behind, int):
        rows = [[convert_to_tensor(n, "int32") for n in row] for row in paddings]
        paddings = op("Pack", [op("Pack", row) for row in rows])
    return op("PadV2", x, paddings, convert_to_tensor(value, x.dtype))


@export("signal.frame")
def frame(
    signal: TensorLike,
    frame_length: TensorLike,
    frame_step: TensorLike,
    pad_end: bool = False,
    pad_value: TensorLike = 0,
    axis: TensorLike = -1,
    name: str | None = None,
) -> Tensor:
    """Splits an axis into frames, which may overlap.

    Args:
      signal: A tensor of shape [..., samples, ...].
      frame_length: The length of a frame, an integer scalar.
      frame_step: The distance between the beginnings of frames, an integer scalar.
      pad_end: Whether frames that reach over the end are padded; otherwise they are left out.
      pad_value: The value of the padding.
      axis: The axis, an integer.
      name: A name for the operation (optional).

    Returns:
      A tensor of shape [..., frames, frame_length, ...].

    Raises:
      ValueError: If `frame_length`, `frame_step` or `axis` is not a scalar.
    """
    with scope(name, "frame"):
        signal = convert_to_tensor(signal)
        signal.shape.with_rank_at_least(1)
        length, step = scalar(frame_length, "frame_length"), scalar(frame_step, "frame_step")
        axis = scalar(axis, "axis")
        if not isinstance(axis, int):
            raise ValueError("tf.signal.frame: situ needs an `axis` that is known.")
        dims = dims_of(signal)
        axis = range(len(dims))[axis]
        samples = dims[axis]
        if pad_end:
            frames = -(-samples // step)
            signal = pad_axis(
                signal, axis, at_least_0(length + step * (frames - 1) - samples), pad_value
            )
            samples = dims_of(signal)[axis]
        else:
            frames = at_least_0(1 + (samples - length) // step)
        # Gathers blocks as long as possible: the frames consist of whole blocks.
        block = math.gcd(length, step) if isinstance(length, int) and isinstance(step, int) else 1
        outer, inner = dims[:axis], dims[axis + 1 :]
        blocks = samples // block
        signal = op(
            "Slice",
            signal,
            [0] * len(dims),
            to_shape([*outer, blocks * block, *inner]),
        )
        signal = op("Reshape", signal, to_shape([*outer, blocks, block, *inner]))
        first = op("ExpandDims", op("Range", 0, frames, 1) * (step // block), 1)
        within = op("ExpandDims", op("Range", 0, length // block, 1), 0)
        result = op("GatherV2", signal, first + within, axis)
        return op("Reshape", result, to_shape([*outer, frames, length, *inner]))


@export("signal.overlap_and_add")
def overlap_and_add(signal: TensorLike, frame_step: TensorLike, name: str | None = None) -> Tensor:
    """Reconstructs a signal from frames: adds them where they overlap.

    Args:
      signal: A tensor of shape [..., frames, frame_length].
      frame_step: The distance between the beginnings of frames, an integer scalar.
      name: A name for the operation (optional).

    Returns:
      A tensor of shape [..., (frames - 1) * frame_step + frame_length].

    Raises:
      ValueError: If the rank of `signal` is less than 2, or `frame_step` is not an integer scalar.
    """
    with scope(name, "overlap_and_add"):
        signal = convert_to_tensor(signal)
        signal.shape.with_rank_at_least(2)
        step = scalar(frame_step, "frame_step")
        *outer, frames, length = dims_of(signal)
        rank = len(outer)
        total = length + step * (frames - 1)
        if isinstance(step, int) and step == length:
            return op("Reshape", signal, to_shape([*outer, total]))
        # Segments of `step` samples: segment s of frame f is added at f + s. A row of frames that
        # is one longer than the row of sums shifts segment s by s.
        segments = -(-length // step)
        signal = pad_axis(pad_axis(signal, rank + 1, segments * step - length), rank, segments)
        rows = frames + segments
        signal = op("Reshape", signal, to_shape([*outer, rows, segments, step]))
        signal = op("Transpose", signal, [*range(rank), rank + 1, rank, rank + 2])
        signal = op("Reshape", signal, to_shape([*outer, rows * segments, step]))
        signal = op(
            "Slice", signal, [0] * (rank + 2), to_shape([*outer, (rows - 1) * segments, step])
        )
        signal = op("Reshape", signal, to_shape([*outer, segments, rows - 1, step]))
        signal = op("Sum", signal, [rank])
        signal = op("Reshape", signal, to_shape([*outer, (rows - 1) * step]))
        return op("Slice", signal, [0] * (rank + 1), to_shape([*outer, total]))
