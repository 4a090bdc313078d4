# SPDX-License-Identifier: Apache-2.0
"""import_loops.py: while loops of TensorFlow 1 in GraphDefs: the frames of Enter, Merge, LoopCond,
Switch, NextIteration and Exit nodes become While operations.

A loop variable is a Merge of an Enter and a NextIteration node. The condition is what LoopCond
reads, the body what the NextIteration nodes read; both begin at the Merge nodes, and other Enter
nodes are values of the outer graph. Frames within a body are read in the same way."""

from __future__ import annotations

import contextlib
from typing import Any

from situ._src.framework.api import OPS
from situ._src.framework.tensor_shape import as_shape
from situ._src.ops.while_loop import while_loop

_ENTER, _EXIT = ("Enter", "RefEnter"), ("Exit", "RefExit")
_MERGE, _NEXT = ("Merge", "RefMerge"), ("NextIteration", "RefNextIteration")
_SWITCH = ("Switch", "RefSwitch")


def _name(text: str) -> str:
    """Returns the name of the node of an input."""
    return text.lstrip("^").partition(":")[0]


def back_edges(node: Any, by_name: dict) -> set[str]:
    """Returns the NextIteration nodes that a Merge node reads: they come after it."""
    if node.op not in _MERGE:
        return set()
    names = {_name(text) for text in node.input}
    return {name for name in names if name in by_name and by_name[name].op in _NEXT}


def _frames(nodes: list, by_name: dict) -> dict[str, str]:
    """Returns the outermost frame of each node that belongs to one. Nodes are in order."""
    paths: dict[str, tuple] = {}
    owners = {}
    for node in nodes:
        back = back_edges(node, by_name)
        inputs = [paths.get(_name(i), ()) for i in node.input if _name(i) not in back]
        path = max(inputs, key=len, default=())
        if node.op in _ENTER:
            path = (*paths.get(_name(node.input[0]), ()), node.attr["frame_name"].s)
        if path:
            owners[node.name] = path[0]
        paths[node.name] = path[:-1] if node.op in _EXIT else path
    return owners


class Loop:
    """The nodes of a frame, in the place of one node."""

    op = "While"

    def __init__(self, nodes: list, by_name: dict):
        self.nodes, self._by_name = nodes, by_name
        names = {node.name for node in nodes}
        self.names = [node.name for node in nodes]
        self.input = [i for node in nodes for i in node.input if _name(i) not in names]
        condition = self._condition()
        self.name = condition.name.rpartition("/")[0] or condition.name
        self._test = condition.input[0]
        self._merges = [n for n in nodes if n.op in _MERGE and self._is_own(n)]
        self._starts = [self._part(merge, _ENTER) for merge in self._merges]
        self._ends = [self._part(merge, _NEXT) for merge in self._merges]
        merges = {merge.name: i for i, merge in enumerate(self._merges)}
        self._switches = {
            n.name: merges[_name(n.input[0])]
            for n in nodes
            if n.op in _SWITCH
            and _name(n.input[0]) in merges
            and self._source(n.input[1]) == condition.name
        }
        self._exits = [
            (n.name, self._switches[_name(n.input[0])])
            for n in nodes
            if n.op in _EXIT and _name(n.input[0]) in self._switches
        ]

    def _source(self, text: str) -> str:
        """Returns the node of an input, without Identity nodes between."""
        name = _name(text)
        while self._by_name[name].op == "Identity":
            name = _name(self._by_name[name].input[0])
        return name

    def _is_own(self, merge: Any) -> bool:
        """Returns whether a Merge node is a loop variable of this frame, not of an inner one."""
        starts = [self._by_name.get(_name(i)) for i in merge.input]
        enters = [n for n in starts if n is not None and n.op in _ENTER]
        inside = {node.name for node in self.nodes}
        return bool(enters) and all(_name(n.input[0]) not in inside for n in enters)

    def _condition(self) -> Any:
        """Returns the LoopCond node of the frame: that of an inner frame depends on a Merge of an
        Enter node that depends on nodes of this frame."""
        conditions = [n for n in self.nodes if n.op == "LoopCond"]
        for node in conditions:
            if any(self._is_own(n) for n in self._ancestors([node.input[0]], _ENTER + _EXIT)):
                return node
        if conditions:
            return conditions[0]
        raise ValueError(f"The loop of node '{self.nodes[0].name}' has no LoopCond node.")

    def _part(self, merge: Any, kinds: tuple) -> Any:
        for text in merge.input:
            node = self._by_name.get(_name(text))
            if node is not None and node.op in kinds:
                return node
        raise ValueError(f"Node '{merge.name}' has no input of type {kinds[0]}.")

    def _ancestors(self, inputs: list, ends: tuple = ()) -> list:
        """Returns the nodes of the frame that inputs depend on, up to the loop variables and, as
        far as `ends` says, to other operations."""
        inside = {node.name: node for node in self.nodes}
        waiting, found = [_name(i) for i in inputs], set()
        while waiting:
            name = waiting.pop()
            if name in found or name not in inside:
                continue
            found.add(name)
            if inside[name].op in ends or inside[name].op in _MERGE and self._is_own(inside[name]):
                continue
            waiting += [_name(i) for i in inside[name].input]
        return [node for node in self.nodes if node.name in found]

    def _effects(self) -> list[str]:
        """Returns the nodes that run before each next iteration."""
        return [i[1:] for end in self._ends for i in end.input if i.startswith("^")]

    def add(self, importer: Any) -> None:
        """Adds the loop to the graph of an importer, and its Exit nodes to the operations."""
        values = [importer.tensor(start.input[0]) for start in self._starts]
        constants = {
            f"{n.name}:0": importer.tensor(n.input[0])
            for n in self.nodes
            if n.op in _ENTER and _name(n.input[0]) not in self.names
        }

        def run(outputs, variables, source, effects=()):
            """Imports the nodes before some outputs into the current graph."""
            given = dict(constants)
            for merge, value in zip(self._merges, variables):
                given[f"{merge.name}:0"] = value
            if source == "body":
                for name, index in self._switches.items():
                    given[f"{name}:1"] = given[f"{name}:0"] = variables[index]
            inner = importer.inside(given)
            needed = self._ancestors([*outputs, *effects])
            import_all(inner, [n for n in needed if f"{n.name}:0" not in given])
            before = [inner.operations[name] for name in effects if name in inner.operations]
            if not before:
                return [inner.tensor(text) for text in outputs]
            with inner.graph.control_dependencies([getattr(o, "op", o) for o in before]):
                return [OPS["Identity"](inner.tensor(text)) for text in outputs]

        def test(*variables):
            return run([self._test], variables, "test")[0]

        def body(*variables):
            return run([end.input[0] for end in self._ends], variables, "body", self._effects())

        name = importer.prefix + self.name
        with contextlib.ExitStack() as stack:
            stack.enter_context(importer.graph.control_dependencies(None))
            stack.enter_context(importer.graph.control_dependencies(importer._controls))
            try:
                results = while_loop(test, body, values, name=name + "/")
            except ValueError as error:  # a shape changes
                if not hasattr(error, "loop_variable"):
                    raise
                unknown = [_unknown_shape()] * len(values)
                results = while_loop(test, body, values, unknown, name=name + "/")
            results = list(results) if isinstance(results, (list, tuple)) else [results]
            for exit_name, index in self._exits:
                full = importer._unique_name(importer.prefix + exit_name)
                made = OPS["Identity"](results[index], name=full + "/")
                importer.operations[exit_name] = made.op


def _unknown_shape():
    return as_shape(None)


def grouped(nodes: list) -> list:
    """Returns nodes in order, with a Loop in the place of the nodes of each frame."""
    if not any(node.op in _ENTER for node in nodes):
        return nodes
    by_name = {node.name: node for node in nodes}
    owners = _frames(nodes, by_name)
    frames: dict[str, list] = {}
    for node in nodes:
        if node.name in owners:
            frames.setdefault(owners[node.name], []).append(node)
    loops = {frame: Loop(members, by_name) for frame, members in frames.items()}
    items = [node for node in nodes if node.name not in owners]
    items += loops.values()
    return _sorted(
        items,
        {n: loops[f] for n, f in owners.items()}
        | {node.name: node for node in items if not isinstance(node, Loop)},
    )


def _sorted(items: list, owner: dict) -> list:
    """Returns items so that each comes after those that it reads."""
    done: set[int] = set()
    out = []
    for first in items:
        stack = [(first, iter(first.input))]
        waiting = {id(first)}
        while stack:
            item, inputs = stack[-1]
            needed = (owner[_name(i)] for i in inputs if _name(i) in owner)
            following = next((o for o in needed if id(o) not in done | waiting), None)
            if following is not None and id(item) not in done:
                stack.append((following, iter(following.input)))
                waiting.add(id(following))
                continue
            stack.pop()
            if id(item) not in done:
                done.add(id(item))
                out.append(item)
    return out


def import_all(importer: Any, nodes: list) -> None:
    """Adds the nodes of a body. Nodes that only others order and that situ does not have, such as
    those that save values for gradients, are left out."""
    importer.names = {node.name for node in nodes}
    for item in grouped(nodes):
        if isinstance(item, Loop) or importer.has_op(item):
            importer.add(item)
