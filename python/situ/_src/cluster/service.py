# SPDX-License-Identifier: Apache-2.0
"""service.py: the background service of a tf.train.Server: runs parts of graphs for sessions of
other processes.

The servers of one process that belong to one cluster are a group: they share a store of variables,
and a session that needs no other process runs its graph as it is."""

import atexit
import collections
import contextlib
import queue
import socket
import sys
import threading
import time
import uuid

import _situ
from situ._src.cluster import channel, steps, task_states, wire_format
from situ._src.cluster.partition import Cut, Part
from situ._src.framework import device_lib, errors, logs, protos

PROCESS = uuid.uuid4().hex  # names this process among those of a cluster
_lock = threading.Lock()
_groups: list = []
_servers: dict = {}  # address -> Server
seen: set = set()  # addresses of servers whose processes have connected to this one


class Group:
    """The servers of this process that belong to one cluster."""

    def __init__(self):
        self.addresses, self.store = set(), _situ.store_create()
        self._parts, self._users, self._lock = {}, {}, threading.Lock()
        self.resets: collections.Counter = collections.Counter()  # by the address of the target
        self._own = {}  # scope -> store of a session that shares none

    def options(self, task, scope, config=None):
        """Returns the options of sessions of a task."""
        store = self.store
        if _is_isolated(config):
            with self._lock:
                store = self._own.setdefault(scope, _situ.store_create())
        return {
            **protos.config_options(config),
            "store": store,
            "task": f"/job:{task[0]}/task:{task[1]}",
            "scope": scope,
        }

    def reset(self, containers=None):
        """Clears variables and resources, all or those of containers."""
        for container in containers or [None]:
            _situ.store_reset(self.store, container)

    def enter(self, scope):
        """Called when a connection of a session opens."""
        with self._lock:
            self._users[scope] = self._users.get(scope, 0) + 1

    def leave(self, scope):
        """Called when a connection closes; the last one releases the parts of its session."""
        with self._lock:
            self._users[scope] -= 1
            gone = []
            if not self._users[scope]:
                del self._users[scope]
                gone = [self._parts.pop(k) for k in list(self._parts) if k[0] == scope]
                self._own.pop(scope, None)
        for part in gone:
            part.session.close()

    def register(self, scope, number, cut, task, config):
        """Builds the part of a graph that this process runs."""
        from situ._src.cluster.tasks import PartSession

        with self._lock:
            if (scope, number) in self._parts:
                return
        part = Part(cut, PROCESS, steps.TaskEdges())
        part.session = PartSession(part.graph, self.options(task, scope, config))
        with self._lock:
            self._parts[scope, number] = part

    def part(self, scope, number):
        with self._lock:
            return self._parts[scope, number]


def _is_isolated(config):
    """Returns whether a session shares no variables: as it says itself, or because it brings a
    cluster of its own."""
    if config is None or config.isolate_session_state:
        return config is not None
    shares = config.experimental.share_session_state_in_clusterspec_propagation
    return has_cluster(config) and not shares


def has_cluster(config):
    """Returns whether the ConfigProto of a session brings a cluster."""
    return config is not None and len(config.cluster_def.job) > 0


def tasks_of(config):
    """Returns the addresses of the tasks of the cluster that a ConfigProto brings, by task."""
    return {
        (job.name, index): address
        for job in config.cluster_def.job
        for index, address in job.tasks.items()
    }


def task_at(tasks, address):
    """Returns the task that has an address.

    Raises:
      InvalidArgumentError: no task, or several, have it.
    """
    found = [task for task, where in tasks.items() if where.rpartition("//")[2] == address]
    if len(found) != 1:
        what = "Found multiple matching tasks" if found else "Could not find a task"
        raise errors.InvalidArgumentError(
            None,
            None,
            f"{what} that correspond to the target grpc://{address} in the cluster_def of the "
            f"session: {tasks}",
        )
    return found[0]


def run_part(part, step, feeds, fetches, trace=None):
    """Runs a part in this thread and returns the fetched values."""
    with step.in_this_thread():
        return part.session._run_with_options(
            [fetches, part.messages],
            {part.fed[n]: v for n, v in feeds.items()},
            step.timeout_ms,
            trace,
            step.cancel,
        )[0]


def server_at(address):
    """Returns the server of this process with an address, or None."""
    with _lock:
        return _servers.get(address)


def is_reachable(address):
    """Returns whether a server accepts connections at an address."""
    if server_at(address) is not None:
        return True
    try:
        channel.connect(address).close()
    except OSError:
        return False
    return True


def addresses():
    """Returns the addresses of the servers of this process."""
    with _lock:
        return list(_servers)


def _group_of(known):
    """Returns the group of servers that has one of these addresses."""
    for group in _groups:
        if group.addresses & known:
            group.addresses |= known
            return group
    _groups.append(Group())
    _groups[-1].addresses |= known
    return _groups[-1]


def start(server, address, known):
    """Accepts connections to the address of a server, and sets its address, including a port
    chosen for port 0, and its group."""
    listening = None
    while listening is None:
        host, _, port = address.rpartition(":")
        chosen = free_addresses(1)[0].replace("localhost", host) if port == "0" else address
        try:
            listening = channel.listen(chosen)
        except OSError as error:
            if port != "0":
                raise errors.UnknownError(
                    None,
                    None,
                    f"Could not start the server: {address}: {error.strerror}. Another "
                    "server has this address.",
                ) from None
    with _lock:
        _servers[chosen] = server
        server.started(chosen, _group_of(set(known) - {address} | {chosen}))
    for one in listening:
        threading.Thread(
            target=_accept, args=(one, server), daemon=True, name=f"server {chosen}"
        ).start()


def free_addresses(count):
    """Returns addresses of this machine with unused ports."""
    with contextlib.ExitStack() as stack:
        some = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in some:
            one.bind(("localhost", 0))
        return [f"localhost:{one.getsockname()[1]}" for one in some]


_PAUSE = 0.05  # seconds between two attempts to accept
_UNTRUSTED = 64  # connections over TCP at a time that have not proved that they know the secret


def _accept(listening, server):
    is_local = listening.family == socket.AF_UNIX  # the kernel knows the user of the peer
    slots = threading.Semaphore(sys.maxsize if is_local else _UNTRUSTED)
    while True:
        try:
            connected = listening.accept()[0]
        except OSError:  # the peer is gone, or there are too many open files
            time.sleep(_PAUSE)
            continue
        if not slots.acquire(blocking=False):
            connected.close()  # the peer tries again
            continue
        try:
            threading.Thread(target=_serve, args=(connected, server, slots), daemon=True).start()
        except RuntimeError:  # too many threads
            slots.release()
            connected.close()


def _serve(connected, server, slots):
    try:
        trusted = channel.Channel(connected, accepted=True)
    except OSError:
        return  # it belongs to another user, or has another key
    finally:
        slots.release()
    _Connection(trusted, server).serve()


class _Connection:
    """A connection of a session in another process; it runs one step at a time."""

    def __init__(self, connected, server):
        self._channel, self._server, self._step = connected, server, steps.Step(None)
        self._runs, self._scope = queue.SimpleQueue(), None

    def serve(self):
        """Handles messages until the session disconnects."""
        try:
            while True:
                kind, *message = wire_format.check(self._channel.receive())
                handler = getattr(self, f"_on_{kind}", None)
                if handler is None:
                    raise EOFError(f"a server does not expect a message {kind!r}")
                handler(*message)
        except (EOFError, TypeError, ValueError) as error:
            if str(error):
                logs.warn("The connection of a session ends: %s", error)
        except OSError:
            pass
        finally:
            self._step.fail(errors.CancelledError(None, None, "The session has ended."))
            self._runs.put(None)
            self._channel.close()
            if self._scope is not None:
                self._server.group.leave(self._scope)

    def _on_hello(self, scope, callers):
        if self._scope is not None:
            raise EOFError("a session sends hello twice")
        seen.update(callers)
        self._scope = scope
        self._server.group.enter(scope)
        devices = [dict(d, limit=device_lib.limit(d)) for d in _situ.devices()]
        tasks = self._server.describe()
        info = {
            "task": list(tasks["task"]),
            "addresses": [[*task, address] for task, address in tasks["addresses"].items()],
            "devices": devices,
        }
        self._channel.send("hello", PROCESS, info)
        threading.Thread(target=self._work, daemon=True).start()

    def _on_watch(self):
        """Registers the other process for a notice when this process, or its program, ends."""
        self._server.announcer.watched_by(self._channel)

    def _on_ended(self, ended):
        """The program of servers has ended, possibly before this process could watch them."""
        seen.update(ended)

    def _on_run(self, number, cut, config, feeds, timeout_ms):
        """`cut` is None where this process has it."""

        def send(to, key, value):
            self._channel.send("tensor", to, key, value)

        if config is not None:
            config = protos.ConfigProto.FromString(config)
        self._step = steps.Step(send, timeout_ms)
        self._runs.put((self._step, number, cut, config, feeds))

    def _on_tensor(self, to, key, value):
        del to  # this process
        self._step.put(key, value)

    def _on_cancel(self, message):
        self._step.fail(errors.CancelledError(None, None, message))

    def _on_reset(self, containers):
        self._server.group.reset(containers)
        self._channel.send("done")

    def _work(self):
        for step, *run in iter(self._runs.get, None):
            try:
                self._run(step, *run)
                answer = ("done",)
            except Exception as error:  # sent to the session, which raises it
                answer = ("failed", *described(step.error or error))
            try:
                self._channel.send(*answer)
            except OSError:
                return

    def _run(self, step, number, cut, config, feeds):
        group = self._server.group
        if cut is not None:
            cut = Cut.from_fields(cut)
            task = self._server.task
            if has_cluster(config):
                task = task_at(tasks_of(config), self._server.address)
            group.register(self._scope, number, cut, task, config)
        part = group.part(self._scope, number)
        run_part(part, step, feeds, part.operations)


def description_of(info):
    """Returns the tasks of a cluster and the devices of one in the form of Server.describe."""
    try:
        return {
            "task": tuple(info["task"]),
            "addresses": {(job, index): address for job, index, address in info["addresses"]},
            "devices": info["devices"],
        }
    except (KeyError, TypeError, ValueError):
        raise EOFError("a server describes no tasks") from None


def described(error):
    """Returns (code, message, op name) of an exception."""
    op = getattr(error, "op", None)
    if isinstance(error, errors.OpError):
        return error.error_code, error.message, getattr(op, "name", None)
    code = (
        12
        if isinstance(error, NotImplementedError)
        else 3
        if isinstance(error, (ValueError, TypeError))
        else 2
    )
    return code, str(error) or type(error).__name__, None


# ---- Detection of ended processes ----

_awaited: set = set()  # addresses of servers that may need those of this process until they end


def watchers_of(some):
    """Returns a Watcher for each address."""
    return [task_states.Watcher(address, server_at, seen) for address in some]


def ran(addresses, config):
    """Notes that a session of this process ran in a cluster. Without parameter servers the workers
    may need each other until all of them end."""
    if not any(job == "ps" for job, _ in addresses):
        filters = list(config.device_filters) if config is not None else []
        _awaited.update(
            a
            for (job, index), a in addresses.items()
            if not filters
            or any(
                f.startswith((f"/job:{job}/replica:0/task:{index}", f"/job:{job}/task:{index}"))
                or f == f"/job:{job}"
                for f in filters
            )
        )


@atexit.register
def _linger():
    """Keeps the servers running at exit until the others of their cluster have ended."""
    with _lock:
        servers = list(_servers.values())
    for server in servers:
        server.announcer.end()
    task_states.announce_end(servers, server_at)
    others = [a for a in _awaited if server_at(a) is None]
    if others and servers and not hasattr(sys, "last_value"):
        from situ._src.cluster import links

        task_states.wait_for_end(watchers_of(others), links.start_timeout())
