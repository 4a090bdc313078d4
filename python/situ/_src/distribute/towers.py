# SPDX-License-Identifier: Apache-2.0
"""towers.py: replicas in graph mode: each is built on its device, and all share the variables of
the first."""

import contextlib
import functools

from situ._src.distribute import reduction, threads
from situ._src.distribute.run import Run
from situ._src.training.variable_updates import dense
from situ._src.variables.eager_variable import place
from situ._src.variables.variable_scope import get_variable_scope

_OWN = ("_collections", "_variable_store", "_scope_counts", "_variable_scope")


class Towers(Run):
    """A run in graph mode. Each tower sees only its own collections and variable scopes; those of
    the first stay in the graph."""

    def __init__(self, strategy, count, graph, mean=False):
        super().__init__(strategy, count)
        self.mean = mean  # whether optimizers of tf.train average gradients; else they add them
        self._graph, self._waiting = graph, {}
        self._made, self._asked = [], {}  # variables with their collections; how many each had
        self._begin = get_variable_scope(), dict(graph._scope_counts)
        self._collections = {k: list(v) for k, v in graph._collections.items()}
        self._store = dict(graph._variable_store)
        self._shared, self._kept = None, {}

    def _new(self):
        return (
            {k: list(v) for k, v in self._collections.items()},
            dict(self._store),
            dict(self._begin[1]),
            self._begin[0],
        )

    def _swap(self, values):
        graph = self._graph
        before = tuple(getattr(graph, name) for name in _OWN)
        for name, value in zip(_OWN, values):
            setattr(graph, name, value)
        return before

    def pause(self):
        """Suspends the current tower."""
        index, graph = place.index, self._graph
        if index:
            self._kept[index] = self._swap(self._shared)
        else:
            self._kept[0], graph._variable_scope = graph._variable_scope, self._begin[0]
        return index

    def resume(self, index):
        if index:
            self._shared = self._swap(self._kept[index])
        else:
            self._graph._variable_scope = self._kept[0]

    @contextlib.contextmanager
    def _tower(self, index):
        if not index:
            yield
            return
        self._shared = self._swap(self._new())
        try:
            with self._graph.name_scope(f"replica_{index}"):
                yield
        finally:
            self._swap(self._shared)

    def call(self, fn, parts):
        """Calls fn for each tower with its arguments and returns the results."""

        def in_tower(*args):
            with self._tower(place.index):
                return fn(*args)

        return threads.call_all(self, in_tower, parts)

    # Variables

    def variable(self, make):
        """Returns the next variable of a tower; the first tower creates it."""
        collections = self._graph._collections
        if not place.index:
            result = make()
            keys = [k for k, items in collections.items() if any(i is result for i in items)]
            self._made.append((result, keys))
            return result
        count = self._asked.get(place.index, 0)
        if count == len(self._made):
            raise RuntimeError(f"Replica {place.index} makes more variables than the first one.")
        self._asked[place.index] = count + 1
        result, keys = self._made[count]
        for key in keys:
            collections.setdefault(key, []).append(result)
        return result

    # Steps of optimizers

    def apply(self, optimizer, pairs, **kwargs):
        """Returns the op of a step, once for all towers; it runs after the control inputs of all
        towers."""
        controls = [one for level in self._graph._controls for one in level]
        self._waiting[place.index] = pairs, controls
        return self.merge(functools.partial(self._apply, optimizer, kwargs))

    def _apply(self, optimizer, kwargs, _strategy):
        waiting = [self._waiting.pop(i) for i in sorted(self._waiting)]
        controls = list(dict.fromkeys(one for _, some in waiting for one in some))
        with self._graph.control_dependencies(controls):
            pairs = [self._sum(several) for several in zip(*[pairs for pairs, _ in waiting])]
            return optimizer.apply_gradients(pairs, **kwargs)

    def _sum(self, several):
        variable = several[0][1]
        grads = [dense(g, v) for g, v in several if g is not None]
        if not grads:
            return None, variable
        strategy = self.strategy
        return reduction.total(grads, strategy.devices[0], strategy.cross_device_ops), variable
