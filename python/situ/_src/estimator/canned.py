# SPDX-License-Identifier: Apache-2.0
"""canned.py: canned estimators: DNN, linear and combined classifiers and regressors."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any

from situ._src.estimator import heads
from situ._src.estimator.estimator import Estimator
from situ._src.estimator.spec import ModeKeys
from situ._src.framework.api import OPS, export
from situ._src.framework.graph import GraphKeys, get_default_graph
from situ._src.framework.scopes import control_dependencies
from situ._src.legacy.feature_layers import input_layer, linear_model
from situ._src.legacy.layers import dense
from situ._src.legacy.layers import dropout as drop
from situ._src.ops import init_ops
from situ._src.ops.array_ops import group, op
from situ._src.ops.math_ops import zero_fraction
from situ._src.summary.summary_ops import histogram, scalar
from situ._src.training import optimizers
from situ._src.training.global_step import get_global_step
from situ._src.variables.variable_scope import variable_scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Callable

_NAMES = {
    "Adagrad": optimizers.AdagradOptimizer,
    "Adam": optimizers.AdamOptimizer,
    "Ftrl": optimizers.FtrlOptimizer,
    "RMSProp": optimizers.RMSPropOptimizer,
    "SGD": optimizers.GradientDescentOptimizer,
}
DNN, LINEAR = "dnn", "linear"


def _optimizer(given, rate):
    """Returns the optimizer of a name, an optimizer, or a function that returns one."""
    if isinstance(given, str):
        if given not in _NAMES:
            raise ValueError(
                f"Unsupported optimizer name: {given}. Supported names are: {tuple(sorted(_NAMES))}"
            )
        return _NAMES[given](learning_rate=rate)
    result = given() if callable(given) and not hasattr(given, "minimize") else given
    if hasattr(result, "get_updates") or not hasattr(result, "minimize"):
        raise ValueError(f"The given object is not an Optimizer instance. Given: {result}")
    return result


def _watched(value, name):
    scalar(name + "/fraction_of_zero_values", zero_fraction(value))
    histogram(name + "/activation", value)


def _deep(features, columns, units, width, activation, dropout, mode):
    """Builds the hidden layers over the columns; returns logits."""
    with variable_scope(DNN):
        with variable_scope("input_from_feature_columns"):
            net = input_layer(features, columns)
        for i, count in enumerate(units):
            name = f"hiddenlayer_{i}"
            net = dense(
                net, count, activation, kernel_initializer=init_ops.GlorotUniform(), name=name
            )
            if dropout is not None and mode == ModeKeys.TRAIN:
                net = drop(net, dropout, training=True)
            _watched(net, f"{DNN}/{name}")
        return dense(net, width, kernel_initializer=init_ops.GlorotUniform(), name="logits")


def _linear(features, columns, width, combiner):
    with variable_scope(LINEAR):
        return linear_model(features, columns, width, combiner)


def _trains(parts):
    """Returns a function of a loss that runs each optimizer on the variables of its scope."""

    def train(loss):
        graph, done = get_default_graph(), []
        for name, given, rate in parts:
            chosen = graph.get_collection(GraphKeys.TRAINABLE_VARIABLES, name + "/")
            done.append(_optimizer(given, rate).minimize(loss, var_list=chosen))
        with control_dependencies(done):
            return group(get_global_step().assign_add(1))

    return train


class _Canned(Estimator):
    """Base class: a head over the sum of DNN and linear logits."""

    def _make(self, head, deep=None, linear=None, **kwargs):
        def model_fn(features, labels, mode, config):
            features = features if isinstance(features, dict) else {"": features}
            parts, logits = [], []
            if deep:
                columns, units, given, activation, dropout = deep
                logits.append(
                    _deep(features, columns, units, head.width, activation, dropout, mode)
                )
                parts.append((DNN, given, 0.001 if linear else 0.05))
            if linear:
                columns, given, combiner = linear
                logits.append(_linear(features, columns, head.width, combiner))
                rate = min(0.005 if deep else 0.2, 1.0 / math.sqrt(len(columns)))
                parts.append((LINEAR, given, rate))
            logits = logits[0] if len(logits) == 1 else op("Add", *logits)
            return head.spec(features, mode, logits, labels, _trains(parts))

        super().__init__(model_fn, **kwargs)


def _deep_part(units, columns, optimizer, activation_fn, dropout):
    return list(columns), list(units), optimizer, activation_fn or OPS["Relu"], dropout


@export("estimator.DNNClassifier", v1="contrib.learn.DNNClassifier")
class DNNClassifier(_Canned):
    """Classifier with hidden layers over feature columns.

    Args:
      hidden_units: Sizes of the hidden layers.
      feature_columns: Dense feature columns.
      model_dir: Folder of checkpoints and summaries.
      n_classes: Number of classes.
      weight_column: Name or column of example weights.
      label_vocabulary: List of the labels, if they are strings.
      optimizer: Name ("Adagrad", "Adam", "Ftrl", "RMSProp", "SGD"), optimizer, or function.
      activation_fn: Activation of the hidden layers; default: relu.
      dropout: Fraction of the activations to drop during training.
      config: RunConfig.
      warm_start_from: Checkpoint, or WarmStartSettings, of initial values.
      loss_reduction: "sum_over_batch_size" or "weighted_sum_over_batch_size": the mean; any other
        name: the sum; default: the sum in graph mode, else the mean.
    """

    def __init__(
        self,
        hidden_units: Sequence[int],
        feature_columns: Any,
        model_dir: str | os.PathLike | None = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Sequence[str] | None = None,
        optimizer: Any = "Adagrad",
        activation_fn: Callable | None = None,
        dropout: float | None = None,
        config: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str | None = None,
    ) -> None:
        head = heads.classifier(
            n_classes, label_vocabulary, weight_column=weight_column, loss_reduction=loss_reduction
        )
        self._make(
            head,
            _deep_part(hidden_units, feature_columns, optimizer, activation_fn, dropout),
            model_dir=model_dir,
            config=config,
            warm_start_from=warm_start_from,
        )


@export("estimator.DNNRegressor", v1="contrib.learn.DNNRegressor")
class DNNRegressor(_Canned):
    """Regressor with hidden layers over feature columns.

    Args:
      hidden_units: Sizes of the hidden layers.
      feature_columns: Dense feature columns.
      model_dir: Folder of checkpoints and summaries.
      label_dimension: Number of values per label.
      weight_column: Name or column of example weights.
      optimizer: Name ("Adagrad", "Adam", "Ftrl", "RMSProp", "SGD"), optimizer, or function.
      activation_fn: Activation of the hidden layers; default: relu.
      dropout: Fraction of the activations to drop during training.
      config: RunConfig.
      warm_start_from: Checkpoint, or WarmStartSettings, of initial values.
      loss_reduction: "sum_over_batch_size" or "weighted_sum_over_batch_size": the mean; any other
        name: the sum; default: the sum in graph mode, else the mean.
    """

    def __init__(
        self,
        hidden_units: Sequence[int],
        feature_columns: Any,
        model_dir: str | os.PathLike | None = None,
        label_dimension: int = 1,
        weight_column: Any = None,
        optimizer: Any = "Adagrad",
        activation_fn: Callable | None = None,
        dropout: float | None = None,
        config: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str | None = None,
    ) -> None:
        head = heads.Regression(
            label_dimension, weight_column=weight_column, loss_reduction=loss_reduction
        )
        self._make(
            head,
            _deep_part(hidden_units, feature_columns, optimizer, activation_fn, dropout),
            model_dir=model_dir,
            config=config,
            warm_start_from=warm_start_from,
        )


@export("estimator.LinearClassifier", v1="contrib.learn.LinearClassifier")
class LinearClassifier(_Canned):
    """Linear classifier over feature columns.

    Args:
      feature_columns: Feature columns.
      model_dir: Folder of checkpoints and summaries.
      n_classes: Number of classes.
      weight_column: Name or column of example weights.
      label_vocabulary: List of the labels, if they are strings.
      optimizer: Name ("Adagrad", "Adam", "Ftrl", "RMSProp", "SGD"), optimizer, or function.
      config: RunConfig.
      partitioner: Has no effect: variables are not partitioned, which does not change results.
      warm_start_from: Checkpoint, or WarmStartSettings, of initial values.
      loss_reduction: "sum_over_batch_size" or "weighted_sum_over_batch_size": the mean; any other
        name: the sum; default: the sum in graph mode, else the mean.
      sparse_combiner: How several values of a categorical column are combined: "sum", "mean",
        "sqrtn".
    """

    def __init__(
        self,
        feature_columns: Any,
        model_dir: str | os.PathLike | None = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Sequence[str] | None = None,
        optimizer: Any = "Ftrl",
        config: Any = None,
        partitioner: Callable | None = None,
        warm_start_from: Any = None,
        loss_reduction: str | None = None,
        sparse_combiner: str = "sum",
    ) -> None:
        del partitioner  # it splits variables, which does not change results
        head = heads.classifier(
            n_classes, label_vocabulary, weight_column=weight_column, loss_reduction=loss_reduction
        )
        self._make(
            head,
            linear=(list(feature_columns), optimizer, sparse_combiner),
            model_dir=model_dir,
            config=config,
            warm_start_from=warm_start_from,
        )


@export("estimator.LinearRegressor", v1="contrib.learn.LinearRegressor")
class LinearRegressor(_Canned):
    """Linear regressor over feature columns.

    Args:
      feature_columns: Feature columns.
      model_dir: Folder of checkpoints and summaries.
      label_dimension: Number of values per label.
      weight_column: Name or column of example weights.
      optimizer: Name ("Adagrad", "Adam", "Ftrl", "RMSProp", "SGD"), optimizer, or function.
      config: RunConfig.
      partitioner: Has no effect: variables are not partitioned, which does not change results.
      warm_start_from: Checkpoint, or WarmStartSettings, of initial values.
      loss_reduction: "sum_over_batch_size" or "weighted_sum_over_batch_size": the mean; any other
        name: the sum; default: the sum in graph mode, else the mean.
      sparse_combiner: How several values of a categorical column are combined: "sum", "mean",
        "sqrtn".
    """

    def __init__(
        self,
        feature_columns: Any,
        model_dir: str | os.PathLike | None = None,
        label_dimension: int = 1,
        weight_column: Any = None,
        optimizer: Any = "Ftrl",
        config: Any = None,
        partitioner: Callable | None = None,
        warm_start_from: Any = None,
        loss_reduction: str | None = None,
        sparse_combiner: str = "sum",
    ) -> None:
        del partitioner  # it splits variables, which does not change results
        head = heads.Regression(
            label_dimension, weight_column=weight_column, loss_reduction=loss_reduction
        )
        self._make(
            head,
            linear=(list(feature_columns), optimizer, sparse_combiner),
            model_dir=model_dir,
            config=config,
            warm_start_from=warm_start_from,
        )


def _combined(self, head, kwargs, deep, linear):
    if not deep[0] and not linear[0]:
        raise ValueError("Either linear_feature_columns or dnn_feature_columns must be defined.")
    if deep[0] and not deep[1]:
        raise ValueError("dnn_hidden_units must be defined when dnn_feature_columns is specified.")
    self._make(head, deep if deep[0] else None, linear if linear[0] else None, **kwargs)


@export("estimator.DNNLinearCombinedClassifier")
class DNNLinearCombinedClassifier(_Canned):
    """Classifier that adds the logits of a linear model and a DNN ("wide and deep").

    The arguments with `linear_` and `dnn_` are those of LinearClassifier and DNNClassifier.

    Raises:
      ValueError: If there are no feature columns, or dnn_hidden_units is missing.
    """

    def __init__(
        self,
        model_dir: str | os.PathLike | None = None,
        linear_feature_columns: Any = None,
        linear_optimizer: Any = "Ftrl",
        dnn_feature_columns: Any = None,
        dnn_optimizer: Any = "Adagrad",
        dnn_hidden_units: Any = None,
        dnn_activation_fn: Callable | None = None,
        dnn_dropout: Any = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Sequence[str] | None = None,
        config: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str | None = None,
        linear_sparse_combiner: str = "sum",
    ) -> None:
        head = heads.classifier(
            n_classes, label_vocabulary, weight_column=weight_column, loss_reduction=loss_reduction
        )
        _combined(
            self,
            head,
            {"model_dir": model_dir, "config": config, "warm_start_from": warm_start_from},
            _deep_part(
                dnn_hidden_units or (),
                dnn_feature_columns or (),
                dnn_optimizer,
                dnn_activation_fn,
                dnn_dropout,
            ),
            (list(linear_feature_columns or ()), linear_optimizer, linear_sparse_combiner),
        )


@export("estimator.DNNLinearCombinedRegressor")
class DNNLinearCombinedRegressor(_Canned):
    """Regressor that adds the outputs of a linear model and a DNN ("wide and deep").

    The arguments with `linear_` and `dnn_` are those of LinearRegressor and DNNRegressor.

    Raises:
      ValueError: If there are no feature columns, or dnn_hidden_units is missing.
    """

    def __init__(
        self,
        model_dir: str | os.PathLike | None = None,
        linear_feature_columns: Any = None,
        linear_optimizer: Any = "Ftrl",
        dnn_feature_columns: Any = None,
        dnn_optimizer: Any = "Adagrad",
        dnn_hidden_units: Any = None,
        dnn_activation_fn: Callable | None = None,
        dnn_dropout: Any = None,
        label_dimension: int = 1,
        weight_column: Any = None,
        config: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str | None = None,
        linear_sparse_combiner: str = "sum",
    ) -> None:
        head = heads.Regression(
            label_dimension, weight_column=weight_column, loss_reduction=loss_reduction
        )
        _combined(
            self,
            head,
            {"model_dir": model_dir, "config": config, "warm_start_from": warm_start_from},
            _deep_part(
                dnn_hidden_units or (),
                dnn_feature_columns or (),
                dnn_optimizer,
                dnn_activation_fn,
                dnn_dropout,
            ),
            (list(linear_feature_columns or ()), linear_optimizer, linear_sparse_combiner),
        )
