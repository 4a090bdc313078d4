# SPDX-License-Identifier: Apache-2.0
"""file_writer.py: tf.compat.v1.summary.FileWriter: writes summaries, graphs and run metadata to an
event file."""

from __future__ import annotations

import os
import time

from situ._src.framework import node_def
from situ._src.framework.api import V1, export
from situ._src.framework.graph import get_default_graph
from situ._src.summary.event_file import EventFile
from situ._src.summary.protos import Event, Summary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any


class _Writer:
    """The event types of a FileWriter."""

    def __init__(self, graph):
        self._seen = set()
        if graph is not None:
            self.add_graph(graph)

    def add_summary(self, summary, global_step=None):
        """Writes a summary.

        Args:
          summary: a tf.Summary, or one in binary form as a session returns it.
          global_step: the step.
        """
        if isinstance(summary, bytes):
            summary = Summary.FromString(summary)
        for value in summary.value:  # metadata is written once per tag
            if value.HasField("metadata"):
                if value.tag in self._seen:
                    value.ClearField("metadata")
                self._seen.add(value.tag)
        self._add(Event(summary=summary), global_step)

    def add_graph(self, graph, global_step=None, graph_def=None):
        """Writes a graph.

        Args:
          graph: a tf.Graph or GraphDef.
          global_step: the step.
          graph_def: the same under its old name, if `graph` is None.
        """
        source = graph if graph is not None else graph_def
        if not isinstance(source, node_def.GraphDef):
            source = source.as_graph_def(add_shapes=True)
        self._add(Event(graph_def=source.SerializeToString()), global_step)

    def add_session_log(self, session_log, global_step=None):
        """Writes a SessionLog.

        Args:
          session_log: a SessionLog.
          global_step: the step.
        """
        self._add(Event(session_log=session_log), global_step)

    def add_run_metadata(self, run_metadata, tag, global_step=None):
        """Writes the RunMetadata of a step.

        Args:
          run_metadata: a RunMetadata.
          tag: a unique tag.
          global_step: the step.

        Raises:
          ValueError: the tag was used before.
        """
        if tag in self._seen:
            raise ValueError("The provided tag was already used for this event type")
        self._seen.add(tag)
        event = Event()
        event.tagged_run_metadata.tag = tag
        event.tagged_run_metadata.run_metadata = (
            run_metadata if isinstance(run_metadata, bytes) else run_metadata.SerializeToString()
        )
        self._add(event, global_step)

    def add_meta_graph(self, meta_graph_def, global_step=None):
        """Writes a MetaGraphDef.

        Args:
          meta_graph_def: a MetaGraphDef, or one in binary form.
          global_step: the step.

        Raises:
          TypeError: the argument has another type.
        """
        if not isinstance(meta_graph_def, bytes):
            if not hasattr(meta_graph_def, "SerializeToString"):
                raise TypeError(
                    "add_meta_graph: the argument must be a MetaGraphDef, not "
                    f"{type(meta_graph_def)}."
                )
            meta_graph_def = meta_graph_def.SerializeToString()
        self._add(Event(meta_graph_def=meta_graph_def), global_step)

    def _add(self, event, step):
        event.wall_time = time.time()
        if step is not None:
            event.step = int(step)
        self.add_event(event)

    def add_event(self, event):
        """Writes an event."""
        raise NotImplementedError


@export(v1=("summary.FileWriter", "train.SummaryWriter", "summary.SummaryWriter"))
class FileWriter(_Writer):
    """Writes an event file for TensorBoard.

    Args:
      logdir: the directory.
      graph: a graph to write first.
      max_queue: the number of events to buffer.
      flush_secs: the maximum time between flushes.
      graph_def: as `graph`.
      filename_suffix: a suffix of the file name.
      session: has no effect: events are written from Python in any case.
    """

    def __init__(
        self,
        logdir: str,
        graph: Any = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        graph_def: Any = None,
        filename_suffix: str | None = None,
        session: Any = None,
    ):
        del session  # events are written from Python in any case
        self._logdir = os.fspath(logdir)
        self._file = EventFile(self._logdir, filename_suffix, max_queue, flush_secs)
        self._closed = False
        super().__init__(graph if graph is not None else graph_def)

    def get_logdir(self) -> str:
        """Returns the directory of the file."""
        return self._logdir

    def add_event(self, event: Any) -> None:
        if self._closed:
            self.reopen()
        self._file.write(event)

    def flush(self) -> None:
        """Writes buffered events to the file."""
        self._file.flush()

    def close(self) -> None:
        """Flushes and closes the file."""
        self._file.close()
        self._closed = True

    def reopen(self) -> None:
        """Begins a new file in the same directory if this one is closed."""
        self._file.reopen()
        self._closed = False

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()


class FileWriterCache:
    """One FileWriter per directory."""

    _cache: dict = {}

    @classmethod
    def get(cls, logdir):
        """Returns the writer of a directory."""
        if logdir not in cls._cache:
            cls._cache[logdir] = FileWriter(logdir, graph=get_default_graph())
        return cls._cache[logdir]

    @classmethod
    def clear(cls):
        """Closes and forgets all writers."""
        for writer in cls._cache.values():
            writer.close()
        cls._cache = {}


V1["summary.FileWriterCache"] = FileWriterCache
V1["train.SummaryWriterCache"] = FileWriterCache
