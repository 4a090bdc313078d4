# SPDX-License-Identifier: Apache-2.0
"""numerics.py: looks for NaN and infinities: in a tensor, in a graph, in all that is computed."""

import _situ
from situ._src.framework.api import export
from situ._src.framework.graph import get_default_graph
from situ._src.ops.array_ops import convert_to_tensor, group, op


@export("debugging.enable_check_numerics")
def enable_check_numerics(stack_height_limit=30, path_length_limit=50):
    """From now on the first op whose output has NaN or an infinity fails: eager calls, functions,
    graphs, in all threads. The error names the op, its inputs, and the line of the program that
    asked for it, where the op was made after this call. Paths are not shortened."""
    _situ.check_numerics(True)


@export("debugging.disable_check_numerics")
def disable_check_numerics():
    """Ends what enable_check_numerics began."""
    _situ.check_numerics(False)


def _all_finite(x, message, name):
    return op(
        "CheckNumerics", convert_to_tensor(x), message=message or "", name=name or "VerifyFinite"
    )


@export("debugging.assert_all_finite")
def assert_all_finite(x, message, name=None):
    """x itself; fails with the message where it has NaN or an infinity."""
    return _all_finite(x, message, name)


@export(v1="verify_tensor_all_finite")
def verify_tensor_all_finite(t=None, msg=None, name=None, x=None, message=None):
    """t itself; fails with the message where it has NaN or an infinity."""
    return _all_finite(t if x is None else x, msg if message is None else message, name)


@export(v1="add_check_numerics_ops")
def add_check_numerics_ops():
    """An operation that fails where a tensor of the graph has NaN or an infinity."""
    if _situ.current_graph() is None:
        raise RuntimeError("add_check_numerics_ops() is not compatible with eager execution.")
    checks = []
    for operation in get_default_graph().get_operations():
        for output in operation.outputs:
            if output.dtype.name in ("float16", "float32", "float64"):
                checks.append(op("CheckNumerics", output, message=output.name))
    return group(*checks)
