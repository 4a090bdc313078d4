# SPDX-License-Identifier: Apache-2.0
"""steps.py: one step of a partitioned graph: received tensors, and cancellation when a part
fails."""

import contextlib
import threading
import time

import _situ
from situ._src.cluster import wire_format
from situ._src.framework import errors
from situ._src.framework.api import OPS
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.scopes import device
from situ._src.framework.tensor_shape import TensorShape

_here = threading.local()
_POLL = 0.2  # seconds; lets the main thread handle signals


def deadline_error(what="Timed out waiting for notification"):
    return errors.DeadlineExceededError(None, None, what)


class Step:
    """The tensors of one step by key, for the part of one process. `send(to, key, value)` sends a
    tensor to another process."""

    def __init__(self, send, timeout_ms=0):
        self.send, self.error, self.cancel = send, None, bytearray(1)
        self._arrived, self._condition = {}, threading.Condition()
        self.timeout_ms = timeout_ms
        self._until = time.monotonic() + timeout_ms / 1000 if timeout_ms else None

    def put(self, key, value):
        with self._condition:
            self._arrived[key] = value
            self._condition.notify_all()

    def fail(self, error):
        """Ends the step; the first error is reported."""
        with self._condition:
            self.error = self.error or error
            self.cancel[0] = 1
            self._condition.notify_all()

    def wait(self, ready):
        """Waits until `ready()`, called with the lock held, is true; raises if the step has
        failed."""
        with self._condition:
            while not ready():
                if self.error is not None:
                    raise self.error
                if self._until is not None and time.monotonic() > self._until:
                    raise deadline_error()
                self._condition.wait(_POLL)

    def take(self, key):
        """Waits for a tensor and removes it."""
        self.wait(lambda: key in self._arrived)
        return self._arrived.pop(key)

    @contextlib.contextmanager
    def in_this_thread(self):
        """Context manager: sends and receives of this thread belong to this step."""
        before, _here.step = getattr(_here, "step", None), self
        try:
            yield
        finally:
            _here.step = before


def transfer(token, arrays):
    """Implements TaskSend and TaskReceive."""
    kind, first, key = token.split(" ", 2)
    if kind == "receive":
        return [_here.step.take(key)]
    _here.step.send(first, key, wire_format.as_array(arrays[0]))
    return []


class TaskEdges:
    """Implements cut edges by send and receive ops."""

    def __init__(self):
        from situ._src.ops import script_ops

        _situ.set_callback(script_ops.call)

    @staticmethod
    def device(name):
        return name  # sessions of servers know all tasks of their process

    @staticmethod
    def send(tensor, text, to):
        with device("/device:CPU:0"):
            return OPS["TaskSend"](tensor, token=f"send {to} {text}")

    @staticmethod
    def receive(_, text, me, dtype, shape):
        with device("/device:CPU:0"):
            return OPS["TaskReceive"](
                dtype=as_dtype(dtype), shape=TensorShape(shape), token=f"receive {me} {text}"
            )
