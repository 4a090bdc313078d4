# SPDX-License-Identifier: Apache-2.0
"""warm_start.py: tf.train.init_from_checkpoint and warm_start: initial values from a checkpoint."""

import re

import numpy

from situ._src.checkpoint import sliced_variables
from situ._src.checkpoint.reader import load_checkpoint
from situ._src.checkpoint.saver import Saver
from situ._src.framework.api import export
from situ._src.framework.graph import get_default_graph
from situ._src.framework.keywords import unsupported
from situ._src.ops.array_ops import convert_to_tensor, op
from situ._src.training import slot_creator
from situ._src.variables.partitioned_variable import PartitionedVariable
from situ._src.variables.resource_variable import ResourceVariable
from situ._src.variables.variable import Variable, global_variables, trainable_variables


def _set_initial_value(var, value, name):
    """Replaces the initial value of a variable."""
    if list(value.shape) != var.shape.as_list():
        raise ValueError(
            f"Shape of variable {var.name} ({var.shape}) doesn't match with shape of "
            f"tensor {name} ({list(value.shape)}) from checkpoint reader."
        )
    graph = get_default_graph()
    with graph.control_dependencies(None), graph.name_scope("checkpoint_initializer"):
        first = convert_to_tensor(value, var.dtype.base_dtype)
        var._initializer = (
            op("AssignVariableOp", var.handle, first)
            if isinstance(var, ResourceVariable)
            else op("Assign", var._ref_(), first).op
        )
        var._initial_value = first


def _matches(reader, key, target):
    """Yields pairs (name in the checkpoint, variable)."""
    if isinstance(target, Variable):
        yield key, target
        return
    if isinstance(target, (list, tuple, PartitionedVariable)):
        for one in target:
            yield key, one
        return
    names = [(sliced_variables.kept_name(v), v) for v in global_variables()]
    named = [v for name, v in names if name == target]
    if named and not key.endswith("/"):
        for var in named:
            yield key, var
        return
    scope = "" if target in ("", "/") else target.rstrip("/") + "/"
    start = "" if key == "/" else key
    for name, var in names:
        if name.startswith(scope) and reader.has_tensor(start + name[len(scope) :]):
            yield start + name[len(scope) :], var


@export(v1=("train.init_from_checkpoint", "contrib.framework.init_from_checkpoint"))
def init_from_checkpoint(ckpt_dir_or_file, assignment_map):
    """Makes the initializers of variables read a checkpoint; the map is {"scope/": "other/"}."""
    reader = load_checkpoint(ckpt_dir_or_file)
    items = assignment_map.items() if isinstance(assignment_map, dict) else assignment_map
    for key, target in items:
        found = list(_matches(reader, key, target))
        for name, var in found:
            if not reader.has_tensor(name):
                raise ValueError(
                    f"Tensor {name} is not found in {ckpt_dir_or_file} checkpoint "
                    f"{reader.get_variable_to_shape_map()}"
                )
            _set_initial_value(
                var, sliced_variables.cut(var, numpy.asarray(reader.get_tensor(name))), name
            )
        if not found:
            raise ValueError(
                f"Assignment map with scope only name {target} should map to scope "
                f"only {key}. Should be 'scope/': 'other_scope/'."
            )


@export(v1="train.warm_start")
def warm_start(
    ckpt_to_initialize_from,
    vars_to_warm_start=".*",
    var_name_to_vocab_info=None,
    var_name_to_prev_var_name=None,
):
    """Initializes variables from a checkpoint.

    Args:
      ckpt_to_initialize_from: A checkpoint or its directory.
      vars_to_warm_start: A regular expression for names of trainable variables, or a list of
        variables or names of any global ones.
      var_name_to_vocab_info: Must be empty.
      var_name_to_prev_var_name: A dict from names of variables to those in the checkpoint.

    Raises:
      NotImplementedError: there is a var_name_to_vocab_info.
      ValueError: the checkpoint lacks a variable, or its shape differs.
    """
    unsupported("warm_start", var_name_to_vocab_info=(var_name_to_vocab_info or None, None))
    pattern = vars_to_warm_start
    if isinstance(pattern, str):
        chosen = [v for v in trainable_variables() if re.match(pattern, v.name)]
    else:
        chosen = [
            v
            for v in global_variables()
            if v in list(pattern or ()) or slot_creator.base_name(v) in list(pattern or ())
        ]
    renamed = var_name_to_prev_var_name or {}
    init_from_checkpoint(
        ckpt_to_initialize_from,
        [
            (renamed.get(sliced_variables.kept_name(v), sliced_variables.kept_name(v)), v)
            for v in chosen
        ],
    )


@export(
    v1=("contrib.framework.assign_from_checkpoint_fn", "contrib.slim.assign_from_checkpoint_fn")
)
def assign_from_checkpoint_fn(
    model_path, var_list, ignore_missing_vars=False, reshape_variables=False
):
    """Returns a function of a session that restores variables; None if there are none."""
    named = (
        dict(var_list)
        if isinstance(var_list, dict)
        else {slot_creator.base_name(v): v for v in var_list}
    )
    if ignore_missing_vars:
        reader = load_checkpoint(model_path)
        named = {k: v for k, v in named.items() if reader.has_tensor(k)}
    if not named:
        return None
    saver = Saver(named, reshape=reshape_variables)
    return lambda session: saver.restore(session, model_path)
