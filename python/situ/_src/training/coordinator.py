# SPDX-License-Identifier: Apache-2.0
"""coordinator.py: tf.train.Coordinator: stops a set of threads together."""

from __future__ import annotations

import contextlib
import sys
import threading
import time

from situ._src.framework import errors, logs
from situ._src.framework.api import export

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any


@export(v1="train.Coordinator", v2="train.Coordinator")
class Coordinator:
    """Coordinates the termination of threads: when one requests a stop, all stop, and `join` raises
    the
    first exception."""

    _registered_threads: set

    def __init__(self, clean_stop_exception_types: Any = None):
        clean = clean_stop_exception_types
        self._clean = (errors.OutOfRangeError,) if clean is None else tuple(clean)
        self._lock, self._stop = threading.Lock(), threading.Event()
        self._error, self._registered_threads, self._joined = None, set(), False

    joined = property(lambda s: s._joined)

    def request_stop(self, ex: Any = None) -> None:
        """Requests that threads stop.

        Args:
          ex: An exception, or sys.exc_info(), that `join` raises if it is the first, and not one of
            clean_stop_exception_types (by default OutOfRangeError).
        """
        with self._lock:
            error = ex[1] if isinstance(ex, tuple) else ex
            if isinstance(error, self._clean):
                error = None
            if self._joined and error is not None:
                raise error  # join has returned and will not raise it
            if error is not None and self._error is None and not self._stop.is_set():
                logs.info("Error reported to Coordinator: %s, %s", type(error), error)
                self._error = error
            self._stop.set()

    def clear_stop(self) -> None:
        """Takes back a request to stop."""
        with self._lock:
            self._joined, self._error = False, None
            self._stop.clear()

    def should_stop(self) -> Any:
        """Returns whether threads are requested to stop."""
        return self._stop.is_set()

    @contextlib.contextmanager
    def stop_on_exception(self) -> Any:
        """Context manager that requests a stop if its body raises an exception."""
        try:
            yield
        except Exception:
            self.request_stop(ex=sys.exc_info())

    def wait_for_stop(self, timeout: float | None = None) -> Any:
        """Waits until a stop is requested; returns whether it was.

        Args:
          timeout: Seconds to wait; None: no limit.
        """
        return self._stop.wait(timeout=timeout)

    def register_thread(self, thread: Any) -> None:
        """Adds a thread that `join` waits for.

        Args:
          thread: The thread.
        """
        with self._lock:
            self._registered_threads.add(thread)

    def unregister_threads(self, threads: Any) -> None:
        """Removes threads that `join` shall not wait for."""
        with self._lock:
            self._registered_threads.difference_update(threads)

    def raise_requested_exception(self) -> None:
        """Raises the exception that a thread reported."""
        with self._lock:
            if self._error is not None:
                raise self._error

    def join(
        self,
        threads: Any = None,
        stop_grace_period_secs: float = 120,
        ignore_live_threads: bool = False,
    ) -> None:
        """Waits for all threads and raises the exception that one reported.

        Args:
          threads: Threads to wait for, besides those that are registered.
          stop_grace_period_secs: Seconds to wait after a stop is requested.
          ignore_live_threads: Whether it is no error if threads still run then.

        Raises:
          RuntimeError: threads still run.
        """
        with self._lock:
            threads = list(self._registered_threads | set(threads or ()))
        while any(t.is_alive() for t in threads) and not self.wait_for_stop(1.0):
            pass
        end = time.time() + stop_grace_period_secs
        for thread in threads:
            if thread is not threading.current_thread():
                thread.join(max(0.0, end - time.time()))
        late = [t.name for t in threads if t.is_alive() and t is not threading.current_thread()]
        with self._lock:
            self._joined, self._registered_threads = True, set()
            error = self._error
        if error is not None:
            raise error
        if late and not ignore_live_threads:
            raise RuntimeError("Coordinator stopped with threads still running: " + " ".join(late))


@export(v1="train.LooperThread")
class LooperThread(threading.Thread):
    """A thread that calls a function repeatedly until the coordinator stops."""

    def __init__(
        self,
        coord: Any,
        timer_interval_secs: float,
        target: Any = None,
        args: Any = None,
        kwargs: Any = None,
    ):
        super().__init__(daemon=True)
        self._coord, self._interval = coord, timer_interval_secs
        self._do, self._args, self._words = target, args or (), kwargs or {}
        coord.register_thread(self)

    @staticmethod
    def loop(
        coord: Any, timer_interval_secs: float, target: Any, args: Any = None, kwargs: Any = None
    ) -> Any:
        looper = LooperThread(coord, timer_interval_secs, target, args, kwargs)
        looper.start()
        return looper

    def start_loop(self) -> None:
        pass

    def stop_loop(self) -> None:
        pass

    def run_loop(self) -> None:
        if self._do:
            self._do(*self._args, **self._words)

    def run(self) -> None:
        with self._coord.stop_on_exception():
            self.start_loop()
            due = time.time()
            while not self._coord.wait_for_stop(max(0.0, due - time.time())):
                self.run_loop()
                due = (due if self._interval else time.time()) + (self._interval or 0)
            self.stop_loop()
