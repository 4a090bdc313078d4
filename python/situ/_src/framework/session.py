# SPDX-License-Identifier: Apache-2.0
"""session.py: tf.compat.v1.Session and InteractiveSession, over the session of the C extension."""

from __future__ import annotations

import threading
import warnings
import weakref

import _situ
from situ._src.framework import (
    default_session,
    device_lib,
    errors,
    keywords,
    partial_run,
    protos,
    style,
)
from situ._src.framework.config import function_options
from situ._src.framework.graph import Graph, get_default_graph
from situ._src.profiler import step_stats

TYPE_CHECKING = False  # typing is not imported at run time: it costs start-up time
if TYPE_CHECKING:
    from collections.abc import Callable

_SERVER = "grpc://"  # the prefix of the target of a server


def _check_graph_options(options):
    """Raises an error for options that change results in TensorFlow and are not supported. The
    others select optimizations."""
    rewrites = options.rewrite_options
    on = (protos.RewriterConfig.ON, protos.RewriterConfig.AGGRESSIVE)
    keywords.unsupported(
        "tf.compat.v1.GraphOptions",
        enable_bfloat16_sendrecv=(options.enable_bfloat16_sendrecv, False),
        debug_stripper=(rewrites.debug_stripper in on, False),
    )
    if rewrites.auto_mixed_precision in on:
        from situ._src.framework import logs

        logs.warn(logs.NO_MIXED_PRECISION)


def _wrong_type(argument, wanted, value):
    """Returns the TypeError for an argument of a session, as 1.15 and 2.x word it."""
    if style.is_graph_program():
        return TypeError(f"{argument} must be {wanted}, but got {type(value)}")
    return TypeError(f'Argument `{argument}` must be {wanted}, but got "{type(value).__name__}"')


def _checked_target(target):
    """Returns the target of a session as a string.

    Raises:
      TypeError: it is not a string.
      NotFoundError: it is neither empty nor the address of a server.
    """
    if not isinstance(target, (str, bytes, type(None))):
        raise _wrong_type("target", "a string", target)
    text = target.decode() if isinstance(target, bytes) else target or ""
    if text and not text.startswith(_SERVER):
        raise errors.NotFoundError(
            None,
            None,
            f'No session factory registered for the given session options: {{target: "{text}" '
            "config: } Registered factories are {DIRECT_SESSION, GRPC_SESSION}.",
        )
    return text


def _count_cpus(config):
    """Returns the number of CPUs of a session with a ConfigProto.

    Raises:
      NotFoundError: it is 0.
    """
    count = config.device_count.get("CPU", 1)
    if count == 0:
        raise errors.NotFoundError(None, None, "No CPU devices are available in this process")
    return count


class Session(_situ.Session):
    """Runs operations and evaluates tensors of a graph.

    A session owns the values of its variables. Use it as a context manager, or call `close`.

    Args:
      target: "" for this process, or "grpc://..." for a server of a cluster.
      graph: the tf.Graph; the default graph if it is None.
      config: a tf.compat.v1.ConfigProto.

    Raises:
      TypeError: an argument has the wrong type.
      NotFoundError: `target` is neither empty nor the address of a server.
      NotImplementedError: `config` requests enable_bfloat16_sendrecv or debug_stripper.
    """

    def __init__(self, target="", graph=None, config=None):
        if config is not None and not isinstance(config, protos.ConfigProto):
            raise _wrong_type("config", "a tf.ConfigProto", config)
        if graph is not None and not isinstance(graph, Graph):
            raise _wrong_type("graph", "a tf.Graph", graph)
        target = _checked_target(target)
        if config is not None:
            _check_graph_options(config.graph_options)
        self._config, self._target, self._entered, self._n_cpus = config, target, None, 0
        self._timeout_ms = config.operation_timeout_in_ms if config is not None else 0
        self._open(
            graph if graph is not None else get_default_graph(), self._options(target, config)
        )
        self.graph._session = weakref.ref(self)

    def _options(self, target, config):
        """Returns the options that the engine opens the session with. A session of a cluster
        changes its class here."""
        if target.startswith(_SERVER) or _situ.cluster_place()[2] > 1:
            from situ._src.cluster import tasks

            return tasks.attach(self, target, config)
        if config is None:
            options = function_options()
        else:
            options = protos.config_options(config)
            options["cpu_devices"] = _count_cpus(config)
        self._n_cpus = options.get("cpu_devices", 0)
        return options

    @property
    def graph_def(self):
        """The graph as a GraphDef, with `_output_shapes` if the config sets infer_shapes."""
        shapes = self._config is not None and self._config.graph_options.infer_shapes
        return self.graph.as_graph_def(add_shapes=shapes)

    sess_str = property(lambda s: s._target)

    @staticmethod
    def reset(target: str, containers=None, config=None) -> None:
        """Clears the variables and resources that sessions of a server share.

        Args:
          target: the address of the server; "" does nothing, as such a session shares no state.
          containers: names of the containers to clear; all of them if None.
          config: a tf.compat.v1.ConfigProto; its operation_timeout_in_ms limits the time to wait
            for the server.

        Raises:
          DeadlineExceededError: the time is over.
        """
        if _checked_target(target):
            from situ._src.cluster import tasks

            timeout_ms = config.operation_timeout_in_ms if config is not None else 0
            tasks.reset(target, containers, timeout_ms)

    def __enter__(self):
        if self._entered is not None:
            raise RuntimeError(
                "Session context managers are not re-entrant. Use `Session.as_default()` if you "
                "want to enter a session multiple times."
            )
        self._entered = self.graph.as_default()
        self._entered.__enter__()
        default_session.stack().append(self)
        return self

    def __exit__(self, *error):
        default_session.pop(self)
        entered, self._entered = self._entered, None
        entered.__exit__(*error)
        self.close()

    def _run_with(self, fetches, feeds, options, metadata):
        """Implements `run` with RunOptions and RunMetadata."""
        if options is not None and not isinstance(options, protos.RunOptions):
            raise TypeError(f"options must be a tf.RunOptions, but got {type(options)}")
        if metadata is not None and not isinstance(metadata, step_stats.RunMetadata):
            raise TypeError(f"run_metadata must be a tf.RunMetadata, but got {type(metadata)}")
        options = options or protos.RunOptions()
        is_traced = metadata is not None and options.trace_level > protos.RunOptions.NO_TRACE
        is_costed = metadata is not None and self._is_cost_model_due()
        trace = _situ.Recording() if is_traced or is_costed else None
        result = self._run_with_options(
            fetches, feeds, options.timeout_in_ms or self._timeout_ms, trace
        )
        if metadata is not None:
            metadata.Clear()
            if trace is not None:
                records = step_stats.on_devices(trace.records(), self._places())
                records += step_stats.unrecorded(self, self._flat(fetches), feeds or (), records)
            if is_traced:
                step_stats.fill(metadata.step_stats, records, self.graph)
            if is_costed:
                step_stats.fill_costs(metadata.cost_graph, records, self.graph)
            if options.output_partition_graphs:
                metadata.partition_graphs.extend(step_stats.partitions(self))
        return result

    def _is_cost_model_due(self):
        """Returns whether this run, one of those with RunMetadata, reports the cost model: every
        build_cost_model-th one after the first build_cost_model_after."""
        options = None if self._config is None else self._config.graph_options
        if options is None or options.build_cost_model <= 0:
            return False
        self._n_costed = self.__dict__.get("_n_costed", 0) + 1
        late = self._n_costed - options.build_cost_model_after
        return late >= 0 and late % options.build_cost_model == 0

    def _flat(self, fetches):
        """Returns the tensors and operations of a structure of fetches."""
        if fetches is None:
            return []
        if isinstance(fetches, dict):
            fetches = list(fetches.values())
        if isinstance(fetches, (list, tuple)):
            return [part for one in fetches for part in self._flat(one)]
        return list(getattr(fetches, "_situ_parts_", None) or [fetches])

    def as_default(self):
        """Returns a context manager that makes this the default session; it does not close it."""
        return _Default(self)

    def list_devices(self) -> list:
        """Lists the devices of the session.

        Returns:
          A list of objects with `name`, `device_type`, `memory_limit_bytes` and `incarnation`.

        Raises:
          CancelledError: the session is closed.
        """
        if self._closed:
            raise errors.CancelledError(None, None, "Session has been closed.")
        return device_lib.session_devices(self._n_cpus)

    def make_callable(
        self, fetches, feed_list: list | None = None, accept_options: bool = False
    ) -> Callable:
        """Returns a function that runs a fixed set of fetches.

        Args:
          fetches: as for `run`.
          feed_list: the tensors that the arguments of the function feed, in order.
          accept_options: whether the function accepts `options` and `run_metadata`.

        Returns:
          A function of the values of `feed_list` that returns what `run` returns.
        """
        keys = list(feed_list or [])

        def call(*values, **kwargs):
            if len(values) != len(keys):
                raise TypeError(f"takes {len(keys)} arguments ({len(values)} given)")
            if kwargs and not accept_options:
                raise TypeError(f"got an unexpected keyword argument '{next(iter(kwargs))}'")
            return self.run(fetches, dict(zip(keys, values)), **kwargs)

        return call

    def partial_run_setup(self, fetches, feeds=None):
        """Begins a step that runs in parts.

        Args:
          fetches: all that the parts will fetch.
          feeds: all tensors that the parts will feed.

        Returns:
          A handle for `partial_run`.
        """
        return partial_run.setup(self, fetches, feeds)

    def partial_run(self, handle: str, fetches, feed_dict=None):
        """Runs a part of a step: the operations that the fetches need and that have not run yet.

        Args:
          handle: what `partial_run_setup` returned.
          fetches: as for `run`; each one is fetched once.
          feed_dict: as for `run`; each tensor is fed once.

        Returns:
          The values of the fetches.

        Raises:
          InvalidArgumentError: a fetch or feed was not announced, or is repeated, or a value that
            a fetch needs has not been fed.
        """
        return partial_run.run(self, handle, fetches, feed_dict)

    def placement(self) -> list[tuple]:
        """Returns where each operation is placed, and why.

        Returns:
          A list of tuples (name, op, requested device, assigned device, reason).
        """
        return self._placement()

    def _places(self):
        """Returns the assigned device of each operation by name, cached per version of the
        graph."""
        if self.__dict__.get("_placed_version") != self.graph.version:
            self._placed = {row[0]: row[3] for row in self._placement()}
            self._placed_version = self.graph.version
        return self._placed


class _Default:
    """The context manager of `as_default`."""

    def __init__(self, session):
        self.session = session

    def __enter__(self):
        default_session.stack().append(self.session)
        return self.session

    def __exit__(self, *error):
        default_session.pop(self.session)


class InteractiveSession(Session):
    """A session that is the default session as soon as it is created.

    Args:
      target: as for tf.compat.v1.Session.
      graph: as for tf.compat.v1.Session.
      config: as for tf.compat.v1.Session.
    """

    _count_lock = threading.Lock()
    _active_session_count = 0

    def __init__(self, target="", graph=None, config=None):
        super().__init__(target, graph, config)
        with InteractiveSession._count_lock:
            if InteractiveSession._active_session_count > 0:
                warnings.warn(
                    "An interactive session is already active. This can cause out-of-memory "
                    "errors in some cases. You must explicitly call `InteractiveSession.close()` "
                    "to release resources held by the other session(s).",
                    stacklevel=2,
                )
            InteractiveSession._active_session_count += 1
        self._is_counted = True
        self._explicit_graph, self._before = graph, None
        if graph is not None:
            self._before = _situ.swap_graph(graph)
        default_session.stack().append(self)

    def close(self) -> None:
        """Closes the session, and removes it and its graph as the defaults."""
        super().close()
        with InteractiveSession._count_lock:
            InteractiveSession._active_session_count -= self._is_counted
            self._is_counted = False
        if self in default_session.stack():
            default_session.stack().remove(self)
            if self._explicit_graph is not None and _situ.current_graph() is self._explicit_graph:
                _situ.swap_graph(self._before)


def assigned_device(operation) -> str:
    """Returns the device of an operation in the newest session of its graph, or in a new
    session."""
    graph = operation.graph
    session = graph._session() if graph._session is not None else None
    if session is None or session._closed:
        session = Session(graph=graph)
    return session._places()[operation.name]


_situ.extend(_situ.Operation, "assigned_device", property(assigned_device))


def get_default_session() -> Session | None:
    """Returns the default session of the current thread.

    Returns:
      The innermost session entered by `with`, or None.
    """
    return default_session.current()
