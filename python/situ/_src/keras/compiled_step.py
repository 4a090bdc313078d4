# SPDX-License-Identifier: Apache-2.0
"""compiled_step.py: compiled training, test and predict steps, cached by kind and batch shapes."""

from typing import Any, NamedTuple

from numpy import ndarray

from situ._src.framework import nest
from situ._src.framework.concrete_function import ConcreteFunction
from situ._src.framework.function import Function, functions_run_eagerly
from situ._src.framework.scopes import device
from situ._src.framework.traces import Traces
from situ._src.framework.type_spec import TensorSpec, spec_of
from situ._src.keras import composite, context
from situ._src.keras.data_adapter import array, as_tensor, pack
from situ._src.ops.array_ops import op
from situ._src.variables.eager_variable import place


class _Step(NamedTuple):
    """A step that was traced."""

    trace: Any
    bounds: Any  # by which run slices the batch; None: not sliced
    graph: Any


class Programs:
    """Compiled steps of a model."""

    def __init__(self, model):
        self._model, self._made, self._scheduled = model, Traces(), {}
        self.graphs = {}  # by kind: that of the step that was compiled first

    def run(self, kind, batch):
        """Runs a step ("train", "test", "predict") on a batch (x, y, weights) of arrays or tensors.

        Results stay on their devices.
        """
        leaves = [
            t if t is None or isinstance(t, ndarray) else as_tensor(t) for t in nest.flatten(batch)
        ]
        if self._model.run_eagerly or functions_run_eagerly():
            return self._python(kind, leaves)(_tensors(batch))
        key = kind, context.setting("phase"), *map(_kind_of, leaves)
        if key in self._made:
            made = self._made[key]
        else:
            made = self._made[key] = self._make(kind, batch, leaves)
        leaves = [array(t) if isinstance(t, ndarray) else t for t in leaves if t is not None]
        leaves = nest.COMPOSITES.flatten(leaves)
        if made.bounds is not None:
            leaves = [t[a:b] for a, b in made.bounds for t in leaves]
        return made.trace.run(leaves)

    def _make(self, kind, batch, leaves):
        """Traces a step."""
        strategy, bounds, parts = self._strategy(), None, [batch]
        if (
            strategy is not None
            and not _spans_processes(strategy, kind)
            and all(t is None or isinstance(t, ndarray) for t in leaves)
        ):
            bounds = _bounds(leaves, len(strategy.devices))
            parts = [_viewed(batch, a, b) for a, b in bounds]
        composites = [t for t in leaves if composite.is_composite(t)]
        specs = [spec_of(t) for t in composites]
        relaxed = {
            id(part): part_spec
            for value, spec in zip(composites, specs)
            for part, part_spec in zip(value._situ_tensors_, spec._situ_tensors_)
        }
        result = ConcreteFunction(
            kind + "_function",
            _with_shapes(self._python(kind, leaves, bounds is not None), specs),
            tuple(map(_tensors, parts)),
            {},
            lambda v: relaxed.get(id(v)) or TensorSpec(v.shape, v.dtype),
        )
        self.graphs.setdefault(kind, result.graph)
        return _Step(result.trace, bounds, result.graph)

    def scheduled(self, kind):
        """Returns a step as a function of a batch that a ClusterCoordinator traces once."""
        if kind not in self._scheduled:
            step = getattr(self._model, kind + "_step")
            python = lambda batch: context.autograph(step)(pack(*batch))
            self._scheduled[kind] = Function(python, autograph=False)
        return self._scheduled[kind]

    def _strategy(self):
        """Returns the strategy of the model if it has several replicas."""
        strategy = self._model._strategy
        return None if strategy is None or strategy.num_replicas_in_sync == 1 else strategy

    def _python(self, kind, leaves, is_cut=False):
        """Returns a step as a function of a batch, or of its slices."""
        model, strategy = self._model, self._strategy()
        if strategy is None:
            step = getattr(model, kind + "_step")
            return lambda data: context.autograph(step)(pack(*data))
        far = _spans_processes(strategy, kind)
        bounds = _bounds(leaves, strategy.num_replicas_in_sync if far else len(strategy.devices))

        def run(*parts):
            if not is_cut:
                with device("/cpu:0"):
                    parts = [_sliced(parts[0], a, b) for a, b in bounds]
            shares = [(b - a) / bounds[-1][1] for a, b in bounds]
            if far:
                parts, shares = strategy.own_parts(parts, shares)
            return _towers(model, strategy, kind, parts, shares)

        return run


def _spans_processes(strategy, kind):
    """Returns whether other processes compute slices of a batch."""
    return strategy.several_processes and kind != "predict"


def _kind_of(leaf):
    """Returns the type and shape of an array or tensor, for the cache key."""
    if isinstance(leaf, ndarray):
        return leaf.dtype.char, leaf.shape
    if composite.is_composite(leaf):
        return spec_of(leaf)
    return None if leaf is None else (leaf.dtype.name, tuple(leaf.shape))


def _with_shapes(step, specs):
    """Returns a step whose composite arguments get their static shapes before it runs."""
    if not specs:
        return step

    def run(*batches):
        remaining = iter(specs)
        for value in nest.flatten(batches):
            if composite.is_composite(value):
                composite.restore(value, next(remaining))
        return step(*batches)

    return run


def _tensors(batch):
    return tuple(nest.map_structure(as_tensor, part) for part in batch)


def _bounds(leaves, replicas):
    """Returns the slices of a batch: equal sizes, the last smaller; empty ones are left out."""
    count = next(int(t.shape[0]) for t in leaves if t is not None)
    each = -(-count // replicas)
    return [(i, min(i + each, count)) for i in range(0, count, each)]


def _viewed(batch, start, stop):
    """Returns views of a slice of a batch of arrays."""
    return nest.map_structure(lambda t: None if t is None else t[start:stop], batch)


def _sliced(batch, start, stop):
    """Returns a slice of a batch of tensors."""

    def part(tensor):
        if tensor is None:
            return None
        rest = [0] * (tensor.shape.rank - 1)
        return op("Slice", tensor, [start, *rest], [stop - start, *[-1 for _ in rest]])

    return nest.map_structure(part, batch)


def _towers(model, strategy, kind, parts, shares):
    """Runs one step of all replicas as towers in one graph, each on its device with its slice."""
    from situ._src.keras.training import Training

    far, step = _spans_processes(strategy, kind), getattr(model, kind + "_step")

    def replica(part, share):
        before, context.call.share = context.call.share, share
        place.idle = not share  # other replicas have all examples: metrics ignore this one
        try:
            return context.autograph(step)(pack(*part))
        finally:
            context.call.share, place.idle = before, False

    own = getattr(type(model), kind + "_step") is not getattr(Training, kind + "_step")
    synchronizes = own or any(getattr(x, "synchronized", False) for x in model._flat_layers())
    created = strategy.run_parts(replica, list(zip(parts, shares)), may_synchronize=synchronizes)
    if kind == "predict":
        with device("/cpu:0"):
            return nest.pack_sequence_as(
                created[0],
                [
                    op("ConcatV2", list(some), 0) if len(some) > 1 else some[0]
                    for some in zip(*[nest.flatten(m) for m in created])
                ],
            )
    result = dict(created[0])
    for name in result:
        if len(created) > 1:
            result[name] = op("AddN", [m[name] * s for m, s in zip(created, shares)])
        elif far:
            result[name] = result[name] * shares[0]
    if far:
        result = dict(zip(result, strategy.sum_over_processes(list(result.values()))))
    for metric in model.metrics:
        if metric.name in result:
            result[metric.name] = metric.result()
    return result
