# SPDX-License-Identifier: Apache-2.0
"""task_states.py: whether another task of a cluster runs a program, waits in Server.join, or has
ended.

A server announces its state to the processes that watch it. Server.join returns when no task runs a
program any more: each has ended or is in join itself, and at least one has ended. A process that
disappears without saying so was killed: it may start again."""

import threading
import time

from situ._src.cluster import channel, wire_format
from situ._src.framework import logs

RUNNING, JOINED, ENDED = "running", "joined", "ended"
_POLL, _POLL_ENDED = 0.05, 0.5  # seconds between two attempts to connect
_ANNOUNCE_TIMEOUT = 2.0  # seconds: to announce the end of the program at exit


class Announcer:
    """The state of a server in this process, and the channels of the processes that watch it."""

    def __init__(self):
        self.state, self._channels, self._lock = RUNNING, [], threading.Lock()

    def watched_by(self, watching):
        """Sends the state to a channel, now and whenever it changes."""
        with self._lock:
            self._channels.append(watching)
            watching.send("state", self.state)

    def set(self, state):
        with self._lock:
            self.state = state
            self._channels = [c for c in self._channels if _sends(c, state)]

    def end(self):
        """Announces the end of the program. A server in join has none, and its end is not
        announced."""
        if self.state == RUNNING:
            self.set(ENDED)


def _sends(watching, state):
    try:
        watching.send("state", state)
    except OSError:
        return False  # the process has ended
    return True


def _send_end(address, ended):
    try:
        opened = channel.connect(address)
        opened.send("ended", ended)
        opened.close()
    except OSError:
        pass  # it has not started, or has ended


def announce_end(servers, server_at):
    """Announces the end of the programs of servers to tasks that may not watch them yet."""
    threads = []
    for server in servers:
        if server.announcer.state != ENDED:
            continue
        described = server.describe()
        ended = [described["addresses"][described["task"]]]
        for address in described["addresses"].values():
            if server_at(address) is None:
                args = (address, ended)
                threads.append(threading.Thread(target=_send_end, args=args, daemon=True))
                threads[-1].start()
    until = time.monotonic() + _ANNOUNCE_TIMEOUT
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))


class Watcher:
    """Watches the task at an address.

    Args:
      address: the address of its server.
      server_at: returns the server of this process with an address, or None.
      seen: addresses of servers whose processes have connected to this one.
    """

    def __init__(self, address, server_at, seen):
        self._address, self._server_at, self._seen = address, server_at, seen
        self._state, self._is_connected, self._next = None, False, 0.0
        self._lost_at = None

    @property
    def state(self):
        """Returns the state; None if the task has not started."""
        server = self._server_at(self._address)
        return self._state if server is None else server.announcer.state

    @property
    def lost_for(self):
        """Returns the seconds since the process of a program disappeared; None if it did not."""
        return None if self._lost_at is None else time.monotonic() - self._lost_at

    def connect(self):
        """Connects if the process can be reached; a task that has ended may start again."""
        now = time.monotonic()
        if self._is_connected or now < self._next or self._server_at(self._address) is not None:
            return
        self._next = now + (_POLL_ENDED if self._state == ENDED else _POLL)
        try:
            opened = channel.connect(self._address)
        except OSError:
            if self._state is None and self._address in self._seen:
                self._state = ENDED  # before this process could watch it
            return
        self._is_connected = True
        threading.Thread(target=self._receive, args=(opened,), daemon=True).start()

    def _receive(self, opened):
        try:
            opened.send("watch")
            while True:
                _, self._state = wire_format.check(opened.receive())
                self._lost_at = None
        except (EOFError, OSError):
            if self._state == RUNNING and self._lost_at is None:
                self._lost_at = time.monotonic()
        finally:
            opened.close()
            self._is_connected = False


def wait_for_programs(watchers, patience):
    """Waits until tasks have started and none runs a program; forever if there are no tasks, or
    all of them are in join. A program that was killed has `patience` seconds to start again."""
    warned = False
    while True:
        for watcher in watchers:
            watcher.connect()
        lost = [w.lost_for for w in watchers if w.lost_for is not None]
        if lost and not warned:
            logs.info("A task of the cluster was lost; waits %g s for it to start again.", patience)
        warned = bool(lost)
        ended = [w.state == ENDED or (w.lost_for or 0.0) > patience for w in watchers]
        if any(ended) and all(e or w.state == JOINED for e, w in zip(ended, watchers)):
            return
        time.sleep(_POLL)


def wait_for_end(watchers, patience):
    """Waits until tasks have started and none can need this process, at most `patience` seconds."""
    until = time.monotonic() + patience
    while time.monotonic() < until:
        for watcher in watchers:
            watcher.connect()
        if all(w.state in (ENDED, JOINED) or w.lost_for is not None for w in watchers):
            return
        time.sleep(_POLL)
