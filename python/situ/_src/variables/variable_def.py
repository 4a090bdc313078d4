# SPDX-License-Identifier: Apache-2.0
"""variable_def.py: converts variables of graphs to VariableDef messages and back."""

from __future__ import annotations

from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import get_default_graph
from situ._src.framework.graph_scopes import prepend_name_scope, strip_name_scope
from situ._src.framework.message_classes import message_class
from situ._src.framework.tensor_shape import as_shape
from situ._src.variables import synchronization
from situ._src.variables.resource_variable import ResourceVariable
from situ._src.variables.save_slice_info import SaveSliceInfo

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from typing import Any

VariableDef = message_class("tensorflow.VariableDef")


def to_proto(variable: Any, export_scope: str | None = None) -> Any:
    """Converts a variable to a VariableDef.

    Args:
      variable: a variable of a graph.
      export_scope: the name scope to remove.

    Returns:
      A VariableDef, or None if the variable is not in the scope.
    """
    if export_scope and not variable.name.startswith(export_scope):
        return None
    made = VariableDef(
        variable_name=strip_name_scope(variable.name, export_scope),
        initial_value_name=strip_name_scope(variable.initial_value.name, export_scope),
        initializer_name=strip_name_scope(variable.initializer.name, export_scope),
        snapshot_name=strip_name_scope(variable._snapshot.name, export_scope),
        is_resource=isinstance(variable, ResourceVariable),
        trainable=bool(variable.trainable),
        synchronization=getattr(variable.synchronization, "value", 0),
        aggregation=getattr(variable.aggregation, "value", 0),
    )
    if variable._save_slice_info is not None:
        info = variable._save_slice_info.to_proto(export_scope)
        made.save_slice_info_def.MergeFrom(info)
    return made


def from_proto(kind: Any, variable_def: Any, import_scope: str | None = None) -> Any:
    """Creates the variable object for nodes of the default graph.

    Args:
      kind: the class of reference variables.
      variable_def: a VariableDef.
      import_scope: the name scope of the nodes.

    Raises:
      TypeError: `variable_def` is not a VariableDef.
    """
    if not isinstance(variable_def, VariableDef):
        raise TypeError(f"variable_def must be a VariableDef, not {variable_def!r}")
    graph = get_default_graph()

    def element(name, is_tensor=True):
        name = prepend_name_scope(name, import_scope)
        return graph.as_graph_element(name, allow_tensor=is_tensor, allow_operation=not is_tensor)

    tensor = element(variable_def.variable_name)
    kind = ResourceVariable if variable_def.is_resource else kind
    made = kind.__new__(kind)
    made.trainable = variable_def.trainable
    made.synchronization = synchronization.VariableSynchronization(variable_def.synchronization)
    made.aggregation = synchronization.VariableAggregation(variable_def.aggregation)
    made.constraint, made._graph, made._caching_device = None, graph, None
    made._validate_shape = True
    if kind is ResourceVariable:
        made._handle, made.dtype = tensor, as_dtype(tensor.op.get_attr("dtype"))
        made.shape = as_shape(tensor.op.get_attr("shape"))
        graph.__dict__.setdefault("_handles", {})[tensor.op] = made
    else:
        made._ref = tensor
    made._initializer = element(variable_def.initializer_name, is_tensor=False)
    made._snapshot = element(variable_def.snapshot_name)
    initial = variable_def.initial_value_name
    assigned = made._initializer.inputs[1:]
    made._initial_value = element(initial) if initial else assigned[0] if assigned else None
    if variable_def.HasField("save_slice_info_def"):
        info = SaveSliceInfo(
            save_slice_info_def=variable_def.save_slice_info_def, import_scope=import_scope
        )
        made._set_save_slice_info(info)
    return made
