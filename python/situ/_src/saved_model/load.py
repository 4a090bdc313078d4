# SPDX-License-Identifier: Apache-2.0
"""load.py: tf.saved_model.load: restores objects that save.py wrote, with their variables and
traced functions."""

from __future__ import annotations

import functools
import json
import os

import numpy

from situ._src.checkpoint import safetensors
from situ._src.framework import errors, import_graph_def, nest, node_def
from situ._src.framework.api import export
from situ._src.framework.custom_gradient import with_gradient
from situ._src.framework.function import Function
from situ._src.framework.module import Module
from situ._src.framework.type_spec import TensorSpec, TypeSpec
from situ._src.ops.array_ops import concat, convert_to_tensor, op
from situ._src.saved_model.save import BYTES, COMPOSITE_SPECS, FILE, LENGTHS
from situ._src.variables.variable import variable as make_variable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any

_leaves = nest.COMPOSITES.flatten


def _decoded(value, leaf):
    if "dict" in value:
        return {k: _decoded(v, leaf) for k, v in value["dict"].items()}
    if "list" in value or "tuple" in value:
        parts = [_decoded(v, leaf) for v in value.get("list", value.get("tuple"))]
        return parts if "list" in value else tuple(parts)
    return leaf(value)


def _argument_of(value):
    if "spec" in value:
        return TensorSpec(*value["spec"])
    if "composite" in value:
        return _composite_spec(value)
    return value["value"]


def _composite_spec(value):
    """Returns the spec of a composite tensor that JSON data describes."""
    if value["composite"] not in COMPOSITE_SPECS:
        raise ValueError(f"unknown spec {value['composite']!r}")
    config = [v["shape"] if isinstance(v, dict) else v for v in value["config"]]
    return COMPOSITE_SPECS[value["composite"]](*config)


def _array(file, key):
    """Returns an array of a file; strings are stored as their bytes and lengths."""
    if key + LENGTHS not in file.entries:
        return file.get(key)
    lengths, data = file.get(key + LENGTHS), file.get(key + BYTES).tobytes()
    ends = numpy.cumsum(lengths.ravel()).tolist()
    strings = numpy.empty(lengths.size, object)
    strings[:] = [data[end - n : end] for end, n in zip(ends, lengths.ravel().tolist())]
    return strings.reshape(lengths.shape)


class _Entries(dict):
    """Entries of a file, where a missing one is an error of the file."""

    def __missing__(self, name):
        raise ValueError(f"The model is damaged: it has no {name!r}.")


def _json(text):
    return json.loads(text, object_hook=_Entries)


class _Replayed:
    """A trace of a file. Its nodes are executed again, in a graph or eagerly."""

    def __init__(self, trace, variables, file):
        self._trace, self._variables = trace, variables
        self._tables: list = []  # keeps the tables of the handles
        self._captured = {n: self._read(file, k) for n, k in trace["captured"]}
        self.args = _decoded(trace["args"], _argument_of)
        self.kwargs = _decoded(trace["words"], _argument_of)
        self._graph_def = node_def.from_json(trace["nodes"])
        self._function = Function(self._run, name=trace["name"], autograph=False)

    def _read(self, file, keys):
        """Returns a captured value: a tensor, or the handle of a static table."""
        if isinstance(keys, str):
            return convert_to_tensor(_array(file, keys))
        from situ._src.ops.lookup_ops import KeyValueTensorInitializer, StaticHashTable

        entries = KeyValueTensorInitializer(*(_array(file, k) for k in keys))
        default = "" if entries.value_dtype.name == "string" else 0  # lookups have their own
        self._tables.append(StaticHashTable(entries, default))
        return self._tables[-1].resource_handle

    structured_input_signature = property(lambda s: (s.args, s.kwargs))

    @property
    def structured_outputs(self):
        return _decoded(self._trace["outputs"], lambda t: t.get("parts") or t["tensor"])

    def output(self, tensor, name=None):
        """Returns the TensorSpec of an output."""
        shape, dtype = self._trace.get("types", {}).get(tensor, (None, "float32"))
        return TensorSpec(shape, dtype, name)

    def _run(self, *tensors):
        values = _Entries(self._captured)
        values.update(zip(self._trace["inputs"], tensors))
        values.update({n: convert_to_tensor(self._variables[i]) for n, i in self._trace["reads"]})
        self._replay(self._graph_def, values)
        for name, i in self._trace["writes"]:
            self._variables[i].assign(values[name])

        def made(output):
            if "parts" in output:
                parts = [values[name] for name in output["parts"]]
                return _composite_spec(output)._situ_from_tensors_(parts)
            return None if output["tensor"] is None else values[output["tensor"]]

        return _decoded(self._trace["outputs"], made)

    def _replay(self, graph_def, values):
        """Executes nodes; their outputs are added to `values` by name."""
        budget = import_graph_def.Budget(graph_def)
        for node in graph_def.node:
            first = node.name + ":0"
            if first in values:
                continue
            inputs = [
                values[i if ":" in i else i + ":0"] for i in node.input if not i.startswith("^")
            ]
            attrs = _Entries(
                (k, import_graph_def.attr_value(v, budget))
                for k, v in node.attr.items()
                if not k.startswith("_")
            )
            made = (
                convert_to_tensor(attrs["value"], attrs["dtype"])
                if node.op == "Const"
                else import_graph_def.call_op(node.op, inputs, attrs, None)
            )
            made = list(made) if isinstance(made, (list, tuple)) else [made]
            gradient = self._trace.get("gradients", {}).get(node.name)
            if gradient is not None:
                made = with_gradient(
                    [values[s] for s in gradient["sources"]],
                    made,
                    functools.partial(self._back, gradient, values, made),
                )
            values.update({f"{node.name}:{i}": v for i, v in enumerate(made)})

    def _back(self, gradient, values, outputs, grads):
        """Computes user-defined gradients of an operation from its output gradients."""
        inner = dict(values)
        inner.update(
            {
                n: op("ZerosLike", o) if g is None else g
                for n, g, o in zip(gradient["arriving"], grads, outputs)
            }
        )
        self._replay(node_def.from_json(gradient["nodes"]), inner)
        return [None if g is None else inner[g] for g in gradient["gradients"]]

    def positional(self, args, kwargs):
        """Returns the arguments with keyword arguments moved to their positions."""
        args, kwargs = list(args), dict(kwargs)
        for i in range(len(args), len(self.args)):
            name = self._trace["names"][i] if i < len(self._trace["names"]) else None
            args.append(kwargs.pop(name) if name in kwargs else self.args[i])
        while len(args) and isinstance(args[-1], TypeSpec):
            args.pop()  # not passed
        return tuple(args), kwargs

    def fits(self, args, kwargs):
        """Returns whether the trace matches the arguments; omitted ones must not be tensors."""
        rest = self.args[len(args) :]
        more = {k: v for k, v in self.kwargs.items() if k not in kwargs}
        if (
            len(args) > len(self.args)
            or set(kwargs) - set(self.kwargs)
            or any(isinstance(v, TensorSpec) for v in _leaves((rest, more)))
        ):
            return False
        pairs = self._pairs(args, kwargs)
        return pairs is not None and all(_matches(v, s) for s, v in pairs)

    def _pairs(self, args, kwargs):
        """Returns (traced, actual) of each leaf; None if the structures differ."""
        return _paired(
            (self.args[: len(args)], {k: self.kwargs[k] for k in kwargs}), (tuple(args), kwargs)
        )

    def call(self, args, kwargs):
        tensors = []
        for spec, value in self._pairs(args, kwargs):
            if isinstance(spec, TensorSpec):
                dtype = None if hasattr(value, "dtype") else spec.dtype
                tensors.append(convert_to_tensor(value, dtype))
            elif isinstance(spec, TypeSpec):
                tensors += _leaves(value)
        return self._function(*tensors)

    def __call__(self, *args, **kwargs):
        if kwargs and not self.kwargs:  # a signature: tensors by the names of their specs
            names = [s.name for s in _leaves(self.args) if isinstance(s, TensorSpec)]
            if set(names) != set(kwargs):
                raise TypeError(
                    f"{self._trace['name']}: its signature takes the arguments "
                    f"{sorted(names)}, but {sorted(kwargs)} were given."
                )
            args, kwargs = [kwargs[n] for n in names], {}
            args = _packed(self.args, iter(args))
        return self.call(args, kwargs)


def _paired(wanted, given):
    """Returns pairs of the leaves of two structures; None if they differ."""
    try:
        return list(zip(nest.flatten(wanted), nest.CORE.flatten_like(wanted, given)))
    except (TypeError, ValueError):
        return None


def _packed(structure, leaves):
    fill = lambda v: next(leaves) if isinstance(v, TensorSpec) else v
    return nest.COMPOSITES.map(fill, structure)


def _matches(value, wanted):
    if isinstance(wanted, TypeSpec) and not isinstance(wanted, TensorSpec):
        return hasattr(value, "_situ_tensors_") and wanted.is_compatible_with(value)
    if not isinstance(wanted, TensorSpec):
        return not hasattr(value, "dtype") and value == wanted
    try:
        tensor = convert_to_tensor(value, None if hasattr(value, "dtype") else wanted.dtype)
    except (TypeError, ValueError):
        return False
    return tensor.dtype == wanted.dtype and wanted.shape.is_compatible_with(tensor.shape)


class _Signature:
    """A signature: keyword tensors in, a dict of tensors out."""

    def __init__(self, replayed):
        self._replayed = replayed

    structured_input_signature = property(
        lambda s: (
            (),
            {spec.name: spec for spec in _leaves(s._replayed.args) if isinstance(spec, TensorSpec)},
        )
    )

    @property
    def structured_outputs(self):
        made = self._replayed.structured_outputs
        names = (
            list(made)
            if isinstance(made, dict)
            else [f"output_{i}" for i in range(len(_leaves(made)))]
        )
        return {n: self._replayed.output(t, n) for n, t in zip(names, _leaves(made))}

    inputs = property(lambda s: list(s.structured_input_signature[1].values()))
    outputs = property(lambda s: list(s.structured_outputs.values()))

    def __call__(self, *args, **kwargs):
        made = self._replayed(*args, **kwargs)
        if isinstance(made, dict):
            return made
        return {f"output_{i}": t for i, t in enumerate(_leaves(made))}


class _Restored:
    """A function with several traces, of which a call selects one."""

    def __init__(self, name, traces):
        self.__name__, self._traces = name, traces
        self.concrete_functions = traces

    def __call__(self, *args, **kwargs):
        for trace in self._traces:
            positional = trace.positional(args, kwargs)
            if trace.fits(*positional):
                return trace.call(*positional)
        known = "\n  ".join(str(t.structured_input_signature) for t in self._traces)
        raise ValueError(
            "Could not find matching concrete function to call loaded from the "
            f"SavedModel. Got:\n  {args} {kwargs}\nExpected one of:\n  {known}"
        )


class Loaded(Module):
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
    def __init__(self, file):
        self._file, self._made = file, {}
        self._slices = _json(file.metadata["object"]).get("slices", {})
        data = _json(file.metadata["traces"])
        self.variables = _Lazy(self.variable)
        self.traces = [_Replayed(t, self.variables, file) for t in data]

    def variable(self, number, name="Variable", trainable=True):
        rows = self._slices.get(str(number))
        if rows is not None:
            return _Rows(self.variable(rows[0]), *rows[1:])
        if number not in self._made:
            self._made[number] = make_variable(
                self._file.get(f"variable/{number}"), trainable=trainable, name=name
            )
        return self._made[number]

    def restore(self, data, name=""):
        """Creates the object that JSON data describes."""
        if data is None:
            return None
        if "variable" in data:
            return self.variable(data["variable"], data["name"], data["trainable"])
        if "function" in data:
            return _Restored(name, [self.traces[i] for i in data["function"]])
        if "list" in data:
            return [self.restore(d) for d in data["list"]]
        if "dict" in data:
            return {k: self.restore(d, k) for k, d in data["dict"].items()}
        made = Loaded()
        for key, below in data["object"].items():
            made.__dict__[key] = self.restore(below, key)
        return made


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


class _Lazy:
    def __init__(self, get):
        self._get = get

    def __getitem__(self, number):
        return self._get(number)


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
        tree = _json(reader._file.metadata["object"])
        saved_tags = list(tree.get("tags", ["serve"]))
    _check_tags(folder, saved_tags, tags)
    with errors.convert_malformed(path):
        made = reader.restore(tree)
        if options is not None and options.experimental_load_function_aliases:
            aliases = tree.get("aliases", {})
            made.function_aliases = {k: reader.restore(f, k) for k, f in aliases.items()}
        made.signatures = {
            k: _Signature(reader.traces[i]) for k, i in tree.get("signatures", {}).items()
        }
    return made


@export("saved_model.contains_saved_model")
def contains_saved_model(export_dir: str) -> bool:
    """Returns whether a directory contains a saved model.

    Args:
      export_dir: the directory.
    """
    return os.path.isfile(os.path.join(os.fspath(export_dir), FILE))
