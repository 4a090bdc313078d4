# SPDX-License-Identifier: Apache-2.0
"""slot_creator.py: slot variables of optimizers: named after a variable and on its device."""

from situ._src.framework.graph import get_default_graph
from situ._src.framework.scopes import colocate_with_variable
from situ._src.ops.array_ops import convert_to_tensor, zeros
from situ._src.ops.init_ops import Zeros
from situ._src.variables import variable
from situ._src.variables.eager_variable import EagerVariable
from situ._src.variables.resource_variable import ResourceVariable
from situ._src.variables.variable_scope import get_variable_scope, variable_scope


def base_name(variable):
    """Returns the name of a variable without the output index."""
    return variable.name.split(":")[0]


def _eager_slot(variable, value, name):
    if hasattr(variable, "mirrored_like"):
        return variable.mirrored_like(value, f"{base_name(variable)}/{name}")
    return EagerVariable(
        value,
        trainable=False,
        name=f"{base_name(variable)}/{name}",
        dtype=variable.dtype.base_dtype,
    )


def create(variable, value, name, dtype=None):
    """Creates a slot with an initial value, or with the result of a function without arguments."""
    if isinstance(variable, EagerVariable):
        return _eager_slot(variable, value, name)
    whole = base_name(variable) + "/" + name
    outer = get_variable_scope()
    with variable_scope(None, whole), colocate_with_variable(variable):
        scope, reuse = get_variable_scope(), outer.reuse
        scope.reuse = False
        scope.use_resource = isinstance(variable, ResourceVariable)
        result = _in_scope(scope.name, value, dtype or variable.dtype.base_dtype)
        scope.reuse = reuse
    part = variable._get_save_slice_info()
    if part is not None and result.shape == variable.shape:
        result._set_save_slice_info(part.of_slot(base_name(result)[len(base_name(variable)) + 1 :]))
    return result


def _in_scope(whole, value, dtype):
    graph = get_default_graph()
    before, graph._scope = graph._scope, ""
    try:
        result = variable.variable(value, trainable=False, name=whole + "/", dtype=dtype)
    finally:
        graph._scope = before
    graph._variable_store[whole] = result
    return result


def zeros_slot(variable, name, dtype=None):
    """Creates a slot of zeros with the shape of a variable."""
    shape, dtype = variable.shape.as_list(), dtype or variable.dtype.base_dtype
    if isinstance(variable, EagerVariable):
        return _eager_slot(variable, lambda: zeros(shape, dtype), name)
    return create(variable, lambda: Zeros()(shape, dtype=dtype), name, dtype)


def filled_slot(variable, number, name):
    """Creates a slot filled with a number, with the shape of a variable."""
    import numpy

    array = numpy.full(variable.shape.as_list(), number, variable.dtype.base_dtype.as_numpy_dtype)
    return create(variable, lambda: convert_to_tensor(array), name)
