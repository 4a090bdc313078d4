# SPDX-License-Identifier: Apache-2.0
"""tasks.py: sessions of a cluster: a graph may name tasks, and each node runs on its own.

A session whose target is a server runs nodes of tasks of this process itself, and asks servers of
other processes for the rest. Without a target, where mpirun has started several processes, all of
them run the same fetches (ranks.py)."""

import functools
import itertools
import threading
import uuid

import numpy

import _situ
from situ._src.cluster import links, partition, processes, ranks, service, steps
from situ._src.framework import device_lib, errors, protos
from situ._src.framework.session import Session
from situ._src.profiler import step_stats

_TARGET = "grpc://"


class PartSession(Session):
    """A session that runs one part of a partitioned graph."""

    def __init__(self, graph, options, config=None):
        self._part_options = options
        super().__init__(graph=graph, config=config)
        self._is_part = True

    def _options(self, target, config):
        del target  # the part runs in this process
        return {**protos.config_options(config), **self._part_options}


class Cluster:
    """The tasks of a cluster from the view of a session."""

    def __init__(self, target, config):
        self.address, self.scope = target[len(_TARGET) :], uuid.uuid4().hex
        self.config, self.pool, self._processes = config, links.Pool(self.scope), {}
        self._source, self._version, self._cuts, self._numbers = None, None, {}, itertools.count()
        self._lock, self.home, self.addresses = threading.Lock(), None, {}
        server = service.server_at(self.address)
        self.group = service.Group() if server is None else server.group
        self.resets = self.group.resets[self.address]
        self.group.enter(self.scope)
        if service.has_cluster(config):
            tasks = service.tasks_of(config)
            self._describe({"task": service.task_at(tasks, self.address), "addresses": tasks})
        elif server is not None:
            self._describe(server.describe())

    def _describe(self, info):
        self.home, self.addresses = info["task"], info["addresses"]
        self.tasks = list(self.addresses)

    def find(self, timeout_ms):
        """Requests the tasks of the cluster from the target if it is another process."""
        if self.home is None:
            link = links.Link(self.address, f"The server {self.address}", self.scope, timeout_ms)
            self._describe(link.info)
            self.pool.put(link)

    def check(self):
        """Raises AbortedError if the target has been reset since the session began."""
        if self.resets != self.group.resets[self.address]:
            raise errors.AbortedError(None, None, f"Session {self.scope} is not found.")

    def is_local(self, task):
        return service.server_at(self.addresses[task]) is not None

    def _task_of(self, device):
        return partition.task_of(device, self.home, self.addresses)

    def _process_of(self, task, timeout_ms):
        """Returns the process of a task."""
        if self.is_local(task):
            return service.PROCESS
        if task not in self._processes:
            link = links.Link(self.addresses[task], _task_name(task), self.scope, timeout_ms)
            self._processes[task] = link.process
            self.pool.put(link)
        return self._processes[task]

    def devices_of(self, task, timeout_ms):
        """Returns the devices of a task, as _situ.devices does."""
        if self.is_local(task):
            return _situ.devices()
        link = links.Link(self.addresses[task], _task_name(task), self.scope, timeout_ms)
        self.pool.put(link)
        return link.info["devices"]

    def cut_of(self, graph, fetches, feeds, timeout_ms):
        """Returns the compiled partition of a run; None if this process runs all of it. Nodes
        are immutable, so the partition remains valid when the graph grows."""
        key = tuple(fetches), tuple(sorted(feeds))
        with self._lock:
            if key in self._cuts:
                return self._cuts[key]
            source, number = self._source_of(graph), next(self._numbers)
        cut = partition.Cut(
            source,
            lambda task: self._process_of(task, timeout_ms),
            [service.PROCESS],
            fetches,
            feeds,
        )
        result = None if cut.used() <= {service.PROCESS} else _Compiled(self, cut, number, graph)
        with self._lock:
            return self._cuts.setdefault(key, result)

    def _source_of(self, graph):
        if self._version != graph.version:
            self._source = partition.source_of(graph, self.home, self._task_of)
            self._version = graph.version
        return self._source

    def named(self, places, graph):
        """Returns the devices of operations, by name, with the tasks that run them."""
        with self._lock:
            source, result = self._source_of(graph), {}
        for name, place in places.items():
            task = source.tasks.get(name)
            if task is None:
                device = source.by_name[name].get("device") if name in source.by_name else None
                task = self._task_of(device) or self.home
            result[name] = _of_task(place, task)
        return result

    def links_to(self, others, timeout_ms):
        """Returns connections for a run, by process."""
        result = {}
        try:
            for process in others:
                task = next((t for t, p in list(self._processes.items()) if p == process), None)
                if task is None:
                    raise errors.UnavailableError(None, None, "A process of the cluster is lost.")
                result[process] = self.pool.get(
                    self.addresses[task], _task_name(task), process, timeout_ms
                )
        except BaseException:
            self.return_links(result.values(), True)
            raise
        return result

    def return_links(self, some, lost=False):
        """Returns connections to the pool; if one is lost, the next run looks up the processes
        again."""
        lost = lost or any(link.lost for link in some)
        for link in some:
            self.pool.put(link)
        if lost:
            with self._lock:
                self._processes.clear()
                self._cuts.clear()

    def close(self):
        self.pool.close()
        self.group.leave(self.scope)
        for compiled in self._cuts.values():
            if compiled is not None:
                compiled.part.session.close()


def _task_name(task):
    return f"/job:{task[0]}/replica:0/task:{task[1]}"


def _of_task(device, task):
    """Returns the name of a device of this process with its task."""
    return f"{_task_name(task)}/device:{device.rpartition('/device:')[2]}"


class _Compiled:
    """A partition with the compiled part of this process."""

    def __init__(self, cluster, cut, number, graph):
        self.cluster, self.cut, self.number = cluster, cut, number
        self.others = sorted(cut.used() - {service.PROCESS})
        self.part = partition.Part(cut, service.PROCESS, steps.TaskEdges(), graph)
        self.part.session = PartSession(
            self.part.graph, cluster.group.options(cluster.home, cluster.scope, cluster.config)
        )

    def run(self, graph, feeds, timeout_ms, trace):
        """Returns the fetched values in order."""
        found = self.cluster.links_to(self.others, timeout_ms)
        run, slow = links.Run(found, graph, timeout_ms), []
        fetched = [v for v in self.part.values if v is not None]
        try:
            run.start(self.number, self.cut, self.cluster.config, feeds)
            results = service.run_part(self.part, run, feeds, fetched, trace)
            run.finish()
        except BaseException as error:
            slow = run.abandon(error)
            if isinstance(error, Exception):
                raise self._reported(run.error, graph) from None
            raise
        finally:
            for link in slow:
                link.lost = True
            self.cluster.return_links(found.values())
        results = iter(results)
        return [None if v is None else next(results) for v in self.part.values]

    @staticmethod
    def _reported(error, graph):
        """Returns the error with the operation of the whole graph."""
        if not isinstance(error, errors.OpError) or error.op is None or error.op.graph is graph:
            return error
        return errors.from_status(error.error_code, error.message, error.op.name, graph)


class _Fetches:
    """The names of fetches, and the conversion of their values to the structure of the caller."""

    def __init__(self, graph, fetches):
        self._graph, self._fetches, self.names = graph, fetches, []
        _situ.map_structure(self._note, fetches)

    def _note(self, leaf):
        if hasattr(leaf, "_situ_parts_") and not isinstance(leaf, str):
            _situ.map_structure(self._note, leaf._situ_parts_)
        else:
            self.names.append(self._graph._fetched(leaf).name)

    def results(self, values, session):
        values = iter(values)

        def result(leaf):
            if hasattr(leaf, "_situ_parts_") and not isinstance(leaf, str):
                return leaf._situ_value_(_situ.map_structure(result, leaf._situ_parts_), session)
            return next(values)

        return _situ.map_structure(result, self._fetches)


def _fed(graph, feed_dict):
    """Returns the fed arrays by tensor name."""
    result = {}
    for key, value in graph._flat_feeds(feed_dict or {}).items():
        tensor = graph._fed(key)
        value = value.numpy() if isinstance(value, _situ.Tensor) else graph._feedable(tensor, value)
        if not tensor.shape.is_compatible_with(numpy.shape(value)):
            raise ValueError(
                f"Cannot feed value of shape {numpy.shape(value)} for Tensor "
                f"'{tensor.name}', which has shape '{tensor.shape}'"
            )
        result[tensor.name] = value
    return result


def _check(session, options):
    if session._closed:
        raise RuntimeError("Attempted to use a closed Session.")
    if options is not None and not isinstance(options, protos.RunOptions):
        raise TypeError(f"options must be a tf.RunOptions, but got {type(options)}")
    return (options.timeout_in_ms if options is not None else 0) or session._timeout_ms


class _OfServer:
    """Session.run for sessions whose target is a server."""

    _checked_version, _named = 0, (None, None)

    def _places(self):
        if self._named[0] != self.graph.version:
            places = self._cluster.named(super()._places(), self.graph)
            self._named = self.graph.version, places
        return self._named[1]

    def _check_devices(self):
        """Checks that nodes name only tasks of the cluster."""
        if self._checked_version != self.graph.version:
            partition.check_devices(
                self.graph.get_operations(), self._cluster.home, self._cluster.tasks
            )
            self._checked_version = self.graph.version

    def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
        cluster, timeout_ms = self._cluster, _check(self, options)
        cluster.check()
        cluster.find(timeout_ms)
        self._check_devices()
        service.ran(cluster.addresses, cluster.config)
        if all(cluster.is_local(task) for task in cluster.tasks):
            return super().run(fetches, feed_dict, options, run_metadata)
        request = _Fetches(self.graph, fetches)
        feeds = _fed(self.graph, feed_dict)
        compiled = cluster.cut_of(self.graph, request.names, feeds, timeout_ms)
        if compiled is None:
            return super().run(fetches, feed_dict, options, run_metadata)
        is_traced = run_metadata is not None and options is not None and options.trace_level > 0
        trace = _situ.Recording() if is_traced else None
        values = compiled.run(self.graph, feeds, timeout_ms, trace)
        if run_metadata is not None:
            run_metadata.Clear()
            if trace is not None:  # of this process: the others keep theirs
                records = [(*r[:2], _of_task(r[2], cluster.home), *r[3:]) for r in trace.records()]
                step_stats.fill(run_metadata.step_stats, records, compiled.part.graph)
        return request.results(values, self)

    def list_devices(self):
        """Lists the devices of all tasks, those of the target first."""
        cluster = self._cluster
        cluster.find(self._timeout_ms)
        tasks = sorted(cluster.tasks, key=lambda t: (t != cluster.home, t))
        return [
            device_lib.session_device(d, _task_name(task))
            for task in tasks
            for d in cluster.devices_of(task, self._timeout_ms)
        ]

    def close(self):
        self._cluster.close()
        super().close()


class _OfRanks:
    """Session.run for graphs with nodes on several ranks; every rank makes the same call."""

    _parts, _checked_version, _active = None, None, False

    def _has_tasks(self):
        """Returns whether the graph names tasks."""
        if self._checked_version != self.graph.version:
            tasks = [tuple(t) for t in processes.tasks()]
            self._checked_version = self.graph.version
            self._active = partition.check_devices(
                self.graph.get_operations(), tasks[processes.rank()], tasks
            )
        return self._active

    def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
        if not self._has_tasks():
            return super().run(fetches, feed_dict, options, run_metadata)
        timeout_ms = _check(self, options)
        if self._parts is None:
            self._parts = ranks.RankParts(
                self.graph, lambda graph, own: PartSession(graph, own, self._config)
            )
        request = _Fetches(self.graph, fetches)
        values = self._parts.run(request.names, _fed(self.graph, feed_dict), timeout_ms)
        return request.results(values, self)

    def close(self):
        if self._parts is not None:
            self._parts.close()
        super().close()


@functools.cache
def _class_of(mixin, kind):
    """Returns the session class with the mixin for its target."""
    return kind if issubclass(kind, mixin) else type(kind.__name__, (mixin, kind), {})


def attach(session, target, config):
    """Turns a new session into one of a cluster and returns its options."""
    if target.startswith(_TARGET):
        session.__class__ = _class_of(_OfServer, type(session))
        server = service.server_at(target[len(_TARGET) :])
        config = server.config_of(config) if server is not None else config
        session._timeout_ms = config.operation_timeout_in_ms if config is not None else 0
        session._cluster = Cluster(target, config)
        if server is None:
            return protos.config_options(config)
        return session._cluster.group.options(session._cluster.home, session._cluster.scope, config)
    if processes.size() > 1:
        session.__class__ = _class_of(_OfRanks, type(session))
    return protos.config_options(config)


def reset(target, containers=None, timeout_ms=0):
    """Clears the variables and resources of all tasks of a cluster, or those of containers, and
    aborts the sessions of the target in this process. Waits for the server up to a time, if there
    is one."""
    cluster = Cluster(target, None)
    try:
        cluster.find(timeout_ms)
        for task, address in cluster.addresses.items():
            server = service.server_at(address)
            if server is not None:
                server.group.reset(containers)
            else:
                found = links.Link(address, _task_name(task), cluster.scope)
                run = links.Run({found.process: found}, None, 0)
                found.run = run
                found.send("reset", containers)
                run.finish()
                found.close()
        cluster.group.resets[cluster.address] += 1
    finally:
        cluster.close()
