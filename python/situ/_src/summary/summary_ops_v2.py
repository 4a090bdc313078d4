# SPDX-License-Identifier: Apache-2.0
"""summary_ops_v2.py: tf.summary of TensorFlow 2: values are written to the default writer, eagerly
or whenever a traced function runs."""

from __future__ import annotations

import contextlib
import functools
import re
import time

import numpy

import _situ
from situ._src.framework import errors
from situ._src.framework.api import export
from situ._src.framework.graph_scopes import ReusableScope
from situ._src.framework.message_classes import DecodeError
from situ._src.framework.scopes import add_to_collection, eager_scope
from situ._src.framework.scopes import name_scope as ops_name_scope
from situ._src.framework.tensor import GraphTensor, constant_value
from situ._src.ops import script_ops
from situ._src.ops.array_ops import convert_to_tensor, group
from situ._src.ops.image import png
from situ._src.summary.event_file import EventFile
from situ._src.summary.protos import Event, Summary, SummaryMetadata, tensor_proto
from situ._src.summary.summary_ops import V2_SUMMARIES, text_value

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
            graph = _situ.current_graph()
            if graph is None or graph.building_function:
                self._writer.flush()
            _state["writer"] = before[0]
            if self._step is not None:
                _state["step"] = before[1]

        return self._writer, leave


def _run_on_host(function, inputs=()):
    """Calls a function of arrays that returns a bool: now, or when the graph runs. Returns the
    result as a tensor."""
    return script_ops.on_host(lambda *arrays: [function(*arrays)], list(inputs), ["bool"], [[]])[0]


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
        self._check_open()
        return _DefaultWriter(self, step)

    def set_as_default(self, step=None):
        """Makes this the default writer.

        Args:
          step: the default step; None keeps it.

        Raises:
          RuntimeError: the writer is closed.
        """
        self._check_open()
        _state.update(writer=self, step=_state["step"] if step is None else step)

    def _check_open(self):
        if self._file.closed and _situ.current_graph() is None:
            raise RuntimeError(f"SummaryWriter {self!r} is already closed")

    def init(self):
        """Returns an operation that does nothing, as the constructor creates the file; None
        eagerly.

        Raises:
          RuntimeError: the writer is closed.
        """
        self._check_open()
        return group()

    def flush(self):
        """Writes buffered events to the file; in a graph, returns an operation that does."""
        if _situ.current_graph() is None:
            return self._file.flush()
        return _run_on_host(lambda: self._file.flush() is None).op

    def close(self):
        """Flushes and closes the file; in a graph, returns an operation that does."""
        if _situ.current_graph() is None:
            return self._file.close()
        return _run_on_host(lambda: self._file.close() is None).op

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

    @contextlib.contextmanager
    def as_default(self, step=None):
        """Returns a context manager that changes nothing."""
        del step  # nothing is written
        yield

    def set_as_default(self, step=None):
        """Changes nothing."""
        del step  # nothing is written

    def init(self):
        pass

    flush = close = init

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

    Raises:
      ValueError: an argument is a tensor of a graph.
    """
    del name  # a writer is not an op
    for what, value in (
        ("logdir", logdir),
        ("max_queue", max_queue),
        ("flush_millis", flush_millis),
    ):
        if isinstance(value, GraphTensor):
            raise ValueError(
                f"Invalid graph Tensor argument '{what}={value}' to create_file_writer(): the "
                "writer is created at once."
            )
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
    """Returns whether the program wants summaries: a bool, or a tensor of the current graph."""
    record = _state["record"]
    record = record() if callable(record) else record
    if isinstance(record, GraphTensor):
        known = constant_value(record)
        return record if known is None else bool(known)
    return bool(_host(record))


def write_value_of(name, data, step, make, op_name=None):
    """Writes a value now, or whenever the graph runs that is being built.

    Args:
      name: the tag, without the name scope.
      data: the value, or a function that returns it.
      step: the step, a function that returns it, or None for the default one.
      make: a function of the tag and an array that returns a summary.
      op_name: the name of the result.

    Returns:
      A tensor: whether the value is written.
    """
    writer = _state["writer"]
    condition = False if writer is None else _recording()
    if condition is False:
        return convert_to_tensor(False, name=op_name)
    tag = summary_tag(name)
    step = step() if callable(step) and not hasattr(step, "assign") else step
    step = _state["step"] if step is None else step
    if step is None:
        raise ValueError(
            "No step set. Please specify one either through the `step` argument or "
            "through tf.summary.experimental.set_step()"
        )
    data = data() if callable(data) and not hasattr(data, "assign") else data
    if _situ.current_graph() is None:
        writer.add(make(tag, _host(data)), _host(step))
        return convert_to_tensor(True)

    def write_now(recorded, at, value):
        if recorded:
            writer.add(make(tag, value), at)
        return recorded

    written = _run_on_host(write_now, [condition, step, data])
    add_to_collection(V2_SUMMARIES, written)
    return written


def summary_tag(name):
    """Returns the tag of a summary: its name in the current name scope."""
    graph = _situ.current_graph()
    if graph is None or not graph.get_name_scope():
        return eager_scope() + name
    return f"{graph.get_name_scope()}/{name}"


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
      name: the name of the result.

    Returns:
      A tensor: whether the value was written.

    Raises:
      ValueError: there is a writer but no step.
    """
    kinds: list = []

    def data():
        made = convert_to_tensor(tensor() if callable(tensor) else tensor)
        kinds.append(made.dtype.base_dtype)
        return made

    def make(_, value):
        return Summary.Value(
            tag=_host(tag), metadata=_metadata_of(metadata), tensor=_proto_of(value, kinds[0])
        )

    return write_value_of("", data, step, make, name)


def _metadata_of(metadata):
    """Returns a SummaryMetadata that is given as a message, in binary form, or not at all."""
    if metadata is None or hasattr(metadata, "SerializeToString"):
        return metadata or SummaryMetadata()
    return SummaryMetadata.FromString(metadata.numpy() if hasattr(metadata, "numpy") else metadata)


@export(v2="summary.experimental.write_raw_pb")
def write_raw_pb(tensor: TensorLike, step: Any = None, name: str | None = None) -> Any:
    """Writes Summary messages.

    Args:
      tensor: strings: one message in binary form, or several, which are merged.
      step: the step; by default that of set_step.
      name: the name of the result.

    Returns:
      Whether the messages were written.

    Raises:
      ValueError: there is a writer but no step.
      DataLossError: a string is no message.
    """

    def make(_, value):
        made = Summary()
        for item in numpy.asarray(value, object).ravel():
            try:
                made.MergeFromString(item.encode() if isinstance(item, str) else bytes(item))
            except DecodeError:
                raise errors.DataLossError(
                    None, None, "Bad tf.compat.v1.Summary binary proto tensor string"
                ) from None
        return made

    data = functools.partial(convert_to_tensor, tensor, "string")
    return write_value_of("", data, step, make, name)


@export(v2="summary.experimental.summary_scope")
@contextlib.contextmanager
def summary_scope(name: str, default_name: str = "summary", values: Any = None) -> Any:
    """A name scope for the operations of a summary.

    Args:
      name: the name of the summary.
      default_name: the name if `name` is empty.
      values: tensors, in whose graph the scope is.

    Yields:
      The tag: the name in the current scope, as it is; and the name scope, which has a unique name
      without characters that names of operations cannot have.
    """
    name = name or default_name
    tag = summary_tag(name)
    legal = re.sub(r"[^-_/.A-Za-z0-9]", "", name) or default_name
    with ops_name_scope(legal, default_name, values) as scope:
        yield tag, scope


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
    """Returns a tensor: whether there is a default writer and summaries are recorded."""
    return convert_to_tensor(_state["writer"] is not None and _recording())


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
def flush(writer: Any = None, name: str | None = None) -> Any:
    """Writes the buffered events of a writer.

    Args:
      writer: the writer; by default the default one.
      name: has no effect.

    Returns:
      In a graph, an operation that does so.

    Raises:
      ValueError: the argument is not a writer.
    """
    del name  # TensorFlow ignores it, too
    writer = _state["writer"] if writer is None else writer
    if writer is None:
        return group()
    if not isinstance(writer, Writer):
        raise ValueError(f"Invalid argument to flush(): {writer!r}")
    return writer.flush()


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
