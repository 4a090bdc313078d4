# SPDX-License-Identifier: Apache-2.0
"""load.py: tf.saved_model.load: restores objects that save.py wrote, with their variables and
traced functions."""

from __future__ import annotations

import os

from situ._src.checkpoint import safetensors
from situ._src.framework import errors
from situ._src.framework.api import export
from situ._src.framework.autotrackable import AutoTrackable
from situ._src.framework.scopes import init_scope
from situ._src.framework.tensor_shape import TensorShape
from situ._src.ops.array_ops import concat, convert_to_tensor
from situ._src.saved_model import saved_tables
from situ._src.saved_model.asset import ASSETS, Asset
from situ._src.saved_model.restored import (
    RestoredFunction,
    SignatureMap,
    Trace,
    array_of,
    made_tuple,
    parsed,
)
from situ._src.saved_model.save import FILE
from situ._src.variables.synchronization import VariableAggregation, VariableSynchronization
from situ._src.variables.variable import variable as make_variable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any


# How the options of variables are read.
_OPTIONS = {
    "synchronization": VariableSynchronization.__getitem__,
    "aggregation": VariableAggregation.__getitem__,
    "shape": TensorShape,
}


class Loaded(AutoTrackable):
    """The result of tf.saved_model.load: an object with the attributes of the saved one."""

    signatures: dict = {}

    def __call__(self, *args, **kwargs):
        call = vars(self).get("__call__")
        if call is None:
            raise TypeError(
                f"'{type(self).__name__}' object is not callable: the object that was "
                "saved had no traced __call__."
            )
        return call(*args, **kwargs)


class _Reader:
    """Creates the objects of a file, each once."""

    def __init__(self, file):
        self._file, self._made, self._tables, self._objects = file, {}, {}, {}
        self._assets: dict = {}
        self.tree = parsed(file.metadata["object"])
        self._slices = self.tree.get("slices", {})
        data = parsed(file.metadata["traces"])
        self.traces = [Trace(t, self.variable, self.captured) for t in data]

    def variable(self, number, name="Variable", trainable=True, **options):
        """Returns a variable; `options` are further arguments of tf.Variable."""
        rows = self._slices.get(str(number))
        if rows is not None:
            return _Rows(self.variable(rows[0]), *rows[1:])
        if number not in self._made:
            with init_scope():
                self._made[number] = make_variable(
                    array_of(self._file, f"variable/{number}"),
                    trainable=trainable,
                    name=name,
                    **options,
                )
        return self._made[number]

    def table(self, number):
        """Returns a table."""
        if number not in self._tables:
            data = self.tree["tables"][number]
            arrays = [array_of(self._file, key) for key in data["arrays"]]
            with init_scope():
                self._tables[number] = saved_tables.made(data, arrays)
        return self._tables[number]

    def asset(self, name):
        """Returns an asset."""
        if name not in self._assets:
            folder = os.path.join(os.path.dirname(self._file.path), ASSETS)
            self._assets[name] = Asset(os.path.join(folder, os.path.basename(name)))
        return self._assets[name]

    def captured(self, key):
        """Returns a captured value: a tensor, the handle of a table, or the path of an asset."""
        if isinstance(key, int):
            return self.table(key).resource_handle
        if isinstance(key, dict):
            return self.asset(key["asset"]).asset_path
        return convert_to_tensor(array_of(self._file, key))

    def restore(self, data, name=""):
        """Returns the object that JSON data describes."""
        if data is None:
            return None
        if "object" in data and isinstance(data["object"], int):
            number = data["object"]
            if number not in self._objects:
                self._create(number, self.tree["objects"][number], name)
            return self._objects[number]
        if "variable" in data:
            options = dict(data.get("options", {}))
            for key, decode in _OPTIONS.items():
                if key in options:
                    options[key] = decode(options[key])
            return self.variable(data["variable"], data["name"], data["trainable"], **options)
        return self.asset(data["asset"]) if "asset" in data else self.table(data["table"])

    def _create(self, number, data, name):
        """Creates an object; it is known before its parts, which may refer to it."""
        if "function" in data:
            self._objects[number] = RestoredFunction(name, data, self.traces)
        elif "concrete" in data:
            self._objects[number] = self.traces[data["concrete"]].concrete
        elif "list" in data:
            made = self._objects[number] = []
            made.extend(self.restore(d) for d in data["list"])
        elif "tuple" in data:
            parts = [self.restore(d) for d in data["tuple"]]
            self._objects[number] = made_tuple(data, parts)
        elif "dict" in data:
            made = self._objects[number] = {}
            made.update((k, self.restore(d, k)) for k, d in data["dict"].items())
        else:
            made = self._objects[number] = Loaded()
            for key, below in data["members"].items():
                made.__dict__[key] = self.restore(below, key)


class _Rows:
    """The rows of a variable that were a variable of their own when a function was saved."""

    def __init__(self, whole, start, end):
        self._whole, self._start, self._end = whole, start, end

    def _check(self):
        if hasattr(self._whole, "_situ_parts_of_variable_"):
            raise ValueError(
                "It is not possible to run a loaded non-Keras model in the scope of a "
                "ParameterServerStrategy with a variable_partitioner. Load it outside of the scope."
            )

    def _situ_tensor_(self):
        self._check()
        return self._whole.read_value()[self._start : self._end]

    def assign(self, value):
        """Assigns the rows."""
        self._check()
        old = self._whole.read_value()
        self._whole.assign(concat([old[: self._start], value, old[self._end :]], 0))


def _check_tags(folder, saved, tags):
    if tags is None:
        return
    given = [tags] if isinstance(tags, str) else list(tags)
    if set(given) != set(saved):
        raise ValueError(
            f"Got an incompatible argument to `tags`: {given}. The SavedModel at {folder} has one "
            f"MetaGraph with tags {saved}. You may omit the argument, pass 'None', or pass "
            "matching tags."
        )


@export(v1="saved_model.load_v2", v2=("saved_model.load", "saved_model.experimental.load"))
def load(export_dir: str, tags: Any = None, options: Any = None) -> Any:
    """Loads an object that tf.saved_model.save or a Keras model wrote.

    Args:
      export_dir: the directory.
      tags: the tags of the model, all of them, or None.
      options: a LoadOptions, or None.

    Returns:
      An object with the variables, functions and `signatures` of the saved one, and with
      `function_aliases` if the options say so.

    Raises:
      ValueError: the model has other tags.
      OSError: there is no model, or TensorFlow wrote it.
      DataLossError: the file is damaged.
    """
    folder = os.fspath(export_dir)
    path = os.path.join(folder, FILE)
    if not os.path.isfile(path):
        if os.path.isfile(os.path.join(folder, "saved_model.pb")):
            raise OSError(
                f"{folder} is a SavedModel that TensorFlow wrote, which situ cannot "
                "read. Of a Keras model, load it with TensorFlow and save it as HDF5 "
                "(model.save('model.h5')); of variables, write a checkpoint."
            )
        raise OSError(f"SavedModel file does not exist at: {folder}/{FILE}")
    with errors.convert_malformed(path):
        reader = _Reader(safetensors.File(path))
        saved_tags = list(reader.tree.get("tags", ["serve"]))
    _check_tags(folder, saved_tags, tags)
    with errors.convert_malformed(path):
        made = reader.restore(reader.tree["root"])
        if options is not None and options.experimental_load_function_aliases:
            aliases = reader.tree.get("aliases", {})
            made.function_aliases = {k: reader.restore(f, k) for k, f in aliases.items()}
        signatures = reader.tree.get("signatures", {})
        made.signatures = SignatureMap({k: reader.traces[i] for k, i in signatures.items()})
    return made


@export("saved_model.contains_saved_model")
def contains_saved_model(export_dir: str) -> bool:
    """Returns whether a directory contains a saved model.

    Args:
      export_dir: the directory.
    """
    return os.path.isfile(os.path.join(os.fspath(export_dir), FILE))
