# SPDX-License-Identifier: Apache-2.0
"""matrix_diag_ops.py: tf.linalg.diag, diag_part and set_diag: diagonals of batches of matrices."""

from __future__ import annotations

from situ._src.framework.api import export
from situ._src.ops.constant_op import convert_to_tensor, op

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Tensor, TensorLike


def _padding(value, tensor):
    """Returns a padding value in a form that converts to the type of a tensor."""
    return bool(value) if tensor.dtype.is_bool and isinstance(value, (int, float)) else value


@export("linalg.diag", v1="matrix_diag")
def diag(
    diagonal: TensorLike,
    name: str | None = "diag",
    k: TensorLike = 0,
    num_rows: TensorLike = -1,
    num_cols: TensorLike = -1,
    padding_value: TensorLike = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """Creates a batch of matrices with the given diagonals.

    Args:
      diagonal: A diagonal of shape [..., length], or several of shape [..., number, length], the
        uppermost first.
      name: A name for the operation (optional).
      k: The diagonal: 0 is the main diagonal, positive ones are above it. Of several, a pair of
        the lowest and the highest.
      num_rows: The number of rows; -1 is as few as possible, or as many as columns.
      num_cols: The number of columns, in the same way.
      padding_value: The value of all other elements.
      align: Where diagonals above and below the main diagonal stand in their rows of `diagonal` if
        they are shorter: "LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT" or "RIGHT_RIGHT".

    Returns:
      A tensor of shape [..., num_rows, num_cols].

    Raises:
      InvalidArgumentError: If the diagonals do not fit the matrices.
    """
    diagonal = convert_to_tensor(diagonal)
    padding_value = _padding(padding_value, diagonal)
    return op(
        "MatrixDiagV3", diagonal, k, num_rows, num_cols, padding_value, align=align, name=name
    )


@export("linalg.diag_part", v1="matrix_diag_part")
def diag_part(
    input: TensorLike,
    name: str | None = "diag_part",
    k: TensorLike = 0,
    padding_value: TensorLike = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """Returns diagonals of a batch of matrices.

    Args:
      input: A tensor of shape [..., m, n].
      name: A name for the operation (optional).
      k: The diagonal, or a pair of the lowest and the highest; see `tf.linalg.diag`.
      padding_value: What fills the rows of shorter diagonals.
      align: Where shorter diagonals stand in their rows; see `tf.linalg.diag`.

    Returns:
      A tensor of shape [..., length], or [..., number, length] for several diagonals.

    Raises:
      InvalidArgumentError: If the matrices do not have these diagonals.
    """
    input = convert_to_tensor(input)
    padding_value = _padding(padding_value, input)
    return op("MatrixDiagPartV3", input, k, padding_value, align=align, name=name)


@export("linalg.set_diag", v1="matrix_set_diag")
def set_diag(
    input: TensorLike,
    diagonal: TensorLike,
    name: str | None = "set_diag",
    k: TensorLike = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """Replaces diagonals of a batch of matrices.

    Args:
      input: A tensor of shape [..., m, n].
      diagonal: The new diagonals; see `tf.linalg.diag`.
      name: A name for the operation (optional).
      k: The diagonal, or a pair of the lowest and the highest; see `tf.linalg.diag`.
      align: Where shorter diagonals stand in their rows; see `tf.linalg.diag`.

    Returns:
      A tensor of the shape of `input`.

    Raises:
      InvalidArgumentError: If the matrices do not have these diagonals.
    """
    return op("MatrixSetDiagV3", input, diagonal, k, align=align, name=name)
