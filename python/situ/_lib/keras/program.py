# SPDX-License-Identifier: Apache-2.0
"""program.py: steps of training as compiled programs: one per kind and shapes of a batch."""
from numpy import ndarray

import _situ
from situ._lib import nest
from situ._lib.array_ops import op
from situ._lib.function import ConcreteFunction, TensorSpec, _leaves, functions_run_eagerly
from situ._lib.keras import context
from situ._lib.keras.data import as_tensor, pack
from situ._lib.variable_eager import place


class Programs:
    """The compiled steps of a model."""

    def __init__(self, model):
        self._model, self._made = model, {}

    def run(self, kind, batch):
        """A step ("train", "test", "predict") on a batch (x, y, weights) of arrays or tensors;
        what it gives stays where it is."""
        leaves = [t if t is None or isinstance(t, ndarray) else as_tensor(t)
                  for t in _leaves(batch)]
        if self._model.run_eagerly or functions_run_eagerly():
            return self._python(kind)(_tensors(batch))
        key = kind, context.setting("phase"), *map(_kind_of, leaves)
        program = self._made.get(key)
        if program is None:
            made = ConcreteFunction(kind + "_function", self._python(kind), (_tensors(batch),), {},
                                    lambda v: TensorSpec(v.shape, v.dtype))
            program = self._made[key] = made.trace
        return program.run([as_tensor(t) for t in leaves if t is not None])

    def _python(self, kind):
        model, strategy = self._model, self._model._strategy
        step = {"train": model.train_step, "test": model.test_step,
                "predict": model.predict_step}[kind]
        if strategy is None or strategy.num_replicas_in_sync == 1:
            return lambda data: context.graphed(step)(pack(*data))
        return lambda data: _replicated(model, strategy, kind, step, data)


def _kind_of(leaf):
    """The type and shape of an array or tensor."""
    if isinstance(leaf, ndarray):
        return leaf.dtype.char, leaf.shape
    return None if leaf is None else (leaf.dtype.name, tuple(leaf.shape))


def _tensors(batch):
    return tuple(nest.map_structure(as_tensor, part) for part in batch)


def _cut(data, replicas):
    """A batch in parts of the same size, the last smaller; those without examples fall away."""
    leaves = [t for t in nest.flatten(data) if t is not None]
    count = leaves[0].shape.as_list()[0]
    each = -(-count // replicas)
    bounds = [(i, min(i + each, count)) for i in range(0, count, each)]

    def part(tensor, start, stop):
        if tensor is None:
            return None
        rest = [0] * (tensor.shape.rank - 1)
        return op("Slice", tensor, [start, *rest], [stop - start, *[-1 for _ in rest]])
    parts = [nest.map_structure(lambda t, a=a, b=b: part(t, a, b), data) for a, b in bounds]
    return parts, [(b - a) / count for a, b in bounds]


def _replicated(model, strategy, kind, step, data):
    """One step of all replicas: towers in one graph, each on its device with its part."""
    from situ._lib.keras.training import Training
    far = strategy.several_processes and kind != "predict"
    with _host():
        parts, shares = _cut(data, strategy.num_replicas_in_sync if far else len(strategy.devices))
        if far:
            parts, shares = strategy.own_parts(parts, shares)

    def replica(part, share):
        before, context.call.share = context.call.share, share
        place.idle = not share  # its part belongs to others: metrics do not see it
        try:
            return context.graphed(step)(pack(*part))
        finally:
            context.call.share, place.idle = before, False
    own = getattr(type(model), kind + "_step") is not getattr(Training, kind + "_step")
    made = strategy.run_parts(replica, list(zip(parts, shares)), may_meet=own)
    if kind == "predict":
        with _host():
            return nest.pack_sequence_as(made[0], [
                op("ConcatV2", list(some), 0) if len(some) > 1 else some[0]
                for some in zip(*[nest.flatten(m) for m in made])])
    found = dict(made[0])
    for name in found:
        if len(made) > 1:
            found[name] = op("AddN", [m[name] * s for m, s in zip(made, shares)])
        elif far:
            found[name] = found[name] * shares[0]
    if far:
        found = dict(zip(found, strategy.sum_over_processes(list(found.values()))))
    for metric in model.metrics:
        if metric.name in found:
            found[metric.name] = metric.result()
    return found


def _host():
    graph = _situ.current_graph()
    return graph.device("/cpu:0")
