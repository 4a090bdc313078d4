# SPDX-License-Identifier: Apache-2.0
"""partition.py: cuts a graph whose nodes are on several tasks. Each process builds a graph of
its own nodes, with the same names; where an edge leaves it, one process sends and another
receives.

The part of a process keeps every edge of the whole graph: data, and control. A control edge that
crosses becomes a message without content. Only constants and placeholders without control inputs
are replicated: they are the same everywhere and at any time.

Messages of a run are in one order on all processes, that of the graph: no two wait for each
other."""

import base64
import contextlib
import functools
import json

from situ._src.framework import errors, function_library, node_def
from situ._src.framework.api import OPS
from situ._src.framework.device_spec import DeviceSpec
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import Graph
from situ._src.framework.import_graph_def import Importer
from situ._src.framework.tensor_shape import TensorShape
from situ._src.ops import array_ops
from situ._src.ops.array_ops import convert_to_tensor

_REPLICATED = ("Const", "Placeholder", "PlaceholderV2")
_SCOPE = "situ.cut/"  # name scope of the nodes that a partition adds; programs do not use it


def _producer(text):
    """Returns (node, "node:output") of an input that is not a control input."""
    name, _, index = text.partition(":")
    return name, f"{name}:{index or 0}"


def task_of(device, home, tasks):
    """Returns the task (job, index) in a device name, or None. A job without a task means its first
    one, a task without a job one of the job of `home`."""
    spec = DeviceSpec.from_string(device or "")
    if (
        spec.task is None
        and spec.job in (None, "localhost")
        and spec.job not in {job for job, _ in tasks}
    ):
        return None
    task = (spec.job or home[0], spec.task or 0)
    if task not in tasks and spec.job == "localhost":
        task = (home[0], spec.task or 0)
    if task not in tasks:
        raise LookupError(device)
    return task


def check_devices(operations, home, tasks):
    """Returns whether an operation requests a task. Raises InvalidArgumentError if the cluster
    has no such task."""
    found, requested = {}, False
    for op in operations:
        device = op.device
        if device not in found:
            try:
                found[device] = task_of(device, home, tasks)
            except LookupError:
                valid = ", ".join(f"/job:{j}/replica:0/task:{i}/device:CPU:0" for j, i in tasks)
                raise errors.InvalidArgumentError(
                    None,
                    op,
                    f"Cannot assign a device for operation {op.name}: {{{{node {op.name}"
                    f"}}}} was explicitly assigned to {device} but available devices are [ {valid} "
                    "]. Make sure the device specification refers to a valid device.",
                ) from None
        requested = requested or found[device] is not None
    return requested


class Source:
    """The whole graph as nodes, each with the task that runs it; None: any task that needs it.
    `device_task` returns the task of a device, or None; nodes without one run on `home`."""

    def __init__(self, nodes, kinds, home, device_task, functions=None, tasks=None):
        self.nodes, self.kinds, self.functions = nodes, kinds, functions or b""
        self.by_name = {n["name"]: n for n in nodes}
        self.tasks = dict(tasks or {})
        for node in nodes if tasks is None else ():
            self.tasks[node["name"]] = self._task(node, home, device_task)

    def _task(self, node, home, device_task):
        if node["op"] in _REPLICATED and not node.get("input"):
            return None
        state = self._state_task(node)
        if state is not None:
            return state
        requested = device_task(node.get("device"))
        for group in node.get("attr", {}).get("_class", {}).get("list", {}).get("s", ()):
            other = base64.b64decode(group).decode()[5:]
            requested = self.tasks.get(other) if requested is None else requested
        return home if requested is None else requested

    def _state_task(self, node):
        """Returns the task of the variables and resources that a node uses: they cannot be sent."""
        inputs = [i for i in node.get("input", ()) if not i.startswith("^")]
        ports = OPS[node["op"]].inputs if node["op"] in OPS else []
        # References in the arguments of a function remain references.
        calls = any("func" in a for a in node.get("attr", {}).values())
        found = {}
        for index, text in enumerate(inputs):
            name, key = _producer(text)
            port = ports[index] if index < len(ports) else {}
            dtype, _, is_ref = self.kinds.get(key, (None, None, False))
            if (
                port.get("reference")
                or port.get("handle")
                or port.get("type") == "resource"
                or dtype in ("resource", "variant")
                or (is_ref and calls)
            ):
                found.setdefault(self.tasks[name], name)
        if len(found) > 1:
            self.split = getattr(self, "split", {})
            self.split[node["name"]] = found
        return next(iter(found), None)

    def needed(self, names, fed):
        """Returns the nodes that a run needs, in the order of the graph."""
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


@functools.cache
def _returns_reference(kind):
    """Returns whether the output of an op is a reference to a variable."""
    return any(port["reference"] for port in OPS[kind].outputs[:1])


def source_of(graph, home, device_task):
    """Returns the source of a graph."""
    nodes = json.loads(graph._save(True)).get("node", [])
    kinds = {
        t.name: (
            t.dtype.base_dtype.name,
            t.shape.as_list() if t.shape.rank is not None else None,
            _returns_reference(op.type),
        )
        for op in graph.get_operations()
        for t in op.outputs
    }
    return Source(nodes, kinds, home, device_task, function_library.dumps(graph))


class Cut:
    """What a run needs of a source, by place (a process, or a rank)."""

    def __init__(self, source, place_of, client, fetches, feeds):
        names = [f.partition(":")[0] for f in fetches if f not in feeds]
        nodes = source.needed(names, set(feeds))
        known = {n["name"] for n in nodes}
        self.nodes, self.functions = nodes, source.functions
        self.places = {
            n: None if source.tasks[n] is None else place_of(source.tasks[n]) for n in known
        }
        self.kinds = {
            k: v for k, v in source.kinds.items() if k.partition(":")[0] in known or k in feeds
        }
        self.client, self.fetches, self.feeds = client, list(fetches), sorted(feeds)
        for name, found in getattr(source, "split", {}).items():
            if name in known and len({place_of(t) for t in found}) > 1:
                raise errors.UnimplementedError(
                    None,
                    None,
                    f"{source.by_name[name]['op']} '{name}' uses variables or "
                    f"resources ({', '.join(found.values())}) of tasks that are in different "
                    "processes. Put them on one task.",
                )

    def used(self):
        """Returns the places that run nodes."""
        return {p for p in self.places.values() if p is not None}

    def for_place(self, place):
        """Returns the fields of the cut for a message, without the attributes of nodes that run
        elsewhere; the nodes are JSON text."""
        nodes = [
            n
            if self.places[n["name"]] in (None, place)
            else {"name": n["name"], "op": n["op"], "input": n.get("input", [])}
            for n in self.nodes
        ]
        calls = any("func" in a for n in nodes for a in n.get("attr", {}).values())
        functions = self.functions if calls else b""
        return {**self.__dict__, "nodes": json.dumps(nodes).encode(), "functions": functions}

    @staticmethod
    def from_fields(fields):
        """Returns the cut that for_place returned the fields of."""
        new = object.__new__(Cut)
        new.__dict__.update(fields, nodes=json.loads(fields["nodes"]))
        return new


class _Copier(Importer):
    """Copies nodes from the graph of this process, with all that a GraphDef does not have: the
    gradients of functions, and datasets."""

    def __init__(self, graph, whole, input_map):
        super().__init__(graph, "", input_map)
        self._whole = graph._whole = whole  # it owns the functions

    def add(self, node):
        inputs = [self.tensor(i) for i in node.input if not i.startswith("^")]
        with contextlib.ExitStack() as stack:
            self.scopes(stack, node, {})
            self.operations[node.name] = self.graph._copy(self._whole._find(node.name), inputs)


class Part:
    """The nodes that one place runs of a cut: a graph, with the values that are fetched there
    (None for those that are not), placeholders for feeds, and the messages."""

    def __init__(self, cut, me, edges, whole=None):
        """`whole`: the graph itself, if this process has it."""
        self._cut, self._me, self._edges = cut, me, edges
        self.graph, self.messages, self._moved = Graph(), [], set()
        with self.graph.as_default():
            with self.graph.name_scope(_SCOPE):
                self.fed = {name: _placeholder(*cut.kinds[name][:2]) for name in cut.feeds}
            self._importer = (
                _Copier(self.graph, whole, dict(self.fed))
                if whole is not None
                else Importer(self.graph, "", dict(self.fed), function_library.loads(cut.functions))
            )
            for node in cut.nodes:
                self._add(node)
            self.values = [
                self._fetch(f.partition(":")[0], f if ":" in f else None) for f in cut.fetches
            ]

    operations = property(
        lambda s: [v for v in s.values if v is not None and not hasattr(v, "dtype")]
    )

    def _replicate(self, name):
        """Imports a constant or placeholder that this place needs."""
        if self._cut.places[name] is None and name not in self._importer.operations:
            self._import(next(n for n in self._cut.nodes if n["name"] == name))

    def _import(self, node):
        (node,) = node_def.from_json([node]).node
        node.attr.pop("_class", None)
        node.device = self._edges.device(node.device) or ""
        self._importer.add(node)

    def _add(self, node):
        place = self._cut.places[node["name"]]
        if place is None:
            return
        for text in node.get("input", ()):
            control = text.startswith("^")
            name, key = (text[1:], text) if control else _producer(text)
            if key in self._importer.map:
                continue
            if self._cut.places[name] is None:
                if place == self._me:
                    self._replicate(name)
            elif self._cut.places[name] != place:
                self._message(key, self._cut.places[name], place)
        if place == self._me:
            self._import(node)

    def _message(self, text, p, t):
        """Sends the value of a node, or its completion, from place p to place t."""
        if (text, t) in self._moved or self._me not in (p, t):
            return
        self._moved.add((text, t))
        graph = self.graph
        with graph.name_scope(_SCOPE), graph.control_dependencies(self.messages[-1:]):
            self._send(text, t) if self._me == p else self._receive(text, p)

    def _send(self, text, to):
        if text.startswith("^"):
            with self.graph.control_dependencies([self._importer.operations[text[1:]]]):
                done = self._edges.send(convert_to_tensor(True), text, to)
        else:
            done = self._edges.send(self._importer.tensor(text), text, to)
        self.messages.append(done)

    def _receive(self, text, p):
        control = text.startswith("^")
        kind = ("bool", []) if control else self._cut.kinds[text][:2]
        got = self._edges.receive(p, text, self._me, *kind)
        if control:
            self._importer.operations[text[1:]] = got.op
        else:
            self._importer.map[text] = got
        self.messages.append(got.op)

    def _fetch(self, name, text):
        """Returns what this place fetches for a value, or for a node (text None); None: nothing."""
        if text in self._importer.map:
            return self._importer.tensor(text)
        place = self._cut.places[name]
        if place is None:
            self._replicate(name)
        if text is None:
            return self._importer.operations[name] if place in (None, self._me) else None
        if place is None:
            return self._importer.tensor(text)
        for t in self._cut.client:
            if t != place:
                self._message(text, place, t)
        here = self._me == place or self._me in self._cut.client
        return self._importer.tensor(text) if here else None


def _placeholder(dtype, shape):
    return array_ops.op("Placeholder", dtype=as_dtype(dtype), shape=TensorShape(shape))
