# SPDX-License-Identifier: Apache-2.0
"""initialization.py: which variables have values: is_variable_initialized and its like."""

from __future__ import annotations

import numpy

from situ._src.framework import default_session, errors
from situ._src.framework.api import export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import get_default_graph
from situ._src.framework.tensor_shape import TensorShape
from situ._src.ops.array_ops import op
from situ._src.variables.resource_variable import ResourceVariable
from situ._src.variables.variable import global_variables, local_variables


class Probe:
    """A question to a session, as something that it can be asked to run."""

    def __init__(self, name, dtype, shape, answer):
        self.graph = get_default_graph()
        with self.graph.control_dependencies(None):
            point = op("NoOp", name=name)
        self._situ_parts_, self._answer = [point], answer
        self.name, self.op = point.name + ":0", point
        self.dtype, self.shape = as_dtype(dtype), TensorShape(shape)

    def get_shape(self):
        return self.shape

    def _situ_value_(self, values, session):
        return self._answer(session)

    def eval(self, feed_dict=None, session=None):
        return (session or default_session.current()).run(self, feed_dict)

    def __repr__(self):
        return f"<tf.Tensor '{self.name}' shape={self.shape} dtype={self.dtype.name}>"


def _has_value(session, variable):
    try:
        session.run(variable)
        return True
    except errors.FailedPreconditionError:
        return False


def without_value(session, variables):
    """Those of the variables that have no value in a session."""
    try:
        session.run(variables)
        return []
    except errors.FailedPreconditionError:
        return [v for v in variables if not _has_value(session, v)]


@export(v1="is_variable_initialized")
def is_variable_initialized(variable):
    """Whether a variable has a value."""
    if isinstance(variable, ResourceVariable):
        return variable.is_initialized()
    return op("IsVariableInitialized", getattr(variable, "_ref", variable))


@export(v1="report_uninitialized_variables")
def report_uninitialized_variables(var_list=None, name="report_uninitialized_variables"):
    """The names of the variables that have no value."""
    variables = global_variables() + local_variables() if var_list is None else list(var_list)

    def answer(session):
        names = [v.op.name.encode() for v in without_value(session, variables)]
        return numpy.array(names, dtype=object)

    return Probe(name, "string", [None], answer)


@export(v1="assert_variables_initialized")
def assert_variables_initialized(var_list=None):
    variables = global_variables() + local_variables() if var_list is None else list(var_list)

    def answer(session):
        for variable in without_value(session, variables):
            raise errors.FailedPreconditionError(
                None, variable.op, f"Attempting to use uninitialized value {variable.op.name}"
            )

    return Probe("assert_variables_initialized", "bool", [], answer) if variables else None


@export(v1="count_up_to")
def count_up_to(ref, limit, name=None):
    """Counts a variable up, and is what it was; OutOfRangeError when it has reached the limit."""
    if isinstance(ref, ResourceVariable):
        return op("ResourceCountUpTo", ref.handle, limit=limit, T=ref.dtype, name=name)
    return op("CountUpTo", getattr(ref, "_ref", ref), limit=limit, name=name)
