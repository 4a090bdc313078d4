# SPDX-License-Identifier: Apache-2.0
"""graph_variable.py: what variables of graphs share, by reference or by handle."""

from __future__ import annotations

import functools

from situ._src.framework import default_session
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import GraphKeys, get_default_graph
from situ._src.variables import eager_variable
from situ._src.variables import synchronization as variable_modes


def by_first(change):
    """A change of a variable that towers share: the first one makes it, the others read."""

    @functools.wraps(change)
    def changed(self, *args, **kwargs):
        place = eager_variable.place
        if place.mode == "replica" and place.index:
            return self.value()
        return change(self, *args, **kwargs)

    return changed


class GraphVariable(eager_variable.Operators):
    """A variable of a graph; `_make` of a kind of them sets _initial_value, _initializer (an
    operation whose second input is the value) and _snapshot (what a plain use reads)."""

    def __init__(
        self,
        initial_value=None,
        trainable=None,
        collections=None,
        validate_shape=True,
        caching_device=None,
        name=None,
        variable_def=None,
        dtype=None,
        expected_shape=None,
        import_scope=None,
        constraint=None,
        shape=None,
        use_resource=None,
        synchronization=None,
        aggregation=None,
    ):
        if initial_value is None:
            raise ValueError("initial_value must be specified.")
        self.synchronization = variable_modes.synchronization(synchronization, name)
        self.aggregation = variable_modes.aggregation(aggregation, name)
        self.trainable = variable_modes.is_trainable(trainable, self.synchronization)
        self.constraint = constraint
        keys = [GraphKeys.GLOBAL_VARIABLES] if collections is None else list(collections)
        if self.trainable and GraphKeys.TRAINABLE_VARIABLES not in keys:
            keys.append(GraphKeys.TRAINABLE_VARIABLES)
        self._caching_device = caching_device
        graph = self._graph = get_default_graph()
        dtype = None if dtype is None else as_dtype(dtype).base_dtype
        with graph.control_dependencies(None), graph.name_scope(name or "Variable") as full:
            self._make(graph, full, initial_value, dtype)
        graph.add_to_collections(keys, self)

    _save_slice_info = None  # which part of a whole it is

    def _get_save_slice_info(self):
        return self._save_slice_info

    def _set_save_slice_info(self, save_slice_info):
        self._save_slice_info = save_slice_info

    graph = property(lambda s: s._graph)
    initializer = property(lambda s: s._initializer)
    initial_value = property(lambda s: s._initial_value)

    def get_shape(self):
        return self.shape

    def initialized_value(self):
        return self._initial_value

    def eval(self, session=None):
        return self._snapshot.eval(session=session)

    def load(self, value, session=None):
        session = session or default_session.current()
        session.run(self._initializer, {self._initializer.inputs[1]: value})

    def __repr__(self):
        return f"<tf.Variable '{self.name}' shape={self.shape} dtype={self.dtype.name}>"

    def __eq__(self, other):
        return self is other

    def __hash__(self):
        return id(self)


def _by_rows(word):
    def scatter(self, sparse_delta, use_locking=False, name=None):
        return self._scatter("Scatter" + word, sparse_delta.indices, sparse_delta.values, name)

    scatter.__name__, scatter.__doc__ = "scatter_" + word.lower(), "Changes rows by their numbers."
    return scatter


def _by_elements(word):
    def scatter(self, indices, updates, name=None):
        return self._scatter("ScatterNd" + word, indices, updates, name)

    scatter.__name__ = "scatter_nd_" + word.lower()
    scatter.__doc__ = "Changes parts that tuples of numbers name."
    return scatter


for _word in ("Update", "Add", "Sub", "Mul", "Div", "Min", "Max"):
    setattr(GraphVariable, "scatter_" + _word.lower(), _by_rows(_word))
for _word in ("Update", "Add", "Sub"):
    setattr(GraphVariable, "scatter_nd_" + _word.lower(), _by_elements(_word))
