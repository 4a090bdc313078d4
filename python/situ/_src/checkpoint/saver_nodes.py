# SPDX-License-Identifier: Apache-2.0
"""saver_nodes.py: the nodes of a tf.compat.v1.train.Saver in its graph (SaveV2, RestoreV2 and an
assignment per variable), and the variables of a saver whose nodes were imported."""

from __future__ import annotations

import numpy

from situ._src.checkpoint import sliced_variables
from situ._src.checkpoint.saveables import SaveableObject, SaveSpec
from situ._src.framework.api import OPS
from situ._src.framework.device_spec import DeviceSpec
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import get_default_graph
from situ._src.framework.message_classes import message_class
from situ._src.framework.tensor import constant_value
from situ._src.ops.array_ops import constant, convert_to_tensor, group
from situ._src.training import slot_creator
from situ._src.variables.graph_variable import GraphVariable
from situ._src.variables.resource_variable import ResourceVariable
from situ._src.variables.save_slice_info import SaveSliceInfo
from situ._src.variables.variable import global_variables, local_variables

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from typing import Any

SaverDef = message_class("tensorflow.SaverDef")


def _slices(variables):
    """Returns (name in checkpoints, slice, variable) of all graph variables."""
    found = []
    for key, target in variables.items():
        for part in sliced_variables.parts(target):
            if isinstance(part, GraphVariable):
                info = sliced_variables.info(part)
                is_slice = info is not None and key == info.full_name
                found.append((key, info.spec if is_slice else "", part))
    return found


def _strings(values, name):
    return constant(numpy.array(values, object), "string", [len(values)], name)


def _read(graph, variable):
    """Returns the tensor of a variable that is saved."""
    if not isinstance(variable, ResourceVariable):
        return variable._ref
    with graph.device(variable.device or None), graph.name_scope("Read"):
        value = OPS["ReadVariableOp"](variable.handle, dtype=variable.dtype)
    with graph.device(_host(variable.device)):
        return OPS["Identity"](value)


def _host(device):
    """Returns the CPU of the task of a device."""
    if not device:
        return "/device:CPU:0"
    return DeviceSpec.from_string(device).replace(device_type="CPU", device_index=0).to_string()


def _add_save(graph, filename, slices, saveables):
    more = [spec for saveable in saveables.values() for spec in saveable.specs]
    tensors = [_read(graph, variable) for _, _, variable in slices] + [s.tensor for s in more]
    with graph.name_scope("SaveV2") as full:
        keys = [key for key, _, _ in slices] + [spec.name for spec in more]
        names = _strings(keys, "tensor_names")
        specs = [spec for _, spec, _ in slices] + [spec.slice_spec for spec in more]
        specs = _strings(specs, "shape_and_slices")
    saved = OPS["SaveV2"](filename, names, specs, tensors, name=full)
    with graph.control_dependencies([saved]):
        return OPS["Identity"](filename, name="control_dependency")


def _assign(variable, value):
    if isinstance(variable, ResourceVariable):
        value = OPS["Identity"](value)
        return OPS["AssignVariableOp"](variable.handle, value, name="AssignVariableOp")
    validate = variable.shape.is_fully_defined()
    made = OPS["Assign"](variable._ref, value, validate_shape=validate, name="Assign")
    return made.op


def _add_restore(graph, filename, slices, saveables):
    """Returns the operation that restores all, and for each SaveableObject the restored tensors and
    the operation."""
    more = [spec for saveable in saveables.values() for spec in saveable.specs]
    with graph.name_scope("RestoreV2") as full:
        keys = [key for key, _, _ in slices] + [spec.name for spec in more]
        names = _strings(keys, "tensor_names")
        specs = [spec for _, spec, _ in slices] + [spec.slice_spec for spec in more]
        specs = _strings(specs, "shape_and_slices")
    types = [variable.dtype.base_dtype for _, _, variable in slices]
    types += [as_dtype(spec.dtype).base_dtype for spec in more]
    if not types:
        return group(name="restore_all"), {}
    tensors = OPS["RestoreV2"](filename, names, specs, dtypes=types, name=full)
    assigned = []
    for (_, _, variable), tensor in zip(slices, tensors):
        device = graph.device(variable.device or None)
        with device, graph.colocate_with(variable.op, ignore_existing=True):
            assigned.append(_assign(variable, tensor))
    restores, at = {}, len(slices)
    for name, saveable in saveables.items():
        own = list(tensors[at : at + len(saveable.specs)])
        at += len(own)
        restored = saveable.restore(own, None)
        restores[name] = own, getattr(restored, "op", restored)
        assigned.append(restores[name][1])
    return group(*assigned, name="restore_all"), restores


def build(
    variables: dict, saveables: dict, name: str | None, filename: Any, options: dict
) -> tuple:
    """Adds the nodes of a saver to the default graph.

    Args:
      variables: the variables, or sets of slices of one, by their names in checkpoints.
      saveables: the SaveableObjects by name.
      name: the name scope; "save" if it is None.
      filename: the default prefix of files, or None.
      options: further fields of the SaverDef.

    Returns:
      The SaverDef, and for each SaveableObject the restored tensors and the operation that restores
      it.
    """
    graph, slices = get_default_graph(), _slices(variables)
    with graph.control_dependencies(None), graph.name_scope(name or "save"):
        with graph.name_scope("filename") as full:
            default = convert_to_tensor(filename or "model", name="input")
        path = OPS["PlaceholderWithDefault"](default, shape=[], name=full)
        path = OPS["PlaceholderWithDefault"](path, shape=[], name="Const")
        saved = _add_save(graph, path, slices, saveables)
        restored, restores = _add_restore(graph, path, slices, saveables)
    made = SaverDef(
        filename_tensor_name=path.name,
        save_tensor_name=saved.name,
        restore_op_name=restored.name,
        **options,
    )
    return made, restores


class NodeVariable:
    """A variable whose nodes are in a graph without a variable object in a collection."""

    def __init__(self, tensor: Any, saved: Any, assign: Any, spec: str) -> None:
        self._tensor, self._saved, self.initializer = tensor, saved, assign
        self.op, self.name = tensor.op, tensor.name
        self.shape, self.dtype = saved.shape, saved.dtype
        self._save_slice_info = _slice_info(tensor.op.name, spec)

    def _as_graph_element(self):
        return self._saved


def _slice_info(name, spec):
    """Returns the SaveSliceInfo of a slice, such as "4 5 0,2:0,5"; None of a whole tensor."""
    if not spec:
        return None
    *full, pieces = spec.split()
    extents = [piece.split(",") for piece in pieces.split(":")]
    return SaveSliceInfo(
        name, [int(n) for n in full], [int(o) for o, _ in extents], [int(n) for _, n in extents]
    )


def _source(tensor):
    """Returns the variable node that a tensor is read from."""
    op = tensor.op
    while op.type in ("Identity", "ReadVariableOp") and op.inputs:
        op = op.inputs[0].op
    return op


def _saves(graph, saver_def):
    """Yields the SaveV2 operations of a saver."""
    pending, visited = [graph.get_tensor_by_name(saver_def.save_tensor_name).op], set()
    while pending:
        op = pending.pop()
        if op.name in visited:
            continue
        visited.add(op.name)
        if op.type == "SaveV2":
            yield op
        else:
            pending += op.control_inputs
            pending += [t.op for t in op.inputs if t.op.type not in ("Placeholder", "Const")]


def _assignments(graph, saver_def):
    """Returns the operations that restore variables, by the names of the variable nodes."""
    pending, found = [graph.get_operation_by_name(saver_def.restore_op_name)], {}
    while pending:
        op = pending.pop()
        if op.type in ("Assign", "AssignVariableOp"):
            found[op.inputs[0].op.name] = op
        elif op.type == "NoOp":
            pending += op.control_inputs
    return found


def variables_of(saver_def: Any) -> dict:
    """Returns the variables of a saver whose nodes are in the default graph, by their names in
    checkpoints: lists of one variable, or of the slices of one.

    Raises:
      KeyError: the graph lacks the nodes.
    """
    graph = get_default_graph()
    known = {slot_creator.base_name(v): v for v in [*local_variables(), *global_variables()]}
    found: dict = {}
    assignments = _assignments(graph, saver_def)
    for save in _saves(graph, saver_def):
        names, specs = (numpy.ravel(constant_value(t)) for t in list(save.inputs)[1:3])
        for name, spec, tensor in zip(names, specs, list(save.inputs)[3:]):
            node = _source(tensor)
            variable = known.get(node.name)
            if variable is None and node.name in assignments:
                variable = NodeVariable(
                    node.outputs[0], tensor, assignments[node.name], _text(spec)
                )
            if variable is not None:
                found.setdefault(_text(name), []).append(variable)
    return found


def _assigned(operation):
    """Returns the outputs of RestoreV2 nodes that an operation depends on."""
    pending, found = list(operation.inputs), []
    while pending:
        tensor = pending.pop()
        if tensor.op.type == "RestoreV2":
            found.append(tensor)
        else:
            pending += tensor.op.inputs
    return found


def saveables_of(saver_def: Any, variables: dict) -> tuple[dict, dict]:
    """Returns what a saver whose nodes are in the default graph saves besides variables, such as
    the positions of iterators: SaveableObjects by name; and for each the restored tensors and the
    operation that restores it.

    Args:
      saver_def: a SaverDef.
      variables: the variables by their names in checkpoints.
    """
    graph = get_default_graph()
    saved: dict[str, Any] = {}
    for save in _saves(graph, saver_def):
        names = [_text(n) for n in numpy.ravel(constant_value(save.inputs[1]))]
        saved.update(zip(names, list(save.inputs)[3:]))
    found: dict = {}
    restores: dict = {}
    pending = [graph.get_operation_by_name(saver_def.restore_op_name)]
    while pending:
        operation = pending.pop()
        if operation.type == "NoOp":
            pending += operation.control_inputs
            continue
        tensors = _assigned(operation)
        keys = [_text(numpy.ravel(constant_value(t.op.inputs[1]))[t.value_index]) for t in tensors]
        if keys and all(key in saved and key not in variables for key in keys):
            specs = [SaveSpec(saved[key], "", key) for key in keys]
            found[keys[0]] = SaveableObject(operation, specs, keys[0])
            restores[keys[0]] = tensors, operation
    return found, restores


def _text(value):
    return value.decode() if isinstance(value, bytes) else str(value)
