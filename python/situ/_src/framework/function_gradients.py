# SPDX-License-Identifier: Apache-2.0
"""function_gradients.py: gradients of traced functions under tapes. The forward program also
returns the values that the backward program reads; gradients of gradients recompute them."""

from __future__ import annotations

import _situ
from situ._src.framework.concrete_function import note_compiled
from situ._src.framework.config import function_options
from situ._src.framework.gradients import gradients_of, sources_in
from situ._src.ops.array_ops import convert_to_tensor, op


def _is_real(tensor):
    return tensor.dtype.is_floating or tensor.dtype.is_complex


def _trace(graph, name, fed, outputs, writes=None, effects=()):
    """Returns the compiled graph, whose result is the list of outputs."""
    writes = writes or {}
    return _situ.Trace(
        graph,
        function_options(),
        name,
        list(range(len(outputs))),
        tuple(fed),
        (),
        (),
        (),
        (),
        tuple(outputs),
        tuple(writes.values()),
        tuple(writes),
        tuple(effects),
    )


def _distinct_outputs(tensors, graph):
    """Returns tensors of which none is an input and none occurs twice, as tapes identify results by
    object."""
    made = []
    with graph.as_default():
        for tensor in tensors:
            again = tensor.op.type == "Placeholder" or any(tensor is m for m in made)
            made.append(op("Identity", tensor) if again else tensor)
    return made


class _Backward:
    """The gradient graph of some outputs with respect to the sources. A source is a list of
    tensors: a variable that is assigned has several."""

    def __init__(self, graph, ys, sources):
        before = graph.get_operations()
        with graph.as_default(), graph.control_dependencies(None):
            self.arriving = [
                op("Placeholder", dtype=y.dtype, shape=y.shape, name="arriving") for y in ys
            ]
        graph._orders_effects = False  # it is run as a program of its own
        found = gradients_of(graph, ys, sources, self.arriving, "backward")
        with graph.as_default():
            self.found = [None if g is None else convert_to_tensor(g) for g in found]
        self.outputs = _distinct_outputs([g for g in self.found if g is not None], graph)
        forward, self.reads, seen = set(before), [], set()
        for operation in graph.get_operations()[len(before) :]:
            for tensor in operation.inputs:
                if tensor.op in forward and tensor.op.type != "Const" and id(tensor) not in seen:
                    seen.add(id(tensor))
                    self.reads.append(tensor)

    def spread(self, made):
        """Returns a gradient for each source, None where it is unconnected."""
        made = iter(made)
        return [None if g is None else next(made) for g in self.found]


class Pure:
    """Tensors of a graph as a function of other tensors, differentiable to any order."""

    def __init__(self, graph, name, fed, outputs):
        self._graph, self._name, self._fed, self._outputs = graph, name, list(fed), list(outputs)
        self._run = _trace(graph, name, fed, outputs)
        self._backward = {}

    def call(self, values):
        count = _situ.tape_pause()
        try:
            results = self._run.run(list(values))
        finally:
            _situ.tape_resume(count)
        if _situ.tape_count():
            _situ.tape_function(list(values), list(results), self._back(values))
        return results

    def _back(self, values):
        def back(grads):
            return pure_gradient(
                self._graph,
                self._name,
                self._outputs,
                [[f] for f in self._fed],
                self._fed,
                self._backward,
                grads,
                values,
            )

        return back


def pure_gradient(graph, name, outputs, sources, fed, known, grads, values):
    """Returns gradients with respect to the inputs, as a differentiable function of the inputs and
    output gradients."""
    mask = tuple(g is not None for g in grads)
    if mask not in known:
        ys = [o for o, is_present in zip(outputs, mask) if is_present]
        backward = _Backward(graph, ys, sources)
        known[mask] = backward, Pure(graph, name, [*fed, *backward.arriving], backward.outputs)
    backward, run = known[mask]
    made = run.call([*values, *[g for g in grads if g is not None]])
    return backward.spread(made) + [None] * (len(values) - len(sources))


class Taped:
    """A concrete function as it runs under a tape."""

    def __init__(self, concrete):
        self._name, self._graph = concrete.name, concrete.graph
        graph = self._graph
        self.captured = list(graph.captured.values())
        self.reads = list(graph.reads)
        self._fed = [*concrete.inputs, *[p for _, p in self.captured], *graph.reads.values()]
        tensors = [*concrete.inputs, *[p for _, p in self.captured]]
        self._sources = [[t] for t in tensors] + [sources_in(graph, v) for v in self.reads]
        self._outputs = _distinct_outputs(concrete.outputs, graph)
        self._random_values = [
            t
            for o in graph.get_operations()
            if "andom" in o.type or "Multinomial" in o.type
            for t in o.outputs
        ]
        self._template = concrete.template
        self._real = [_is_real(o) for o in self._outputs]
        full = (
            _Backward(
                graph,
                [o for o, r in zip(self._outputs, self._real) if r],
                self._sources,
            )
            if any(self._real)
            else None
        )
        self._is_connected = (
            [g is not None for g in full.found] if full else [False] * len(self._fed)
        )
        skip = {id(t) for t in self._fed}
        self._saved = [t for t in (full.reads if full else []) if id(t) not in skip]
        skip.update(id(t) for t in self._saved)
        self._saved += [t for t in self._random_values if id(t) not in skip]
        self._forward = _trace(
            graph,
            self._name,
            self._fed,
            [*self._outputs, *self._saved],
            graph.writes,
            concrete.effects,
        )
        note_compiled(graph)
        self._backward_cache, self._pure_cache = {}, {}
        if full is not None:
            self._backward_cache[tuple(self._real)] = full, None

    def call(self, tensors):
        """Runs the function and records it on the active tapes."""
        values = [
            *tensors,
            *[t for t, _ in self.captured],
            *[v._situ_tensor_() for v in self.reads],
        ]
        count = _situ.tape_pause()
        try:
            results = self._forward.run(values)
        finally:
            _situ.tape_resume(count)
        results, saved = results[: len(self._outputs)], results[len(self._outputs) :]
        _situ.tape_function(values, results, lambda grads: self._back(grads, values, saved))
        return _situ.map_structure(lambda i: None if i is None else results[i], self._template)

    def _back(self, grads, values, saved):
        grads = [g if r else None for g, r in zip(grads, self._real)]
        if all(g is None for g in grads):
            return [None] * len(values)
        made = (
            self._differentiable_gradient(grads, values, saved)
            if _situ.tape_count()
            else self._first_order_gradient(grads, values, saved)
        )
        return [
            op("ZerosLike", v) if g is None and linked else g  # as the gradient of a single op
            for g, v, linked in zip(made, values, self._is_connected)
        ]

    def _differentiable_gradient(self, grads, values, saved):
        """Computes gradients that a tape records, recomputing the forward values from the
        inputs."""
        held = {id(t): k for t, k in zip(self._saved, saved)}
        random_values = [held[id(t)] for t in self._random_values]
        return pure_gradient(
            self._graph,
            self._name,
            self._outputs,
            self._sources,
            [*self._fed, *self._random_values],
            self._pure_cache,
            grads,
            [*values, *random_values],
        )[: len(values)]

    def _first_order_gradient(self, grads, values, saved):
        """Computes gradients from the values that the forward run saved."""
        mask = tuple(g is not None for g in grads)
        backward, run = self._backward_cache.get(mask) or (None, None)
        if backward is None:
            ys = [o for o, is_present in zip(self._outputs, mask) if is_present]
            backward = _Backward(self._graph, ys, self._sources)
        if run is None:
            run = _trace(
                self._graph,
                self._name,
                [*self._fed, *self._saved, *backward.arriving],
                backward.outputs,
            )
            self._backward_cache[mask] = backward, run
        return backward.spread(run.run([*values, *saved, *[g for g in grads if g is not None]]))
