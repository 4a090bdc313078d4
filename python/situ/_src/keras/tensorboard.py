# SPDX-License-Identifier: Apache-2.0
"""tensorboard.py: tf.keras.callbacks.TensorBoard: results, weights, graphs and profiles."""

from __future__ import annotations

import os
import time

import numpy

from situ._src.framework import api
from situ._src.framework.keywords import reject_unknown, unsupported
from situ._src.keras.callbacks import Callback
from situ._src.keras.registry import keras_export
from situ._src.profiler import profiler
from situ._src.summary.protos import Summary, SummaryMetadata, tensor_proto
from situ._src.summary.summary_ops_v2 import write_value
from situ._src.summary.trace import graph as write_graph_event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any

_STRING = 7


def _batches(profile_batch):
    """Returns the first and the last batch to profile; (0, 0): none."""
    wrong = ValueError(
        "profile_batch must be a non-negative integer or 2-tuple of positive integers. A pair of "
        f"positive integers signifies a range of batches to profile. Found: {profile_batch}"
    )
    if isinstance(profile_batch, str):
        try:
            parts = [int(p) for p in profile_batch.split(",")]
        except ValueError:
            raise wrong from None
        profile_batch = parts[0] if len(parts) == 1 else parts
    if isinstance(profile_batch, int):
        profile_batch = (profile_batch, profile_batch)
    if not isinstance(profile_batch, (tuple, list)) or len(profile_batch) != 2:
        raise wrong
    first, last = profile_batch
    if first < 0 or last < first:
        raise wrong
    return first, last


def _images(weight):
    """Returns a weight as images [n, height, width, 1]; None if its rank is too high."""
    array = numpy.squeeze(weight)
    if array.ndim == 1:
        return array.reshape(1, -1, 1, 1)
    if array.ndim == 2:
        array = array.T if array.shape[0] > array.shape[1] else array
        return array[None, :, :, None]
    if array.ndim == 3:
        return numpy.transpose(array, (2, 0, 1))[..., None]
    return array if array.ndim == 4 and array.shape[-1] in (1, 3, 4) else None


@keras_export("callbacks.TensorBoard")
class TensorBoard(Callback):
    """Writes the results of epochs (and steps) as summaries, the graph of the training step, and a
    profile of some batches.

    Args:
      log_dir: the folder; summaries go to its folders `train` and `validation`.
      histogram_freq: every so many epochs, histograms of the weights; 0: none.
      write_graph: whether the graph of the training step is written.
      write_images: whether weights are written as images, with the histograms.
      write_steps_per_second: whether steps per second are written.
      update_freq: "epoch", "batch", or a number of batches.
      profile_batch: the batch to profile (from 1), or the first and the last; 0: none.
      embeddings_freq, embeddings_metadata: not supported; any other value than the default raises
        NotImplementedError.
    """

    _writers: dict

    def __init__(
        self,
        log_dir: str = "logs",
        histogram_freq: int = 0,
        write_graph: bool = True,
        write_images: bool = False,
        write_steps_per_second: bool = False,
        update_freq: str | int = "epoch",
        profile_batch: Any = 0,
        embeddings_freq: int = 0,
        embeddings_metadata: Any = None,
        **kwargs: Any,
    ):
        reject_unknown(type(self), kwargs)
        super().__init__()
        unsupported(
            "TensorBoard",
            embeddings_freq=(embeddings_freq, 0),
            embeddings_metadata=(embeddings_metadata, None),
        )
        self.log_dir, self.histogram_freq = os.fspath(log_dir), histogram_freq
        self.write_graph, self.write_images = write_graph, write_images
        self.write_steps_per_second = write_steps_per_second
        self.update_freq = 1 if update_freq == "batch" else update_freq
        self._first, self._last = _batches(profile_batch)
        self._writers, self._step, self._profiling = {}, 0, False
        if self.update_freq != "epoch" or self._last or write_steps_per_second:
            self.__dict__["on_train_batch_end"] = self._on_batch
        if self._last or write_steps_per_second:
            self.__dict__["on_train_batch_begin"] = self._before_batch

    def _writer(self, which):
        if which not in self._writers:
            make = api.named("summary.create_file_writer")
            self._writers[which] = make(os.path.join(self.log_dir, which))
        return self._writers[which]

    def _write(self, which, prefix, logs, step):
        scalar = api.named("summary.scalar")
        with self._writer(which).as_default():
            for name, value in logs.items():
                scalar(prefix + name, value, step=step)

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        self._step, self._has_graph = 0, False
        if self.write_graph:
            self._write_model()

    def _write_model(self):
        """The layers of the model, for the conceptual graph."""
        try:
            text = self.model.to_json()
        except NotImplementedError:  # a model of its own class has none
            return
        metadata = SummaryMetadata()
        metadata.plugin_data.plugin_name = "graph_keras_model"
        metadata.plugin_data.content = b"1"
        with self._writer("train").as_default():
            write_value(
                Summary.Value(
                    tag="keras",
                    metadata=metadata,
                    tensor=tensor_proto([text.encode()], _STRING, "string_val", []),
                ),
                0,
            )

    def _write_step_graph(self):
        """The graph of the training step, once it has been compiled."""
        self._has_graph = True
        graph = self.model._programs.graphs.get("train")
        if graph is not None:
            with self._writer("train").as_default():
                write_graph_event(graph)

    def _before_batch(self, _batch, _logs=None):
        self._began = time.time()
        if self._last and self._step + 1 == max(self._first, 1) and not self._profiling:
            profiler.start(os.path.join(self.log_dir, "train"))
            self._profiling = True

    def _on_batch(self, _batch, logs=None):
        self._step += 1
        if self._profiling and self._step >= self._last:
            self._stop_profile()
        if self.write_steps_per_second:
            spent = max(time.time() - self._began, 1e-9)
            self._write("train", "batch_", {"steps_per_second": 1.0 / spent}, self._step)
        if self.update_freq != "epoch" and self._step % self.update_freq == 0:
            self._write("train", "batch_", logs or {}, self._step)

    def _stop_profile(self):
        self._profiling = False
        profiler.stop()

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        self._epoch_began, self._epoch_step = time.time(), self._step

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        logs = logs or {}
        if self.write_graph and not self._has_graph:
            self._write_step_graph()
        seen = {k: v for k, v in logs.items() if not k.startswith("val_")}
        if self.write_steps_per_second:
            seen["steps_per_second"] = (self._step - self._epoch_step) / max(
                time.time() - self._epoch_began, 1e-9
            )
        self._write("train", "epoch_", seen, epoch)
        checked = {k[4:]: v for k, v in logs.items() if k.startswith("val_")}
        if checked:
            self._write("validation", "epoch_", checked, epoch)
        if self.histogram_freq and epoch % self.histogram_freq == 0:
            self._write_weights(epoch)

    def _write_weights(self, epoch):
        histogram, image = map(api.named, ("summary.histogram", "summary.image"))
        with self._writer("train").as_default():
            for variable in self.model.weights:
                name = variable.name.split(":")[0]
                histogram(name, variable.value(), step=epoch)
                images = _images(variable.numpy()) if self.write_images else None
                if images is not None:
                    image(name + "/image", images, step=epoch)

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        if self._profiling:
            self._stop_profile()
        for writer in self._writers.values():
            writer.close()
        self._writers = {}
