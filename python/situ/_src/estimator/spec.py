# SPDX-License-Identifier: Apache-2.0
"""spec.py: tf.estimator.EstimatorSpec, the result of a model_fn, and ModeKeys."""

import collections

import _situ
from situ._src.framework.api import BOTH, export
from situ._src.framework.graph import GraphKeys, get_default_graph
from situ._src.ops.array_ops import convert_to_tensor, op
from situ._src.training.scaffold import Scaffold
from situ._src.training.session_run_hook import SessionRunHook
from situ._src.variables.variable import Variable


@export("estimator.ModeKeys")
class ModeKeys:
    """The modes of a model_fn: TRAIN, EVAL and PREDICT."""

    TRAIN, EVAL, PREDICT = "train", "eval", "infer"


_EstimatorSpecFields = collections.namedtuple(
    "_EstimatorSpecFields",
    (
        "mode",
        "predictions",
        "loss",
        "train_op",
        "eval_metric_ops",
        "export_outputs",
        "training_chief_hooks",
        "training_hooks",
        "scaffold",
        "evaluation_hooks",
        "prediction_hooks",
    ),
)


def _is_node(value):
    return isinstance(value, (_situ.GraphTensor, _situ.Operation, Variable))


def _check_loss(loss, mode):
    if loss is None:
        if mode in (ModeKeys.TRAIN, ModeKeys.EVAL):
            raise ValueError("Missing loss.")
        return None
    if not isinstance(loss, _situ.GraphTensor):
        raise TypeError(f"loss must be Tensor, given: {loss}")
    shape = loss.shape
    if not shape.is_compatible_with([]) and not shape.is_compatible_with([1]):
        raise ValueError(f"Loss must be scalar, given: {loss}")
    return op("Reshape", loss, []) if shape.ndims else loss


def _check_predictions(predictions, mode):
    if predictions is None:
        if mode == ModeKeys.PREDICT:
            raise ValueError("Missing predictions.")
        return {}
    parts = predictions if isinstance(predictions, dict) else {"": predictions}
    for key, value in parts.items():
        if not isinstance(value, (_situ.GraphTensor, Variable)):
            where = f"predictions[{key}]" if key else "predictions"
            raise TypeError(f"{where} must be Tensor, given: {value}")
    result = {key: convert_to_tensor(value) for key, value in parts.items()}
    return result if isinstance(predictions, dict) else result[""]


def _check_metrics(metrics):
    if metrics is None:
        return {}
    if not isinstance(metrics, dict):
        raise TypeError(f"eval_metric_ops must be a dict, given: {metrics}")
    for key, value in metrics.items():
        pair = isinstance(value, tuple) and len(value) == 2
        if not pair and not hasattr(value, "update_state"):
            raise TypeError(
                "Values of eval_metric_ops must be (metric_value, update_op) tuples, "
                f"given: {value} for key: {key}"
            )
    make_local([m for m in metrics.values() if not isinstance(m, tuple)])
    return metrics


def make_local(metrics):
    """Moves variables of Keras metrics to the local variables, which checkpoints leave out."""
    graph = get_default_graph()
    everywhere = graph.get_collection_ref(GraphKeys.GLOBAL_VARIABLES)
    for variable in [v for m in metrics for v in m.variables]:
        if variable in everywhere:
            everywhere.remove(variable)
            graph.add_to_collection(GraphKeys.LOCAL_VARIABLES, variable)


def _check_hooks(hooks, what):
    hooks = tuple(hooks or ())
    for hook in hooks:
        if not isinstance(hook, SessionRunHook):
            raise TypeError(f"All hooks in {what} must be SessionRunHook instances, given: {hook}")
    return hooks


@export("estimator.EstimatorSpec")
class EstimatorSpec(_EstimatorSpecFields):
    """The ops of a model for one mode: the result of a model_fn.

    Args:
      mode: A value of ModeKeys.
      predictions: Tensor, or dictionary of tensors; required for PREDICT.
      loss: Tensor of shape [] or [1], which becomes a scalar; required for TRAIN and EVAL.
      train_op: Op of a training step; required for TRAIN.
      eval_metric_ops: Dictionary from names to (value, update_op) or Keras metrics.
      export_outputs: Dictionary from signature names to PredictOutput, RegressionOutput or
        ClassificationOutput; default: one signature of the predictions.
      training_chief_hooks: Hooks of the chief during training.
      training_hooks: Hooks during training.
      scaffold: tf.train.Scaffold; default: a new one.
      evaluation_hooks: Hooks during evaluation.
      prediction_hooks: Hooks during prediction.

    Raises:
      TypeError: If an argument has the wrong type.
      ValueError: If an argument that the mode requires is missing, or the loss is not a scalar.
    """

    def __new__(
        cls,
        mode,
        predictions=None,
        loss=None,
        train_op=None,
        eval_metric_ops=None,
        export_outputs=None,
        training_chief_hooks=None,
        training_hooks=None,
        scaffold=None,
        evaluation_hooks=None,
        prediction_hooks=None,
    ):
        if train_op is None and mode == ModeKeys.TRAIN:
            raise ValueError("Missing train_op.")
        if train_op is not None and not _is_node(train_op):
            raise TypeError(f"train_op must be Operation or Tensor, given: {train_op}")
        scaffold = scaffold or Scaffold()
        if not isinstance(scaffold, Scaffold):
            raise TypeError(f"scaffold must be tf.train.Scaffold. Given: {scaffold}")
        return super().__new__(
            cls,
            mode,
            _check_predictions(predictions, mode),
            _check_loss(loss, mode),
            train_op,
            _check_metrics(eval_metric_ops),
            export_outputs,
            _check_hooks(training_chief_hooks, "training_chief_hooks"),
            _check_hooks(training_hooks, "training_hooks"),
            scaffold,
            _check_hooks(evaluation_hooks, "evaluation_hooks"),
            _check_hooks(prediction_hooks, "prediction_hooks"),
        )


class _Output:
    """Output of a signature of a SavedModel."""

    def __init__(self, **parts):
        self.__dict__.update(parts)


def _output(name, *fields):
    def __init__(self, *values, **named):
        _Output.__init__(self, **{**dict.fromkeys(fields), **dict(zip(fields, values)), **named})

    result = type(name, (_Output,), {"__init__": __init__, "__doc__": _Output.__doc__})
    BOTH["estimator.export." + name] = result


_output("PredictOutput", "outputs")
_output("RegressionOutput", "value")
_output("ClassificationOutput", "scores", "classes")
