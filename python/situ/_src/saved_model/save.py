# SPDX-License-Identifier: Apache-2.0
"""save.py: tf.saved_model.save: an object with its variables and the traces of its functions,
in a folder. The file is situ's own (safetensors; graphs and structures as JSON in its
metadata); load.py reads it."""

from __future__ import annotations

import json
import os

import numpy

from situ._src.checkpoint import safetensors
from situ._src.framework import logs, tensor_shape
from situ._src.framework.api import export
from situ._src.framework.concrete_function import ConcreteFunction
from situ._src.framework.function import Function
from situ._src.framework.keywords import unsupported
from situ._src.framework.module import Module
from situ._src.framework.tensor import Tensor
from situ._src.framework.type_spec import IndexedSlicesSpec, SparseTensorSpec, TensorSpec, spec_of
from situ._src.ops.array_ops import convert_to_tensor, op
from situ._src.ops.ragged_tensor_spec import RaggedTensorSpec
from situ._src.variables.variable import Variable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any

FORMAT, FILE = "situ saved_model 1", "saved_model.safetensors"
DEFAULT_SERVING = "serving_default"
COMPOSITE_SPECS = {
    kind.__name__: kind for kind in (IndexedSlicesSpec, RaggedTensorSpec, SparseTensorSpec)
}
BYTES, LENGTHS = "/bytes", "/lengths"  # suffixes of the arrays of strings


# Structures as JSON


def _encoded(value, leaf):
    if isinstance(value, dict):
        return {"dict": {k: _encoded(v, leaf) for k, v in value.items()}}
    if isinstance(value, (list, tuple)):
        return {"list" if isinstance(value, list) else "tuple": [_encoded(v, leaf) for v in value]}
    return leaf(value)


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


class _Writer:
    """Collects variables and traces of an object and of what it holds."""

    def __init__(self, options=None):
        self.variables, self.arrays, self.traces, self.slices = {}, {}, [], {}
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
        graph = concrete.graph
        gradients = self._custom_gradients(concrete)
        apart = graph.__dict__.get("_gradient_nodes", ())
        nodes = [n for n in json.loads(graph._save(True)).get("node", []) if n["name"] not in apart]
        for node in nodes:
            if any("func" in attr for attr in node.get("attr", {}).values()) or node["op"] in (
                "If",
                "While",
                "PyFunc",
            ):
                raise NotImplementedError(
                    f"tf.saved_model.save: function '{concrete.name}' has a branch, a loop or a "
                    "call of Python over tensors, which cannot be saved. Save its variables "
                    "(tf.train.Checkpoint), or give a function without them."
                )
        captured = []
        for tensor, inside in graph.captured.values():
            parts = [tensor] if tensor.dtype.name != "resource" else self._table(tensor, concrete)
            keys = []
            for part in parts:
                keys.append(f"captured/{len(self.arrays)}")
                self.arrays[keys[-1]] = numpy.asarray(part.numpy())
            captured.append([inside.name, keys[0] if len(keys) == 1 else keys])
        args, words = concrete.structured_input_signature
        self.traces.append(
            {
                "name": concrete.name,
                "names": list(names),
                "nodes": nodes,
                "captured": captured,
                "args": _encoded(tuple(args), _argument),
                "words": _encoded(words, _argument),
                "inputs": [t.name for t in concrete.inputs],
                "gradients": gradients,
                "types": {t.name: [_sizes(t.shape), t.dtype.name] for t in concrete.outputs},
                "reads": [[t.name, self.variable(v)] for v, t in graph.reads.items()],
                "writes": [[t.name, self.variable(v)] for v, t in graph.writes.items()],
                "outputs": _encoded(concrete.structured_outputs, _output),
            }
        )
        return len(self.traces) - 1

    @staticmethod
    def _table(handle, concrete):
        """Returns the keys and values of the static table with a handle."""
        from situ._src.ops.lookup_ops import handles

        if id(handle) not in handles:
            raise NotImplementedError(
                f"tf.saved_model.save: function '{concrete.name}' uses a resource that is neither "
                "a variable nor a static table, which cannot be saved."
            )
        return handles[id(handle)].export()

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
        if function.input_signature is not None and not function._traces:
            function.get_concrete_function()
        names = list(function._signature.parameters) if function._signature else ()
        return [self.trace(c, names) for c in function._traces.values()]

    def thing(self, value, seen):
        """A description of a variable, a function, a module or a collection; None of all else."""
        if isinstance(value, Variable) or _is_sharded(value):
            return {
                "variable": self.variable(value),
                "name": value.name.split(":")[0],
                "trainable": bool(value.trainable),
            }
        if isinstance(value, Function):
            return {"function": self.function(value)}
        if isinstance(value, ConcreteFunction):
            return {"function": [self.trace(value)]}
        if isinstance(value, dict):
            return {
                "dict": {
                    str(k): d for k, v in value.items() if (d := self.thing(v, seen)) is not None
                }
            }
        if isinstance(value, (list, tuple)):
            parts = [self.thing(v, seen) for v in value]
            return {"list": parts} if any(p is not None for p in parts) else None
        if isinstance(value, Module) and id(value) not in seen:
            return self.object(value, seen | {id(value)})
        return None

    def object(self, value, seen):
        members = {k: v for k, v in vars(value).items() if not k.startswith("_situ_function_")}
        for name in dir(type(value)):
            if isinstance(getattr(type(value), name, None), Function):
                members[name] = getattr(value, name)
        described = {
            k: self.thing(v, seen)
            for k, v in members.items()
            if not k.startswith("__") or k == "__call__"
        }
        return {"object": {k: v for k, v in described.items() if v is not None}}


def _signature(function):
    """The concrete function of a signature."""
    return (
        function.get_concrete_function()
        if isinstance(function, Function) and function.input_signature is not None
        else next(iter(function._traces.values()))
        if isinstance(function, Function)
        else function
    )


def _default(obj):
    """The one function of an object that has a signature, or None."""
    members = [
        getattr(obj, name)
        for name in dir(type(obj))
        if isinstance(getattr(type(obj), name, None), Function)
    ]
    members += [v for k, v in vars(obj).items() if not k.startswith("_situ_function_")]
    found = [
        f
        for f in members
        if isinstance(f, Function)
        and f.input_signature is not None
        and _serves(f.get_concrete_function().structured_outputs)
    ]
    return found[0] if len(found) == 1 else None


def _serves(outputs):
    """Returns whether outputs are valid for a signature: tensors, in a list or by name."""
    if isinstance(outputs, dict):
        outputs = list(outputs.values())
    some = outputs if isinstance(outputs, (list, tuple)) else [outputs]
    return all(isinstance(v, Tensor) for v in some)


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
    if isinstance(obj, Model):
        tree = _of_model(writer, obj)
    elif isinstance(obj, Variable) or _is_sharded(obj):
        tree = writer.thing(obj, set())
    else:
        tree = writer.object(obj, {id(obj)})
    signatures = _default(obj) if signatures is None else signatures
    if signatures is not None and not isinstance(signatures, dict):
        signatures = {DEFAULT_SERVING: signatures}
    tree["signatures"] = {k: writer.trace(_signature(f)) for k, f in (signatures or {}).items()}
    if writer.slices:
        tree["slices"] = writer.slices
    if options is not None:
        tree["tags"] = ["serve", *(options.extra_tags or ())]
        aliases = options.function_aliases or {}
        tree["aliases"] = {k: writer.thing(f, set()) for k, f in aliases.items()}
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
    kept = {}
    for key, array in writer.arrays.items():
        kept.update(_of_strings(key, array) if array.dtype.kind in "OS" else {key: array})
    safetensors.write(
        os.path.join(export_dir, FILE),
        kept,
        {"format": FORMAT, "object": json.dumps(tree), "traces": json.dumps(writer.traces)},
    )


def _of_model(writer, model):
    """A Keras model: a function of its inputs, and its variables."""
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
    number = writer.trace(call.get_concrete_function())
    return {
        "object": {
            "__call__": {"function": [number]},
            "variables": {"list": [writer.thing(v, set()) for v in model.variables]},
        },
        "signatures": {DEFAULT_SERVING: number},
    }


def export_model(model, folder):
    """A folder with the function of a Keras model, as `serve`, and its variables."""
    writer = _Writer()
    tree = _of_model(writer, model)
    tree["object"]["serve"] = tree["object"].pop("__call__")
    tree["signatures"]["serve"] = tree["signatures"][DEFAULT_SERVING]
    _write(os.fspath(folder), writer, tree)


def write_model(model, folder):
    """Beside the file of a Keras model, what tf.saved_model.load reads."""
    writer = _Writer()
    try:
        tree = _of_model(writer, model)
        _write(folder, writer, tree)
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
