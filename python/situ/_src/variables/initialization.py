# SPDX-License-Identifier: Apache-2.0
"""initialization.py: tf.compat.v1.is_variable_initialized and report_uninitialized_variables."""

from __future__ import annotations

from situ._src.framework import default_session, errors
from situ._src.framework.api import export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import get_default_graph, scope
from situ._src.framework.tensor_shape import TensorShape
from situ._src.ops.array_ops import op
from situ._src.ops.constant_op import constant
from situ._src.ops.unique_sort_ops import boolean_mask
from situ._src.variables.resource_variable import ResourceVariable
from situ._src.variables.variable import global_variables, local_variables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any, TensorLike


class Probe:
    """A fetch whose value a Python function of the session computes."""

    def __init__(self, name, dtype, shape, compute):
        self.graph = get_default_graph()
        with self.graph.control_dependencies(None):
            anchor = op("NoOp", name=name)
        self._situ_parts_, self._compute = [anchor], compute
        self.name, self.op = anchor.name + ":0", anchor
        self.dtype, self.shape = as_dtype(dtype), TensorShape(shape)

    def get_shape(self):
        return self.shape

    def _situ_value_(self, values, session):
        return self._compute(session)

    def eval(self, feed_dict=None, session=None):
        return default_session.for_eval(session).run(self, feed_dict)

    def __repr__(self):
        return f"<tf.Tensor '{self.name}' shape={self.shape} dtype={self.dtype.name}>"


def _has_value(session, variable):
    try:
        session.run(variable)
        return True
    except errors.FailedPreconditionError:
        return False


def uninitialized(session, variables):
    """Returns the variables that have no value in a session."""
    try:
        session.run(variables)
        return []
    except errors.FailedPreconditionError:
        return [v for v in variables if not _has_value(session, v)]


@export(v1="is_variable_initialized")
def is_variable_initialized(variable: Any) -> Any:
    """Returns a boolean tensor: whether a variable has a value.

    Args:
      variable: a variable of a graph.
    """
    if isinstance(variable, ResourceVariable):
        return variable.is_initialized()
    return op("IsVariableInitialized", getattr(variable, "_ref", variable))


@export(v1="report_uninitialized_variables")
def report_uninitialized_variables(
    var_list: Any = None, name: str | None = "report_uninitialized_variables"
) -> Any:
    """Returns a tensor with the names of variables without a value.

    Args:
      var_list: the variables; by default all global and local ones.
      name: a name for the operations.

    Returns:
      A vector of strings.
    """
    variables = global_variables() + local_variables() if var_list is None else list(var_list)
    with scope(name):
        known = [is_variable_initialized(v) for v in variables]
        with get_default_graph().device("/cpu:0"):
            names = constant([v.op.name for v in variables], "string")
            if not variables:
                return names
            missing = op("LogicalNot", op("Pack", known))
            return boolean_mask(names, missing)


@export(v1="assert_variables_initialized")
def assert_variables_initialized(var_list: Any = None) -> Any:
    """Returns a fetch that raises FailedPreconditionError if a variable has no value.

    Args:
      var_list: the variables; by default all global and local ones.
    """
    variables = global_variables() + local_variables() if var_list is None else list(var_list)

    def compute(session):
        for variable in uninitialized(session, variables):
            raise errors.FailedPreconditionError(
                None, variable.op, f"Attempting to use uninitialized value {variable.op.name}"
            )

    return Probe("assert_variables_initialized", "bool", [], compute) if variables else None


@export(v1="count_up_to")
def count_up_to(ref: TensorLike, limit: int, name: str | None = None) -> Any:
    """Increments a variable until it reaches a limit.

    Args:
      ref: an integer variable.
      limit: the limit.
      name: a name for the operation.

    Returns:
      The value before the increment.

    Raises:
      OutOfRangeError: when run, if the limit is reached.
    """
    if isinstance(ref, ResourceVariable):
        return op("ResourceCountUpTo", ref.handle, limit=limit, T=ref.dtype, name=name)
    return op("CountUpTo", getattr(ref, "_ref", ref), limit=limit, name=name)
