# SPDX-License-Identifier: Apache-2.0
"""profiler.py: tf.profiler.experimental: writes execution traces that TensorBoard's trace viewer,
chrome://tracing and Perfetto open."""

from __future__ import annotations

import gzip
import os
import socket
import threading
import time

import _situ
from situ._src.framework import errors, logs
from situ._src.framework.api import export
from situ._src.profiler import trace_recorder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any

_lock = threading.Lock()
_state: dict = {"recording": None, "logdir": None, "spans": []}


@export("profiler.experimental.ProfilerOptions")
class ProfilerOptions:
    """Options of the profiler.

    Args:
      host_tracer_level: 0 disables records of the CPU.
      python_tracer_level: has no effect; `start` warns if it is not 0.
      device_tracer_level: 0 disables records of GPUs.
      delay_ms: has no effect; `start` warns if it is set.
    """

    def __init__(
        self,
        host_tracer_level: int = 2,
        python_tracer_level: int = 0,
        device_tracer_level: int = 1,
        delay_ms: float | None = None,
    ):
        self.host_tracer_level, self.python_tracer_level = host_tracer_level, python_tracer_level
        self.device_tracer_level, self.delay_ms = device_tracer_level, delay_ms


def _check(options):
    """Warns about options without effect."""
    if options is None:
        return
    if options.delay_ms:
        logs.warn(
            "tf.profiler: delay_ms=%s is not supported: the profile begins now.", options.delay_ms
        )
    if options.python_tracer_level:
        logs.warn(
            "tf.profiler: python_tracer_level=%s is not supported: the profile has no calls "
            "of Python functions.",
            options.python_tracer_level,
        )


@export("profiler.experimental.start")
def start(logdir: str, options: ProfilerOptions | None = None) -> None:
    """Starts profiling.

    Args:
      logdir: the directory that `stop` writes to; it is created.
      options: a ProfilerOptions.

    Raises:
      AlreadyExistsError: a profiler is running.
    """
    with _lock:
        if _state["recording"] is not None:
            raise errors.AlreadyExistsError(None, None, "Another profiler is running.")
        _check(options)
        logdir = os.fspath(logdir)
        os.makedirs(logdir, exist_ok=True)  # fail early
        _state.update(
            recording=trace_recorder.Recording(), logdir=logdir, spans=[], options=options
        )


def _filter(rows, options):
    """Returns the records of devices whose tracer level is not 0."""
    host = options is None or options.host_tracer_level
    device = options is None or options.device_tracer_level
    return [row for row in rows if (host if "device:CPU" in row[2] else device)]


@export("profiler.experimental.stop")
def stop(save: bool = True) -> None:
    """Stops profiling and writes LOGDIR/plugins/profile/TIME/HOST.trace.json.gz.

    Args:
      save: whether to write the profile.

    Raises:
      UnavailableError: no profiler is running.
    """
    with _lock:
        if _state["recording"] is None:
            raise errors.UnavailableError(
                None, None, "Cannot export profiling results. No profiler is running."
            )
        rows, spans = _state["recording"].end(), _state["spans"]
        _state.update(recording=None, spans=[])
        if not save:
            return
        run = os.path.join(
            _state["logdir"], "plugins", "profile", time.strftime("%Y_%m_%d_%H_%M_%S")
        )
        while os.path.exists(run):  # two profiles within a second
            run += "_"
        os.makedirs(run)
        path = os.path.join(run, f"{socket.gethostname()}.trace.json.gz")
        text = trace_recorder.chrome_trace(_filter(rows, _state["options"]), spans)
        _situ.replace_file(path, gzip.compress(text.encode()))


@export("profiler.experimental.Profile")
class Profile:
    """A context manager that profiles a block.

    Args:
      logdir: the directory for the profile.
      options: a ProfilerOptions.
    """

    def __init__(self, logdir: str, options: Any = None):
        self._logdir, self._options = logdir, options

    def __enter__(self):
        start(self._logdir, self._options)

    def __exit__(self, *error):
        stop()


@export("profiler.experimental.Trace")
class Trace:
    """A context manager that adds a named span to the profile: `with Trace("train", step_num=i):
    ...`.

    Args:
      name: the name of the span.
      **kwargs: metadata to show with it.
    """

    def __init__(self, name: str, **kwargs: Any):
        self._name, self._metadata, self._start = name, dict(kwargs), 0

    def set_metadata(self, **kwargs: Any) -> None:
        """Adds metadata to the span."""
        self._metadata.update(kwargs)

    def __enter__(self):
        self._start = time.time_ns()
        return self

    def __exit__(self, *error):
        if _state["recording"] is not None:
            args = {
                k: v if isinstance(v, (bool, int, float)) else str(v)
                for k, v in self._metadata.items()
            }
            _state["spans"].append(
                (self._name, threading.get_ident() % 1000000, self._start, time.time_ns(), args)
            )


_NO_SERVER = (
    "situ has no profiler server. Use tf.profiler.experimental.start and stop in the "
    "program, or `situ run --trace FILE`."
)


@export("profiler.experimental.server.start")
def start_server(port: int) -> None:
    """Warns: a profile is taken by `start` and `stop`, or by `situ run --trace FILE`.

    Args:
      port: Port of the server.
    """
    logs.warn("tf.profiler.experimental.server.start(%s): %s", port, _NO_SERVER)


@export("profiler.experimental.client.trace")
def client_trace(
    service_addr: Any,
    logdir: str,
    duration_ms: float,
    worker_list: str = "",
    num_tracing_attempts: int = 3,
    options: Any = None,
) -> Any:
    """Raises UnimplementedError: there is no profiler server to ask.

    Args:
      service_addr: Address of a profiler.
      logdir: the directory that `stop` writes to; it is created.
      duration_ms: Duration in milliseconds.
      worker_list: Workers to trace.
      num_tracing_attempts: Number of attempts.
      options: a ProfilerOptions.
    """
    raise errors.UnimplementedError(None, None, _NO_SERVER)


@export("profiler.experimental.client.monitor")
def client_monitor(service_addr: Any, duration_ms: float, level: Any = 1) -> Any:
    """Raises UnimplementedError: there is no profiler server to ask.

    Args:
      service_addr: Address of a profiler.
      duration_ms: Duration in milliseconds.
      level: Level of detail.
    """
    raise errors.UnimplementedError(None, None, _NO_SERVER)
