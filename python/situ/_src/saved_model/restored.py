# SPDX-License-Identifier: Apache-2.0
"""restored.py: the functions of a saved model: traces that are read from the file when they are
called first, and functions that select one."""

from __future__ import annotations

import functools
import inspect
import json
import pprint
from collections import namedtuple
from collections.abc import Mapping

import numpy

import _situ
from situ._src.framework import import_graph_def, nest, node_def
from situ._src.framework.concrete_function import ConcreteFunction
from situ._src.framework.custom_gradient import with_gradient
from situ._src.framework.function import Function
from situ._src.framework.function_library import FunctionDefLibrary, Library
from situ._src.framework.graph import get_default_graph
from situ._src.framework.tensor import EagerTensor
from situ._src.framework.type_spec import (
    IndexedSlicesSpec,
    SparseTensorSpec,
    TensorSpec,
    TypeSpec,
)
from situ._src.ops.array_ops import convert_to_tensor, op
from situ._src.ops.ragged_tensor_spec import RaggedTensorSpec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any

COMPOSITE_SPECS = {
    kind.__name__: kind for kind in (IndexedSlicesSpec, RaggedTensorSpec, SparseTensorSpec)
}
BYTES, LENGTHS = "/bytes", "/lengths"  # suffixes of the arrays of strings
_leaves = nest.COMPOSITES.flatten


def decoded(value, leaf):
    """Returns the structure that JSON data describes."""
    if "dict" in value:
        return {k: decoded(v, leaf) for k, v in value["dict"].items()}
    if "list" in value or "tuple" in value:
        parts = [decoded(v, leaf) for v in value.get("list", value.get("tuple"))]
        return parts if "list" in value else made_tuple(value, parts)
    return leaf(value)


def made_tuple(data: dict, parts: list) -> tuple:
    """Returns a tuple, or the named tuple that JSON data describes."""
    if "fields" not in data:
        return tuple(parts)
    return namedtuple(data["name"], data["fields"])(*parts)


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


def array_of(file, key):
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


def parsed(text: str) -> Any:
    """Returns JSON data whose missing entries are errors of the file."""
    return json.loads(text, object_hook=_Entries)


class Trace:
    """A trace of a file. Its nodes are added to the graph of each concrete function of it."""

    def __init__(self, data, variables, captured):
        self._data, self._variables, self._captured = data, variables, captured
        self.args = decoded(data["args"], _argument_of)
        self.kwargs = decoded(data["words"], _argument_of)
        self._graph_def = node_def.from_json(data["nodes"])
        self._functions = FunctionDefLibrary()
        if "functions" in data:
            self._functions._merge_json(json.dumps(data["functions"]))

    @functools.cached_property
    def concrete(self):
        """The concrete function with the parameters of the one that was saved."""
        return self._traced(self.replay, self.args, self.kwargs)

    @functools.cached_property
    def signature(self):
        """The concrete function of a signature: keyword tensors in, a dict of tensors out."""
        specs = [v for v in _leaves((self.args, self.kwargs)) if isinstance(v, TensorSpec)]
        names = _unique([spec.name or "x" for spec in specs])

        def wrapper(**tensors):
            given = iter([v for _, v in sorted(tensors.items(), key=lambda t: names.index(t[0]))])
            fill = lambda v: next(given) if isinstance(v, TensorSpec) else v
            args, kwargs = nest.COMPOSITES.map(fill, (self.args, self.kwargs))
            return named_outputs(self.replay(*args, **kwargs))

        inputs = {n: TensorSpec(s.shape, s.dtype, n) for n, s in zip(names, specs)}
        return self._traced(wrapper, (), inputs, SignatureFunction)

    def _traced(self, python, args, kwargs, kind=ConcreteFunction):
        before = _situ.swap_graph(None)
        try:
            return kind(
                self._data["name"], python, args, kwargs, lambda spec: spec, self._data["names"]
            )
        finally:
            _situ.swap_graph(before)

    def replay(self, *args, **kwargs):
        """Adds the nodes to the current graph. Returns the results."""
        tensors = [v for v in _leaves((args, kwargs)) if hasattr(v, "dtype")]
        values = _Entries({n: self._captured(k) for n, k in self._data["captured"]})
        values.update(zip(self._data["inputs"], tensors))
        values.update({n: convert_to_tensor(self._variables(i)) for n, i in self._data["reads"]})
        self._add(self._graph_def, values)
        for name, i in self._data["writes"]:
            self._variables(i).assign(values[name])

        def made(output):
            if "parts" in output:
                parts = [values[name] for name in output["parts"]]
                return _composite_spec(output)._situ_from_tensors_(parts)
            return None if output["tensor"] is None else values[output["tensor"]]

        return decoded(self._data["outputs"], made)

    def _add(self, graph_def, values):
        """Adds nodes; their outputs are added to `values` by name."""
        library = Library(self._functions, graph_def)
        importer = _Importer(get_default_graph(), "", values, library)
        importer.names = {node.name for node in graph_def.node}
        for node in graph_def.node:
            if node.name + ":0" in values:
                continue
            importer.add(node)
            made = list(importer.operations[node.name].outputs)
            gradient = self._data.get("gradients", {}).get(node.name)
            if gradient is not None:
                made = with_gradient(
                    [values[s] for s in gradient["sources"]],
                    made,
                    functools.partial(self._back, gradient, values, made),
                )
            values.update({f"{node.name}:{i}": v for i, v in enumerate(made)})

    def _back(self, gradient, values, outputs, grads):
        """Computes user-defined gradients of an operation from its output gradients."""
        inner = _Entries(values)
        inner.update(
            {
                n: op("ZerosLike", o) if g is None else g
                for n, g, o in zip(gradient["arriving"], grads, outputs)
            }
        )
        self._add(node_def.from_json(gradient["nodes"]), inner)
        return [None if g is None else inner[g] for g in gradient["gradients"]]

    def fits(self, args, kwargs, converts):
        """Returns whether the trace matches arguments; if `converts`, other values than tensors
        match specs, too."""
        pairs = self._pairs(args, kwargs)
        return pairs is not None and all(_matches(v, s, converts) for s, v in pairs)

    def _pairs(self, args, kwargs):
        """Returns (traced, actual) of each leaf; None if the structures differ."""
        wanted, given = (self.args, self.kwargs), (tuple(args), kwargs)
        try:
            return list(zip(nest.flatten(wanted), nest.CORE.flatten_like(wanted, given)))
        except (TypeError, ValueError):
            return None

    def tensors(self, args, kwargs):
        """Returns the tensors of arguments that fit, in the order of the inputs."""
        found = []
        for spec, value in self._pairs(args, kwargs):
            if isinstance(spec, TensorSpec):
                found.append(convert_to_tensor(value, None if is_typed(value) else spec.dtype))
            elif isinstance(spec, TypeSpec):
                found += _leaves(value)
        return found


class _Importer(import_graph_def.Importer):
    """Adds the nodes of a trace. Control inputs that are inputs of the function order nothing."""

    def _control_inputs(self, node):
        names = [i[1:] for i in node.input if i.startswith("^")]
        return [self.operations[name] for name in names if name in self.operations]


def is_typed(value: Any) -> bool:
    """Returns whether an argument has an element type of its own."""
    return hasattr(value, "dtype")


def _unique(names):
    """Returns names of which later equal ones have numbers."""
    found: list[str] = []
    for name in names:
        count = 0
        while (name if not count else f"{name}_{count}") in found:
            count += 1
        found.append(name if not count else f"{name}_{count}")
    return found


def named_outputs(made):
    """Returns the results of a signature by name."""
    if hasattr(made, "_asdict"):
        made = made._asdict()
    if isinstance(made, dict):
        return made
    items = made if isinstance(made, (list, tuple)) else [made]
    return {f"output_{i}": item for i, item in enumerate(items)}


def _matches(value, wanted, converts):
    if isinstance(wanted, TypeSpec) and not isinstance(wanted, TensorSpec):
        if isinstance(value, TypeSpec):
            return wanted.is_compatible_with(value)
        return hasattr(value, "_situ_tensors_") and wanted.is_compatible_with(value)
    if not isinstance(wanted, TensorSpec):
        return not is_typed(value) and type(value) is type(wanted) and value == wanted
    if not isinstance(value, TensorSpec):
        if not converts and not is_typed(value):
            return False
        try:
            value = convert_to_tensor(value, None if is_typed(value) else wanted.dtype)
        except (TypeError, ValueError):
            return False
    return value.dtype == wanted.dtype and wanted.shape.is_compatible_with(value.shape)


class SignatureFunction(ConcreteFunction):
    """A signature: its arguments have no order, its results are a dict."""

    def _set_outputs(self, structured):
        super()._set_outputs(structured)
        self.structured_outputs = {
            n: TensorSpec(t.shape, t.dtype, n) for n, t in structured.items()
        }

    def __call__(self, *args, **kwargs):
        names = self.structured_input_signature[1]
        if args and len(names) > 1:
            raise TypeError(
                f"Signature '{self.name}' takes its arguments by name, since they have no order: "
                f"{sorted(names)}. Received: {args}."
            )
        if args and not kwargs:
            kwargs = dict(zip(names, args))
        if set(kwargs) != set(names):
            raise TypeError(
                f"Binding inputs to tf.function failed: the signature '{self.name}' takes the "
                f"arguments {sorted(names)}, but {sorted(kwargs)} were given."
            )
        given = {
            n: convert_to_tensor(v, None if is_typed(v) else names[n].dtype)
            for n, v in kwargs.items()
        }
        return self.call([given[name] for name in sorted(names)])


class SignatureMap(Mapping):
    """The signatures of a loaded object, by name."""

    def __init__(self, traces: dict):
        self._traces = traces

    def __getitem__(self, key):
        return self._traces[key].signature

    def __iter__(self):
        return iter(self._traces)

    def __len__(self):
        return len(self._traces)

    def __repr__(self):
        return f"SignatureMap({dict(self)})"


def _parameter(name, kind, *default):
    """Returns a parameter of a function that JSON data describes."""
    default = decoded(default[0], _argument_of) if default else inspect.Parameter.empty
    return inspect.Parameter(name, inspect._ParameterKind[kind], default=default)


class RestoredFunction(Function):
    """A function with the traces of a file, of which a call selects one."""

    def __init__(self, name, data, traces):
        self._saved = [traces[i] for i in data["function"]]
        super().__init__(self._replayed, name=name, autograph=False)
        self.__name__ = name
        self._signature = None
        if data.get("parameters") is not None:
            self._signature = inspect.Signature([_parameter(*p) for p in data["parameters"]])
        if data.get("input_signature") is not None:
            self.input_signature = decoded(data["input_signature"], _argument_of)

    concrete_functions = property(lambda s: [trace.concrete for trace in s._saved])

    def _bind(self, args, kwargs):
        """Returns the arguments as they were when the function was traced."""
        if self._signature is None:
            return args, kwargs
        received = args, kwargs
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(
                f"Binding inputs to tf.function failed due to `{error}`. Received args: "
                f"{received[0]} and kwargs: {received[1]} for signature: {self._signature}."
            ) from None
        bound.apply_defaults()
        args = bound.args
        if self.input_signature is not None:  # other parameters have their defaults
            args = args[: len(self.input_signature)]
        return args, bound.kwargs

    def _selected(self, args, kwargs):
        """Returns the trace for bound arguments."""
        if not self._saved:
            raise ValueError("Found zero restored functions for caller function.")
        for converts in (False, True):
            for trace in self._saved:
                if trace.fits(args, kwargs, converts):
                    return trace
        options = "\n\n".join(
            f"Option {i}:\n  {_listed(t.args)}\n  Keyword arguments: {t.kwargs}"
            for i, t in enumerate(self._saved, 1)
        )
        raise ValueError(
            "Could not find matching concrete function to call loaded from the SavedModel. Got:\n"
            f"  {_listed(args)}\n  Keyword arguments: {kwargs}\n\n Expected these arguments to "
            f"match one of the following {len(self._saved)} option(s):\n\n{options}"
        )

    def _trace(self, args, kwargs):
        trace = self._selected(args, kwargs)
        return trace.concrete, trace.tensors(args, kwargs)

    def get_concrete_function(self, *args, **kwargs):
        """Returns the concrete function for arguments.

        Args:
          *args: as for a call; tf.TensorSpec stands for a tensor.
          **kwargs: as for a call.

        Returns:
          A ConcreteFunction.

        Raises:
          ValueError: none fits the arguments.
        """
        if not args and not kwargs and self.input_signature is not None:
            args = self.input_signature
        return self._selected(*self._bind(args, kwargs)).concrete

    def _replayed(self, *args, **kwargs):
        concrete, tensors = self._trace(*self._bind(args, kwargs))
        return concrete.call([convert_to_tensor(t) for t in tensors])

    def _call(self, *args, **kwargs):
        """Handles a call that the extension has no cached trace for."""
        if _situ.current_graph() is not None:
            return self._inlined(_situ.current_graph(), args, kwargs)
        concrete, tensors = self._trace(*self._bind(args, kwargs))
        plain = all(isinstance(v, EagerTensor) for v in args) and not kwargs
        if plain and not _situ.current_device() and not _situ.tape_count():
            self._remember(args, concrete.trace)
        return concrete.call(tensors)


def _listed(args):
    """Returns positional arguments in readable form."""
    items = "\n    * ".join(pprint.pformat(a) for a in args)
    return f"Positional arguments ({len(args)} total):\n    * {items}"
