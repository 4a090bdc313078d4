# SPDX-License-Identifier: Apache-2.0
"""saver.py: tf.compat.v1.train.Saver: saves variables of a session as checkpoints and restores
them."""

from __future__ import annotations

import os
import threading

import numpy

import _situ
from situ._src.checkpoint import reader as checkpoint_reader
from situ._src.checkpoint import saveables, saver_nodes, sliced_variables, state
from situ._src.checkpoint.saver_nodes import SaverDef
from situ._src.framework import errors, logs, meta_graph
from situ._src.framework.api import export
from situ._src.framework.graph import GraphKeys, get_default_graph
from situ._src.framework.graph_scopes import prepend_name_scope, strip_name_scope
from situ._src.framework.keywords import unsupported
from situ._src.ops.array_ops import convert_to_tensor
from situ._src.ops.gfile import local_path
from situ._src.variables.partitioned_variable import PartitionedVariable
from situ._src.variables.variable import Variable, global_variables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any

_MISSING = (
    "Restoring from checkpoint failed. This is most likely due to a Variable name or "
    "other graph key that is missing from the checkpoint. Please ensure that you have "
    "not altered the graph expected based on the checkpoint. Original error:\n\n"
)
_MISMATCH = (
    "Restoring from checkpoint failed. This is most likely due to a mismatch between the "
    "current graph and the graph from the checkpoint. Please ensure that you have not "
    "altered the graph expected based on the checkpoint. Original error:\n\n"
)


def _checked_session(sess):
    """Returns a session; None in eager mode, which needs none.

    Raises:
      TypeError: it is not a session.
    """
    if sess is None or _situ.executing_eagerly():
        return None
    if not hasattr(sess, "run") or not hasattr(sess, "graph"):
        raise TypeError(f"'sess' must be a Session; {sess}")
    return sess


def _named(var_list):
    """Returns variables by their names in checkpoints."""
    if isinstance(var_list, dict):
        names = {}
        for name, var in var_list.items():
            if isinstance(var, Variable) and names.setdefault(id(var), name) != name:
                raise ValueError(f"The same saveable will be restored with two names: {name}")
        return {str(k): _target(v) for k, v in var_list.items()}
    wholes = [v.name for v in var_list if isinstance(v, PartitionedVariable)]
    for name in wholes:
        if wholes.count(name) > 1:
            raise ValueError(f"At least two variables have the same name: {name}")
    flat = [v for var in var_list for v in (var if isinstance(var, PartitionedVariable) else [var])]
    for var in flat:
        if not isinstance(var, Variable):
            raise TypeError(f"Variable to save is not a Variable: {var}")
    return sliced_variables.gather(flat)


def _saveable_objects():
    """Returns the tables that the default graph saves; none in eager mode."""
    return get_default_graph().get_collection(GraphKeys.SAVEABLE_OBJECTS)


def _without_tables(items):
    """Returns what to save without lookup tables, and the tables by name."""
    named = items if isinstance(items, dict) else {}
    tables = {
        named_as or table.name: table
        for named_as, table in (named.items() if named else ((None, t) for t in items))
        if hasattr(table, "_saved_tensors")
    }
    if named:
        return {k: v for k, v in items.items() if k not in tables}, tables
    return [v for v in items if not hasattr(v, "_saved_tensors")], tables


def _target(value):
    """Returns a variable, or all slices of a partitioned one as a whole."""
    several = list(value) if isinstance(value, (list, tuple, PartitionedVariable)) else [value]
    return sliced_variables.Whole(several) if sliced_variables.is_whole(several) else several[0]


def _check_saver_def(saver_def):
    if not isinstance(saver_def, SaverDef):
        raise ValueError(f"saver_def must be a saver_pb2.SaverDef: {saver_def}")
    if _situ.executing_eagerly():
        return
    for field in ("save_tensor_name", "restore_op_name"):
        if not getattr(saver_def, field):
            raise ValueError(f"saver_def must specify the {field}: {saver_def}")


def _scoped(saver_def, scope, change):
    """Returns a copy of a SaverDef whose names have, or lack, a name scope."""
    made = SaverDef()
    made.CopyFrom(saver_def)
    for field in ("filename_tensor_name", "save_tensor_name", "restore_op_name"):
        setattr(made, field, change(getattr(saver_def, field), scope))
    return made


@export(v1="train.Saver")
class Saver:
    """Saves variables to checkpoints and restores them.

    Args:
      var_list: a list of variables, or a dict from names; by default all global variables.
      reshape: whether to restore a tensor of another shape with as many elements.
      max_to_keep: the number of checkpoints to keep; 0 or None for all.
      keep_checkpoint_every_n_hours: keeps one checkpoint for each such period, too.
      defer_build: whether to collect the variables only when `build` is called.
      allow_empty: whether there may be no variables.
      saver_def: a SaverDef: the nodes in the default graph and the options; `name` is their scope.
      builder: must be None.
      name: the name scope of the nodes of the saver; "save" by default.
      filename: the default of the tensor with the prefix of files; "model" by default.
      sharded: whether the SaverDef is sharded; a checkpoint has one file of data all the same.
      write_version: 2, or 1 for checkpoints of a single file.
      pad_step_number: whether to pad step numbers to 8 digits.
      save_relative_paths: whether the state file has paths relative to its directory; else only if
        the directory of the checkpoints is relative.

    `restore_sequentially` has no effect: variables are restored in one step.

    Raises:
      NotImplementedError: there is a `builder`.
      TypeError: a list `var_list` has an item that is not a variable.
      ValueError: there are no variables, two have the same name, a dict has a variable twice, or
        there is a `var_list` with `defer_build`.
    """

    _tables: dict
    _saveables: dict
    _restores: dict
    _variables: Any

    def __init__(
        self,
        var_list: Any = None,
        reshape: bool = False,
        sharded: bool = False,
        max_to_keep: int = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        name: str | None = None,
        restore_sequentially: bool = False,
        saver_def: Any = None,
        builder: Any = None,
        defer_build: bool = False,
        allow_empty: bool = False,
        write_version: int = 2,
        pad_step_number: bool = False,
        save_relative_paths: bool = False,
        filename: str | None = None,
    ):
        unsupported("tf.train.Saver", builder=(builder, None))
        if write_version not in (0, 1, 2):
            raise RuntimeError(f"Unknown write_version: {write_version}")
        self._write_version = write_version
        del restore_sequentially  # variables are restored in one step
        self._name, self._filename, self.saver_def = name, filename, saver_def
        if saver_def is not None:
            _check_saver_def(saver_def)
            max_to_keep, sharded = saver_def.max_to_keep, saver_def.sharded
            keep_checkpoint_every_n_hours = saver_def.keep_checkpoint_every_n_hours
            allow_empty = True
        if defer_build and var_list:
            raise ValueError(
                "If `var_list` is provided then build cannot be deferred. Either set "
                "defer_build=False or var_list=None."
            )
        self._var_list, self._reshape, self._allow_empty = var_list, reshape, allow_empty
        self._pad, self._variables, self._saving = pad_step_number, None, threading.RLock()
        self._relative, self._tables, self._sharded = save_relative_paths, {}, bool(sharded)
        self._saveables, self._restores = {}, {}  # SaveableObjects; their tensors and operations
        self._kept = state.Kept(max_to_keep or 0, keep_checkpoint_every_n_hours)
        if not defer_build:
            self.build()

    def build(self) -> None:
        """Collects the variables to save.

        Raises:
          ValueError: there are none.
        """
        if self._variables is not None:
            return
        if self.saver_def is not None and not _situ.executing_eagerly():
            if self._name:
                self.saver_def = _scoped(self.saver_def, self._name, prepend_name_scope)
            found = saver_nodes.variables_of(self.saver_def)
            self._variables = {k: _target(v) for k, v in found.items()}
            self._saveables, self._restores = saver_nodes.saveables_of(
                self.saver_def, self._variables
            )
            return
        items = self._var_list
        if items is None:
            items = [*global_variables(), *_saveable_objects()]
        if not items and not self._allow_empty:
            raise ValueError("No variables to save")
        items, self._tables = _without_tables(items or [])
        items, self._saveables = saveables.split(items)
        self._variables = _named(items)
        doubled = set(self._saveables) & set(self._variables)
        if doubled:
            raise ValueError(f"At least two variables have the same name: {doubled.pop()}")
        if not _situ.executing_eagerly() and not self._is_empty():
            self._add_nodes()

    def _add_nodes(self):
        """Adds the nodes to the graph, unless it is finalized or a function."""
        graph = get_default_graph()
        if graph.finalized or graph.building_function:
            return
        options = {
            "max_to_keep": self._kept.most,
            "sharded": self._sharded,
            "keep_checkpoint_every_n_hours": self._kept.hours,
            "version": self._write_version,
        }
        self.saver_def, self._restores = saver_nodes.build(
            self._variables, self._saveables, self._name, self._filename, options
        )

    def _is_empty(self):
        return not self._variables and not self._tables and not self._saveables

    @property
    def last_checkpoints(self) -> Any:
        """The prefixes of the checkpoints that are kept, the oldest first."""
        return self._kept.paths if self._kept.most else []

    def set_last_checkpoints(self, last_checkpoints: Any) -> None:
        """Sets the prefixes of the checkpoints that are kept."""
        self._kept.items = [(p, 0.0) for p in last_checkpoints]

    def set_last_checkpoints_with_time(self, last_checkpoints_with_time: Any) -> None:
        """Sets (prefix, time) of the checkpoints that are kept."""
        self._kept.items = [tuple(i) for i in last_checkpoints_with_time]

    def recover_last_checkpoints(self, checkpoint_paths: list[str]) -> None:
        """Continues with the checkpoints of an earlier run."""
        existing = [p for p in checkpoint_paths if state.checkpoint_exists(p)]
        self._kept.items = list(zip(existing, state.get_checkpoint_mtimes(existing)))

    def _check_built(self, method):
        if self._variables is None:
            raise RuntimeError(f"`build()` should be called before {method} if defer_build==True")

    def as_saver_def(self) -> Any:
        """Returns the SaverDef, or None if `build` was deferred and not called."""
        return self.saver_def

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Returns the SaverDef without a name scope, or None if the nodes are not in the scope.

        Args:
          export_scope: the name scope to remove.
        """
        if export_scope is None:
            return self.saver_def
        if not (
            self.saver_def.filename_tensor_name.startswith(export_scope)
            and self.saver_def.save_tensor_name.startswith(export_scope)
            and self.saver_def.restore_op_name.startswith(export_scope)
        ):
            return None
        return _scoped(self.saver_def, export_scope, strip_name_scope)

    @staticmethod
    def from_proto(saver_def: Any, import_scope: str | None = None) -> Any:
        """Returns a saver for nodes of the default graph.

        Args:
          saver_def: a SaverDef.
          import_scope: the name scope of the nodes.
        """
        return Saver(saver_def=saver_def, name=import_scope)

    def _values(self, sess, global_step):
        """Returns the values of the variables and the global step, fetched in one run."""
        tables = {
            name + suffix: tensor
            for name, table in self._tables.items()
            for suffix, tensor in table._saved_tensors().items()
        }
        for saveable in self._saveables.values():
            tables.update({spec.name: spec.tensor for spec in saveable.specs})
        if sess is None:
            found = {**self._variables, **tables}
            return {k: v.numpy() for k, v in found.items()}, global_step
        fetches = {k: sliced_variables.parts(v) for k, v in self._variables.items()}
        if global_step is None or isinstance(global_step, (int, numpy.integer)):
            values, contents = sess.run((fetches, tables))
        else:
            values, contents, global_step = sess.run((fetches, tables, global_step))
        values = {
            k: v.join(values[k]) if isinstance(v, sliced_variables.Whole) else values[k][0]
            for k, v in self._variables.items()
        }
        return {**values, **contents}, global_step

    def _prefix(self, save_path, global_step):
        if global_step is None:
            return save_path
        step = numpy.asarray(global_step).item()
        return f"{save_path}-{int(step):0{8 if self._pad else 1}d}"

    def save(
        self,
        sess: Any,
        save_path: str,
        global_step: Any = None,
        latest_filename: str | None = None,
        meta_graph_suffix: str = "meta",
        write_meta_graph: bool = True,
        write_state: bool = True,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> Any:
        """Writes a checkpoint and removes old ones.

        Args:
          sess: the session; None for eager variables.
          save_path: the prefix of the files; the last directory of its path is created.
          global_step: a number or tensor that is appended to the prefix.
          latest_filename: the name of the state file; "checkpoint" by default.
          meta_graph_suffix: the suffix of the graph file.
          write_meta_graph: whether to write the graph; never without a session.
          write_state: whether to update the state file and to remove old checkpoints.
          strip_default_attrs: whether the graph file lacks attributes with default values.
          save_debug_info: must be False.

        Returns:
          The prefix of the checkpoint; None if there are no variables.

        Raises:
          TypeError: `sess` is not a session.
          NotImplementedError: `save_debug_info` is true.
          RuntimeError: `build` was deferred and not called.
          ValueError: the directory does not exist and cannot be created.
        """
        unsupported("tf.train.Saver.save", save_debug_info=(save_debug_info, False))
        self._check_built("save")
        sess = _checked_session(sess)
        save_path = local_path(save_path)
        folder, state_file = os.path.dirname(save_path), latest_filename or "checkpoint"
        if os.path.dirname(state_file):
            raise ValueError("'latest_filename' must not contain path components")
        if global_step is None and os.path.basename(save_path) == state_file and not self._sharded:
            raise ValueError(
                f"'latest_filename' collides with 'save_path': '{state_file}' and '{save_path}'"
            )
        if folder and not os.path.isdir(folder):
            try:
                os.mkdir(folder)  # one level only, as TensorFlow does
            except OSError:
                if not os.path.isdir(folder):  # another thread may have created it
                    raise ValueError(
                        f"Parent directory of {save_path} doesn't exist, can't save."
                    ) from None
        if self._is_empty():
            if write_meta_graph and sess is not None:
                path = f"{self._prefix(save_path, global_step)}.{meta_graph_suffix}"
                self._write_graph(sess, path, strip_default_attrs)
            return None
        with self._saving:  # a Supervisor saves in its own thread
            values, step = self._values(sess, global_step)
            prefix = self._prefix(save_path, step)
            self._write(
                values,
                prefix,
                folder,
                latest_filename,
                meta_graph_suffix if write_meta_graph else None,
                write_state,
            )
            if write_meta_graph and sess is not None:
                path = f"{prefix}.{meta_graph_suffix}"
                self._write_graph(sess, path, strip_default_attrs)
        return prefix

    def _write(self, values, prefix, folder, latest_filename, meta_graph_suffix, write_state):
        arrays = {k: numpy.asarray(v) for k, v in values.items()}
        checkpoint_reader.write(prefix, arrays, single_file=self._write_version == 1)
        if write_state:
            expired = self._kept.add(prefix)
            paths = self._kept.paths
            state.write(folder, prefix, paths, latest_filename, relative=self._relative)
            for old in expired:
                state.remove_checkpoint(old, self._write_version, meta_graph_suffix or "meta")

    def _write_graph(self, sess, path, strip_default_attrs):
        with sess.graph.as_default():
            made = meta_graph.create(
                sess.graph, saver_def=self.saver_def, strip_default_attrs=strip_default_attrs
            )
        meta_graph.write(path, made)

    def restore(self, sess: Any, save_path: str) -> None:
        """Restores the variables from a checkpoint.

        Args:
          sess: the session; None for eager variables.
          save_path: the prefix of a checkpoint.

        Raises:
          RuntimeError: `build` was deferred and not called.
          ValueError: `save_path` is None, or there is no such checkpoint.
          NotFoundError: the checkpoint lacks a variable.
          InvalidArgumentError: a shape or type does not match.
        """
        self._check_built("restore")
        if self._is_empty():
            return
        if save_path is None:
            raise ValueError("Can't load save_path when it is None.")
        sess, save_path = _checked_session(sess), local_path(save_path)
        if not state.checkpoint_exists(save_path):
            raise ValueError(f"The passed save_path is not a valid checkpoint: {save_path}")
        logs.info("Restoring parameters from %s", save_path)
        reader = checkpoint_reader.CheckpointReader(save_path)
        feeds, run = {}, []
        graph: Any = None if sess is None else sess.graph
        for key, var in (
            (k, part) for k, v in self._variables.items() for part in sliced_variables.parts(v)
        ):
            value = sliced_variables.stored(reader, key, var)
            if value is None:
                raise errors.NotFoundError(
                    None, None, f"{_MISSING}Key {key} not found in checkpoint"
                )
            value = self._check_value(key, var, value)
            if sess is None:
                var.assign(value)
                continue
            # By name, as in TensorFlow: the session may have another graph with such a variable.
            assign = graph.get_operation_by_name(var.initializer.name)
            feeds[assign.inputs[1]] = value
            run.append(assign)
        if run:
            sess.run(run, feeds)
        self._restore_tables(sess, reader)
        self._restore_saveables(sess, reader)

    def _restore_saveables(self, sess, reader):
        for name, saveable in self._saveables.items():
            keys = [spec.name for spec in saveable.specs]
            missing = [key for key in keys if not reader.has_tensor(key)]
            if missing:
                raise errors.NotFoundError(
                    None, None, f"{_MISSING}Key {missing[0]} not found in checkpoint"
                )
            values = [reader.get_tensor(key) for key in keys]
            if sess is None:
                saveable.restore([convert_to_tensor(value) for value in values], None)
            else:
                tensors, operation = self._restores[name]
                sess.run(operation, dict(zip(tensors, values)))

    def _restore_tables(self, sess, reader):
        for name, table in self._tables.items():
            keys = [f"{name}-keys", f"{name}-values"]
            missing = [key for key in keys if not reader.has_tensor(key)]
            if missing:
                raise errors.NotFoundError(
                    None, None, f"{_MISSING}Key {missing[0]} not found in checkpoint"
                )
            table._import(*(reader.get_tensor(key) for key in keys), sess)

    def _check_value(self, key, var, value):
        """Returns the value of a variable, reshaped if that is allowed.

        Raises:
          InvalidArgumentError: the shape or type does not match.
        """
        value, shape = numpy.asarray(value), var.shape.as_list()
        name = var.dtype.base_dtype.as_numpy_dtype
        if value.dtype != numpy.dtype(name):
            raise errors.InvalidArgumentError(
                None,
                None,
                f"{_MISMATCH}tensor_name = {key}; expected dtype "
                f"{var.dtype.base_dtype.name} does not equal original dtype {value.dtype.name}",
            )
        if list(value.shape) == shape:
            return value
        if self._reshape and value.size == int(numpy.prod(shape)):
            return value.reshape(shape)
        lhs, rhs = (str(list(s)).replace(" ", "") for s in (shape, value.shape))
        raise errors.InvalidArgumentError(
            None,
            None,
            f"{_MISMATCH}Assign requires shapes of both tensors to "
            f"match. lhs shape= {lhs} rhs shape= {rhs}",
        )

    def export_meta_graph(
        self,
        filename: str | None = None,
        collection_list: list[str] | None = None,
        as_text: bool = False,
        export_scope: str | None = None,
        clear_devices: bool = False,
        clear_extraneous_savers: bool = False,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> Any:
        """Writes the default graph with this saver.

        Args:
          filename: the file, or None.
          collection_list: the keys of the collections; None for all.
          as_text: whether to write the text format.
          export_scope: exports only the nodes of this name scope.
          clear_devices: whether to remove the devices of nodes.
          clear_extraneous_savers: whether to leave out the nodes of other savers.
          strip_default_attrs: whether to remove attributes with default values.
          save_debug_info: must be False.

        Returns:
          A MetaGraphDef.

        Raises:
          NotImplementedError: `save_debug_info` is true.
        """
        return meta_graph.export_meta_graph(
            filename=filename,
            saver_def=self.saver_def,
            collection_list=collection_list,
            as_text=as_text,
            export_scope=export_scope,
            clear_devices=clear_devices,
            clear_extraneous_savers=clear_extraneous_savers,
            strip_default_attrs=strip_default_attrs,
            save_debug_info=save_debug_info,
        )
