# SPDX-License-Identifier: Apache-2.0
"""hdf5.py: models and weights in HDF5, in the layout of Keras 2: a group per layer with its
weights, the configuration as JSON in attributes. Requires h5py."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Iterator
from typing import Any

import numpy

import _situ
from situ._src.framework import expansion, logs, style
from situ._src.keras import context, hdf5_check, weights
from situ._src.keras.registry import LAYERS, reading_config, to_json_value

_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_MOST_ATTRIBUTE = 64000  # bytes that HDF5 keeps of an attribute
_SECONDS = 30  # of processor time that the check of a file may take


def module():
    """h5py, or None where it is not installed."""
    try:
        import h5py
    except ImportError:
        return None
    return h5py


def is_name(path, save_format=None):
    """Whether a path or format selects HDF5."""
    return save_format in ("h5", "hdf5") or str(path).endswith((".h5", ".hdf5"))


def is_file(path):
    with open(path, "rb") as file:
        return file.read(8) == _SIGNATURE


def wanted(path, save_format=None):
    """Whether to write HDF5: the path or format selects it, and h5py is installed."""
    if not is_name(path, save_format):
        return False
    if module() is None:
        logs.warn(
            "h5py is not installed: %s is written in the layout of safetensors, which situ "
            "reads, but Keras does not. `pip install h5py` gives HDF5.",
            path,
        )
        return False
    return True


def opened(path, mode="r"):
    h5py = module()
    if h5py is None:
        raise ImportError(f"{path} is a file of HDF5: `pip install h5py` to read it.")
    return _converting(h5py, path) if mode == "r" else h5py.File(path, mode)


def _name(path):
    return path if isinstance(path, (str, os.PathLike)) else "An HDF5 file"


@contextlib.contextmanager
def _openable(path):
    """Yields a path that another process can open, and the file descriptor that it inherits."""
    if isinstance(path, (str, os.PathLike)):
        yield os.fspath(path), ()
        return
    memory = os.memfd_create("hdf5")
    try:
        with open(memory, "wb", closefd=False) as file:
            file.write(path.getbuffer())
        yield f"/proc/self/fd/{memory}", (memory,)
    finally:
        os.close(memory)


def _check(path):
    """Has another process visit a file first: HDF5 does not return from some damaged files.

    Raises:
      OSError: it has not finished within SITU_HDF5_SECONDS of processor time, or crashed.
    """
    seconds = int(os.environ.get("SITU_HDF5_SECONDS", _SECONDS))
    if not seconds or not sys.executable:
        return
    with _openable(path) as (place, inherited):
        size = os.stat(inherited[0] if inherited else place).st_size
        done = subprocess.run(
            [sys.executable, "-I", hdf5_check.__file__, place, str(seconds)]
            + [str(expansion.limit(size)), *sys.path],
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=inherited,
        )
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        raise OSError(
            f"{_name(path)} is damaged: HDF5 has not read it within {seconds} seconds "
            "(SITU_HDF5_SECONDS)."
        )
    if done.returncode < 0:
        what = signal.Signals(-done.returncode).name
        raise OSError(f"{_name(path)} is damaged: HDF5 fails with {what} when it reads it.")


@contextlib.contextmanager
def _converting(h5py, path):
    """Yields a file that is read; errors of h5py about damaged data become OSError."""
    _check(path)
    try:
        with h5py.File(path, "r") as file:
            yield file
    except (RuntimeError, LookupError, TypeError, ValueError, UnicodeDecodeError) as error:
        frames = traceback.extract_tb(error.__traceback__)
        if not frames or "h5py" not in frames[-1].filename:
            raise
        raise OSError(f"{_name(path)} is damaged: {error}") from error


@contextlib.contextmanager
def replacing(path: str) -> Iterator[Any]:
    """Yields a new HDF5 file, which replaces `path` once it is complete: a crash or an error
    leaves the old file."""
    buffer = io.BytesIO()
    with opened(buffer, "w") as file:
        yield file
    _situ.replace_file(path, buffer.getbuffer())


class Arrays:
    """Reads arrays of one file. Together they take no more memory than SITU_EXPANSION_LIMIT allows
    for its size: a dataset that is compressed, or was never written, takes little of the file.

    Args:
      group: the file, or a group of it.
    """

    def __init__(self, group: Any) -> None:
        self._name = group.file.filename
        self._limit = self._left = expansion.limit(int(group.file.id.get_filesize()))

    def read(self, group: Any, name: str) -> numpy.ndarray:
        """Returns a dataset of a group.

        Raises:
          ValueError: there is none, or its data is in another file.
          ResourceExhaustedError: it is too large.
        """
        dataset: Any = group.get(name) if hasattr(group, "keys") else None
        if not hasattr(dataset, "nbytes"):
            raise ValueError(f"The HDF5 file has no array {name!r} in {group.name}.")
        if dataset.file.filename != self._name or dataset.external or dataset.is_virtual:
            raise ValueError(f"Array {name!r} of the HDF5 file refers to another file.")
        if dataset.dtype.hasobject:
            raise ValueError(f"Array {name!r} of the HDF5 file is not one of numbers.")
        if dataset.nbytes > self._left:
            raise expansion.exceeded(f"Array {name!r} of an HDF5 file", self._limit)
        self._left -= int(dataset.nbytes)
        return numpy.asarray(dataset)


# Weights


def _put_names(group, name, texts):
    """Stores a list of names as an attribute, split if it is too long."""
    data = numpy.array([t.encode() for t in texts]) if texts else numpy.array([], "S1")
    if data.nbytes <= _MOST_ATTRIBUTE:
        group.attrs[name] = data
        return
    count = -(-data.nbytes // _MOST_ATTRIBUTE)
    for i, part in enumerate(numpy.array_split(data, count)):
        group.attrs[f"{name}{i}"] = part


def _names(group, name):
    if name in group.attrs:
        result = list(group.attrs[name])
    else:
        result, i = [], 0
        while f"{name}{i}" in group.attrs:
            result += list(group.attrs[f"{name}{i}"])
            i += 1
    return [n.decode() if isinstance(n, bytes) else str(n) for n in result]


def _own(model):
    """Returns the weights of a model that belong to none of its layers."""
    inner = {id(v) for layer in model.layers for v in layer.weights}
    return [v for v in model.weights if id(v) not in inner]


def _put(group, variables, values):
    names = []
    for variable, value in zip(variables, values):
        name = variable.name if ":" in variable.name else variable.name + ":0"
        while name in names:
            name = name[:-2] + "_1:0"
        names.append(name)
        group[name] = value
    _put_names(group, "weight_names", names)


def write_weights(group, model):
    """Writes the weights of a model below a group."""
    layers = model.layers
    _put_names(group, "layer_names", [x.name for x in layers])
    group.attrs["backend"] = b"tensorflow"
    group.attrs["keras_version"] = style.VERSIONS["v2"].encode()
    values = dict(zip(map(id, model.weights), weights.values(model.weights)))
    for layer in layers:
        _put(group.create_group(layer.name), layer.weights, [values[id(v)] for v in layer.weights])
    own = _own(model)
    _put(group.create_group("top_level_model_weights"), own, [values[id(v)] for v in own])


def _values(group, arrays):
    return [arrays.read(group, name) for name in _names(group, "weight_names")]


def read_weights(group, model, by_name=False, skip_mismatch=False):
    """Loads weights below a group into a model: layer by layer in order, or by name."""
    group = (
        group["model_weights"]
        if "layer_names" not in group.attrs and "model_weights" in group
        else group
    )
    arrays = Arrays(group)
    saved = [(n, _values(group[n], arrays)) for n in _names(group, "layer_names")]
    saved = [(n, v) for n, v in saved if v]
    pairs, layers = [], [x for x in model.layers if x.weights]
    if by_name:
        known = dict(saved)
        pairs = [(x, known[x.name]) for x in layers if x.name in known]
    else:
        if len(saved) != len(layers):
            raise ValueError(
                "Layer count mismatch when loading weights from file. Model expected "
                f"{len(layers)} layers, found {len(saved)} saved layers."
            )
        pairs = [(x, v) for x, (_, v) in zip(layers, saved)]
    for layer, values in pairs:
        _give(layer, values, skip_mismatch)
    top = group.get("top_level_model_weights")
    own = _own(model)
    if top is not None and own and not by_name:
        weights.assign(own, _values(top, arrays), f'"{model.name}"')


def _give(layer, values, skip_mismatch):
    fits = [tuple(v.shape.as_list()) for v in layer.weights] == [a.shape for a in values]
    if not fits and skip_mismatch:
        logs.warn("Skipping loading of weights for layer %s due to a mismatch.", layer.name)
        return
    if len(layer.weights) != len(values):
        raise ValueError(
            f"Weight count mismatch for layer {layer.name}: the layer expects "
            f"{len(layer.weights)} weights, the file has {len(values)}."
        )
    weights.assign(layer.weights, values, f'"{layer.name}"')


# Models


def write_model(path, model, training):
    """Writes a model; `training` holds the arguments of compile as JSON values, or None."""
    with replacing(path) as file:
        file.attrs["backend"] = b"tensorflow"
        file.attrs["keras_version"] = style.VERSIONS["v2"].encode()
        config = {
            "class_name": "Functional"
            if model._registered_class() == "Model"
            else model._registered_class(),
            "config": to_json_value(model.get_config()),
        }
        file.attrs["model_config"] = json.dumps(config).encode()
        write_weights(file.create_group("model_weights"), model)
        if training is None:
            return
        compile_args = dict(training)
        compile_args["optimizer_config"] = compile_args.pop("optimizer")
        file.attrs["training_config"] = json.dumps(compile_args).encode()
        state = list(model.optimizer.variables)
        if state:
            _put(file.create_group("optimizer_weights"), state, weights.values(state))


def _json(text):
    return json.loads(text.decode() if isinstance(text, bytes) else text)


def _cleaned(config):
    """Removes what other Keras versions add to a configuration."""
    if isinstance(config, list):
        return [_cleaned(c) for c in config]
    if not isinstance(config, dict):
        return config
    if config.get("class_name") == "Policy":
        return _cleaned(config["config"]["name"])
    if config.get("class_name") == "__tuple__":
        return _cleaned(config["items"])
    return {
        k: _cleaned(v)
        for k, v in config.items()
        if k not in ("module", "registered_name", "build_config")
    }


def read_model(path, custom_objects, compile):
    """Returns (model, arguments of compile or None, state of the optimizer)."""
    with opened(path) as file:
        if "model_config" not in file.attrs:
            raise ValueError(
                f"No model config found in the file at {path}: it holds weights, use load_weights."
            )
        with reading_config():
            config = _cleaned(_json(file.attrs["model_config"]))
            model = LAYERS.deserialize(config, custom_objects)
        with context.eager():
            read_weights(file["model_weights"], model)
        if not compile or "training_config" not in file.attrs:
            return model, None, []
        with reading_config():
            compile_args = _cleaned(_json(file.attrs["training_config"]))
            compile_args["optimizer"] = compile_args.pop("optimizer_config")
            for key in ("metrics", "weighted_metrics"):
                compile_args[key] = _metrics(compile_args.get(key))
        known = ("optimizer", "loss", "metrics", "loss_weights", "weighted_metrics")
        saved = file.get("optimizer_weights")
        state = [] if saved is None else _values(saved, Arrays(file))
        return model, {k: compile_args.get(k) for k in known}, state


def _metrics(compile_args):
    """Returns metrics by the names that compile accepts."""
    if isinstance(compile_args, dict) and "class_name" in compile_args:
        inner = compile_args.get("config", {})
        return (
            inner.get("fn") or inner.get("name")
            if compile_args["class_name"] in ("MeanMetricWrapper", "SumOverBatchSizeMetricWrapper")
            else compile_args
        )
    if isinstance(compile_args, dict):
        return {k: _metrics(v) for k, v in compile_args.items()}
    if isinstance(compile_args, list):
        result = [_metrics(g) for g in compile_args]
        return result[0] if len(result) == 1 and isinstance(result[0], list) else result
    return compile_args
