# SPDX-License-Identifier: Apache-2.0
"""partition.py: a graph whose nodes are on several tasks: every rank holds all of it, and runs its
own part. Where a value goes to another task, one rank sends it and the other receives it.

Every rank must run the same fetches in the same order; or, where there are parameter servers, these
serve (serving.py), and each of the others runs what it likes. A run becomes nodes of a graph of
this rank: copies of the nodes that are its own, and messages. Messages are in one order on all
ranks, so that no two ranks wait for each other."""
import base64
import json

from situ._lib.api import OPS
from situ._lib.array_ops import convert_to_tensor
from situ._lib.cluster import processes, serving
from situ._lib.cluster.messages import receive, send
from situ._lib.devicespec import DeviceSpec
from situ._lib.graph import Graph
from situ._lib.graph_import import _Importer

_ANYWHERE = ("Const", "Placeholder", "PlaceholderV2")


def rank_of(device):
    """The rank of the task that a device's name asks for; None: it asks for no task."""
    spec = DeviceSpec.from_string(device or "")
    if spec.task is None and spec.job in (None, "localhost"):
        return None
    if spec.job in (None, "localhost"):
        return spec.task if spec.task < processes.size() else _no_task(device)
    for rank, (job, index) in enumerate(processes.tasks()):
        if job == spec.job and index == (spec.task or 0):
            return rank
    return _no_task(device)


def _no_task(device):
    jobs = ", ".join(f"/job:{j}/task:{i}" for j, i in processes.tasks())
    raise ValueError(f"Could not satisfy explicit device specification '{device}': no such task "
                     f"is in the cluster. There are {jobs}.")


def _local(device):
    """The name of a device without its task."""
    spec = DeviceSpec.from_string(device or "")
    return DeviceSpec(device_type=spec.device_type, device_index=spec.device_index).to_string()


def _producer(text):
    """(node, "node:output") of an input that is no control input."""
    name, _, index = text.partition(":")
    return name, f"{name}:{index or 0}"


def names_tasks(graph):
    """Whether any node asks for a task."""
    return any(rank_of(op.device) is not None for op in graph.get_operations())


class Source:
    """The whole graph, as nodes with their ranks; None: everywhere. Nodes that name no task are
    those of rank `home`; values that are fetched go to ranks `to`."""

    def __init__(self, nodes, kinds, home, to, ranks=None):
        self.nodes, self.kinds, self.home, self.to = nodes, kinds, home, to
        self.by_name = {n["name"]: n for n in self.nodes}
        self.ranks = dict(ranks or {})
        for node in self.nodes if ranks is None else ():
            self.ranks[node["name"]] = self._rank(node)

    def _rank(self, node):
        inputs = [i for i in node.get("input", ()) if not i.startswith("^")]
        if node["op"] in _ANYWHERE and not inputs:
            return None
        for text, port in zip(inputs, (OPS[node["op"]].row["inputs"] or "").split()):
            if port.partition(":")[2].startswith(("&", "@", "resource")):
                return self.ranks[_producer(text)[0]]
        asked = rank_of(node.get("device"))
        for group in node.get("attr", {}).get("_class", {}).get("list", {}).get("s", ()):
            other = base64.b64decode(group).decode()[5:]
            asked = self.ranks.get(other, asked) if asked is None else asked
        return self.home if asked is None else asked

    def needed(self, names, fed):
        """The nodes that a run needs, in the order of the graph."""
        found, todo = set(), list(names)
        while todo:
            name = todo.pop()
            if name in found:
                continue
            found.add(name)
            for text in self.by_name[name].get("input", ()):
                if text.startswith("^"):
                    todo.append(text[1:])
                elif _producer(text)[1] not in fed:
                    todo.append(_producer(text)[0])
        return [n for n in self.nodes if n["name"] in found]


def nodes_of(graph):
    """The nodes of a graph, and type and shape of their values by name."""
    nodes = json.loads(graph.as_graph_def()._json()).get("node", [])
    kinds = {t.name: (t.dtype.base_dtype.name, t.shape.as_list() if t.shape.rank is not None
                      else None) for op in graph.get_operations() for t in op.outputs}
    return nodes, kinds


class Build:
    """One run, on its way into the graph of this rank."""

    def __init__(self, parts, source, label, fed):
        self.source, self.me, self.label = source, processes.rank(), label
        self.importer = _Importer(parts.graph, self.label + "/", fed)
        self.importer.made.update(parts.shared)
        self.parts, self.sent, self.moved = parts, [], {}

    def message(self, text, p, t):
        """The value or the end of a node goes from rank p to rank t."""
        if (text, t) in self.moved or self.me not in (p, t):
            return
        self.moved[text, t] = True
        name, graph = f"{self.label}/{text}/{t}", self.parts.graph
        chain = self.sent[-1:]
        with graph.name_scope(self.label + "/messages/"), graph.control_dependencies(chain):
            if self.me == p:
                self._send(text, t, name)
            else:
                self._receive(text, p, name)

    def _send(self, text, to, name):
        if text.startswith("^"):
            with self.parts.graph.control_dependencies([self.importer.made[text[1:]]]):
                done = send(convert_to_tensor(True), to, name)
        else:
            done = send(self.importer.tensor(text), to, name)
        self.sent.append(done)

    def _receive(self, text, p, name):
        if text.startswith("^"):
            got = receive(p, name, "bool", [])
            self.importer.made[text[1:]] = got.op
        else:
            got = receive(p, name, *self.source.kinds[text])
            self.importer.map[text] = got
        self.sent.append(got.op)

    def add(self, node):
        rank = self.source.ranks[node["name"]]
        if node["name"] in self.parts.shared:
            return
        for text in node.get("input", ()):
            control = text.startswith("^")
            name, key = (text[1:], text) if control else _producer(text)
            if key in self.importer.map:
                continue
            p = self.source.ranks[name]
            if p is not None and rank is not None and p != rank:
                self.message(key, p, rank)
        if rank not in (None, self.me):
            return
        own = dict(node, device=_local(node.get("device")))
        if rank is None:
            own["input"] = []  # what it waits for may be elsewhere; a constant is the same before
        own.setdefault("attr", {}).pop("_class", None)
        if not node.get("input") and node["op"] not in _ANYWHERE:  # state: the same in all runs
            before, self.importer.prefix = self.importer.prefix, ""
            self.importer.add(own)
            self.importer.prefix = before
            self.parts.shared[node["name"]] = self.importer.made[node["name"]]
        else:
            self.importer.add(own)

    def fetch(self, name, text):
        """What this rank fetches for a value (or a node, text None) that may be elsewhere."""
        if text in self.importer.map:
            return self.importer.tensor(text)
        p = self.source.ranks[name]
        if text is None:
            return self.importer.made[name] if p in (None, self.me) else None
        if p is None:
            return self.importer.tensor(text)
        for t in self.source.to:
            if t != p:
                self.message(text, p, t)
        return self.importer.tensor(text) if self.me == p or self.me in self.source.to else None


def built(parts, source, label, fetches, feeds):
    """What this rank runs: (values or None for each fetch, fed placeholders, messages)."""
    with parts.graph.as_default():
        fed = {name: _placeholder(*source.kinds[name]) for name in feeds}
        build = Build(parts, source, label, dict(fed))
        names = [(f.partition(":")[0], f if ":" in f else None) for f in fetches]
        for node in source.needed([n for n, f in names if f not in fed], set(fed)):
            build.add(node)
        return [build.fetch(n, f) for n, f in names], fed, build.sent


class Parts:
    """What this rank runs of a graph."""

    def __init__(self, whole, make_session):
        self._whole, self.graph, self.shared, self._runs = whole, Graph(), {}, {}
        self.session, self._source, self._version = make_session(self.graph), None, None

    def _refresh(self):
        if self._version != self._whole.version:
            me, served = processes.rank(), serving.server_ranks()
            self._version = self._whole.version
            self._source = Source(*nodes_of(self._whole), me if served else 0,
                                  [me] if served else list(range(processes.size())))

    def _compile(self, fetches, feeds):
        self._refresh()
        label = f"run_{processes.rank()}_{len(self._runs)}" if serving.server_ranks() else \
            f"run_{len(self._runs)}"
        asked = serving.Asked(self._source, label, fetches, feeds)
        return (*built(self, self._source, label, fetches, feeds), asked)

    def run(self, fetches, feeds):
        """Runs names of values and nodes, with values by name; a list of results."""
        key = tuple(fetches), tuple(sorted(feeds))
        if key not in self._runs:
            self._runs[key] = self._compile(fetches, feeds)
        values, fed, messages, asked = self._runs[key]
        there = [v for v in values if v is not None]
        with asked.run(feeds):
            results = iter(self.session.run(
                [there, messages], {fed[name]: value for name, value in feeds.items()})[0])
        return [None if v is None else next(results) for v in values]


def _placeholder(dtype, shape):
    from situ._lib.array_ops import op
    from situ._lib.dtypes import as_dtype
    from situ._lib.shapes import TensorShape
    return op("Placeholder", dtype=as_dtype(dtype), shape=TensorShape(shape))
