# SPDX-License-Identifier: Apache-2.0
"""keras_model.py: tf.keras.estimator.model_to_estimator: a compiled Keras model as an Estimator.

Keras weights are eager variables. While the graph of an estimator is built, graph variables replace
them in the layers; the session initializes these with the weights, or from a checkpoint."""

from __future__ import annotations

import contextlib
import os
from typing import Any

from situ._src.distribute.context import replicas
from situ._src.estimator.estimator import Estimator
from situ._src.estimator.spec import EstimatorSpec, ModeKeys, make_local
from situ._src.framework import graph as graphs
from situ._src.framework import nest
from situ._src.framework.api import BOTH
from situ._src.keras import compile_utils, context, weights
from situ._src.keras.registry import keras_export
from situ._src.ops.array_ops import convert_to_tensor, group
from situ._src.ops.init_ops import Zeros
from situ._src.training.global_step import get_global_step
from situ._src.training.scaffold import Scaffold
from situ._src.training.slot_creator import base_name
from situ._src.variables import variable as variables

_FORMATS = ("saver", "checkpoint")


@contextlib.contextmanager
def _graph_variables(model):
    """Context in which the layers of a model hold graph variables; yields (weight, variable)
    pairs.
    """
    result, keys = {}, None

    def graph_variable(variable):
        if id(variable) not in result:
            shape, dtype = variable.shape.as_list(), variable.dtype.base_dtype
            result[id(variable)] = (
                variable,
                variables.variable(
                    lambda: Zeros()(shape, dtype=dtype),
                    dtype=dtype,
                    trainable=variable.trainable,
                    name=base_name(variable),
                    constraint=variable.constraint,
                    collections=keys,
                ),
            )
        return result[id(variable)][1]

    pairs = [(variable, graph_variable(variable)) for variable in model.weights]
    layers = model._flat_layers()
    keys = [graphs.GraphKeys.LOCAL_VARIABLES]  # metrics are not saved
    given = model._compile_args
    metric_objects = compile_utils.objects(
        [[layer._metrics for layer in layers], given["metrics"], given["weighted_metrics"]]
    )
    before = [(obj, dict(vars(obj))) for obj in (*layers, *metric_objects)]
    try:
        for obj, _ in before:
            vars(obj).update(
                {
                    k: weights.replace_variables(v, graph_variable)
                    for k, v in vars(obj).items()
                    if k not in weights._NOT_REPLACED
                }
            )
        yield pairs
    finally:
        for obj, own in before:
            vars(obj).clear()
            vars(obj).update(own)


def _ordered(given, names, what, kind):
    """Returns features or labels in the order of the model's inputs or outputs."""
    if not isinstance(given, dict):
        return given
    if set(given) != set(names):
        raise KeyError(
            f"The dictionary passed into {what} does not have the expected {kind} keys defined in "
            f"the keras model.\n\tExpected keys: {sorted(names)}\n\t{what} keys: {sorted(given)}"
            f"\n\tDifference: {sorted(set(given) ^ set(names))}. The names are those of "
            f"model.{kind}_names."
        )
    return [given[n] for n in names]


def _tensors(structure):
    return None if structure is None else nest.map_structure(convert_to_tensor, structure)


def _train_op(model, loss, trained):
    """Returns the op of a step of the model's optimizer, which increments the global step."""
    step, graph, optimizer = (
        get_global_step(),
        graphs.get_default_graph(),
        model.optimizer,
    )
    if not trained:
        raise ValueError(
            f"The model '{model.name}' has no weights that may be trained: set "
            "layer.trainable = True before model_to_estimator."
        )
    if hasattr(optimizer, "get_config"):
        optimizer = type(optimizer).from_config(optimizer.get_config())
        optimizer.iterations = step
        done = optimizer.minimize(loss * (1.0 / replicas()), trained)
    else:  # of tf.train
        done = optimizer.minimize(loss, step, trained)
    return group(done, *graph.get_collection(graphs.GraphKeys.UPDATE_OPS))


def _metrics_of(model, labels, outputs, renamed):
    """Returns {name: (value, update op)} of the metrics of compile."""
    graph, given = graphs.get_default_graph(), model._compile_args
    result = compile_utils.MetricsContainer(given["metrics"], given["weighted_metrics"])
    result.build(model, labels, outputs)
    before = len(graph.get_operations())
    result.update_state(labels, outputs, model=model)
    make_local(result.metrics)
    count = group(*graph.get_operations()[before:])
    names = {m.name: m.name for m in result.metrics} if renamed is None else renamed
    if set(names) != {m.name for m in result.metrics}:
        raise ValueError(
            f"metric_names_map gives names to {sorted(names)}, but the metrics of the "
            f"model are {sorted(m.name for m in result.metrics)}."
        )
    return {names[m.name]: (m.result(), count) for m in result.metrics}


def _parts(model, features, labels, mode, renamed):
    """Returns the arguments of the EstimatorSpec; the layers must hold graph variables."""
    outputs = model(features, training=mode == ModeKeys.TRAIN)
    names = compile_utils.output_names(model, outputs)
    predictions = dict(zip(names, nest.flatten(outputs)))
    if mode == ModeKeys.PREDICT:
        return {"predictions": predictions}
    labels = _tensors(_ordered(labels, names, "labels", "output"))
    losses = compile_utils.LossesContainer(
        model._compile_args["loss"], model._compile_args["loss_weights"]
    )
    loss = losses(labels, outputs, regularization_losses=model.losses, model=model)
    make_local(losses.metrics)
    if mode == ModeKeys.TRAIN:
        return {"predictions": predictions, "loss": loss}
    return {
        "predictions": predictions,
        "loss": loss,
        "eval_metric_ops": _metrics_of(model, labels, outputs, renamed),
    }


def _build(model, features):
    """Creates the weights of a model that is not built yet, for features of these shapes."""
    if model.weights or model.built:
        return
    sizes = [[None, *t.shape.as_list()[1:]] for t in nest.flatten(features)]
    with context.eager():
        model.build(
            sizes
            if isinstance(features, list)
            else dict(zip(sorted(features), sizes))
            if isinstance(features, dict)
            else sizes[0]
        )


def _function(model, renamed):
    """Returns the model_fn of a model."""

    def model_fn(features, labels, mode):
        names = model.input_names
        features = _tensors(_ordered(features, names, "features", "input") if names else features)
        features = features[0] if isinstance(features, list) and len(features) == 1 else features
        _build(model, features)
        with _graph_variables(model) as pairs:
            parts = _parts(model, features, labels, mode, renamed)
            trained = model.trainable_variables
        if mode == ModeKeys.TRAIN:  # other replicas may borrow the model while this one waits
            parts["train_op"] = _train_op(model, parts["loss"], trained)

        def begin(scaffold, session):
            values = weights.values([own for own, _ in pairs])
            for (_, variable), value in zip(pairs, values):
                variable.load(value, session)

        return EstimatorSpec(mode, scaffold=Scaffold(init_fn=begin), **parts)

    return model_fn


@keras_export("estimator.model_to_estimator")
def model_to_estimator(
    keras_model: Any = None,
    keras_model_path: str | None = None,
    custom_objects: dict[str, Any] | None = None,
    model_dir: str | os.PathLike | None = None,
    config: Any = None,
    checkpoint_format: str = "checkpoint",
    metric_names_map: Any = None,
) -> Any:
    """Returns an Estimator of a compiled Keras model, which starts with its weights.

    Args:
      keras_model: The model.
      keras_model_path: Path of a saved model, instead of keras_model.
      custom_objects: Dictionary from names to classes and functions, for loading.
      model_dir: Folder of checkpoints and summaries.
      config: RunConfig.
      checkpoint_format: "saver" or "checkpoint"; both write the same files.
      metric_names_map: Dictionary from names of metrics to the names that evaluate returns.

    Returns:
      The Estimator.

    Raises:
      ValueError: If the model is missing or not compiled, or an argument is invalid.
    """
    if keras_model is None and keras_model_path is None:
        raise ValueError("Either `keras_model` or `keras_model_path` needs to be provided.")
    if keras_model is not None and keras_model_path is not None:
        raise ValueError("Please specify either `keras_model` or `keras_model_path`, but not both.")
    if checkpoint_format not in (None, *_FORMATS):
        raise ValueError(
            f"checkpoint_format must be one of {_FORMATS}, given: "
            f"{checkpoint_format}. Both write the same files."
        )
    if keras_model is None:
        keras_model = BOTH["keras.models.load_model"](keras_model_path, custom_objects)
    if not keras_model._is_compiled:
        raise ValueError(
            "The given keras model has not been compiled yet. Please compile the "
            "model with `model.compile()` before calling `model_to_estimator()`."
        )
    return Estimator(_function(keras_model, metric_names_map), model_dir, config)
