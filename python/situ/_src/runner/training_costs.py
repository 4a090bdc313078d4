# SPDX-License-Identifier: Apache-2.0
"""training_costs.py: records for `situ simulate` which gradients a program computes and how much
memory its variables take, if SITU_COSTS names a file."""

from __future__ import annotations

import collections
import gc
import os

import _situ
from situ._src.framework.graph import Graph, GraphKeys
from situ._src.framework.indexed_slices import is_slices
from situ._src.framework.tensor import EagerTensor, GraphTensor
from situ._src.variables.eager_variable import EagerVariable

wanted = bool(os.environ.get("SITU_COSTS"))
_tapes: dict = {}  # set of variables -> _Tape


class _Tape:
    """Statistics of the gradients of a set of variables: number of computations, bytes, first
    and last time."""

    seen = 0  # count over all tapes

    def __init__(self):
        self.times, self.bytes, self.first, self.last = 0, 0, _Tape.seen, 0

    def add(self, size):
        self.times, self.bytes, self.last = self.times + 1, self.bytes + size, _Tape.seen
        _Tape.seen += 1


_READS = {"Identity", "ReadVariableOp"}
_VARIABLES = {"Variable", "VariableV2", "VarHandleOp"}


def _variable_read(tensor):
    """Returns the name of the variable that a graph tensor was read from, or None."""
    operation = getattr(tensor, "op", None)
    while operation is not None and operation.type in _READS:
        operation = operation.inputs[0].op
    return f"{operation.name}:0" if operation is not None and operation.type in _VARIABLES else None


def _key(variable):
    """Returns a name of a variable, equal for all replicas of a mirrored one."""
    if not hasattr(variable, "assign"):
        return _variable_read(variable)
    owner = getattr(variable, "_owner", None) or variable
    if getattr(owner, "graph", None) is not None:
        return owner.name
    return f"{owner.name}@{id(owner)}"


def _is_trained(source, gradient):
    if gradient is None or not source.dtype.is_floating:
        return False
    return (
        hasattr(source, "assign")
        or isinstance(source, GraphTensor)
        and _variable_read(source) is not None
    )


def _parts(gradient):
    return (gradient.values, gradient.indices) if is_slices(gradient) else (gradient,)


def _pairs(sources, gradients):
    return [(s, g) for s, g in zip(sources, gradients) if _is_trained(s, g)]


def note_graph(graph, sources, gradients) -> None:
    """Records gradients that were added to a graph."""
    for variable, gradient in _pairs(sources, gradients):
        _situ.note_gradient(graph, _key(variable), tuple(_parts(gradient)))


def _size(tensor):
    count = 1
    for size in tensor.shape.as_list():
        count *= size
    return count * tensor.dtype.base_dtype.size


def note_eager(sources, gradients) -> None:
    """Records gradients that a tape computed eagerly."""
    pairs = [(s, _parts(g)) for s, g in _pairs(sources, gradients)]
    if pairs and all(isinstance(p, EagerTensor) for _, parts in pairs for p in parts):
        sizes = {_key(s): sum(_size(p) for p in parts) for s, parts in pairs}
        _tapes.setdefault(frozenset(sizes), _Tape()).add(sum(sizes.values()))


def _watch_tapes():
    """Makes tapes record the gradients that they compute."""
    from situ._src.framework.gradient_tape import GradientTape
    from situ._src.framework.gradients import flat

    plain = GradientTape.gradient

    def gradient(self, target, sources, *args, **kwargs):
        found = plain(self, target, sources, *args, **kwargs)
        note_eager(flat(sources), flat(found))
        return found

    GradientTape.gradient = gradient


def _device_number(name):
    """Returns 0 for a CPU, 1 for the first GPU; a variable without a device is on the first GPU."""
    kind, _, index = (name or "").upper().rpartition(":")
    if kind.endswith("CPU"):
        return 0
    return 1 + int(index) if kind.endswith("GPU") and index.isdigit() else 1


def _variables():
    """Returns all variables that occupy memory."""
    seen = {}
    for thing in gc.get_objects():
        if isinstance(thing, Graph):
            for key in (GraphKeys.GLOBAL_VARIABLES, GraphKeys.LOCAL_VARIABLES):
                seen.update((id(v), v) for v in thing.get_collection(key))
        elif isinstance(thing, EagerVariable) and "_parts" not in vars(thing):
            seen[id(thing)] = thing
    return seen.values()


def _lines():
    """Yields the lines of the file; cli/costs.c reads them."""
    devices = collections.Counter()
    for variable in _variables():
        if None not in variable.shape.as_list():
            devices[_device_number(variable.device)] += _size(variable)
    for device, size in sorted(devices.items()):
        yield f"V {device} {size}"
    for tape in _tapes.values():
        yield f"T {tape.times} {tape.bytes / tape.times} {tape.first} {tape.last}"


def install(path: str) -> None:
    """Writes the records, or an error, to the file at exit."""
    import atexit

    _watch_tapes()
    owner = os.getpid()

    def write():
        if os.getpid() != owner:
            return
        try:
            lines = list(_lines())
        except Exception as e:  # reported by the reader of the file
            lines = [f"E {type(e).__name__}: {e}".replace("\n", " ")]
        with open(path, "a", encoding="utf-8") as file:
            file.write("".join(line + "\n" for line in lines))

    atexit.register(write)
