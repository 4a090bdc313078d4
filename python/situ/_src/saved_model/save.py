# SPDX-License-Identifier: Apache-2.0
"""save.py: tf.saved_model.save: an object with its variables and the traces of its functions,
in a folder. The file is situ's own (safetensors; graphs and structures as JSON in its
metadata); load.py reads it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Mapping

import numpy

from situ._src.checkpoint import safetensors
from situ._src.framework import errors, logs, tensor_shape
from situ._src.framework.api import export
from situ._src.framework.autotrackable import AutoTrackable
from situ._src.framework.concrete_function import ConcreteFunction
from situ._src.framework.function import Function
from situ._src.framework.keywords import unsupported
from situ._src.framework.tensor import Tensor
from situ._src.framework.type_spec import TensorSpec, spec_of
from situ._src.ops.array_ops import convert_to_tensor, op
from situ._src.saved_model.asset import ASSETS, Asset, asset_paths, same_file
from situ._src.saved_model.restored import (
    BYTES,
    COMPOSITE_SPECS,
    LENGTHS,
    RestoredFunction,
    SignatureMap,
    named_outputs,
)
from situ._src.variables.variable import Variable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any

FORMAT, FILE = "situ saved_model 2", "saved_model.safetensors"
DEFAULT_SERVING = "serving_default"
_FUNCTIONS = (Function, ConcreteFunction)


# Structures as JSON


def _encoded(value, leaf):
    if isinstance(value, dict):
        return {"dict": {k: _encoded(v, leaf) for k, v in value.items()}}
    if isinstance(value, (list, tuple)):
        data = {"list" if isinstance(value, list) else "tuple": [_encoded(v, leaf) for v in value]}
        return {**data, **_fields(value)}
    return leaf(value)


def _fields(value):
    """Returns the name and the fields of a named tuple."""
    if not hasattr(value, "_fields"):
        return {}
    return {"name": type(value).__name__, "fields": list(value._fields)}


def _sizes(shape):
    return shape.as_list() if shape.rank is not None else None


def _composite(spec):
    """Returns a spec of a composite tensor as JSON data."""
    parts = [
        {"shape": _sizes(v)} if isinstance(v, tensor_shape.TensorShape) else getattr(v, "name", v)
        for v in spec._serialize()
    ]
    return {"composite": type(spec).__name__, "config": parts}


def _output(value):
    """Returns the names of the tensors of an output as JSON data."""
    if not hasattr(value, "_situ_tensors_"):
        return {"tensor": None if value is None else value.name}
    return {**_argument(spec_of(value)), "parts": [t.name for t in value._situ_tensors_]}


def _argument(value):
    if isinstance(value, TensorSpec):
        return {"spec": [_sizes(value.shape), value.dtype.name, value.name]}
    if isinstance(value, tuple(COMPOSITE_SPECS.values())):
        return _composite(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return {"value": value}
    raise ValueError(
        f"tf.saved_model.save: an argument {value!r} of a function is neither a "
        "tensor nor a number, a text or None."
    )


# Writing


def _gradient_nodes(graph, operation, function):
    """Traces a gradient function into the graph: its nodes, its incoming gradients and its
    results."""
    back, sources = function if isinstance(function, tuple) else (function, operation.inputs)
    before = {o.name for o in graph.get_operations()}
    with graph.as_default(), graph.control_dependencies(None):
        arriving = [op("Placeholder", dtype=t.dtype, shape=t.shape) for t in operation.outputs]
        made = [None if g is None else convert_to_tensor(g) for g in back(operation, arriving)]
    nodes = [n for n in json.loads(graph._save(True)).get("node", []) if n["name"] not in before]
    graph.__dict__.setdefault("_gradient_nodes", set()).update(n["name"] for n in nodes)
    return {
        "nodes": [n for n in nodes if n["op"] != "Placeholder"],
        "sources": [t.name for t in sources],
        "arriving": [t.name for t in arriving],
        "gradients": [None if g is None else g.name for g in made],
    }


def _is_sharded(value):
    """Returns whether a value is a variable that is divided between parameter servers. It is saved
    as a whole."""
    return hasattr(value, "_situ_parts_of_variable_")


def _variable_options(variable):
    """Returns further arguments of tf.Variable, as far as they are not the usual ones."""
    options: dict = {}
    for name, usual in (("synchronization", "AUTO"), ("aggregation", "NONE")):
        value = getattr(variable, name, None)
        if value is not None and value.name != usual:
            options[name] = value.name
    shape = tensor_shape.as_shape(variable.shape)
    if not shape.is_fully_defined():
        options["shape"] = _sizes(shape)
    return options


class _Writer:
    """Collects variables and traces of an object and of what it holds."""

    def __init__(self, options=None):
        self.variables, self.arrays, self.traces, self.slices = {}, {}, [], {}
        self.objects, self._numbers, self._kept = [], {}, []  # objects; id -> number
        self.tables, self._table_numbers, self._trace_numbers = [], {}, {}
        self.assets: dict = {}  # file name -> path of the original
        self.keeps_gradients = getattr(options, "experimental_custom_gradients", True)

    def variable(self, variable):
        """The number of a variable; rows of one that is divided are saved with it."""
        if variable not in self.variables:
            number = self.variables[variable] = len(self.variables)
            rows = getattr(variable, "rows_of", None)
            if rows is not None:
                self.slices[number] = [self.variable(rows[0]), rows[1], rows[2]]
            else:
                self.arrays[f"variable/{number}"] = numpy.asarray(variable.numpy())
        return self.variables[variable]

    def trace(self, concrete, names=()):
        """The number of a trace; `names` of its parameters."""
        if concrete not in self._trace_numbers:
            self._trace_numbers[concrete] = self._written_trace(concrete, names)
        return self._trace_numbers[concrete]

    def _written_trace(self, concrete, names):
        graph = concrete.graph
        gradients = self._custom_gradients(concrete)
        apart = graph.__dict__.get("_gradient_nodes", ())
        whole = json.loads(graph.as_graph_def()._to_json())
        nodes = [n for n in whole.get("node", []) if n["name"] not in apart]
        functions = whole.get("library", {})
        _check_saved(concrete, nodes, functions)
        captured = []
        for tensor, inside in graph.captured.values():
            is_table = tensor.dtype.name == "resource"
            if id(tensor) in asset_paths:
                captured.append([inside.name, {"asset": self.asset(asset_paths[id(tensor)])}])
                continue
            key = self._table_of(tensor, concrete) if is_table else self.array(tensor)
            captured.append([inside.name, key])
        args, words = concrete.structured_input_signature
        self.traces.append(
            {
                "name": concrete.name,
                "names": list(names),
                "nodes": nodes,
                "functions": functions,
                "captured": captured,
                "args": _encoded(tuple(args), _argument),
                "words": _encoded(words, _argument),
                "inputs": [t.name for t in concrete.inputs],
                "gradients": gradients,
                "types": {t.name: [_sizes(t.shape), t.dtype.name] for t in concrete.outputs},
                "reads": [[t.name, self.variable(v)] for v, t in graph.reads.items()],
                "writes": [[t.name, self.variable(v)] for v, t in graph.writes.items()],
                "outputs": _encoded(concrete.results, _output),
            }
        )
        return len(self.traces) - 1

    def asset(self, asset):
        """Returns the file name of an asset in the model; equal files have one name."""
        path = os.fsdecode(asset.asset_path.numpy())
        base, count = os.path.basename(path), 0
        name = base
        while name in self.assets and not same_file(path, self.assets[name]):
            count += 1
            name = f"{base}_{count}"
        self.assets.setdefault(name, path)
        return name

    def array(self, tensor):
        """Returns the key of the value of a tensor in the file."""
        key = f"captured/{len(self.arrays)}"
        self.arrays[key] = numpy.asarray(tensor.numpy() if hasattr(tensor, "numpy") else tensor)
        return key

    def _table_of(self, handle, concrete):
        """Returns the number of the table with a handle."""
        from situ._src.ops.lookup_ops import handles

        if id(handle) not in handles:
            raise NotImplementedError(
                f"tf.saved_model.save: function '{concrete.name}' uses a resource that is neither "
                "a variable nor a table, which cannot be saved."
            )
        return self.table(handles[id(handle)])

    def table(self, table):
        """Returns the number of a table."""
        from situ._src.saved_model import saved_tables

        key = id(table.resource_handle)
        if key not in self._table_numbers:
            data, arrays = saved_tables.description(table)
            self._table_numbers[key] = len(self.tables)
            self.tables.append({**data, "arrays": [self.array(a) for a in arrays]})
        return self._table_numbers[key]

    def _custom_gradients(self, concrete):
        """The gradients that the program defines (tf.custom_gradient), as nodes of their own, by
        the name of the operation that they belong to."""
        found = {}
        for operation, function in list(concrete.graph.__dict__.get("_gradients", {}).items()):
            if not self.keeps_gradients:
                logs.warn(
                    f"tf.saved_model.save: '{concrete.name}' uses tf.custom_gradient, "
                    "which the options leave out: the loaded function has the gradients of "
                    "its operations."
                )
                break
            kept = concrete.graph.__dict__.setdefault("_saved_gradients", {})
            if operation not in kept:
                kept[operation] = _gradient_nodes(concrete.graph, operation, function)
            found[operation.name] = kept[operation]
        return found

    def function(self, function):
        """A description of a function: its traces and its parameters."""
        if isinstance(function, RestoredFunction):
            concrete = function.concrete_functions
        else:
            if function.input_signature is not None and not function._traces:
                function.get_concrete_function()
            concrete = function._traces.values()
        names = list(function._signature.parameters) if function._signature else ()
        data = {"function": [self.trace(c, names) for c in concrete]}
        if function._signature is not None:
            data["parameters"] = _parameters(function._signature)
        if function.input_signature is not None:
            data["input_signature"] = _encoded(function.input_signature, _argument)
        return data

    def thing(self, value):
        """A description of a variable or a table, or the number of a function, an object or a
        collection; None of all else."""
        from situ._src.ops.lookup_ops import StaticHashTable
        from situ._src.ops.mutable_tables import MutableTable

        if isinstance(value, Variable) or _is_sharded(value):
            return {
                "variable": self.variable(value),
                "name": value.name.split(":")[0],
                "trainable": bool(value.trainable),
                "options": _variable_options(value),
            }
        if isinstance(value, (StaticHashTable, MutableTable)):
            return {"table": self.table(value)}
        if isinstance(value, Asset):
            return {"asset": self.asset(value)}
        if isinstance(value, (*_FUNCTIONS, dict, list, tuple, AutoTrackable)):
            return {"object": self.number(value)}
        return None

    def number(self, value):
        """Returns the number of an object. Each is written once; cycles are allowed."""
        if id(value) not in self._numbers:
            number = self._numbers[id(value)] = len(self.objects)
            self._kept.append(value)  # keeps its id unique
            self.objects.append(None)
            self.objects[number] = self._described(value)
        return self._numbers[id(value)]

    def _described(self, value):
        if isinstance(value, Function):
            return self.function(value)
        if isinstance(value, ConcreteFunction):
            return {"concrete": self.trace(value, value._names)}
        if isinstance(value, dict):
            return {"dict": self._members(value)}
        if isinstance(value, (list, tuple)):
            parts = [self.thing(v) for v in value]
            while isinstance(value, list) and parts and parts[-1] is None:
                parts.pop()
            return {"list" if isinstance(value, list) else "tuple": parts, **_fields(value)}
        return {"members": self._members(_members(value))}

    def _members(self, items):
        described = {str(k): self.thing(v) for k, v in items.items()}
        return {k: v for k, v in described.items() if v is not None}


def _members(obj):
    """Returns what an object holds, with the functions of its class."""
    members = {
        k: v
        for k, v in vars(obj).items()
        if not k.startswith("_situ_function_") and (not k.startswith("__") or k == "__call__")
    }
    if isinstance(members.get("signatures"), SignatureMap):  # of a loaded object
        del members["signatures"]
    if "signatures" in members:
        raise ValueError(
            f"Exporting an object {obj} which has an attribute named 'signatures'. This is a "
            "reserved attribute used to store SavedModel signatures in objects which come from "
            "`tf.saved_model.load`. Delete this attribute (e.g. `del obj.signatures`) before "
            "saving if this shadowing is acceptable."
        )
    for name in dir(type(obj)):
        if isinstance(getattr(type(obj), name, None), Function):
            members[name] = getattr(obj, name)
    return members


def _parameters(signature):
    """Returns the parameters of a function as JSON data; defaults that a file cannot hold are
    left out."""
    found = []
    for parameter in signature.parameters.values():
        data = [parameter.name, parameter.kind.name]
        if parameter.default is not parameter.empty:
            with contextlib.suppress(ValueError):
                data.append(_encoded(parameter.default, _argument))
        found.append(data)
    return found


def _check_saved(concrete, nodes, functions):
    """Raises NotImplementedError if a trace calls Python."""
    bodies = functions.get("function", ())
    for node in [*nodes, *[n for body in bodies for n in body.get("nodeDef", ())]]:
        if node["op"].startswith(("PyFunc", "EagerPyFunc")):
            raise NotImplementedError(
                f"tf.saved_model.save: function '{concrete.name}' calls Python, which cannot be "
                "saved."
            )


def _concrete(function):
    """Returns the concrete function of a function that can be a signature, or None."""
    if isinstance(function, Function) and function.input_signature is not None:
        return function.get_concrete_function()
    return function if isinstance(function, ConcreteFunction) else None


def _signatures(obj, given):
    """Returns the concrete functions of the signatures by name."""
    if given is None:
        members = {} if isinstance(obj, Variable) else _members(obj).values()
        found = [c for c in map(_concrete, members) if c is not None and _serves(c)]
        given = found[0] if len(found) == 1 else {}
    if not isinstance(given, Mapping):
        given = {DEFAULT_SERVING: given}
    made = {key: _concrete(function) for key, function in given.items()}
    for key, concrete in made.items():
        if concrete is None:
            raise ValueError(
                "Expected a TensorFlow function for which to generate a signature, but got "
                f"{given[key]}. Only `tf.functions` with an input signature or concrete functions "
                "can be used as a signature."
            )
        _check_outputs(concrete, key)
    return made


def _serves(concrete):
    """Returns whether a concrete function can be a signature."""
    try:
        _check_outputs(concrete, "")
    except ValueError:
        return False
    return bool(concrete.outputs)


def _check_outputs(concrete, key):
    """Raises ValueError if the results of a function are no valid ones of a signature."""
    outputs = named_outputs(concrete.results)
    where = f"the function {concrete.name} used to generate the SavedModel signature {key!r}."
    for name, value in outputs.items():
        if not isinstance(name, (str, bytes)):
            raise ValueError(
                f"Got a dictionary with a non-string key {name!r} in the output of {where}"
            )
        if not isinstance(value, Tensor):
            raise ValueError(
                f"Got a non-Tensor value {value!r} for key {name!r} in the output of {where} "
                "Outputs for functions used as signatures must be a single Tensor, a sequence of "
                "Tensors, or a dictionary from string to Tensor."
            )


@export("saved_model.save", v2="saved_model.experimental.save")
def save(obj: Any, export_dir: str, signatures: Any = None, options: Any = None) -> None:
    """Writes the variables of an object, and its functions as far as they were traced.

    Args:
      obj: a tf.Module or the like, a variable, or a Keras model.
      export_dir: the directory.
      signatures: a function, or a dict of functions by name.
      options: a SaveOptions, or None.
    """
    from situ._src.keras.model import Model

    export_dir, writer = os.fspath(export_dir), _Writer(options)
    if isinstance(obj, Model):
        if not os.path.isdir(export_dir):
            os.makedirs(export_dir)
        obj.save(export_dir)
        if signatures is None:
            return
    if not isinstance(obj, (Variable, AutoTrackable)) and not _is_sharded(obj):
        raise ValueError(
            f"Expected an object of type `Trackable`, such as `tf.Module` or a "
            f"subclass of the `Trackable` class, for export. Got {obj} with type "
            f"{type(obj)}."
        )
    made = {k: writer.trace(c, c._names) for k, c in _signatures(obj, signatures).items()}
    if isinstance(obj, Model):
        root, default = _of_model(writer, obj)
        made.setdefault(DEFAULT_SERVING, default)
    else:
        root = writer.thing(obj)
    tree = {"root": root, "signatures": made}
    if writer.slices:
        tree["slices"] = writer.slices
    if options is not None:
        tree["tags"] = ["serve", *(options.extra_tags or ())]
        aliases = options.function_aliases or {}
        tree["aliases"] = {k: writer.thing(f) for k, f in aliases.items()}
    _write(export_dir, writer, tree)


def _of_strings(key, array):
    """Returns the arrays that encode an array of strings: all bytes, and the lengths."""
    items = [bytes(item) for item in array.ravel().tolist()]
    lengths = numpy.array([len(item) for item in items], numpy.int64).reshape(array.shape)
    return {
        key + BYTES: numpy.frombuffer(b"".join(items), numpy.uint8).copy(),
        key + LENGTHS: lengths,
    }


def _write(export_dir, writer, tree):
    os.makedirs(export_dir, exist_ok=True)
    tree.update(objects=writer.objects, tables=writer.tables)
    for name, path in writer.assets.items():
        to = os.path.join(export_dir, ASSETS, name)
        os.makedirs(os.path.dirname(to), exist_ok=True)
        with errors.convert_os_errors(path), contextlib.suppress(shutil.SameFileError):
            shutil.copyfile(path, to)
    kept = {}
    for key, array in writer.arrays.items():
        kept.update(_of_strings(key, array) if array.dtype.kind in "OS" else {key: array})
    safetensors.write(
        os.path.join(export_dir, FILE),
        kept,
        {"format": FORMAT, "object": json.dumps(tree), "traces": json.dumps(writer.traces)},
    )


def _of_model(writer, model, name="__call__"):
    """Returns a Keras model as an object with a function of its inputs and its variables, and the
    number of the trace."""
    inputs = model.inputs
    if inputs is None:
        shape = model._build_input_shape
        if not isinstance(shape, tensor_shape.TensorShape):
            raise NotImplementedError(
                f"tf.saved_model.save: what {model.name} is called with is not known."
            )
        specs = TensorSpec([None, *shape.as_list()[1:]], model.dtype, "input_1")
    else:
        specs = [TensorSpec(t.shape, t.dtype, n) for t, n in zip(inputs, model.input_names)]
        specs = specs[0] if len(specs) == 1 else specs
    call = Function(lambda x: model(x, training=False), input_signature=[specs], name="__call__")
    concrete = call.get_concrete_function()
    holder = AutoTrackable()
    holder.variables = list(model.variables)
    setattr(holder, name, call)
    return writer.thing(holder), writer.trace(concrete, concrete._names)


def _written(writer, model, folder, name, signatures):
    """Writes a Keras model as a function of its inputs, and its variables."""
    root, number = _of_model(writer, model, name)
    _write(
        os.fspath(folder), writer, {"root": root, "signatures": dict.fromkeys(signatures, number)}
    )


def export_model(model, folder):
    """A folder with the function of a Keras model, as `serve`, and its variables."""
    _written(_Writer(), model, folder, "serve", (DEFAULT_SERVING, "serve"))


def write_model(model, folder):
    """Beside the file of a Keras model, what tf.saved_model.load reads."""
    try:
        _written(_Writer(), model, folder, "__call__", (DEFAULT_SERVING,))
    except (NotImplementedError, ValueError) as error:
        logs.warn(
            "%s: tf.saved_model.load will not find the function of model '%s'; "
            "tf.keras.models.load_model reads it all the same. (%s)",
            folder,
            model.name,
            error,
        )


@export("saved_model.SaveOptions")
class SaveOptions:
    """Options of save.

    Args:
      namespace_whitelist: recorded only: there are no ops with namespaces.
      save_debug_info: must be False.
      function_aliases: functions by name, which load restores as `function_aliases`.
      experimental_io_device: recorded only: this process writes the files.
      experimental_custom_gradients: whether to save the gradients of tf.custom_gradient.
      extra_tags: tags of the model besides "serve".

    Raises:
      NotImplementedError: another argument is given.
      TypeError: `namespace_whitelist` is not a list.
    """

    def __init__(
        self,
        namespace_whitelist: Any = None,
        save_debug_info: bool = False,
        function_aliases: Any = None,
        experimental_debug_stripper: bool = False,
        experimental_io_device: Any = None,
        experimental_variable_policy: Any = None,
        experimental_custom_gradients: bool = True,
        experimental_image_format: bool = False,
        experimental_skip_saver: bool = False,
        experimental_sharding_callback: Any = None,
        extra_tags: Any = None,
    ):
        unsupported(
            "tf.saved_model.SaveOptions",
            save_debug_info=(save_debug_info, False),
            experimental_debug_stripper=(experimental_debug_stripper, False),
            experimental_variable_policy=(experimental_variable_policy, None),
            experimental_image_format=(experimental_image_format, False),
            experimental_skip_saver=(experimental_skip_saver, False),
            experimental_sharding_callback=(experimental_sharding_callback, None),
        )
        if not isinstance(namespace_whitelist, (list, type(None))):
            raise TypeError(
                "`namespace_whitelist` must be a list of strings. Got: "
                f"{namespace_whitelist} with type {type(namespace_whitelist)}."
            )
        self.namespace_whitelist = namespace_whitelist or []
        self.save_debug_info, self.function_aliases = save_debug_info, function_aliases
        self.experimental_custom_gradients = experimental_custom_gradients
        self.experimental_io_device, self.extra_tags = experimental_io_device, extra_tags


@export("saved_model.LoadOptions")
class LoadOptions:
    """Options of load.

    Args:
      allow_partial_checkpoint: recorded only: a model always has the values of all variables.
      experimental_io_device: recorded only: this process reads the files.
      experimental_load_function_aliases: whether the loaded object has `function_aliases`.

    Raises:
      NotImplementedError: another argument is given.
    """

    def __init__(
        self,
        allow_partial_checkpoint: bool = False,
        experimental_io_device: Any = None,
        experimental_skip_checkpoint: bool = False,
        experimental_variable_policy: Any = None,
        experimental_load_function_aliases: bool = False,
    ):
        unsupported(
            "tf.saved_model.LoadOptions",
            experimental_skip_checkpoint=(experimental_skip_checkpoint, False),
            experimental_variable_policy=(experimental_variable_policy, None),
        )
        self.allow_partial_checkpoint = allow_partial_checkpoint
        self.experimental_io_device = experimental_io_device
        self.experimental_load_function_aliases = experimental_load_function_aliases
