# SPDX-License-Identifier: Apache-2.0
"""resource_order.py: automatic control dependencies of tf.function: operations on one resource
(a queue, an iterator) and operations with other side effects (tf.print, tf.py_function) run in the
order of the program, even if nothing uses their outputs."""

from __future__ import annotations

import contextlib

import _situ

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from typing import Any, Callable


def _last(graph: Any) -> dict:
    """Returns the last operation on each resource, by the identity of its handle."""
    return graph.__dict__.setdefault("_last_uses", {})


def _previous(graph: Any, key: int) -> Any:
    """Returns the last operation on a resource, in the graph or in the graphs around it."""
    while graph is not None:
        if key in _last(graph):
            return _last(graph)[key]
        graph = getattr(graph, "_outer", None)
    return None


def in_order(handle: Any, emit: Callable[[], Any]) -> Any:
    """Returns emit(), the outputs of an operation on a resource, or the operation. In a function it
    runs after the operations on the resource that come before it in the program, even if nothing
    uses its outputs."""
    graph = _situ.current_graph()
    if graph is None or not graph.building_function:
        return emit()
    before = _previous(graph, id(handle))
    with contextlib.nullcontext() if before is None else graph.control_dependencies([before]):
        outputs = emit()
    first = outputs[0] if isinstance(outputs, (list, tuple)) else outputs
    _last(graph)[id(handle)] = getattr(first, "op", first)
    graph.__dict__.setdefault("_effects", []).append(_last(graph)[id(handle)])
    return outputs


def effects_of(graph: Any) -> list:
    """Returns the operations of the graph of a function that have to run for their side effects."""
    found = [o for o in graph.get_operations() if not o.outputs and o.type != "NoOp"]
    found += graph.__dict__.get("_effects", [])
    return found if graph._last_effect is None else [*found, graph._last_effect]


def effects_before(outer: Any, graphs: list) -> list:
    """Returns what a call of functions has to run after: the last operation of the caller with a
    side effect, if the functions have any."""
    if outer._last_effect is None or not any(graph.effects() for graph in graphs):
        return []
    return [outer._last_effect]


def note_uses(outer: Any, graphs: list, operation: Any) -> None:
    """Orders later operations on the resources that functions use after the operation that calls
    the functions."""
    for graph in graphs:
        for key in graph.__dict__.get("_last_uses", ()):
            _last(outer)[key] = operation
