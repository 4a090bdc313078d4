# SPDX-License-Identifier: Apache-2.0
"""exporting.py: exports estimators as SavedModels: serving input receivers and exporters."""

from __future__ import annotations

import collections
import glob
import os
import shutil
import time

from situ._src.checkpoint.saver import Saver
from situ._src.estimator.spec import ModeKeys
from situ._src.framework import logs
from situ._src.framework.api import BOTH, V1
from situ._src.framework.api import export as exported
from situ._src.framework.graph import Graph
from situ._src.framework.session import Session
from situ._src.ops.array_ops import placeholder
from situ._src.saved_model import builder as saved_model_v1
from situ._src.summary.event_file import summary_iterator
from situ._src.training.global_step import create_global_step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any, Callable

_DEFAULT = "serving_default"


@exported("estimator.export.ServingInputReceiver")
class ServingInputReceiver(
    collections.namedtuple(
        "ServingInputReceiver", ["features", "receiver_tensors", "receiver_tensors_alternatives"]
    )
):
    """Features of a served model and the placeholders that are fed for them.

    Args:
      features: Tensor, or dictionary of tensors, for the model_fn.
      receiver_tensors: Placeholders that clients feed: a tensor or a dictionary.
      receiver_tensors_alternatives: Dictionary from names to other placeholders that clients may
        feed; each makes a signature "name:output" per output.
    """

    def __new__(cls, features, receiver_tensors, receiver_tensors_alternatives=None):
        if not isinstance(receiver_tensors, dict):
            receiver_tensors = {"input": receiver_tensors}
        return super().__new__(cls, features, receiver_tensors, receiver_tensors_alternatives)


TensorServingInputReceiver = ServingInputReceiver
BOTH["estimator.export.TensorServingInputReceiver"] = ServingInputReceiver


@exported("estimator.export.build_raw_serving_input_receiver_fn")
def build_raw_serving_input_receiver_fn(
    features: Any, default_batch_size: int | None = None
) -> Any:
    """Returns a serving_input_receiver_fn whose features are fed directly.

    Args:
      features: Dictionary from names to tensors that have the shapes and types.
      default_batch_size: Batch size; default: any.
    """

    def receive():
        result = {}
        for name, tensor in features.items():
            shape = tensor.shape.as_list() if tensor.shape.rank is not None else None
            if shape is not None and shape:
                shape = [default_batch_size, *shape[1:]]
            result[name] = placeholder(tensor.dtype, shape, tensor.op.name)
        return ServingInputReceiver(result, dict(result))

    return receive


@exported("estimator.export.build_parsing_serving_input_receiver_fn")
def build_parsing_serving_input_receiver_fn(
    feature_spec: Any, default_batch_size: int | None = None
) -> Any:
    """Returns a serving_input_receiver_fn that parses serialized tf.train.Examples.

    Args:
      feature_spec: Dictionary for tf.io.parse_example.
      default_batch_size: Batch size; default: any.
    """

    def receive():
        serialized = placeholder("string", [default_batch_size], "input_example_tensor")
        parse = V1.get("parse_example") or BOTH["io.parse_example"]
        return ServingInputReceiver(parse(serialized, feature_spec), {"examples": serialized})

    return receive


def _outputs(spec):
    """Returns (kind of signature, tensors) by the names of the signatures."""
    outputs = spec.export_outputs
    if not outputs:
        named = (
            spec.predictions if isinstance(spec.predictions, dict) else {"output": spec.predictions}
        )
        return {_DEFAULT: ("predict", named)}
    result = {}
    for key, output in outputs.items():
        parts = vars(output)
        kind = {
            "PredictOutput": "predict",
            "RegressionOutput": "regress",
            "ClassificationOutput": "classify",
        }.get(type(output).__name__, "predict")
        if kind == "predict":
            tensors = parts["outputs"]
            tensors = tensors if isinstance(tensors, dict) else {"output": tensors}
        elif kind == "regress":
            tensors = {"outputs": parts["value"]}
        else:
            tensors = {k: parts[k] for k in ("classes", "scores") if parts[k] is not None}
        result[key] = kind, tensors
    if len(result) == 1:
        result[_DEFAULT] = next(iter(result.values()))
    return result


def _folder(base):
    """Returns the path of a new folder named by the time."""
    stamp = int(time.time())
    while os.path.exists(os.path.join(base, str(stamp))):
        stamp += 1
    return os.path.join(base, str(stamp))


def _copy_assets(assets, folder):
    """Copies files into the folder "assets.extra"; `assets` maps their paths there to sources."""
    for path, source in (assets or {}).items():
        target = os.path.join(folder, "assets.extra", path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copyfile(source, target)


def export(estimator, base, receive, path, assets_extra=None, as_text=False):
    """Writes the model of a checkpoint; returns the folder as bytes, as TensorFlow does."""

    if receive is None:
        raise ValueError("serving_input_receiver_fn must be defined.")
    if not path:
        raise ValueError(f"Couldn't find trained model at {estimator.model_dir}.")
    base = base.decode() if isinstance(base, bytes) else os.fspath(base)
    folder = _folder(base)
    with Graph().as_default() as graph:
        create_global_step()
        receiver = receive()
        spec = estimator._call(receiver.features, None, ModeKeys.PREDICT, estimator.config)
        signatures = {
            key: saved_model_v1._signature(kind, receiver.receiver_tensors, tensors)
            for key, (kind, tensors) in _outputs(spec).items()
        }
        for name, fed in (receiver.receiver_tensors_alternatives or {}).items():
            fed = fed if isinstance(fed, dict) else {"input": fed}
            for key, (kind, tensors) in _outputs(spec).items():
                signatures[f"{name}:{key}"] = saved_model_v1._signature(kind, fed, tensors)
        with Session(graph=graph, config=estimator.config.session_config) as session:
            saver = spec.scaffold.saver or Saver(allow_empty=True)
            saver.restore(session, path)
            main = saved_model_v1.main_op()
            session.run(main)
            builder = saved_model_v1.SavedModelBuilder(folder)
            builder.add_meta_graph_and_variables(
                session, ["serve"], signatures, main_op=main, saver=saver
            )
            builder.save(as_text)
    _copy_assets(assets_extra, folder)
    logs.info("SavedModel written to: %s", folder)
    return folder.encode()


@exported("estimator.Exporter")
class Exporter:
    """Base class of exporters, which write a SavedModel after an evaluation.

    Args:
      name: Name of the exporter and of its folder.
      serving_input_receiver_fn: Function that returns a ServingInputReceiver.
      assets_extra: Dictionary from paths below the folder "assets.extra" of the SavedModel to the
        files to copy there.
      as_text: Whether the model file is saved_model.pbtxt.
      exports_to_keep: Number of exports to keep; None or 0: all.
    """

    name = "exporter"

    def __init__(
        self,
        name: str = "exporter",
        serving_input_receiver_fn: Callable | None = None,
        assets_extra: Any = None,
        as_text: bool = False,
        exports_to_keep: int | None = 5,
    ) -> None:
        self.name, self._receive, self._keep = name, serving_input_receiver_fn, exports_to_keep
        self._assets_extra, self._as_text = assets_extra, as_text

    def export(
        self,
        estimator: Any,
        export_path: str,
        checkpoint_path: str | None,
        eval_result: Any,
        is_the_final_export: bool,
    ) -> Any:
        """Exports a SavedModel; subclasses define it.

        Args:
          estimator: The Estimator.
          export_path: The folder.
          checkpoint_path: The checkpoint.
          eval_result: Results of the evaluation.
          is_the_final_export: Whether training has ended.
        """
        del eval_result, is_the_final_export  # for subclasses
        result = export(
            estimator,
            export_path,
            self._receive,
            checkpoint_path,
            self._assets_extra,
            self._as_text,
        )
        if self._keep:
            old = sorted(d for d in os.listdir(export_path) if d.isdigit())
            for folder in old[: -self._keep]:
                shutil.rmtree(os.path.join(export_path, folder))
        return result


@exported("estimator.LatestExporter")
class LatestExporter(Exporter):
    """Exports after every evaluation and keeps the latest exports; arguments as in Exporter."""

    def __init__(
        self,
        name: str,
        serving_input_receiver_fn: Callable,
        assets_extra: Any = None,
        as_text: bool = False,
        exports_to_keep: int | None = 5,
    ) -> None:
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text, exports_to_keep)


@exported("estimator.FinalExporter")
class FinalExporter(Exporter):
    """Exports once, at the end of training, and keeps all exports; arguments as in Exporter."""

    def __init__(
        self,
        name: str,
        serving_input_receiver_fn: Callable,
        assets_extra: Any = None,
        as_text: bool = False,
    ) -> None:
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text, None)

    def export(
        self,
        estimator: Any,
        export_path: str,
        checkpoint_path: str | None,
        eval_result: Any,
        is_the_final_export: bool,
    ) -> Any:
        if not is_the_final_export:
            return None
        return super().export(estimator, export_path, checkpoint_path, eval_result, True)


def _results_of(path):
    """Yields the results of the evaluations of an event file."""
    for event in summary_iterator(path):
        if event.HasField("summary"):
            values = [v for v in event.summary.value if v.HasField("simple_value")]
            yield {"global_step": event.step, **{v.tag: v.simple_value for v in values}}


@exported("estimator.BestExporter")
class BestExporter(Exporter):
    """Exports when an evaluation is better than all before; further arguments as in Exporter.

    Args:
      event_file_pattern: Pattern, below the model's folder, of the event files of earlier
        evaluations, which are compared, too; None: only those of this object are.
      compare_fn: Function of (best_eval_result, current_eval_result) that returns whether the
        current one is better; default: compares the losses.
    """

    def __init__(
        self,
        name: str = "best_exporter",
        serving_input_receiver_fn: Callable | None = None,
        event_file_pattern: str = "eval/*.tfevents.*",
        compare_fn: Callable | None = None,
        assets_extra: Any = None,
        as_text: bool = False,
        exports_to_keep: int | None = 5,
    ) -> None:
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text, exports_to_keep)
        self._better = compare_fn or (lambda best, now: best["loss"] > now["loss"])
        self._best, self._event_file_pattern = None, event_file_pattern
        self._model_dir = None  # whose event files were read

    def _best_of_events(self, step):
        """Returns the best result of the event files before a global step, or None."""
        best = None
        for path in sorted(glob.glob(os.path.join(self._model_dir, self._event_file_pattern))):
            for result in _results_of(path):
                if result["global_step"] < step and (best is None or self._better(best, result)):
                    best = result
        return best

    def export(
        self,
        estimator: Any,
        export_path: str,
        checkpoint_path: str | None,
        eval_result: Any,
        is_the_final_export: bool,
    ) -> Any:
        if self._model_dir != estimator.model_dir and self._event_file_pattern:
            self._model_dir = estimator.model_dir
            self._best = self._best_of_events(eval_result["global_step"])
        if self._best is not None and not self._better(self._best, eval_result):
            return None
        self._best = eval_result
        return super().export(
            estimator, export_path, checkpoint_path, eval_result, is_the_final_export
        )
