# SPDX-License-Identifier: Apache-2.0
"""steps.py: one run of a graph that was cut: the tensors that arrive in a process, and who has
to stop when a part fails."""

import contextlib
import threading
import time

import _situ
from situ._src.framework import errors
from situ._src.framework.api import OPS
from situ._src.framework.scopes import device

_here = threading.local()
_POLL = 0.2  # seconds: the main thread handles signals in between


def deadline_error(what="Timed out waiting for notification"):
    return errors.CLASSES[4](None, None, what)


class Step:
    """Tensors by key, for the part of one process. `send(to, key, value)` takes those that leave
    it."""

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
        """Ends the run; the first error is the one that is reported."""
        with self._condition:
            self.error = self.error or error
            self.cancel[0] = 1
            self._condition.notify_all()

    def wait(self, ready):
        """Waits until `ready()`, which is called with the lock; raises where the run has failed."""
        with self._condition:
            while not ready():
                if self.error is not None:
                    raise self.error
                if self._until is not None and time.monotonic() > self._until:
                    raise deadline_error()
                self._condition.wait(_POLL)

    def take(self, key):
        """Waits for a tensor."""
        self.wait(lambda: key in self._arrived)
        return self._arrived.pop(key)

    @contextlib.contextmanager
    def in_this_thread(self):
        """Sends and receives of this thread are those of this step."""
        before, _here.step = getattr(_here, "step", None), self
        try:
            yield
        finally:
            _here.step = before


def transfer(token, arrays):
    """What TaskSend and TaskReceive call."""
    kind, first, key = token.split(" ", 2)
    if kind == "receive":
        return [_here.step.take(key)]
    _here.step.send(first, key, arrays[0])
    return []


class TaskEdges:
    """Edges of a cut as ops that send and receive."""

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
        from situ._src.framework.dtypes import as_dtype
        from situ._src.framework.tensor_shape import TensorShape

        with device("/device:CPU:0"):
            return OPS["TaskReceive"](
                dtype=as_dtype(dtype), shape=TensorShape(shape), token=f"receive {me} {text}"
            )
