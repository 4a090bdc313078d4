# SPDX-License-Identifier: Apache-2.0
"""warm_start.py: tf.train.init_from_checkpoint and warm_start: initial values from a checkpoint."""

from __future__ import annotations

import collections

import numpy

from situ._src.checkpoint import sliced_variables
from situ._src.checkpoint.reader import load_checkpoint
from situ._src.checkpoint.saver import Saver
from situ._src.framework.api import export
from situ._src.framework.graph import GraphKeys, get_default_graph
from situ._src.ops.array_ops import cast, convert_to_tensor, op
from situ._src.training import slot_creator
from situ._src.variables.partitioned_variable import PartitionedVariable
from situ._src.variables.resource_variable import ResourceVariable
from situ._src.variables.variable import Variable, global_variables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any


def _set_initial_value(var, value, name):
    """Replaces the initial value of a variable by an array or a tensor."""
    shape = [int(n) for n in value.shape]
    if shape != var.shape.as_list():
        raise ValueError(
            f"Shape of variable {var.name} ({var.shape}) doesn't match with shape of "
            f"tensor {name} ({shape}) from checkpoint reader."
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
def init_from_checkpoint(ckpt_dir_or_file: str, assignment_map: Any) -> None:
    """Makes the initializers of variables read a checkpoint; the map is {"scope/": "other/"}.

    Args:
      ckpt_dir_or_file: A directory, whose latest checkpoint is read, or the prefix of a checkpoint.
      assignment_map: Dictionary from names or scopes in the checkpoint to variables, names or
        scopes; scopes end in "/".
    """
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


@export("estimator.VocabInfo", v1="train.VocabInfo")
class VocabInfo(
    collections.namedtuple(
        "VocabInfo",
        (
            "new_vocab",
            "new_vocab_size",
            "num_oov_buckets",
            "old_vocab",
            "old_vocab_size",
            "backup_initializer",
            "axis",
        ),
        defaults=(-1, None, 0),
    )
):
    """The vocabularies of a variable and of its values in a checkpoint: files with a word per line.

    Args:
      new_vocab: the file of the variable.
      new_vocab_size: how many words of it the variable has; buckets for other words follow.
      num_oov_buckets: how many buckets there are.
      old_vocab: the file of the checkpoint.
      old_vocab_size: how many words of it the checkpoint has; -1: all.
      backup_initializer: an initializer for new words and the buckets; zeros by default.
      axis: the axis of the words: 0 or 1.

    Raises:
      ValueError: axis is neither 0 nor 1.
    """

    __slots__ = ()

    def __new__(cls, *args, **kwargs):
        made = super().__new__(cls, *args, **kwargs)
        if made.axis not in (0, 1):
            raise ValueError(
                "The only supported values for the axis argument are 0 and 1.  Provided axis: "
                f"{made.axis}"
            )
        return made

    def rows(self) -> Any:
        """Returns the position of each new word in the old vocabulary, -1 without one."""
        old = {word: i for i, word in enumerate(_words(self.old_vocab, self.old_vocab_size))}
        new = _words(self.new_vocab, self.new_vocab_size)
        if len(new) < self.new_vocab_size:
            raise ValueError(
                f"{self.new_vocab} has {len(new)} words, fewer than new_vocab_size="
                f"{self.new_vocab_size}."
            )
        return numpy.array([old.get(word, -1) for word in new] + [-1] * self.num_oov_buckets)


def _words(path, count):
    """Returns the first words of a vocabulary file; all if count is negative."""
    with open(path, "rb") as file:
        words = file.read().splitlines()
    return words if count < 0 else words[:count]


def _set_words(var, info, value, name):
    """Makes the initial value of a variable that of the same words in a checkpoint."""
    rows = info.rows()
    moved = numpy.take(value, numpy.maximum(rows, 0), axis=info.axis)
    shape = [1] * moved.ndim
    shape[info.axis] = len(rows)
    is_known = numpy.broadcast_to(numpy.reshape(rows >= 0, shape), moved.shape)
    part = sliced_variables.info(var)
    if part is not None and list(moved.shape) != list(part.full_shape):
        raise ValueError(
            f"Shape of variable {part.full_name} ({part.full_shape}) doesn't match the vocabulary "
            f"and tensor {name}: {list(moved.shape)}."
        )
    moved, is_known = sliced_variables.cut(var, moved), sliced_variables.cut(var, is_known)
    moved = numpy.where(is_known, moved, 0).astype(moved.dtype)
    if info.backup_initializer is not None and not is_known.all():
        backup = convert_to_tensor(info.backup_initializer(var.shape.as_list()))
        moved = op("SelectV2", is_known, moved, cast(backup, var.dtype.base_dtype))
    _set_initial_value(var, moved, name)


def _chosen(vars_to_warm_start):
    """Returns lists of the variables to warm-start, with all slices, by their names."""
    graph, selection = get_default_graph(), vars_to_warm_start
    if selection is None or isinstance(selection, str):
        found = graph.get_collection(GraphKeys.TRAINABLE_VARIABLES, selection)
    elif not isinstance(selection, (list, tuple)):
        raise ValueError(
            f"`vars_to_warm_start must be a `list` or `str`.  Given type is {type(selection)}"
        )
    elif all(isinstance(v, str) for v in selection):
        found = [
            v for name in selection for v in graph.get_collection(GraphKeys.GLOBAL_VARIABLES, name)
        ]
    else:
        found = []
        for item in selection:
            found += item if isinstance(item, (list, PartitionedVariable)) else [item]
        if not all(isinstance(v, Variable) for v in found):
            raise ValueError(
                "If `vars_to_warm_start` is a list, it must be all `Variable` or all `str`.  Given "
                f"types are {[type(v) for v in selection]}"
            )
    result = {}
    for var in dict.fromkeys(found):
        result.setdefault(sliced_variables.kept_name(var), []).append(var)
    return result


def _check_used(argument, names, chosen):
    unused = set(names) - set(chosen)
    if unused:
        raise ValueError(
            f"You provided the following variables in {argument} that were not used: {unused}.  "
            f"Perhaps you misspelled them?  Here is the list of viable variable names: "
            f"{list(chosen)}"
        )


@export(v1="train.warm_start")
def warm_start(
    ckpt_to_initialize_from: Any,
    vars_to_warm_start: Any = ".*",
    var_name_to_vocab_info: Any = None,
    var_name_to_prev_var_name: Any = None,
) -> None:
    """Initializes variables from a checkpoint.

    Args:
      ckpt_to_initialize_from: A checkpoint or its directory.
      vars_to_warm_start: A regular expression for names of trainable variables; a list of
        variables, or of regular expressions for names of any global ones; None: the variables of
        var_name_to_vocab_info.
      var_name_to_vocab_info: A dict from names of variables to a tf.train.VocabInfo.
      var_name_to_prev_var_name: A dict from names of variables to those in the checkpoint.

    Raises:
      ValueError: the checkpoint lacks a variable, or its shape differs; a name in the dicts is not
        that of a chosen variable; vars_to_warm_start is of another type.
    """
    chosen = _chosen(vars_to_warm_start)
    renamed, vocabularies = var_name_to_prev_var_name or {}, var_name_to_vocab_info or {}
    pairs, reader = [], load_checkpoint(ckpt_to_initialize_from)
    for name, variables in chosen.items():
        before, info = renamed.get(name, name), vocabularies.get(name)
        if info is None:
            pairs += [(before, var) for var in variables if vars_to_warm_start is not None]
            continue
        value = numpy.asarray(reader.get_tensor(before))
        for var in variables:
            _set_words(var, info, value, before)
    init_from_checkpoint(ckpt_to_initialize_from, pairs)
    _check_used("var_name_to_prev_var_name", renamed, chosen)
    _check_used("var_name_to_vocab_info", vocabularies, chosen)


@export(
    v1=("contrib.framework.assign_from_checkpoint_fn", "contrib.slim.assign_from_checkpoint_fn")
)
def assign_from_checkpoint_fn(
    model_path: str,
    var_list: Any,
    ignore_missing_vars: bool = False,
    reshape_variables: bool = False,
) -> Any:
    """Returns a function of a session that restores variables; None if there are none.

    Args:
      model_path: The checkpoint.
      var_list: List of variables, or dictionary from names in the checkpoint to variables.
      ignore_missing_vars: Whether to leave out variables that the checkpoint lacks.
      reshape_variables: Whether to reshape values to the shapes of the variables.
    """
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
