# SPDX-License-Identifier: Apache-2.0
"""saving.py: saves and loads models and weights. A file is in the safetensors layout with the
configuration as JSON metadata, or HDF5 (hdf5.py). Loading never runs code of a file."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy

from situ._src.checkpoint import safetensors, state
from situ._src.framework import tensor_shape
from situ._src.framework.keywords import reject_unknown, unsupported
from situ._src.keras import context, hdf5, losses, metrics, optimizer, weights
from situ._src.keras.layer import Layer
from situ._src.keras.registry import (
    LAYERS,
    custom,
    custom_object_scope,
    keras_export,
    reading_config,
    serialize_keras_object,
    to_json_value,
)
from situ._src.saved_model import save


class _Archive:
    """situ._src.keras3.archive, imported on use: it imports the models of this package."""

    def __getattr__(self, name):
        from situ._src.keras3 import archive

        return getattr(archive, name)


archive = _Archive()
_FORMAT = "situ keras 1"
FILE = "model.safetensors"  # of a model that is a folder


def _named(variables):
    """Returns the values of variables by names that sort in their order."""
    result = weights.values(variables)
    return {f"{i:05d}/{v.name.split(':')[0]}": a for i, (v, a) in enumerate(zip(variables, result))}


def _serialize_all(thing):
    """Returns losses or metrics as JSON values."""
    if isinstance(thing, dict):
        return {k: _serialize_all(v) for k, v in thing.items()}
    if isinstance(thing, (list, tuple)):
        return [_serialize_all(v) for v in thing]
    return to_json_value(serialize_keras_object(thing))


def _target(path, overwrite):
    """Returns the path of the file to write; creates its folder."""
    path = os.fspath(path)
    if os.path.isdir(path):
        path = os.path.join(path, FILE)
    if os.path.exists(path) and not overwrite:
        raise FileExistsError(f"{path} exists, and overwrite is False")
    if os.path.dirname(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
    return path


def _place(path, save_format):
    """Creates a folder if the path has none of the known file extensions."""
    path = os.fspath(path)
    ending = os.path.splitext(path)[1]
    if (
        ending not in (".h5", ".hdf5", ".keras", ".safetensors")
        and save_format not in ("h5", "hdf5", "keras")
        or save_format == "tf"
    ):
        os.makedirs(path, exist_ok=True)
    return path


def _source(path):
    """Returns the path of the file to read."""
    path = os.fspath(path)
    for one in (path, os.path.join(path, FILE), path + ".safetensors"):
        if os.path.isfile(one):
            return one
    if os.path.isfile(os.path.join(path, "saved_model.pb")):
        raise OSError(
            f"{path} is a SavedModel that TensorFlow wrote, which situ cannot read. Load "
            "it with TensorFlow and save it as HDF5: model.save('model.h5')."
        )
    raise OSError(f"No file or directory found at {path}")


def _open(path):
    path = _source(path)
    file = safetensors.File(path)
    if file.metadata.get("format") != _FORMAT:
        raise OSError(f"{path}: no file of weights or models that situ wrote")
    return file


def _values(file, prefix):
    names = sorted(n for n in file.entries if n.startswith(prefix))
    return [(n[len(prefix) :].split("/", 1)[1], numpy.asarray(file.get(n))) for n in names]


def _check_format(save_format):
    if save_format not in (None, "tf", "tensorflow", "h5", "hdf5", "keras"):
        raise ValueError(
            f'Unknown format: "{save_format}". Was expecting one of {{"tf", "h5", "keras"}}.'
        )


class Saving:
    """The saving methods of Model, as a mixin."""

    def save_weights(
        self: Any,
        filepath: str | os.PathLike,
        overwrite: bool = True,
        save_format: str | None = None,
        options: Any = None,
    ) -> None:
        """Saves the values of all weights.

        Args:
          filepath: Path of the file; ".h5" or ".hdf5" selects HDF5. Otherwise, and without h5py
            (with a warning), the file has the layout of safetensors.
          overwrite: Whether to replace an existing file.
          save_format: "h5" or "hdf5" selects HDF5; "tf" and "keras" leave it to the extension.
          options: Has no effect: it says which device of a cluster reads and writes.

        Raises:
          FileExistsError: If the file exists and overwrite is False.
          ValueError: If HDF5 is selected and the model has no weights yet, or save_format is
            unknown.
        """
        del options  # the values are the same, whichever device writes them
        _check_format(save_format)
        if not self.built and not self.weights and hdf5.is_name(filepath, save_format):
            raise ValueError(
                f"Unable to save weights of model {self.name}: it has no weights yet; "
                "call it on a batch of data first."
            )
        path = _target(filepath, overwrite)
        if hdf5.wanted(path, save_format):
            with hdf5.replacing(path) as file:
                if path.endswith(".weights.h5"):
                    archive.write_weights(file, self)
                else:
                    hdf5.write_weights(file, self)
            return
        arrays = {"weights/" + k: v for k, v in _named(self.weights).items()}
        safetensors.write(path, arrays, {"format": _FORMAT})
        if os.path.splitext(path)[1] in ("", ".ckpt", ".tf"):  # for tf.train.latest_checkpoint
            state.update_checkpoint_state(os.path.dirname(path) or ".", path, [path])

    def load_weights(
        self: Any,
        filepath: str | os.PathLike,
        by_name: bool = False,
        skip_mismatch: bool = False,
        options: Any = None,
    ):
        """Loads weights that save_weights or save wrote.

        Args:
          filepath: Path of the file.
          by_name: Whether to match weights by name instead of by order; other weights stay.
          skip_mismatch: Whether to skip weights of other shapes.
          options: Has no effect: it says which device of a cluster reads and writes.

        Returns:
          An object with `expect_partial` and `assert_consumed`, which do nothing.

        Raises:
          OSError: If there is no such file, or its format is unknown.
          ValueError: If the number or the shapes of the weights do not match.
        """
        del options  # the values are the same, whichever device reads them
        path = _source(filepath)
        if hdf5.is_file(path):
            with hdf5.opened(path) as file:
                if archive.is_weights_layout(file):
                    unsupported("load_weights of Keras 3's layout", by_name=(by_name, False))
                    archive.read_weights(file, self, skip_mismatch)
                else:
                    hdf5.read_weights(file, self, by_name, skip_mismatch)
            return _Status()
        result = _values(_open(path), "weights/")
        if not self.weights and not self.built and result and not by_name:
            self._late_weights = [a for _, a in result]  # given when the first call has made them
            return _Status()
        if by_name:
            known = dict(result)
            pairs = [
                (v, known[v.name.split(":")[0]])
                for v in self.weights
                if v.name.split(":")[0] in known
            ]
        else:
            partly = not os.path.splitext(path)[1] or path.endswith(".ckpt")  # as checkpoints are
            if len(result) != len(self.weights) and not (partly and self._begins_with(result)):
                raise ValueError(
                    f"Layer count mismatch when loading weights from file. Model "
                    f"expected {len(self.weights)} weights, found {len(result)} saved "
                    "weights."
                )
            pairs = list(zip(self.weights, [a for _, a in result]))
        if skip_mismatch:
            pairs = [(v, a) for v, a in pairs if tuple(v.shape.as_list()) == a.shape]
        weights.assign([v for v, _ in pairs], [a for _, a in pairs], f'"{self.name}"')
        return _Status()

    _late_weights = None

    def _run(self, inputs, args, kwargs):
        if self._late_weights is not None:
            result, self._late_weights = self._late_weights, None
            super()._run(inputs, args, kwargs)
            if len(result) != len(self.weights):
                raise ValueError(
                    f"The file of weights has {len(result)} arrays, but {self.name} "
                    f"has {len(self.weights)} weights."
                )
            with context.eager():
                weights.assign(self.weights, result, f'"{self.name}"')
        return super()._run(inputs, args, kwargs)

    def _begins_with(self, found):
        """Whether the saved arrays fit the first weights."""
        return len(found) < len(self.weights) and all(
            tuple(v.shape.as_list()) == a.shape for v, (_, a) in zip(self.weights, found)
        )

    def save(
        self: Any,
        filepath: str | os.PathLike,
        overwrite: bool = True,
        include_optimizer: bool = True,
        save_format: str | None = None,
        signatures=None,
        options: Any = None,
        save_traces: bool = True,
        zipped=None,
        **kwargs,
    ) -> None:
        """Saves the model: layers, weights, the arguments of compile and the state of the
        optimizer.

        Args:
          filepath: Path of a file (".keras", ".h5", ".hdf5", ".safetensors") or of a folder. Files
            other than HDF5 have the layout of safetensors, with any extension.
          overwrite: Whether to replace an existing file.
          include_optimizer: Whether to save the arguments of compile and the optimizer.
          save_format: "h5" or "hdf5" selects HDF5 (with h5py only), "tf" a folder, "keras" a file.
          signatures: Only None is supported.
          options: Has no effect: it says which device of a cluster reads and writes.
          save_traces: Has no effect: layers of the program are loaded by their class.
          zipped: Has no effect: a model is one file, which is not compressed.

        Raises:
          FileExistsError: If the file exists and overwrite is False.
          NotImplementedError: If signatures is set.
          TypeError: For unknown arguments.
          ValueError: If save_format is unknown.
        """
        reject_unknown(self.save, kwargs)
        del options, save_traces, zipped  # of the formats of TensorFlow; a loaded model is the same
        _check_format(save_format)
        unsupported("save", signatures=(signatures, None))
        training, path = self._serialize_training(include_optimizer), _place(filepath, save_format)
        if path.endswith(".keras") and hdf5.wanted(path, "h5") and archive.can_write(self):
            archive.write(self, _target(path, overwrite), include_optimizer)
            return
        if hdf5.wanted(path, save_format):
            hdf5.write_model(_target(path, overwrite), self, training)
            return
        arrays = {"weights/" + k: v for k, v in _named(self.weights).items()}
        metadata = {
            "format": _FORMAT,
            "model": json.dumps(
                {"class_name": self._registered_class(), "config": to_json_value(self.get_config())}
            ),
        }
        if isinstance(self._build_input_shape, tensor_shape.TensorShape):
            metadata["input_shape"] = json.dumps(self._build_input_shape.as_list())
        if training is not None:
            metadata["training"] = json.dumps(training)
            state = list(self.optimizer.variables)
            arrays.update({"optimizer/" + k: v for k, v in _named(state).items()})
        safetensors.write(_target(path, overwrite), arrays, metadata)
        if os.path.isdir(path):
            save.write_model(self, path)

    def export(
        self: Any,
        filepath: str | os.PathLike,
        format="tf_saved_model",
        verbose: str | int | None = None,
        input_signature=None,
    ):
        """Writes a SavedModel with the function `serve` for tf.saved_model.load.

        Args:
          filepath: Path of the folder.
          format: Only "tf_saved_model" is supported.
          verbose: Whether to print where the SavedModel is; default: True.
          input_signature: Only None is supported.

        Raises:
          NotImplementedError: If input_signature is set.
          ValueError: If the format is unknown.
        """
        if format != "tf_saved_model":
            raise ValueError(
                f"Unrecognized format={format}. Supported formats are: tf_saved_model."
            )
        unsupported("export", input_signature=(input_signature, None))
        save.export_model(self, filepath)
        if verbose is None or verbose:
            print(f"Saved artifact at '{os.fspath(filepath)}'.")

    def _serialize_training(self, include_optimizer):
        """Returns the arguments of compile as JSON values, or None."""
        if (
            not self._is_compiled
            or not include_optimizer
            or not hasattr(self.optimizer, "get_config")
        ):
            return None
        compile_args = {
            k: _serialize_all(v) for k, v in self._compile_args.items() if k != "optimizer"
        }
        return {**compile_args, "optimizer": to_json_value(optimizer.serialize(self.optimizer))}


class _Status:
    """Result of load_weights; its checks do nothing."""

    def assert_consumed(self):
        return self

    expect_partial = assert_existing_objects_matched = assert_consumed


@keras_export("models.save_model")
def save_model(
    model: Any,
    filepath: str | os.PathLike,
    overwrite: bool = True,
    include_optimizer: bool = True,
    **kwargs: Any,
) -> None:
    """Saves a model; see Model.save.

    Args:
      model: The model.
      filepath: Path of the file or folder.
      overwrite: Whether to replace an existing file.
      include_optimizer: Whether to save the arguments of compile and the optimizer.
      **kwargs: Arguments of Model.save.
    """
    model.save(filepath, overwrite, include_optimizer, **kwargs)


@keras_export("models.load_model")
def load_model(
    filepath: str | os.PathLike,
    custom_objects: dict[str, Any] | None = None,
    compile: bool = True,
    safe_mode: bool = True,
    options: Any = None,
) -> Any:
    """Loads a model that Model.save wrote, or a Keras 2 model in HDF5.

    Args:
      filepath: Path of the file or folder.
      custom_objects: Dictionary from names to classes and functions of the program.
      compile: Whether to compile the model as it was.
      safe_mode: Has no effect; code of files never runs.
      options: Has no effect: it says which device of a cluster reads.

    Returns:
      The model.

    Raises:
      OSError: If there is no such file, or its format is unknown.
      ValueError: If the file has no model, or the weights do not fit.
    """
    del safe_mode  # a file has no code that could run
    del options  # the values are the same, whichever device reads them
    path = _source(filepath)
    if archive.is_archive(path):
        return archive.read(path, custom_objects, compile)
    if hdf5.is_file(path):
        return _load_hdf5(path, custom_objects, compile)
    file = _open(path)
    if "model" not in file.metadata:
        raise ValueError(f"{filepath} holds weights, but no model: use load_weights.")

    known = {**_program_layers(), **(custom_objects or {})}  # a folder needs no custom_objects
    with (
        context.eager(),
        custom_object_scope(known if os.path.isdir(filepath) else custom_objects or {}),
    ):
        with reading_config():
            model = LAYERS.deserialize(json.loads(file.metadata["model"]), custom_objects)
        result = _values(file, "weights/")
        if len(model.weights) != len(result) and "input_shape" in file.metadata:
            model.build(tensor_shape.TensorShape(json.loads(file.metadata["input_shape"])))
        if not model.built or len(model.weights) != len(result):
            raise ValueError(
                "The weights of the saved model do not fit its layers: a sub-class "
                "must be called on data before its weights can be loaded."
            )
        weights.assign(model.weights, [a for _, a in result], f'"{model.name}"')
        if compile and "training" in file.metadata:
            _compile(
                model,
                json.loads(file.metadata["training"]),
                custom_objects,
                [a for _, a in _values(file, "optimizer/")],
            )
    return model


def _program_layers():
    """Returns the layer classes that the program has defined, by name."""

    result, waiting = {}, [Layer]
    while waiting:
        for one in waiting.pop().__subclasses__():
            waiting.append(one)
            if not one.__module__.startswith("situ."):
                result[one.__name__] = one
    return result


def _load_hdf5(path, custom_objects, compile):
    with context.eager(), custom_object_scope(custom_objects or {}):
        model, compile_args, state = hdf5.read_model(path, custom_objects, compile)
        if compile_args is not None:
            _compile(model, compile_args, custom_objects, state)
    return model


def _deserialize_all(described, kind, custom_objects):
    """Returns the losses or metrics that _serialize_all wrote."""
    if isinstance(described, dict) and set(described) == {"class_name", "config"}:
        return kind.deserialize(described, custom_objects)
    if isinstance(described, dict):
        return {k: _deserialize_all(v, kind, custom_objects) for k, v in described.items()}
    if isinstance(described, list):
        return [_deserialize_all(v, kind, custom_objects) for v in described]
    if isinstance(described, str):  # custom objects may be out of scope later
        return custom(described, custom_objects) or described
    return described


def _compile(model, compile_args, custom_objects, state):
    compile_args["optimizer"] = optimizer.deserialize(compile_args["optimizer"], custom_objects)
    for key, kind in (
        ("loss", losses.KIND),
        ("metrics", metrics.KIND),
        ("weighted_metrics", metrics.KIND),
    ):
        if key in compile_args:
            compile_args[key] = _deserialize_all(compile_args[key], kind, custom_objects)
    model.compile(**compile_args)
    _restore(model, state)


def _restore(model, found):
    """Restores the state of the optimizer."""
    optimizer = model.optimizer
    if len(found) > 2:
        optimizer.build(model.trainable_variables)
    state = list(optimizer.variables)
    if len(state) == len(found):
        weights.assign(state, found, "optimizer")
