# SPDX-License-Identifier: Apache-2.0
"""builder.py: tf.compat.v1.saved_model: SavedModelBuilder, signatures and the loader."""

from __future__ import annotations

import os
import shutil
from typing import Any

import numpy

import _situ
from situ._src.checkpoint import reader
from situ._src.checkpoint.saver import Saver
from situ._src.framework import meta_graph
from situ._src.framework.api import BOTH, V1, export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import Graph, get_default_graph
from situ._src.framework.graph_scopes import prepend_name_scope
from situ._src.framework.message_classes import DecodeError, ParseError, message_class
from situ._src.framework.session import Session
from situ._src.framework.tensor import GraphTensor, constant_value
from situ._src.framework.tensor_shape import as_shape
from situ._src.ops.array_ops import group
from situ._src.saved_model import load as saved_model_load
from situ._src.saved_model.asset import same_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import TensorLike

_FILE, _MAIN_OP = "saved_model.pb", "saved_model_main_op"
_VARIABLES, _ASSETS = os.path.join("variables", "variables"), "assets"
_CONSTANTS: dict[str, dict] = {
    "tag_constants": {
        "SERVING": "serve",
        "TRAINING": "train",
        "GPU": "gpu",
        "TPU": "tpu",
        "EVAL": "eval",
    },
    "signature_constants": {
        "DEFAULT_SERVING_SIGNATURE_DEF_KEY": "serving_default",
        "CLASSIFY_INPUTS": "inputs",
        "CLASSIFY_METHOD_NAME": "tensorflow/serving/classify",
        "CLASSIFY_OUTPUT_CLASSES": "classes",
        "CLASSIFY_OUTPUT_SCORES": "scores",
        "PREDICT_INPUTS": "inputs",
        "PREDICT_METHOD_NAME": "tensorflow/serving/predict",
        "PREDICT_OUTPUTS": "outputs",
        "REGRESS_INPUTS": "inputs",
        "REGRESS_METHOD_NAME": "tensorflow/serving/regress",
        "REGRESS_OUTPUTS": "outputs",
    },
    "constants": {
        "ASSETS_DIRECTORY": "assets",
        "ASSETS_KEY": "saved_model_assets",
        "LEGACY_INIT_OP_KEY": "legacy_init_op",
        "MAIN_OP_KEY": "saved_model_main_op",
        "SAVED_MODEL_FILENAME_PB": _FILE,
        "SAVED_MODEL_FILENAME_PBTXT": "saved_model.pbtxt",
        "SAVED_MODEL_SCHEMA_VERSION": 1,
        "VARIABLES_DIRECTORY": "variables",
        "VARIABLES_FILENAME": "variables",
    },
}
_PREFIXES = ("saved_model.", "python.saved_model.")
for _module, _values in _CONSTANTS.items():
    for _name, _value in _values.items():
        for _prefix in _PREFIXES:
            BOTH[f"{_prefix}{_module}.{_name}"] = _value
        BOTH["saved_model." + _name] = _value


def _exported(module, *names):
    """Exports names below tf.saved_model and in one of its modules."""
    return export(
        v1=[
            p + n
            for n in names
            for p in ("saved_model.", f"saved_model.{module}.", f"python.saved_model.{module}.")
        ]
    )


TensorInfo = message_class("tensorflow.TensorInfo")
SignatureDef = message_class("tensorflow.SignatureDef")
SavedModel = message_class("tensorflow.SavedModel")
V1["TensorInfo"] = TensorInfo


@_exported("utils", "build_tensor_info")
def build_tensor_info(tensor: TensorLike) -> Any:
    """Returns the TensorInfo of a tensor.

    Args:
      tensor: a tensor.
    """
    return TensorInfo(
        name=tensor.name,
        dtype=as_dtype(tensor.dtype).base_dtype.as_datatype_enum,
        tensor_shape=as_shape(tensor.shape).as_proto(),
    )


@_exported("utils", "get_tensor_from_tensor_info")
def get_tensor_from_tensor_info(
    tensor_info: Any, graph: Any = None, import_scope: str | None = None
) -> Any:
    """Returns the tensor of a TensorInfo.

    Args:
      tensor_info: a TensorInfo.
      graph: the graph; the default graph if it is None.
      import_scope: a prefix of the name.
    """
    name = f"{import_scope}/{tensor_info.name}" if import_scope else tensor_info.name
    return (graph or get_default_graph()).get_tensor_by_name(name)


@_exported("signature_def_utils", "build_signature_def")
def build_signature_def(
    inputs: TensorLike = None, outputs: Any = None, method_name: Any = None
) -> Any:
    """Creates a SignatureDef.

    Args:
      inputs: maps names to TensorInfo.
      outputs: maps names to TensorInfo.
      method_name: the method of TensorFlow Serving.
    """
    return SignatureDef(inputs=inputs, outputs=outputs, method_name=method_name)


def _signature(kind, inputs, outputs):
    for what in (inputs, outputs):
        if not what:
            raise ValueError(f"{kind} inputs and outputs cannot be None or empty.")
    return SignatureDef(
        inputs={k: build_tensor_info(v) for k, v in inputs.items()},
        outputs={k: build_tensor_info(v) for k, v in outputs.items()},
        method_name="tensorflow/serving/" + kind,
    )


@_exported("signature_def_utils", "predict_signature_def")
def predict_signature_def(inputs: TensorLike, outputs: Any) -> Any:
    """Creates a signature for prediction.

    Args:
      inputs: maps names to tensors.
      outputs: maps names to tensors.

    Raises:
      ValueError: there are no inputs or outputs.
    """
    return _signature("predict", inputs, outputs)


@_exported("signature_def_utils", "classification_signature_def")
def classification_signature_def(examples: Any, classes: Any, scores: TensorLike) -> Any:
    """Creates a signature for classification.

    Args:
      examples: the input tensor.
      classes: the tensor of classes, or None.
      scores: the tensor of scores, or None.
    """
    named = {"classes": classes, "scores": scores}
    return _signature(
        "classify", {"inputs": examples}, {k: v for k, v in named.items() if v is not None}
    )


@_exported("signature_def_utils", "regression_signature_def")
def regression_signature_def(examples: Any, predictions: TensorLike) -> Any:
    """Creates a signature for regression.

    Args:
      examples: the input tensor.
      predictions: the output tensor.
    """
    return _signature("regress", {"inputs": examples}, {"outputs": predictions})


@_exported("signature_def_utils", "is_valid_signature")
def is_valid_signature(signature_def: Any) -> bool:
    """Returns whether a signature has inputs and outputs.

    Args:
      signature_def: a SignatureDef.
    """
    return bool(signature_def and signature_def.inputs and signature_def.outputs)


def _asset_path(tensor):
    """Returns the path in a constant."""
    if not isinstance(tensor, GraphTensor):
        raise TypeError(f"Asset path tensor {tensor} must be a Tensor.")
    value = constant_value(tensor)
    if not isinstance(value, (str, bytes)):
        raise TypeError(f"Asset path tensor {tensor} must be a constant string.")
    return os.fsdecode(value)


@export(
    v1=(
        "saved_model.Builder",
        "saved_model.builder.SavedModelBuilder",
        "python.saved_model.builder.SavedModelBuilder",
        "python.saved_model.builder_impl.SavedModelBuilder",
    )
)
class SavedModelBuilder:
    """Writes graphs with shared variables to a directory.

    Args:
      export_dir: the directory; it must be empty or not exist.

    Raises:
      AssertionError: the directory is not empty.
    """

    _assets: dict

    def __init__(self, export_dir: str):
        self._folder = os.fsdecode(export_dir)
        if os.path.isdir(self._folder) and os.listdir(self._folder):
            raise AssertionError(
                "Export directory already exists, and isn't empty. Please choose a different "
                "export directory, or delete all the contents of the specified directory: "
                f"{self._folder}"
            )
        os.makedirs(self._folder, exist_ok=True)
        self._model, self._has_variables = SavedModel(saved_model_schema_version=1), False
        self._assets = {}  # file name -> path of the original

    def add_meta_graph(
        self,
        tags: Any,
        signature_def_map: Any = None,
        assets_collection: Any = None,
        legacy_init_op: Any = None,
        clear_devices: bool = False,
        main_op: Any = None,
        strip_default_attrs: bool = False,
        saver: Any = None,
    ) -> None:
        """Adds another graph over the same variables.

        Args:
          tags: the tags of the graph.
          signature_def_map: maps names to SignatureDef.
          assets_collection: constants with paths of files, which are copied to the model. When it
            is loaded, `main_op` runs with the paths of the copies.
          legacy_init_op: the former name of `main_op`.
          clear_devices: whether to remove the devices of nodes.
          main_op: an operation to run after loading.
          strip_default_attrs: whether to remove attributes with default values from nodes.
          saver: the Saver for the variables.

        Raises:
          TypeError: an item of `assets_collection` is not a constant string.
          AssertionError: the variables have not been saved.
        """
        if not self._has_variables:
            raise AssertionError(
                "Graph state including variables and assets has not been saved "
                "yet. Please invoke `add_meta_graph_and_variables()` first."
            )
        graph = get_default_graph()
        self._add(graph, tags, signature_def_map, saver, clear_devices, strip_default_attrs)
        self._add_start(main_op or legacy_init_op, assets_collection)

    def add_meta_graph_and_variables(
        self,
        sess: Any,
        tags: Any,
        signature_def_map: Any = None,
        assets_collection: Any = None,
        legacy_init_op: Any = None,
        clear_devices: bool = False,
        main_op: Any = None,
        strip_default_attrs: bool = False,
        saver: Any = None,
    ) -> None:
        """Adds the graph of a session and the values of its variables.

        Args:
          sess: the session.
          tags: the tags of the graph.
          signature_def_map: maps names to SignatureDef.
          assets_collection: constants with paths of files, which are copied to the model. When it
            is loaded, `main_op` runs with the paths of the copies.
          legacy_init_op: the former name of `main_op`.
          clear_devices: whether to remove the devices of nodes.
          main_op: an operation to run after loading.
          strip_default_attrs: whether to remove attributes with default values from nodes.
          saver: the Saver for the variables.

        Raises:
          TypeError: an item of `assets_collection` is not a constant string.
          AssertionError: the variables have been saved already.
        """
        if self._has_variables:
            raise AssertionError(
                "Graph state including variables and assets has already been "
                "saved. Please invoke `add_meta_graph()` instead."
            )
        with sess.graph.as_default():
            saver = saver or Saver(sharded=True, allow_empty=True)
            values = sess.run(dict(saver._variables))
            path = os.path.join(self._folder, _VARIABLES)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            reader.write(path, {k: numpy.asarray(v) for k, v in values.items()})
            self._has_variables = True
            self._add(
                sess.graph, tags, signature_def_map, saver, clear_devices, strip_default_attrs
            )
            self._add_start(main_op or legacy_init_op, assets_collection)

    def _add(self, graph, tags, signatures, saver, clear_devices, strip_default_attrs):
        with graph.as_default():
            saver = saver or Saver(sharded=True, allow_empty=True)
            made = meta_graph.create(
                graph,
                saver_def=saver.saver_def,
                clear_devices=clear_devices,
                strip_default_attrs=strip_default_attrs,
            )
        made.meta_info_def.tags.extend(tags)
        for name, signature in (signatures or {}).items():
            made.signature_def[name].CopyFrom(signature)
        self._model.meta_graphs.append(made)

    def _add_start(self, main_op, assets):
        """Adds the operation that runs after loading the last graph, and copies its assets."""
        made = self._model.meta_graphs[-1]
        if main_op is not None:
            made.collection_def[_MAIN_OP].node_list.value[:] = [main_op.name]
        for tensor in assets or ():
            path = _asset_path(tensor)
            name = self._asset_name(path)
            self._assets[name] = path
            made.asset_file_def.add(filename=name).tensor_info.name = tensor.name
            if os.path.exists(path):
                folder = os.path.join(self._folder, _ASSETS)
                os.makedirs(folder, exist_ok=True)
                shutil.copyfile(path, os.path.join(folder, name))

    def _asset_name(self, path):
        """Returns the file name for an asset; different files have different names."""
        base = name = os.path.basename(path)
        count = 0
        while name in self._assets and not same_file(path, self._assets[name]):
            count += 1
            name = f"{base}_{count}"
        return name

    def save(self, as_text: bool = False) -> str:
        """Writes the model file.

        Args:
          as_text: whether to write saved_model.pbtxt, in text format.

        Returns:
          Its path.
        """
        path = os.path.join(self._folder, "saved_model.pbtxt" if as_text else _FILE)
        data = str(self._model).encode() if as_text else self._model.SerializeToString()
        _situ.replace_file(path, data)
        return path


def read(folder: Any) -> Any:
    """Returns the SavedModel message of a directory.

    Raises:
      OSError: there is none, or it cannot be parsed.
    """
    for name in (_FILE, "saved_model.pbtxt"):
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            break
    else:
        raise OSError(
            f"SavedModel file does not exist at: {folder}/{{saved_model.pbtxt|saved_model.pb}}"
        )
    with open(path, "rb") as file:
        data = file.read()
    model = SavedModel()
    try:
        model.ParseFromString(data) if name == _FILE else model._merge_text(data.decode())
    except (DecodeError, ParseError, UnicodeDecodeError) as error:
        raise OSError(f"Cannot parse file {path}: {error}.") from None
    return model


@export(v1=("saved_model.loader.load", "python.saved_model.loader.load", "saved_model.load"))
def load(
    sess: Any,
    tags: Any = None,
    export_dir: Any = None,
    import_scope: str | None = None,
    **saver_kwargs: Any,
) -> Any:
    """Loads a saved graph into a session and restores its variables.

    Args:
      sess: the session.
      tags: the tags of the graph.
      export_dir: the directory.
      import_scope: a prefix of the names of nodes.
      **saver_kwargs: passed to tf.compat.v1.train.import_meta_graph.

    A path instead of a session calls the `load` of TensorFlow 2.

    Returns:
      The MetaGraphDef.

    Raises:
      OSError: there is no model, or it cannot be parsed.
      RuntimeError: no graph has these tags.
    """
    if not hasattr(sess, "graph"):  # a path: the signature of TensorFlow 2
        return saved_model_load.load(sess, tags)
    folder = os.fsdecode(export_dir)
    graphs = list(read(folder).meta_graphs)
    matching = [g for g in graphs if set(g.meta_info_def.tags) == set(tags)]
    if not matching:
        raise RuntimeError(
            f"MetaGraphDef associated with tags {str(set(tags)).strip('{}')} could not be found in "
            f"SavedModel, with available tags '{[set(g.meta_info_def.tags) for g in graphs]}'."
        )
    with sess.graph.as_default():
        saver = meta_graph.import_meta_graph(matching[0], import_scope=import_scope, **saver_kwargs)
        if saver is not None and saver._variables:
            saver.restore(sess, os.path.join(folder, _VARIABLES))
        _run_main_op(sess, matching[0], folder, import_scope)
    return matching[0]


def _run_main_op(sess, meta_graph_def, folder, import_scope):
    """Runs the operation that initializes a loaded graph, with the paths of its assets."""
    keys = [k for k in (_MAIN_OP, "legacy_init_op") if k in meta_graph_def.collection_def]
    if not keys:
        return
    name = meta_graph_def.collection_def[keys[0]].node_list.value[0]
    feeds = {
        prepend_name_scope(a.tensor_info.name, import_scope): os.path.join(
            folder, _ASSETS, a.filename
        )
        for a in meta_graph_def.asset_file_def
    }
    sess.run(sess.graph.get_operation_by_name(prepend_name_scope(name, import_scope)), feeds)


@_exported("loader", "maybe_saved_model_directory")
def maybe_saved_model_directory(export_dir: str) -> bool:
    """Returns whether a directory contains a saved model.

    Args:
      export_dir: the directory.
    """
    return any(
        os.path.isfile(os.path.join(os.fsdecode(export_dir), name))
        for name in (_FILE, "saved_model.pbtxt", "saved_model.safetensors")
    )


@export(v1=("saved_model.simple_save", "python.saved_model.simple_save.simple_save"))
def simple_save(
    session: Any, export_dir: str, inputs: TensorLike, outputs: Any, legacy_init_op: Any = None
) -> None:
    """Saves the graph of a session with one signature for serving.

    Args:
      session: the session.
      export_dir: the directory.
      inputs: maps names to tensors.
      outputs: maps names to tensors.
      legacy_init_op: an operation to run after loading.
    """
    builder = SavedModelBuilder(export_dir)
    builder.add_meta_graph_and_variables(
        session,
        ["serve"],
        {"serving_default": predict_signature_def(inputs, outputs)},
        main_op=legacy_init_op,
    )
    builder.save()


@export(v1=("saved_model.main_op.main_op", "python.saved_model.main_op.main_op"))
def main_op() -> Any:
    """Returns an operation that initializes local variables and tables of a loaded graph."""

    return group(
        V1["local_variables_initializer"](),
        (V1.get("tables_initializer") or BOTH["tables_initializer"])(),
    )


@export(v1=("contrib.predictor.from_saved_model",))
def from_saved_model(
    export_dir: str,
    signature_def_key: Any = None,
    signature_def: Any = None,
    tags: Any = None,
    graph: Any = None,
    config: Any = None,
) -> Any:
    """Loads a saved model as a callable.

    Args:
      export_dir: the directory.
      signature_def_key: the name of the signature; "serving_default" by default.
      signature_def: a SignatureDef instead of a `signature_def_key`.
      tags: comma-separated tags; "serve" by default.
      graph: the graph to load into; a new one by default.
      config: a ConfigProto for the session.

    Returns:
      A Predictor.

    Raises:
      ValueError: there are a `signature_def_key` and a `signature_def`.
    """
    if signature_def_key is not None and signature_def is not None:
        raise ValueError("Only one of signature_def_key and signature_def may be specified.")
    graph = graph or Graph()
    with graph.as_default():
        session = Session(graph=graph, config=config)
        made = load(session, (tags or "serve").split(","), export_dir)
    return Predictor(
        session, signature_def or made.signature_def[signature_def_key or "serving_default"]
    )


class Predictor:
    """A callable that maps a dict of input arrays to a dict of output arrays."""

    def __init__(self, session, signature):
        self.session, self.graph = session, session.graph
        self.feed_tensors = {
            k: self.graph.get_tensor_by_name(i.name) for k, i in signature.inputs.items()
        }
        self.fetch_tensors = {
            k: self.graph.get_tensor_by_name(i.name) for k, i in signature.outputs.items()
        }

    def __call__(self, input_dict):
        unknown = set(input_dict) - set(self.feed_tensors)
        if unknown:
            raise ValueError(
                f"Got unexpected keys in input_dict: {unknown}\nexpected: {set(self.feed_tensors)}"
            )
        return self.session.run(
            self.fetch_tensors, {self.feed_tensors[k]: v for k, v in input_dict.items()}
        )
