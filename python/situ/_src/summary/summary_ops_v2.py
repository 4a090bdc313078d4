# SPDX-License-Identifier: Apache-2.0
"""summary_ops_v2.py: tf.summary of TensorFlow 2: values are written to the default writer, eagerly
or whenever a traced function runs."""

from __future__ import annotations

import contextlib
import time

import numpy

import _situ
from situ._src.framework.api import export
from situ._src.framework.graph_scopes import ReusableScope
from situ._src.framework.scopes import eager_scope
from situ._src.ops.array_ops import convert_to_tensor
from situ._src.ops.image import png
from situ._src.summary.event_file import EventFile
from situ._src.summary.protos import Event, Summary, SummaryMetadata, tensor_proto
from situ._src.summary.summary_ops import text_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any, TensorLike

_state: dict = {"writer": None, "step": None, "record": True}
_FLOAT, _DOUBLE, _STRING = 1, 2, 7
_SCALAR, _TENSOR, _BLOB = 1, 2, 3


class _DefaultWriter(ReusableScope):
    """The scope of a default writer."""

    def __init__(self, writer, step):
        super().__init__()
        self._writer, self._step = writer, step

    def _enter(self):
        before = _state["writer"], _state["step"]
        _state["writer"] = self._writer
        if self._step is not None:
            _state["step"] = self._step

        def leave(*_error):
            self._writer.flush()
            _state["writer"], _state["step"] = before

        return self._writer, leave


class Writer:
    """A summary writer over an event file."""

    def __init__(self, logdir, max_queue=None, flush_millis=None, filename_suffix=None):
        self._file = EventFile(
            logdir,
            ".v2" if filename_suffix is None else filename_suffix,
            10 if max_queue is None else max_queue,
            (120000 if flush_millis is None else flush_millis) / 1000,
        )

    def as_default(self, step=None):
        """Returns a context manager that makes this the default writer.

        Args:
          step: the default step, or None.
        """
        return _DefaultWriter(self, step)

    set_as_default = property(
        lambda s: (
            lambda step=None: _state.update(
                writer=s, step=step if step is not None else _state["step"]
            )
        )
    )

    def init(self):
        """Does nothing: the file is created by the constructor."""

    def flush(self):
        """Writes buffered events to the file."""
        self._file.flush()

    def close(self):
        """Flushes and closes the file."""
        self._file.close()

    def add(self, value, step):
        """Writes a summary, or a summary value."""
        summary = value if isinstance(value, Summary) else Summary(value=[value])
        self.add_event(Event(wall_time=time.time(), step=int(step), summary=summary))

    def add_event(self, event):
        """Writes an event."""
        self._file.write(event)


class NoWriter(Writer):
    """A writer that discards everything."""

    def __init__(self):
        pass

    def flush(self):
        pass

    close = flush

    def add_event(self, event):
        pass


@export(
    v2="summary.create_file_writer",
    v1=("contrib.summary.create_file_writer", "contrib.summary.create_summary_file_writer"),
)
def create_file_writer(
    logdir: str,
    max_queue: int | None = None,
    flush_millis: Any = None,
    filename_suffix: str | None = None,
    name: str | None = None,
) -> Writer:
    """Creates a summary writer for an event file.

    Args:
      logdir: the directory.
      max_queue: the number of events to buffer; 10 by default.
      flush_millis: the maximum time between flushes; 2 minutes by default.
      filename_suffix: the suffix of the file name; ".v2" by default.
      name: has no effect: a writer is not an op.

    Returns:
      A writer.
    """
    del name  # a writer is not an op
    return Writer(_host(logdir), max_queue, flush_millis, filename_suffix)


@export(v2="summary.create_noop_writer")
def create_noop_writer() -> Writer:
    """Creates a writer that discards everything."""
    return NoWriter()


def _host(value):
    """Returns the value of a tensor as a NumPy array or Python object."""
    value = value.numpy() if hasattr(value, "numpy") else value
    return value.decode() if isinstance(value, bytes) else value


def _step(step):
    step = _state["step"] if step is None else step
    if step is None:
        raise ValueError(
            "No step set. Please specify one either through the `step` argument or "
            "through tf.summary.experimental.set_step()"
        )
    return int(_host(step))


def _metadata(plugin, kind, description, content=b""):
    made = SummaryMetadata(data_class=kind, summary_description=_host(description or ""))
    made.plugin_data.plugin_name = plugin
    made.plugin_data.content = content
    return made


def _recording():
    record = _state["record"]
    return bool(_host(record() if callable(record) else record))


class _Sink:
    """Receives a value that a traced function computes, with the interface of a variable."""

    def __init__(self, receive):
        self._receive = receive

    def _put(self, value):
        self._receive(_host(value))


def _trace(graph, writer, name, data, step, make):
    """Makes every run of the traced function write the value."""
    step = _state["step"] if step is None else step
    if step is None:
        _step(step)
    seen = []
    graph.write_variable(_Sink(seen.append), convert_to_tensor(data))
    graph.write_variable(
        _Sink(lambda at: writer.add(make(name, seen.pop()), at)), convert_to_tensor(step)
    )


def write_value_of(name, data, step, make):
    """Writes a value now, or in every run of the function that is being traced."""
    writer = _state["writer"]
    if writer is None or not _recording():
        return False
    graph = _situ.current_graph()
    name = eager_scope() + name
    if graph is not None and graph.building_function:
        _trace(graph, writer, name, data, step, make)
    else:
        writer.add(make(name, _host(data)), _step(step))
    return True


def write_value(value, step) -> bool:
    """Writes a summary value eagerly. Returns False if there is no writer, or none is recorded."""
    writer = _state["writer"]
    if writer is None or not _recording():
        return False
    writer.add(value, _step(step))
    return True


def add_event(event) -> bool:
    """Writes an event that is not a summary. Returns False if there is no writer, or none is
    recorded."""
    writer = _state["writer"]
    if writer is None or not _recording():
        return False
    event.wall_time = time.time()
    writer.add_event(event)
    return True


@export(v2="summary.scalar")
def scalar(name: str, data: TensorLike, step: Any = None, description: str | None = None) -> Any:
    """Writes a number.

    Args:
      name: the tag.
      data: a scalar.
      step: the step; by default that of set_step.
      description: a description for TensorBoard.

    Returns:
      Whether the value was written.

    Raises:
      ValueError: there is a writer but no step.
    """

    def make(tag, value):
        value = float(numpy.asarray(value).reshape(()))
        return Summary.Value(
            tag=tag,
            metadata=_metadata("scalars", _SCALAR, description),
            tensor=tensor_proto([value], _FLOAT, "float_val", []),
        )

    return write_value_of(name, data, step, make)


@export(v2="summary.histogram")
def histogram(
    name: str,
    data: TensorLike,
    step: Any = None,
    buckets: Any = None,
    description: str | None = None,
) -> Any:
    """Writes the distribution of a tensor's elements.

    Args:
      name: the tag.
      data: a numeric tensor.
      step: the step; by default that of set_step.
      buckets: the number of buckets of equal width; 30 by default.
      description: a description for TensorBoard.

    Returns:
      Whether the value was written.

    Raises:
      ValueError: there is a writer but no step.
    """

    def make(tag, value):
        bins = _even_buckets(numpy.asarray(value, numpy.float64).ravel(), buckets or 30)
        flat = [float(v) for bin_ in bins for v in bin_]
        return Summary.Value(
            tag=tag,
            metadata=_metadata("histograms", _TENSOR, description),
            tensor=tensor_proto(flat, _DOUBLE, "double_val", [len(bins), 3]),
        )

    return write_value_of(name, data, step, make)


def _even_buckets(values, count):
    if not values.size:
        return [(0.0, 0.0, 0.0)] * count
    low, high = values.min(), values.max()
    if low == high:
        empty = [(low, high, 0.0)] * (count - 1)
        return empty + [(low, high, float(values.size))]
    counts, edges = numpy.histogram(values, count, (low, high))
    return list(zip(edges[:-1], edges[1:], counts.astype(float)))


@export(v2="summary.image")
def image(
    name: str,
    data: TensorLike,
    step: Any = None,
    max_outputs: int = 3,
    description: str | None = None,
) -> Any:
    """Writes images, encoded as PNG.

    Args:
      name: the tag.
      data: a tensor of shape [batch, height, width, channels]: floats from 0 to 1, or uint8.
      step: the step; by default that of set_step.
      max_outputs: the maximum number of images.
      description: a description for TensorBoard.

    Returns:
      Whether the value was written.

    Raises:
      ValueError: there is a writer but no step.
    """

    def make(tag, value):
        images = numpy.asarray(value)[:max_outputs]
        if images.dtype != numpy.uint8:
            images = (numpy.clip(images, 0, 1) * 255 + 0.5).astype(numpy.uint8)
        items = [str(images.shape[2]).encode(), str(images.shape[1]).encode()]
        items += [png.encode(i) for i in images]
        return Summary.Value(
            tag=tag,
            metadata=_metadata("images", _BLOB, description),
            tensor=tensor_proto(items, _STRING, "string_val", [len(items)]),
        )

    return write_value_of(name, data, step, make)


@export(v2="summary.text")
def text(name: str, data: TensorLike, step: Any = None, description: str | None = None) -> Any:
    """Writes strings.

    Args:
      name: the tag.
      data: a string tensor.
      step: the step; by default that of set_step.
      description: a description for TensorBoard.

    Returns:
      Whether the value was written.

    Raises:
      ValueError: there is a writer but no step.
    """

    def make(tag, value):
        made = text_value(tag, value)
        made.metadata.MergeFrom(_metadata("text", _TENSOR, description))
        return made

    return write_value_of(name, data, step, make)


@export(v2="summary.write")
def write(
    tag: str, tensor: TensorLike, step: Any = None, metadata: Any = None, name: str | None = None
) -> Any:
    """Writes a tensor.

    Args:
      tag: the tag.
      tensor: a tensor, or a function that returns it.
      step: the step; by default that of set_step.
      metadata: a SummaryMetadata, or None.
      name: has no effect: there is no op.

    Returns:
      Whether the value was written.

    Raises:
      ValueError: there is a writer but no step.
    """
    del name  # there is no op
    if not should_record_summaries():
        return False
    tensor = convert_to_tensor(tensor() if callable(tensor) else tensor)
    kind = tensor.dtype.base_dtype

    def make(_, value):
        return Summary.Value(
            tag=tag, metadata=metadata or SummaryMetadata(), tensor=_proto_of(value, kind)
        )

    return write_value_of(tag, tensor, step, make)


def _proto_of(value, kind):
    """Returns the TensorProto of a NumPy array, or of a string."""
    if kind.name == "string":
        array = numpy.asarray(value, dtype=object)
        items = [v.encode() if isinstance(v, str) else bytes(v) for v in array.ravel()]
        return tensor_proto(items, _STRING, "string_val", array.shape)
    array = numpy.asarray(value, kind.as_numpy_dtype)
    return tensor_proto(array.tobytes(), kind.as_datatype_enum, "tensor_content", array.shape)


@export(v2="summary.should_record_summaries")
def should_record_summaries() -> Any:
    """Returns whether summaries are recorded, a bool or a tensor."""
    return _state["writer"] is not None and _recording()


@export(v2="summary.record_if")
@contextlib.contextmanager
def record_if(condition: TensorLike) -> Any:
    """Records summaries only if a condition, or the result of a function, is true.

    Args:
      condition: Bool, tensor, or function that returns one.
    """
    before, _state["record"] = _state["record"], condition
    try:
        yield
    finally:
        _state["record"] = before


@export(v2="summary.flush")
def flush(writer: Any = None, name: str | None = None) -> None:
    """Writes the buffered events of a writer, by default the default one.

    Args:
      writer: The writer.
      name: has no effect: a writer is not an op.
    """
    del name  # there is no op
    writer = writer or _state["writer"]
    if writer is not None:
        writer.flush()


@export(v2="summary.experimental.set_step")
def set_step(step: Any) -> None:
    """The default step of summaries: a number or a variable.

    Args:
      step: the step; by default that of set_step.
    """
    _state["step"] = step


@export(v2="summary.experimental.get_step")
def get_step() -> Any:
    """Returns the default step of summaries, or None."""
    return _state["step"]
