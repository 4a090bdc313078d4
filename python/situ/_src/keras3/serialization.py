# SPDX-License-Identifier: Apache-2.0
"""serialization.py: configurations in the form of Keras 3: `module`, `class_name`, `config` and
`registered_name`, and models with their calls. Loading never runs code of a file."""

from __future__ import annotations

import inspect
from typing import Any

import numpy

from situ._src.framework import api
from situ._src.keras import context, mixed_precision, topology, weights
from situ._src.keras.layer import Layer
from situ._src.keras.model import Model
from situ._src.keras.op_layer import TensorFlowOpLayer
from situ._src.keras.registry import custom, custom_object_scope
from situ._src.keras.sequential import Sequential
from situ._src.keras3.exports import keras3_export
from situ._src.keras3.operation import OPERATIONS, OperationLayer

# Modules of public classes, in the order in which a class name is looked up.
_MODULES = (
    *("layers", "initializers", "regularizers", "constraints", "losses", "metrics", "optimizers"),
    *("optimizers.schedules", "activations"),
)
# Keys of situ's configurations that Keras 3 does not have, unless they have another value.
_ONLY_HERE = {"time_major": (False,), "input_length": (None,), "dynamic": (False,)}
_RENAMED = {
    ("LeakyReLU", "alpha"): "negative_slope",
    ("InputLayer", "batch_input_shape"): "batch_shape",
}
_DROPPED = {
    "Dense": ("activity_regularizer",),
    "SparseCategoricalCrossentropy": ("axis",),
    "Huber": ("delta",),
    "Identity": ("gain",),
}
# Operators of symbolic tensors and their classes in Keras 3.
_OPERATORS = {
    "AddV2": "Add",
    "Add": "Add",
    "Sub": "Subtract",
    "Mul": "Multiply",
    "RealDiv": "Divide",
    "Pow": "Power",
    "Neg": "Negative",
    "Abs": "Absolute",
    "Greater": "Greater",
    "GreaterEqual": "GreaterEqual",
    "Less": "Less",
    "LessEqual": "LessEqual",
}
# Values with which a key of Keras 3 that situ does not have makes no difference.
_NEUTRAL = (None, False, "auto", "channels_last", 1, 1.0)


def _policy(name):
    return {
        "module": "keras",
        "class_name": "DTypePolicy",
        "config": {"name": name},
        "registered_name": None,
    }


def _place(name: str) -> str | None:
    """Returns the public module of a class name, such as "keras.layers"."""
    for module in _MODULES:
        if api.has(f"keras.{module}.{name}", "v2"):
            return "keras." + module
    return None


def _described(class_name, config, module=None, registered=None):
    return {
        "module": module or _place(class_name),
        "class_name": class_name,
        "config": config,
        "registered_name": registered,
    }


def _class_entry(thing):
    """Returns (module, class name, registered name) of an object."""
    kind = type(thing)
    registered = vars(kind).get("_registered_name")
    public = kind.__name__
    if kind.__module__.startswith("situ."):
        if public in ("Sequential", "Model"):
            return ("keras", "Sequential", None) if public == "Sequential" else _FUNCTIONAL
        return _place(public) or "situ.keras", public, None
    return kind.__module__, public, registered or public


_FUNCTIONAL = ("keras.src.models.functional", "Functional", "Functional")


@keras3_export("saving.serialize_keras_object", "utils.serialize_keras_object")
def serialize_keras_object(obj: Any) -> Any:
    """Returns an object as JSON values in the form of Keras 3.

    Args:
      obj: Number, string, structure, tensor, function, or object with get_config.
    """
    if obj is None or isinstance(obj, (str, int, float, bool)):
        return obj
    if isinstance(obj, bytes):
        return {"class_name": "__bytes__", "config": {"value": obj.decode()}}
    if isinstance(obj, dict):
        return _serialize_dict(obj)
    if isinstance(obj, (list, tuple)):
        return [serialize_keras_object(v) for v in obj]
    if isinstance(obj, slice):
        parts = {k: getattr(obj, k) for k in ("start", "stop", "step")}
        return {"class_name": "__slice__", "config": parts}
    if obj is Ellipsis:
        return {"class_name": "__ellipsis__", "config": {}}
    if hasattr(obj, "as_numpy_dtype"):
        return obj.name
    if hasattr(obj, "as_list"):
        return obj.as_list()
    if isinstance(obj, mixed_precision.Policy):
        return _policy(obj.name)
    if hasattr(obj, "get_config") and not inspect.isclass(obj):
        return _serialize_instance(obj)
    if hasattr(obj, "tolist") or hasattr(obj, "numpy"):
        array = numpy.asarray(obj.numpy() if hasattr(obj, "numpy") else obj)
        if array.ndim == 0:
            return array.item()
        kind = "__numpy__" if isinstance(obj, numpy.ndarray) else "__tensor__"
        return {"class_name": kind, "config": {"value": array.tolist(), "dtype": array.dtype.name}}
    return _serialize_function(obj)


def _serialize_dict(obj):
    if set(obj) == {"class_name", "config"} and isinstance(obj["class_name"], str):
        config = {k: serialize_keras_object(v) for k, v in dict(obj["config"]).items()}
        return _described(obj["class_name"], _translated(obj["class_name"], config))
    return {k: serialize_keras_object(v) for k, v in obj.items()}


def _serialize_function(obj):
    name = getattr(obj, "_registered_name", None) or getattr(obj, "__name__", str(obj))
    if name == "<lambda>":
        raise ValueError(
            "A lambda cannot be saved: situ never runs code of a file. Use a named function."
        )
    if getattr(obj, "__module__", "").startswith("situ."):
        return name
    return {
        "module": getattr(obj, "__module__", "builtins"),
        "class_name": "function",
        "config": name,
        "registered_name": name,
    }


def _serialize_instance(obj):
    module, name, registered = _class_entry(obj)
    if isinstance(obj, Model) and obj._topology is not None and type(obj).__name__ != "Sequential":
        config = _functional_config(obj)
    elif isinstance(obj, Sequential):
        config = _sequential_config(obj)
    else:
        config = {k: serialize_keras_object(v) for k, v in obj.get_config().items()}
    config = _translated(name, config)
    if isinstance(obj, Layer) and isinstance(config.get("dtype"), str) and name != "InputLayer":
        config["dtype"] = _policy(config["dtype"])
    result = _described(name, config, module, registered)
    own = not type(obj).__module__.startswith("situ.")
    shape = getattr(obj, "_build_input_shape", None) if own else None
    if shape is not None and hasattr(shape, "as_list") and shape.rank is not None:
        result["build_config"] = {"input_shape": shape.as_list()}
    return result


def _translated(name, config):
    """Returns a configuration with the keys of Keras 3."""
    result = {}
    for key, value in config.items():
        key = _RENAMED.get((name, key), key)
        if key == "batch_input_shape" or key in _DROPPED.get(name, ()):
            continue
        if key in _ONLY_HERE and value in _ONLY_HERE[key]:
            continue
        if key == "reduction" and value == "auto":
            value = "sum_over_batch_size"
        if key in ("padding", "cropping") and name.endswith("1D") and isinstance(value, list):
            value = value[0] if isinstance(value[0], list) else value
        result[key] = value
    return result


def _sequential_config(model):
    layers = [serialize_keras_object(layer) for layer in model.layers]
    first = model.layers[0] if model.layers else None
    shape = getattr(first, "_batch_input_shape", None)
    if shape is not None and type(first).__name__ != "InputLayer":
        entry = {"batch_shape": list(shape), "dtype": first.dtype, "sparse": False, "ragged": False}
        entry["name"] = first.name + "_input"
        layers.insert(0, _described("InputLayer", entry, "keras.layers"))
    config = {"name": model.name, "trainable": model.trainable, "layers": layers}
    if model.built and model.inputs:
        config["build_input_shape"] = model.inputs[0].shape.as_list()
    return config


def _functional_config(model):
    found = model._topology
    indices = found._node_indices()
    mine = {id(n) for n in found.nodes}
    layers = []
    for layer in found.layers:
        calls = [n for n in layer._inbound_nodes if id(n) in mine and n.parents()]
        if isinstance(layer, TensorFlowOpLayer):
            entry, nodes = _operator_entry(layer, found, calls, indices)
        else:
            is_operation = isinstance(layer, OperationLayer)
            entry = _operation_entry(layer) if is_operation else serialize_keras_object(layer)
            nodes = [_call_entry(found, n, indices) for n in calls]
        entry["name"], entry["inbound_nodes"] = layer.name, nodes
        layers.append(entry)
    key = lambda t: found._key(t, indices)
    return {
        "name": model.name,
        "trainable": model.trainable,
        "layers": layers,
        "input_layers": topology.nest_of(key, found.inputs),
        "output_layers": topology.nest_of(key, found.outputs),
    }


def _operation_entry(layer):
    """Returns the entry of a call of keras.ops: the configuration holds what is not a tensor."""
    known, node = layer.operation, layer._inbound_nodes[0]
    args, kwargs = _bound(node)
    given = {**layer.fixed, **args, **kwargs}
    fixed = {k: v for k, v in given.items() if k in known.fixed}
    config = {"name": layer.name, **{k: serialize_keras_object(v) for k, v in fixed.items()}}
    module = "keras.src.ops." + known.module
    return _described(known.class_name, config, module, known.class_name)


def has_entry(layer: Layer) -> bool:
    """Returns whether Keras 3 has a class for the op of a TensorFlowOpLayer."""
    op = layer.node_def["op"]  # type: ignore[attr-defined]  # of TensorFlowOpLayer
    return op in _OPERATORS or op == "StridedSlice" and _key_of(layer) is not None


def _operator_entry(layer, found, calls, indices):
    """Returns the entry of an operator such as x + 1 or x[:, 0], and its calls."""
    op = layer.node_def["op"]  # type: ignore[attr-defined]  # of TensorFlowOpLayer
    class_name = "GetItem" if op == "StridedSlice" else _OPERATORS[op]
    config = {"name": layer.name}
    entry = _described(class_name, config, "keras.src.ops.numpy", class_name)
    nodes = []
    for node in calls:
        given = iter(node.inputs if isinstance(node.inputs, (list, tuple)) else [node.inputs])
        if op == "StridedSlice":
            args = [next(given), _key_of(layer)]
        else:
            count = len(layer.constants) + len(node.parents())
            args = [
                layer.constants.get(i) if i in layer.constants else next(given)
                for i in range(count)
            ]
        nodes.append({"args": _values(found, args, indices), "kwargs": {}})
    return entry, nodes


def _key_of(layer):
    """Returns the key of a slice, or None if it is not constant."""
    if set(layer.constants) != {1, 2, 3}:
        return None
    begin, end, strides = (numpy.asarray(layer.constants[i].numpy()).tolist() for i in (1, 2, 3))
    masks = {
        k: int(v.get("i", 0)) for k, v in layer.node_def["attr"].items() if k.endswith("_mask")
    }
    is_set = lambda name, i: masks.get(name, 0) >> i & 1
    if masks.get("new_axis_mask"):
        return None
    key = []
    for i in range(len(begin)):
        if is_set("ellipsis_mask", i):
            key.append(Ellipsis)
        elif is_set("shrink_axis_mask", i):
            key.append(begin[i])
        else:
            first = None if is_set("begin_mask", i) else begin[i]
            last = None if is_set("end_mask", i) else end[i]
            key.append(slice(first, last, None if strides[i] == 1 else strides[i]))
    return key


def _bound(node):
    """Returns the positional arguments of a call by name, and its keyword arguments."""
    names = list(node.layer.operation.parameters)
    return dict(zip(names, (node.inputs, *node.args))), dict(node.kwargs)


def _values(found, structure, indices):
    """Returns the arguments of a call as JSON values."""

    def value(t):
        if not context.is_symbolic(t):
            return serialize_keras_object(t)
        history = found._key(t, indices)
        config = {"shape": t.shape.as_list(), "dtype": t.dtype.name, "keras_history": history}
        return {"class_name": "__keras_tensor__", "config": config}

    def walk(part):
        if isinstance(part, (list, tuple)):
            return [walk(p) for p in part]
        if isinstance(part, dict):
            return {k: walk(v) for k, v in part.items()}
        return value(part)

    return walk(structure)


def _call_entry(found, node, indices):
    walk = lambda part: _values(found, part, indices)
    if isinstance(node.layer, OperationLayer):
        args, kwargs = _bound(node)
        fixed = node.layer.operation.fixed
        given = [walk(v) for k, v in args.items() if k not in fixed]
        return {"args": given, "kwargs": {k: walk(v) for k, v in kwargs.items() if k not in fixed}}
    return {"args": [walk(node.inputs), *walk(node.args)], "kwargs": walk(node.kwargs)}


# Reading


@keras3_export("saving.deserialize_keras_object", "utils.deserialize_keras_object")
def deserialize_keras_object(
    config: Any, custom_objects: Any = None, safe_mode: bool = True, **kwargs: Any
) -> Any:
    """Creates an object from the result of serialize_keras_object.

    Args:
      config: JSON values.
      custom_objects: Dictionary from names to classes and functions of the program.
      safe_mode: Has no effect; code of files never runs.
      **kwargs: Not supported.

    Raises:
      TypeError: For unknown arguments, or if a class is unknown.
    """
    if kwargs:
        raise TypeError(f"Unexpected arguments of deserialize_keras_object: {sorted(kwargs)}")
    del safe_mode  # a file has no code that could run
    with custom_object_scope(custom_objects or {}):
        return _deserialize(config)


def _deserialize(config):
    if isinstance(config, list):
        return [_deserialize(v) for v in config]
    if not isinstance(config, dict):
        return config
    if "class_name" not in config or "config" not in config:
        return {k: _deserialize(v) for k, v in config.items()}
    special = _SPECIAL.get(config["class_name"])
    if special is not None:
        return special(config["config"])
    return _instance(config)


def _tensor_value(config):
    array = numpy.asarray(config["value"], config["dtype"])
    return array


def _unsafe(config):
    raise ValueError(
        "The file has a lambda as code, which situ never runs: save the model with a named "
        f"function and pass it in custom_objects. Found: {str(config)[:80]}"
    )


_SPECIAL = {
    "__tuple__": lambda c: tuple(_deserialize(c.get("value", c.get("items", [])))),
    "__slice__": lambda c: slice(*[_deserialize(c[k]) for k in ("start", "stop", "step")]),
    "__ellipsis__": lambda c: Ellipsis,
    "__bytes__": lambda c: c["value"].encode(),
    "__numpy__": _tensor_value,
    "__tensor__": _tensor_value,
    "__lambda__": _unsafe,
    "__keras_tensor__": lambda c: ["__tensor__", *c["keras_history"]],
    "DTypePolicy": lambda c: c["name"],
    "Policy": lambda c: c["name"],
}


def _find(config):
    """Returns the class or function that a configuration names."""
    name, registered = config["class_name"], config.get("registered_name")
    for one in (registered, name):
        found = custom(one) if one else None
        if found is not None:
            return found
    module = (config.get("module") or "").rpartition("keras.")[2]
    for place in (*([module] if module else []), *_MODULES):
        whole = f"keras.{place}.{name}"
        for known in ("keras3" + whole[5:], whole):
            if api.has(known, "v2"):
                return api.lookup(known, "v2")
    raise TypeError(
        f"Could not locate class '{name}'. Make sure custom classes are decorated with "
        "`@keras.saving.register_keras_serializable()`. Full object config: "
        f"{str(config)[:500]}"
    )


def _instance(config):
    name, inner = config["class_name"], config["config"]
    if name == "function":
        return _function(config)
    if (config.get("module") or "").startswith("keras.src.ops."):
        api.load_below("keras3.ops.")
        if name in OPERATIONS:
            return _operation(name, inner)
    if name in ("Functional", "Model") and "input_layers" in inner:
        return _functional(Model, inner)
    if name == "Sequential":
        return _sequential(inner)
    kind = _find(config)
    if isinstance(kind, type) and issubclass(kind, Model) and "input_layers" in inner:
        return _functional(kind, inner)
    given = {k: _deserialize(v) for k, v in inner.items()}
    given = _known_keys(kind, given) if kind.__module__.startswith("situ.") else given
    if hasattr(kind, "from_config"):
        return kind.from_config(given)
    return kind(**given) if isinstance(kind, type) else kind


def _function(config):
    name = config["config"]
    found = custom(config.get("registered_name") or name) or custom(name)
    if found is None:
        raise TypeError(f"Could not locate function '{name}': pass it in custom_objects.")
    return found


def _known_keys(kind, config):
    """Returns a configuration without keys that the class does not have and that make no
    difference."""
    known: set[str] = set()
    for one in kind.__mro__:
        if "__init__" in vars(one):
            known |= set(inspect.signature(one.__init__).parameters)
    known |= {"activity_regularizer", "name", "dtype", "trainable", "weights"}
    result = {}
    for key, value in config.items():
        if key == "negative_slope" and key not in known:
            key = "alpha"
        if key not in known and (isinstance(value, list) or value in _NEUTRAL):
            continue
        if key == "seed" and key not in known:
            continue
        result[key] = value
    if kind.__name__ == "InputLayer":
        result.pop("optional", None)
    return result


def _operation(name, config):
    """Returns the layer of a call of keras.ops, with its configuration as fixed arguments."""
    config = {k: _deserialize(v) for k, v in config.items()}
    layer = OperationLayer(OPERATIONS[name], name=config.pop("name", None))
    layer.fixed = config
    return layer


def _sequential(config):
    layers = [_deserialize(entry) for entry in config["layers"]]
    model = Sequential(layers, name=config.get("name"))
    shape = config.get("build_input_shape")
    if shape and not model.built:
        model.build(shape if isinstance(shape, dict) else tuple(shape))
    model.trainable = config.get("trainable", True)
    return model


def _functional(kind, config):
    entries = [
        {**entry, "inbound_nodes": [_call(n) for n in entry["inbound_nodes"]]}
        for entry in config["layers"]
    ]
    made = topology.rebuild({**config, "layers": entries}, _deserialize)
    inputs, outputs, _ = made
    return kind(inputs=inputs, outputs=outputs, name=config.get("name"))


def _call(node):
    args = [_deserialize(v) for v in node["args"]]
    kwargs = {k: _deserialize(v) for k, v in node["kwargs"].items()}
    return {"inputs": args[0] if args else None, "args": args[1:], "kwargs": kwargs}


@keras3_export("saving.get_registered_name", "utils.get_registered_name")
def get_registered_name(obj: Any) -> str:
    """Returns the name under which a class or function is registered, or its own.

    Args:
      obj: Number, string, structure, tensor, function, or object with get_config.
    """
    return getattr(obj, "_registered_name", None) or obj.__name__


@keras3_export("saving.get_registered_object", "utils.get_registered_object")
def get_registered_object(name: str, custom_objects: Any = None, module_objects: Any = None) -> Any:
    """Returns the object that is registered under a name, or None.

    Args:
      name: Name.
      custom_objects: Dictionary that is searched first.
      module_objects: Dictionary that is searched last.
    """
    found = custom(name, custom_objects)
    return found if found is not None else (module_objects or {}).get(name)


def variables_of(layer: Layer) -> list:
    """Returns the variables of a layer in the order of Keras 3: the trainable ones first."""
    own = layer._own()
    return weights.deduplicate(
        [v for v in own if v.trainable] + [v for v in own if not v.trainable]
    )
