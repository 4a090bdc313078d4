# SPDX-License-Identifier: Apache-2.0
"""image_checks.py: checks of the arguments of tf.image: at once where values are known, by
assertions otherwise; and images of unknown rank."""

from __future__ import annotations

import _situ
from situ._src.framework import errors, style, tensor_shape
from situ._src.framework.api import named
from situ._src.framework.scopes import control_dependencies
from situ._src.framework.tensor import constant_value
from situ._src.ops.array_ops import convert_to_tensor, op
from situ._src.ops.array_ops import shape as shape_op

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any


def is_tensor(value: Any) -> bool:
    """Returns whether a value is a tensor or variable, not a number."""
    return hasattr(value, "dtype") and hasattr(value, "get_shape")


def require(condition: Any, message: str) -> list:
    """Raises ValueError unless a condition holds; an assertion if it is a tensor.

    Args:
      condition: a bool, or a boolean scalar tensor.
      message: the text of the error.

    Returns:
      A list of operations that assert the condition, for `after`.
    """
    if is_tensor(condition):
        from situ._src.ops.check_ops import Assert  # only for what is not known yet

        is_constant = not _situ.executing_eagerly() and condition.op.type == "Const"
        known = constant_value(condition) if is_constant else None
        if known is not None and not known:
            raise errors.InvalidArgumentError(None, None, f"assertion failed: [{message}]")
        return [check for check in [Assert(condition, [message])] if check is not None]
    if not condition:
        raise ValueError(message)
    return []


def after(checks: list, tensor: Any) -> Any:
    """Returns the tensor after the checks have run."""
    if not checks or _situ.executing_eagerly():
        return tensor
    with control_dependencies(checks):
        return op("Identity", convert_to_tensor(tensor), name="control_dependency")


def _empty_text():
    return f"{'all' if style.is_graph_program() else 'inner 3'} dims of 'image.shape' must be > 0"


def check_image(image: Any) -> list:
    """Checks that a tensor has three or more dimensions, and that the last three are not empty;
    returns the assertions of what is not known yet."""
    shape = tensor_shape.as_shape(image.shape)
    if shape.rank is not None and shape.rank < 3:
        raise ValueError(f"'image' (shape {image.shape}) must be at least three-dimensional.")
    inner = [None] * 3 if shape.rank is None else shape.as_list()[-3:]
    if 0 in inner:
        raise ValueError(f"{_empty_text()}: {shape}")
    if None not in inner:
        return []
    sizes = shape_op(image)
    positive = op("All", op("Greater", op("StridedSlice", sizes, [-3], [0], [1], end_mask=1), 0), 0)
    checks = require(positive, _empty_text() + ".")
    if shape.rank is None:
        enough = op("GreaterEqual", op("Rank", image), 3)
        checks += require(enough, "'image' must be at least three-dimensional.")
    return checks


def with_checks(image: Any) -> Any:
    """Converts an image to a tensor that `check_image` has checked."""
    image = convert_to_tensor(image, name="image")
    return after(check_image(image), image)


def wrong_rank(image: Any) -> ValueError:
    """Returns the error of an image whose rank is not 3 or 4; TensorFlow 1 does not show its
    shape."""
    shape = "" if style.is_graph_program() else f" (shape {image.shape})"
    return ValueError(f"'image'{shape} must have either 3 or 4 dimensions.")


def by_rank(image: Any, single: Any, batch: Any) -> Any:
    """Calls `single` for an image and `batch` for a batch of images; an unknown rank is tested when
    the graph runs, or is 3 in programs of TensorFlow 1."""
    rank = tensor_shape.as_shape(image.shape).rank
    if rank is None and style.is_graph_program():
        image.set_shape([None] * 3)
        return single()
    if rank is None:
        return named("cond")(op("Equal", op("Rank", image), 3), single, batch)
    if rank not in (3, 4):
        raise wrong_rank(image)
    return single() if rank == 3 else batch()


def as_batch(image: Any) -> tuple[Any, bool]:
    """Converts an image or a batch to a batch; images of unknown rank count as single.

    Returns:
      (the batch, whether it was one before)
    """
    image = convert_to_tensor(image, name="image")
    rank = tensor_shape.as_shape(image.shape).rank
    if rank == 4:
        return image, True
    if rank not in (3, None):
        raise wrong_rank(image)
    batch = op("ExpandDims", image, 0)
    if rank is None:
        batch.set_shape([None] * 4)
    return batch, False


def unbatch(images: Any, is_batch: bool) -> Any:
    """Returns a batch, or its only image if `as_batch` made it one."""
    return images if is_batch else op("Squeeze", images, [0])


def dimensions(batch: Any) -> list:
    """Returns the four sizes of a batch: integers if known, else scalar tensors."""
    known = tensor_shape.as_shape(batch.shape).as_list()
    whole = shape_op(batch) if None in known else None
    return [
        op("StridedSlice", whole, [d], [d + 1], [1], shrink_axis_mask=1) if size is None else size
        for d, size in enumerate(known)
    ]


def known_sizes(*sizes: Any) -> list:
    """Returns sizes for a static shape: None for tensors."""
    return [None if is_tensor(size) else int(size) for size in sizes]


def check_count(*sizes: Any) -> None:
    """Raises InvalidArgumentError if a tensor of these sizes has 2 ** 63 or more elements; None is
    an unknown size."""
    count = 1
    for size in sizes:
        if size is not None and count * int(size) >= 2**63:
            raise errors.invalid_argument(
                f"Encountered overflow when multiplying {count} with {size}, result: -1"
            )
        count *= 1 if size is None else int(size)
