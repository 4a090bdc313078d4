# SPDX-License-Identifier: Apache-2.0
"""queue_runner.py: threads that keep queues full: QueueRunner, start_queue_runners."""

from __future__ import annotations

import threading
import weakref

import _situ
from situ._src.framework import default_session, errors, logs
from situ._src.framework.api import export
from situ._src.framework.graph import GraphKeys, get_default_graph
from situ._src.framework.graph_scopes import prepend_name_scope, strip_name_scope
from situ._src.framework.message_classes import message_class
from situ._src.legacy.queues import QueueBase

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any

QueueRunnerDef = message_class("tensorflow.QueueRunnerDef")


def _defined(queue_runner_def, import_scope):
    """Returns queue, enqueue ops, close op, cancel op and exception types of a QueueRunnerDef."""
    graph = get_default_graph()

    def element(name):
        return graph.as_graph_element(prepend_name_scope(name, import_scope))

    handle = element(queue_runner_def.queue_name)
    handle = handle if hasattr(handle, "dtype") else handle.outputs[0]
    types = handle.op.get_attr("component_types")
    closed = tuple(
        errors.exception_type_from_error_code(code)
        for code in queue_runner_def.queue_closed_exception_types
    )
    return (
        QueueBase(types, None, None, handle),
        [element(name) for name in queue_runner_def.enqueue_op_name],
        element(queue_runner_def.close_op_name),
        element(queue_runner_def.cancel_op_name),
        closed or (errors.OutOfRangeError,),
    )


@export(v1=("train.QueueRunner", "train.queue_runner.QueueRunner"))
class QueueRunner:
    """Runs the enqueue ops of a queue, each in its own thread.

    Args:
      queue: The queue.
      enqueue_ops: List of ops.
      close_op: Op that closes the queue; default: queue.close().
      cancel_op: Op that cancels pending enqueues; default: queue.close with
        cancel_pending_enqueues.
      queue_closed_exception_types: Exceptions that mean that the queue is closed; default:
        OutOfRangeError and CancelledError.
      queue_runner_def: QueueRunnerDef with the names of all of these in the default graph, instead.
      import_scope: Name scope of the names in queue_runner_def.

    Raises:
      TypeError: If queue_closed_exception_types is not a tuple of errors, or empty.
      ValueError: If there is no queue or no op.
    """

    _running: weakref.WeakKeyDictionary
    _raised: list

    def __init__(
        self,
        queue: Any = None,
        enqueue_ops: Any = None,
        close_op: Any = None,
        cancel_op: Any = None,
        queue_closed_exception_types: Any = None,
        queue_runner_def: Any = None,
        import_scope: str | None = None,
    ):
        if queue_runner_def is not None:
            if queue is not None or enqueue_ops:
                raise ValueError("queue_runner_def and queue are mutually exclusive.")
            queue, enqueue_ops, close_op, cancel_op, queue_closed_exception_types = _defined(
                queue_runner_def, import_scope
            )
        closed = queue_closed_exception_types
        if closed is not None and not (
            isinstance(closed, tuple)
            and closed
            and all(issubclass(t, errors.OpError) for t in closed)
        ):
            raise TypeError(
                "queue_closed_exception_types, when provided, must be a tuple of tf.error types, "
                f"but saw: {closed}"
            )
        if queue is None or not enqueue_ops:
            raise ValueError("Must provide queue and enqueue_ops.")
        self._queue, self._enqueue_ops = queue, list(enqueue_ops)
        self._close_op = queue.close() if close_op is None else close_op
        self._cancel_op = (
            queue.close(cancel_pending_enqueues=True) if cancel_op is None else cancel_op
        )
        self._closed = closed or (errors.OutOfRangeError, errors.CancelledError)
        self._lock = threading.Lock()
        self._running = weakref.WeakKeyDictionary()
        self._raised = []

    queue = property(lambda s: s._queue)
    enqueue_ops = property(lambda s: s._enqueue_ops)
    close_op = property(lambda s: s._close_op)
    cancel_op = property(lambda s: s._cancel_op)
    queue_closed_exception_types = property(lambda s: s._closed)
    exceptions_raised = property(lambda s: s._raised)
    name = property(lambda s: s._queue.name)

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Returns a QueueRunnerDef, or None if the queue is not in the scope.

        Args:
          export_scope: Name scope to remove.
        """
        if export_scope and not self._queue.name.startswith(export_scope):
            return None
        names = [op.name for op in self._enqueue_ops]
        return QueueRunnerDef(
            queue_name=strip_name_scope(self._queue.name, export_scope),
            enqueue_op_name=[strip_name_scope(name, export_scope) for name in names],
            close_op_name=strip_name_scope(self._close_op.name, export_scope),
            cancel_op_name=strip_name_scope(self._cancel_op.name, export_scope),
            queue_closed_exception_types=[
                errors.error_code_from_exception_type(kind) for kind in self._closed
            ],
        )

    @staticmethod
    def from_proto(queue_runner_def: Any, import_scope: str | None = None) -> Any:
        """Returns a QueueRunner of nodes of the default graph.

        Args:
          queue_runner_def: QueueRunnerDef.
          import_scope: Name scope of the nodes.
        """
        return QueueRunner(queue_runner_def=queue_runner_def, import_scope=import_scope)

    def _done(self, sess):
        """Counts a thread out; True for the last one."""
        with self._lock:
            self._running[sess] -= 1
            return self._running[sess] == 0

    def _run(self, sess, enqueue_op, coord=None):
        counted = False
        try:
            while not (coord and coord.should_stop()):
                try:
                    sess.run(enqueue_op)
                except self._closed:
                    counted = True
                    if self._done(sess):
                        try:
                            sess.run(self._close_op)
                        except Exception as error:  # the session may be gone by now
                            logs.vlog(1, "Ignored exception: %s", str(error))
                    return
        except Exception as error:
            if coord:
                coord.request_stop(error)
            elif not getattr(sess, "_closed", False):  # errors of a closed session are expected
                logs.error("Exception in QueueRunner: %s", str(error))
                with self._lock:
                    self._raised.append(error)
                raise
        finally:
            if not counted:
                self._done(sess)

    def _close_on_stop(self, sess, cancel_op, coord):
        coord.wait_for_stop()
        try:
            sess.run(cancel_op)
        except Exception as error:
            logs.vlog(1, "Ignored exception: %s", str(error))

    def create_threads(
        self, sess: Any, coord: Any = None, daemon: bool = False, start: bool = False
    ) -> Any:
        """Creates one thread per enqueue op.

        Args:
          sess: Session.
          coord: Coordinator; adds a thread that runs cancel_op when it stops.
          daemon: Whether the threads are daemons.
          start: Whether to start the threads.

        Returns:
          List of threads; empty while earlier threads of the session run.
        """
        with self._lock:
            if self._running.get(sess, 0) > 0:
                return []
            self._running[sess] = len(self._enqueue_ops)
            self._raised = []
        threads = [
            threading.Thread(
                target=self._run,
                args=(sess, op, coord),
                name=f"QueueRunnerThread-{self.name}-{op.name}",
            )
            for op in self._enqueue_ops
        ]
        if coord:
            threads.append(
                threading.Thread(
                    target=self._close_on_stop,
                    args=(sess, self._cancel_op, coord),
                    name=f"QueueRunnerThread-{self.name}-close_on_stop",
                )
            )
        for thread in threads:
            if coord:
                coord.register_thread(thread)
            thread.daemon = daemon
            if start:
                thread.start()
        return threads


@export(v1=("train.add_queue_runner", "train.queue_runner.add_queue_runner"))
def add_queue_runner(qr: Any, collection: Any = GraphKeys.QUEUE_RUNNERS) -> None:
    """Adds a queue runner to a collection of the graph.

    Args:
      qr: The QueueRunner.
      collection: Name of the collection.
    """
    get_default_graph().add_to_collection(collection, qr)


@export(v1=("train.start_queue_runners", "train.queue_runner.start_queue_runners"))
def start_queue_runners(
    sess: Any = None,
    coord: Any = None,
    daemon: bool = True,
    start: bool = True,
    collection: Any = GraphKeys.QUEUE_RUNNERS,
) -> Any:
    """Starts all queue runners of the graph of a session.

    Args:
      sess: Session; default: the default session.
      coord: Coordinator of the threads.
      daemon: Whether the threads are daemons.
      start: Whether to start the threads.
      collection: Name of the collection.

    Returns:
      List of threads; empty for a MonitoredSession, which has started them itself.

    Raises:
      RuntimeError: If executing eagerly.
      TypeError: If sess is not a session.
      ValueError: If there is no session.
    """
    if _situ.executing_eagerly():
        raise RuntimeError("Queues are not compatible with eager execution.")
    if sess is None:
        stack = default_session.stack()
        sess = stack[-1] if stack else None
        if sess is None:
            raise ValueError(
                "Cannot start queue runners: No default session is registered. Use "
                "`with sess.as_default()` or pass an explicit session to "
                "tf.start_queue_runners(sess=sess)"
            )
    if type(sess).__name__ in ("MonitoredSession", "SingularMonitoredSession"):
        return []
    if not (hasattr(sess, "run") and hasattr(sess, "graph")):
        raise TypeError(f"sess must be a `tf.Session` object. Given class: {type(sess)}")
    threads = []
    for runner in sess.graph.get_collection(collection):
        threads.extend(runner.create_threads(sess, coord=coord, daemon=daemon, start=start))
    return threads
