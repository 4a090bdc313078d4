# SPDX-License-Identifier: Apache-2.0
"""numerics.py: checks for NaN and infinity: in a tensor, in a graph, in every op of the program."""

from __future__ import annotations

import _situ
from situ._src.framework.api import export
from situ._src.framework.graph import get_default_graph
from situ._src.ops.array_ops import convert_to_tensor, group, op

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, Tensor, TensorLike


@export("debugging.enable_check_numerics")
def enable_check_numerics(
    stack_height_limit: TensorLike = 30, path_length_limit: TensorLike = 50
) -> None:
    """Makes the first op fail whose output has a NaN or an infinity, in eager mode, functions and
    graphs of all threads. The error names the op, its inputs and, for ops that are created after
    this call, the line of the program. The arguments are ignored.

    Args:
      stack_height_limit: Has no effect: the error names the operation.
      path_length_limit: Has no effect: the error names the operation.
    """
    del stack_height_limit, path_length_limit  # the error names one line of the program
    _situ.check_numerics(True)


@export("debugging.disable_check_numerics")
def disable_check_numerics() -> None:
    """Ends the checks of `enable_check_numerics`."""
    _situ.check_numerics(False)


def _all_finite(x, message, name):
    return op(
        "CheckNumerics", convert_to_tensor(x), message=message or "", name=name or "VerifyFinite"
    )


@export("debugging.assert_all_finite")
def assert_all_finite(x: TensorLike, message: str | None, name: str | None = None) -> Tensor:
    """Asserts that a tensor has no NaN and no infinity.

    Args:
      x: A floating-point tensor.
      message: The text of the error.
      name: A name for the operation (optional).

    Returns:
      `x`, after the check.

    Raises:
      InvalidArgumentError: If an element is not finite.
    """
    return _all_finite(x, message, name)


@export(v1=("verify_tensor_all_finite", "debugging.assert_all_finite"))
def verify_tensor_all_finite(
    t: TensorLike = None,
    msg: TensorLike = None,
    name: str | None = None,
    x: TensorLike = None,
    message: str | None = None,
) -> Tensor:
    """Returns a tensor after asserting that it has no NaN and no infinity.

    Args:
      t: The tensor.
      msg: The message of the error.
      name: A name for the operation (optional).
      x: A floating-point tensor.
      message: The text of the error.
    """
    return _all_finite(t if x is None else x, msg if message is None else message, name)


@export(v1="add_check_numerics_ops")
def add_check_numerics_ops() -> Any:
    """Returns an operation that checks every floating-point tensor of the graph for NaN and
    infinity."""
    if _situ.current_graph() is None:
        raise RuntimeError("add_check_numerics_ops() is not compatible with eager execution.")
    checks = []
    for operation in get_default_graph().get_operations():
        for output in operation.outputs:
            if output.dtype.name in ("float16", "float32", "float64"):
                checks.append(op("CheckNumerics", output, message=output.name))
    return group(*checks)
