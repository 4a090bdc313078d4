# SPDX-License-Identifier: Apache-2.0
"""archive.py: `.keras` archives of Keras 3 (config.json, metadata.json, model.weights.h5) and its
`.weights.h5` files. Requires h5py."""

from __future__ import annotations

import io
import json
import os
import time
import zipfile
from typing import Any

import _situ
from situ._src.framework import expansion, logs
from situ._src.framework.keywords import unsupported
from situ._src.keras import context, hdf5, saving, weights
from situ._src.keras.layer import Layer
from situ._src.keras.metrics import Metric
from situ._src.keras.model import Model
from situ._src.keras.op_layer import TensorFlowOpLayer
from situ._src.keras.registry import reading_config, to_snake_case
from situ._src.keras3 import config as keras_config
from situ._src.keras3 import serialization
from situ._src.keras3.exports import keras3_export
from situ._src.keras3.operation import OperationLayer

_WEIGHTS = "model.weights.h5"
_BEGIN = b"PK\x03\x04"
_OPERATIONS = (OperationLayer, TensorFlowOpLayer)  # not layers in Keras 3
# Attributes of layers whose group has another name in Keras 3.
_GROUPS = {
    "_query_dense": "query_dense",
    "_key_dense": "key_dense",
    "_value_dense": "value_dense",
    "_output_dense": "output_dense",
}


def is_archive(path: str) -> bool:
    """Returns whether a file is a zip archive."""
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read(4) == _BEGIN


# The groups of a weights file


def _named(layers):
    """Yields (group, layer) of layers in a container: class names in snake case, numbered."""
    counts: dict[str, int] = {}
    for layer in layers:
        name = to_snake_case(type(layer).__name__)
        count = counts[name] = counts.get(name, -1) + 1
        yield (f"{name}_{count}" if count else name), layer


def _children(layer):
    """Yields (group, layer) of the layers that a layer tracks."""
    if isinstance(layer, Model) and layer._topology is not None:
        for name, child in _named([x for x in layer.layers if not isinstance(x, _OPERATIONS)]):
            yield "layers/" + name, child
        return
    for attribute in sorted(vars(layer)):
        if attribute in layer.UNTRACKED:
            continue
        value = vars(layer)[attribute]
        group = _GROUPS.get(attribute, attribute)
        if isinstance(value, Layer):
            yield group, value
        elif isinstance(value, (list, tuple, dict)):
            parts = list(value.values()) if isinstance(value, dict) else list(value)
            for name, child in _named([x for x in parts if isinstance(x, Layer)]):
                yield f"{group}/{name}", child


def _groups(layer, path="", seen=None):
    """Yields (group, layer) of a layer and all its sub-layers, each once."""
    seen = set() if seen is None else seen
    if id(layer) in seen:
        return
    seen.add(id(layer))
    yield path, layer
    for name, child in _children(layer):
        yield from _groups(child, f"{path}/{name}" if path else name, seen)


def _is_metric(layer):
    return isinstance(layer, Metric)


def write_weights(file: Any, model: Any, with_optimizer: bool = True) -> None:
    """Writes the weights of a model, and the state of its optimizer, to an HDF5 file."""
    for group, layer in _groups(model):
        if _is_metric(layer):
            continue
        place = file.create_group(f"{group}/vars" if group else "vars")
        place.attrs["name"] = layer.name
        store: dict[str, Any] = {}
        layer.save_own_variables(store)
        for name, value in store.items():
            place[name] = value
    optimizer = getattr(model, "optimizer", None)
    if with_optimizer and optimizer is not None and hasattr(optimizer, "variables"):
        place = file.create_group("optimizer/vars")
        place.attrs["name"] = str(getattr(optimizer, "name", ""))
        for i, value in enumerate(weights.values(list(optimizer.variables))):
            place[str(i)] = value


def can_write(model: Any) -> bool:
    """Returns whether an archive can hold a model: vocabularies of lookup layers are not supported,
    and such models keep the layout of safetensors."""
    kinds = ("StringLookup", "IntegerLookup", "TextVectorization")
    for layer in model._flat_layers():
        if hasattr(layer, "save_assets"):
            raise NotImplementedError(
                f"Layer {layer.name} has save_assets: situ does not write assets to archives."
            )
        unknown = isinstance(layer, TensorFlowOpLayer) and not serialization.has_entry(layer)
        if type(layer).__name__ in kinds or unknown:
            logs.warn(
                "Layer %s cannot be saved in a .keras archive of Keras 3: the file has the layout "
                "of safetensors, which situ reads, but Keras does not.",
                layer.name,
            )
            return False
    return True


def read_weights(file: Any, model: Any, skip_mismatch: bool = False) -> None:
    """Loads the weights of a model from an HDF5 file in the layout of Keras 3."""
    arrays = hdf5.Arrays(file)
    for group, layer in _groups(model):
        place = file.get(f"{group}/vars" if group else "vars")
        if place is not None and not hasattr(place, "keys"):
            raise ValueError(f"{group}/vars in the file is not a group of variables.")
        store = {} if place is None else {n: arrays.read(place, n) for n in place}
        if _is_metric(layer) or not store and not serialization.variables_of(layer):
            continue
        try:
            layer.load_own_variables(store)
        except (KeyError, ValueError) as error:
            if not skip_mismatch:
                raise ValueError(f"Variables of layer {layer.name} in the file: {error}") from error
            logs.warn("Skipping loading of weights for layer %s due to a mismatch.", layer.name)


def is_weights_layout(file: Any) -> bool:
    """Returns whether an HDF5 file has the layout of Keras 3 instead of that of Keras 2."""
    return (
        "layer_names" not in file.attrs
        and "model_config" not in file.attrs
        and ("vars" in file or "layers" in file)
    )


# Archives


def write(model: Any, path: str, include_optimizer: bool = True) -> None:
    """Writes a model as a `.keras` archive."""
    config = serialization.serialize_keras_object(model)
    compiled = _compile_config(model) if include_optimizer else None
    if compiled is not None:
        config["compile_config"] = compiled
    metadata = {
        "keras_version": keras_config.VERSION,
        "date_saved": time.strftime("%Y-%m-%d@%H:%M:%S"),
    }
    buffer = io.BytesIO()
    with hdf5.opened(buffer, "w") as file:
        write_weights(file, model, compiled is not None)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("metadata.json", json.dumps(metadata))
        archive.writestr("config.json", json.dumps(config))
        archive.writestr(_WEIGHTS, buffer.getbuffer())
    _situ.replace_file(path, content.getbuffer())


def _compile_config(model):
    if not model._is_compiled or not hasattr(model.optimizer, "get_config"):
        return None
    given = {k: v for k, v in model._compile_args.items() if k != "optimizer"}
    optimizer = serialization.serialize_keras_object(model.optimizer)
    config = {"optimizer": optimizer, **serialization.serialize_keras_object(given)}
    return {**config, "run_eagerly": model.run_eagerly, "jit_compile": False}


def _opened(path):
    try:
        return zipfile.ZipFile(path)
    except zipfile.BadZipFile as error:
        raise OSError(f"{path} is not a readable archive of Keras 3: {error}") from None


def read(path: str, custom_objects: Any = None, compile: bool = True) -> Any:
    """Returns the model of a `.keras` archive."""
    with _opened(path) as archive:
        names = archive.namelist()
        if "config.json" not in names or _WEIGHTS not in names:
            raise OSError(f"{path} is a zip archive, but no model of Keras: {names[:5]}")
        if any(n.startswith("assets/") for n in names):
            raise NotImplementedError(
                f"{path} has assets (vocabularies), which situ cannot read from archives."
            )
        budget = expansion.Budget(os.path.getsize(path), path)
        config = json.loads(budget.read_member(archive, "config.json"))
        content = budget.read_member(archive, _WEIGHTS)
    with context.eager():
        with reading_config():
            model = serialization.deserialize_keras_object(config, custom_objects)
            _build(model, config)
        with hdf5.opened(io.BytesIO(content)) as file:
            compiled = config.get("compile_config") if compile else None
            if compiled:
                _compile(model, compiled, custom_objects)
            read_weights(file, model)
            if compiled and "optimizer/vars" in file:
                _restore_optimizer(model, file["optimizer/vars"])
    return model


def _build(model, config):
    shape = (config.get("build_config") or {}).get("input_shape")
    if not model.built and shape:
        model.build(shape if isinstance(shape, dict) else tuple(shape))


def _compile(model, config, custom_objects):
    known = ("optimizer", "loss", "loss_weights", "metrics", "weighted_metrics", "run_eagerly")
    given = {
        k: serialization.deserialize_keras_object(config[k], custom_objects)
        for k in known
        if config.get(k) is not None
    }
    model.compile(**given)


def _restore_optimizer(model, place):
    arrays = hdf5.Arrays(place)
    values = [arrays.read(place, str(i)) for i in range(len(place))]
    optimizer = model.optimizer
    if len(values) > 2:
        optimizer.build(model.trainable_variables)
    state = list(optimizer.variables)
    if [tuple(v.shape.as_list()) for v in state] != [a.shape for a in values]:
        logs.warn(
            "The saved state of the optimizer does not match (%d variables, %d saved) and is "
            "not restored.",
            len(state),
            len(values),
        )
        return
    weights.assign(state, values, "optimizer")


# Public functions


@keras3_export("saving.save_model", "models.save_model")
def save_model(
    model: Any, filepath: Any, overwrite: bool = True, zipped: Any = None, **kwargs: Any
) -> None:
    """Saves a model as a `.keras` archive, or as HDF5 (`.h5`).

    Args:
      model: The model.
      filepath: Path; must end in ".keras", ".h5" or ".hdf5".
      overwrite: Whether to replace an existing file.
      zipped: Only None and True are supported.
      **kwargs: `include_optimizer`.

    Raises:
      ValueError: If the path has another ending.
    """
    if not str(filepath).endswith((".keras", ".h5", ".hdf5")):
        raise ValueError(
            "Invalid filepath extension for saving. Please add either a `.keras` extension for the "
            "native Keras format (recommended) or a `.h5` extension. Use `model.export(filepath)` "
            "if you want to export a SavedModel for use with TFLite/TFServing/etc. "
            f"Received: filepath={filepath}."
        )
    model.save(filepath, overwrite=overwrite, zipped=zipped, **kwargs)


@keras3_export("saving.load_model", "models.load_model")
def load_model(
    filepath: Any, custom_objects: Any = None, compile: bool = True, safe_mode: bool = True
) -> Any:
    """Loads a model that `save` wrote, or a `.keras` archive of Keras 3.

    Args:
      filepath: Path.
      custom_objects: Dictionary from names to classes and functions of the program.
      compile: Whether to compile the model as it was.
      safe_mode: Has no effect; code of files never runs.

    Raises:
      ValueError: If there is no such file.
    """

    if not os.path.exists(filepath):
        raise ValueError(
            f"File not found: filepath={filepath}. Please ensure the file is an "
            "accessible `.keras` zip file."
        )
    return saving.load_model(filepath, custom_objects, compile, safe_mode)


@keras3_export("saving.save_weights")
def save_weights(
    model: Any, filepath: Any, overwrite: bool = True, max_shard_size: Any = None, **kwargs: Any
) -> None:
    """Saves the weights of a model to a `.weights.h5` file.

    Args:
      model: The model.
      filepath: Path.
      overwrite: Whether to replace an existing file.
      max_shard_size: Only None is supported.
      **kwargs: Not supported.
    """

    unsupported("save_weights", max_shard_size=(max_shard_size, None))
    if kwargs:
        raise TypeError(f"Unexpected arguments of save_weights: {sorted(kwargs)}")
    model.save_weights(filepath, overwrite=overwrite)


@keras3_export("saving.load_weights")
def load_weights(model: Any, filepath: Any, skip_mismatch: bool = False, **kwargs: Any) -> None:
    """Loads the weights of a model.

    Args:
      model: The model.
      filepath: Path.
      skip_mismatch: Whether to skip weights of other shapes.
      **kwargs: Not supported.
    """
    if kwargs:
        raise TypeError(f"Unexpected arguments of load_weights: {sorted(kwargs)}")
    model.load_weights(filepath, skip_mismatch=skip_mismatch)
