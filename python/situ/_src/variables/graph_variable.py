# SPDX-License-Identifier: Apache-2.0
"""graph_variable.py: GraphVariable, the base of graph-mode variables by reference (RefVariable) and
by handle (ResourceVariable)."""

from __future__ import annotations

import functools

from situ._src.framework import default_session
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import GraphKeys, get_default_graph
from situ._src.variables import eager_variable
from situ._src.variables import synchronization as variable_modes
from situ._src.variables.synchronization import VariableAggregation


def aggregated(change):
    """Decorates an assignment of a variable that towers share. It runs once: with the aggregate of
    the values of all replicas, or by the first replica if the variable has no aggregation."""

    @functools.wraps(change)
    def changed(self, value, *args, **kwargs):
        place = eager_variable.place
        if place.mode != "replica":
            return change(self, value, *args, **kwargs)
        if self.aggregation is VariableAggregation.NONE:
            return self.value() if place.index else change(self, value, *args, **kwargs)

        def merged(strategy, values):
            from situ._src.distribute.values import total

            return change(self, total(strategy, values, self), *args, **kwargs)

        return place.run.merge(merged, (value,))

    return changed


def collect(graph, variable, collections=None):
    """Adds a variable to collections of a graph: by default GLOBAL_VARIABLES, and
    TRAINABLE_VARIABLES if it is trainable."""
    keys = [GraphKeys.GLOBAL_VARIABLES] if collections is None else list(collections)
    if variable.trainable and GraphKeys.TRAINABLE_VARIABLES not in keys:
        keys.append(GraphKeys.TRAINABLE_VARIABLES)
    graph.add_to_collections(keys, variable)


class GraphVariable(eager_variable.Operators):
    """A variable of a graph. `_make` of a subclass sets _initial_value, _initializer (an operation
    whose second input is the value) and _snapshot (the tensor that plain uses read)."""

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
        del expected_shape  # TensorFlow ignores it, too
        del variable_def, import_scope  # Variable.from_proto
        del use_resource  # selects the class: see create_graph_variable
        if initial_value is None:
            raise ValueError("initial_value must be specified.")
        self.synchronization = variable_modes.synchronization(synchronization, name)
        self.aggregation = variable_modes.aggregation(aggregation, name)
        self.trainable = variable_modes.is_trainable(trainable, self.synchronization)
        self.constraint = eager_variable.checked_constraint(constraint)
        self._caching_device, self._validate_shape = caching_device, validate_shape
        graph = self._graph = get_default_graph()
        dtype = None if dtype is None else as_dtype(dtype).base_dtype
        with graph.control_dependencies(None), graph.name_scope(name or "Variable") as full:
            self._make(graph, full, initial_value, dtype, shape)
        collect(graph, self, collections)

    @staticmethod
    def _fixed_shape(value, shape):
        """Returns the shape of a new variable: the argument `shape`, else that of the value.

        Raises:
          NotImplementedError: the shape is not fully defined.
        """
        shape = value.shape if shape is None else eager_variable.compatible_shape(value, shape)
        if not shape.is_fully_defined():
            raise NotImplementedError(
                f"tf.Variable: shape={shape} in a graph is not supported yet: a variable of a "
                "graph keeps the shape that it is created with."
            )
        return shape

    _save_slice_info = None  # the slice of a partitioned variable

    def _get_save_slice_info(self):
        return self._save_slice_info

    def _set_save_slice_info(self, save_slice_info):
        self._save_slice_info = save_slice_info

    graph = property(lambda s: s._graph)
    initializer = property(lambda s: s._initializer)
    initial_value = property(lambda s: s._initial_value)
    _shared_name = property(lambda s: s.name.partition(":")[0])

    def to_proto(self, export_scope=None):
        """Returns a VariableDef, or None if the variable is not in the scope.

        Args:
          export_scope: the name scope to remove.
        """
        from situ._src.variables import variable_def

        return variable_def.to_proto(self, export_scope)

    @staticmethod
    def from_proto(variable_def, import_scope=None):
        """Returns the variable of a VariableDef whose nodes are in the default graph.

        Args:
          variable_def: a VariableDef.
          import_scope: the name scope of the nodes.
        """
        from situ._src.variables import variable

        return variable.Variable.from_proto(variable_def, import_scope)

    def get_shape(self):
        """Returns the static shape."""
        return self.shape

    def initialized_value(self):
        """Returns a tensor with the value of the variable if it has one, else its initial value:
        for initializers of other variables, which run in any order."""
        from situ._src.ops.control_flow_ops import cond
        from situ._src.variables.initialization import is_variable_initialized

        with get_default_graph().control_dependencies(None):
            return cond(is_variable_initialized(self), self.read_value, lambda: self._initial_value)

    def eval(self, session=None):
        """Returns the value in a session.

        Args:
          session: the session; the default session if it is None.
        """
        return self._snapshot.eval(session=session)

    def load(self, value, session=None):
        """Assigns a value in a session.

        Args:
          value: the value.
          session: the session; the default session if it is None.

        Raises:
          ValueError: there is no default session.
        """
        session = session or default_session.current()
        if session is None:
            raise ValueError(
                "Either session argument should be provided or default session should be "
                "established"
            )
        session.run(self._initializer, {self._initializer.inputs[1]: value})

    def __repr__(self):
        return f"<tf.Variable '{self.name}' shape={self.shape} dtype={self.dtype.name}>"

    def __eq__(self, other):
        return self is other

    def __hash__(self):
        return id(self)


def _scatter_method(update):
    def scatter(self, sparse_delta, use_locking=False, name=None):
        del use_locking  # a step runs the updates of a variable one after the other
        return self._scatter("Scatter" + update, sparse_delta.indices, sparse_delta.values, name)

    scatter.__name__, scatter.__doc__ = (
        "scatter_" + update.lower(),
        "Updates slices along the first axis: sparse_delta is a tf.IndexedSlices.",
    )
    return scatter


def _scatter_nd_method(update):
    def scatter(self, indices, updates, name=None):
        return self._scatter("ScatterNd" + update, indices, updates, name)

    scatter.__name__ = "scatter_nd_" + update.lower()
    scatter.__doc__ = (
        "Updates the slices that the index tuples in the last axis of `indices` select."
    )
    return scatter


for _update in ("Update", "Add", "Sub", "Mul", "Div", "Min", "Max"):
    setattr(GraphVariable, "scatter_" + _update.lower(), _scatter_method(_update))
for _update in ("Update", "Add", "Sub"):
    setattr(GraphVariable, "scatter_nd_" + _update.lower(), _scatter_nd_method(_update))
