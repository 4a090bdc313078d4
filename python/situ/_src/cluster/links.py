# SPDX-License-Identifier: Apache-2.0
"""links.py: the connections of a session to servers of other processes, and runs over them."""

import os
import threading
import time

from situ._src.cluster import channel, service, wire_format
from situ._src.cluster.steps import Step, deadline_error
from situ._src.framework import errors, logs

_RETRY_PAUSE = 0.02  # seconds between two attempts to connect
_WARNING_PAUSE = 10.0  # seconds between two warnings
_CANCEL_TIMEOUT = 30.0  # seconds: for servers to end their parts of a run that has failed


def start_timeout():
    """Returns how many seconds a session waits for a server to start."""
    try:
        return float(os.environ.get("SITU_CLUSTER_TIMEOUT", "")) or 300.0
    except ValueError:
        return 300.0


def open_channel(address, task, timeout_ms=0):
    """Opens a channel to a server; waits until the server accepts connections."""
    begin = warned = time.monotonic()
    limit = timeout_ms / 1000 if timeout_ms else start_timeout()
    while True:
        try:
            return channel.connect(address)
        except OSError:
            now = time.monotonic()
        if now - begin > limit:
            raise deadline_error(
                f"{task} at {address} has not started after {limit:g} seconds. For tasks on "
                "several machines use mpirun or set SITU_CLUSTER_KEY; SITU_CLUSTER_TIMEOUT sets "
                "how long a session waits."
            )
        if now - warned > _WARNING_PAUSE:
            warned = now
            logs.info("CreateSession still waiting for response from worker: %s", task)
        time.sleep(_RETRY_PAUSE)


class Link:
    """A connection of a session to a process; one run at a time."""

    def __init__(self, address, task, scope, timeout_ms=0):
        self.address, self.task, self.run = address, task, None
        self.sent_cuts: set = set()  # numbers
        self.lost = False
        self._channel = open_channel(address, task, timeout_ms)
        try:
            self._channel.send("hello", scope, service.addresses())
            _, self.process, self.info = wire_format.check(self._channel.receive())
            self.info = service.description_of(self.info)
        except (EOFError, OSError):
            raise self.unavailable() from None
        threading.Thread(target=self._read, daemon=True, name=f"link to {address}").start()

    def unavailable(self):
        """Returns the error of a run that needs this process."""
        return errors.UnavailableError(
            None, None, f"{self.task} at {self.address} is lost: its process has ended."
        )

    def _read(self):
        while True:
            try:
                kind, *message = wire_format.check(self._channel.receive())
            except EOFError:
                self.lost = True
                if self.run is not None:
                    self.run.part_ended(self, self.unavailable())
                return
            if kind == "tensor":
                self.run.route(*message)
            elif kind == "done":
                self.run.part_ended(self)
            elif kind == "failed":
                code, text, op = message
                self.run.part_ended(self, errors.from_status(code, text, op, self.run.graph))

    def send(self, *message):
        try:
            self._channel.send(*message)
        except OSError:
            self.lost = True
            raise self.unavailable() from None

    def close(self):
        self._channel.close()


def _serialized(config):
    return None if config is None else config.SerializeToString()


class Run(Step):
    """A run of a partitioned graph in the session's process: the parts of servers, by process."""

    def __init__(self, links, graph, timeout_ms):
        super().__init__(self.route, timeout_ms)
        self._links, self._open, self.graph = links, set(links), graph
        self._started = threading.Event()

    def route(self, to, key, value):
        """Delivers a tensor to the part of this process, or forwards it to another one."""
        if to == service.PROCESS:
            self.put(key, value)
            return
        self._started.wait()  # a server that does not know of the run would drop the tensor
        try:
            self._links[to].send("tensor", to, key, value)
        except errors.OpError as error:
            self.fail(error)

    def part_ended(self, link, error=None):
        """Records that a server has run its part, or failed."""
        with self._condition:
            self._open.discard(link.process)
            self._condition.notify_all()
        if error is not None:
            self.fail(error)

    def start(self, number, cut, config, feeds):
        """Sends the servers their parts of a run. Each gets `cut` once."""
        try:
            for process, link in self._links.items():
                link.run = self
                own = None if number in link.sent_cuts else cut.for_place(process)
                link.send("run", number, own, _serialized(config), feeds, self.timeout_ms)
                link.sent_cuts.add(number)
        finally:
            self._started.set()

    def finish(self):
        """Waits until all servers have done their parts."""
        self.wait(lambda: not self._open)
        if self.error is not None:
            raise self.error

    def abandon(self, error):
        """Has the servers end a run that failed; waits for them to do so."""
        self.fail(error)
        for process in list(self._open):
            try:
                self._links[process].send("cancel", str(error) or type(error).__name__)
            except errors.OpError:
                self._open.discard(process)
        until = time.monotonic() + _CANCEL_TIMEOUT
        with self._condition:
            while self._open and time.monotonic() < until:
                self._condition.wait(0.2)
            return [self._links[p] for p in self._open]


class Pool:
    """The connections of a session, by process; a thread gets some for a run and puts them back."""

    def __init__(self, scope):
        self._scope, self._idle, self._lock = scope, {}, threading.Lock()

    def get(self, address, task, process, timeout_ms):
        """Takes a connection for one run; UnavailableError if the process has ended."""
        with self._lock:
            idle = self._idle.get(process, [])
            link = idle.pop() if idle else None
            if link is not None and link.lost:
                idle.clear()
        if link is None:
            link = Link(address, task, self._scope, timeout_ms)
        if link.lost or link.process != process:
            link.close()
            raise link.unavailable()
        return link

    def put(self, link):
        """Makes a connection idle, or closes it if its process has ended."""
        with self._lock:
            if not link.lost:
                link.run = None
                self._idle.setdefault(link.process, []).append(link)
                return
        link.close()

    def close(self):
        with self._lock:
            links = [link for idle in self._idle.values() for link in idle]
            self._idle.clear()
        for link in links:
            link.close()
