# SPDX-License-Identifier: Apache-2.0
"""weigh.py: how much memory the variables of a program take."""
import gc


def _bytes(variable):
    count = 1
    for size in variable.shape.as_list():
        count *= size or 1
    return count * variable.dtype.base_dtype.size


def _found():
    """Every variable that is there: of graphs, and of objects."""
    from situ._lib.graph import Graph, GraphKeys
    from situ._lib.variable_eager import EagerVariable
    seen = {}
    for thing in gc.get_objects():
        if isinstance(thing, Graph):
            trained = {id(v) for v in thing.get_collection(GraphKeys.TRAINABLE_VARIABLES)}
            for variable in thing.get_collection(GraphKeys.GLOBAL_VARIABLES):
                seen[id(variable)] = variable, id(variable) in trained
        elif isinstance(thing, EagerVariable) and not hasattr(thing, "_parts"):
            owner = getattr(thing, "_owner", None)
            seen[id(thing)] = thing, bool(getattr(owner or thing, "trainable", False))
    return seen.values()


def variables():
    """(bytes of all variables, bytes of those that are trained)"""
    everything = trained = 0
    for variable, is_trained in _found():
        size = _bytes(variable)
        everything += size
        if is_trained and variable.dtype.is_floating:
            trained += size
    return everything, trained
