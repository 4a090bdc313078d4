# SPDX-License-Identifier: Apache-2.0
"""run.py: one run of all replicas: joins their variable updates and optimizer steps."""

from math import prod

from situ._src.distribute import reduction, threads
from situ._src.distribute.values import MirroredVariable, at, chosen, of_replicas
from situ._src.framework.scopes import device
from situ._src.training.variable_updates import dense
from situ._src.variables.eager_variable import place


class Run:
    """Replicas run one after another; joined updates wait for the last one."""

    mean = False

    def __init__(self, strategy, count):
        self.strategy, self.count = strategy, count
        self._writes, self._steps, self._at = {}, {}, {}

    def pause(self):
        """Suspends the current replica; returns the state for `resume`."""

    def resume(self, kept):
        """Resumes a replica."""

    def variable(self, make):
        """Creates a variable in graph mode."""
        return make()

    def merge(self, merge_fn, args=(), kwargs=None):
        """Calls merge_fn(strategy, ...) in cross-replica context once, when all replicas have
        arrived, and returns its result for the current one."""
        worker = threads.current()
        if worker is not None:
            return worker.merge(merge_fn, tuple(args), dict(kwargs or {}))
        index = place.index or 0
        with at(None, None):
            result = merge_fn(self.strategy, *args, **(kwargs or {}))
        return chosen(index, result)

    def write(self, variable, kind, value):
        """Changes a mirrored variable by what all replicas write: at once if they wait for each
        other, otherwise when all have run."""
        worker = threads.current()
        if self.count == 1:
            with at(None, None):
                variable.join(kind, [value])
            return
        if worker is not None and worker.run is self and worker.is_outside_branches():
            self.merge(lambda strategy, v: variable.join(kind, of_replicas(strategy, v)), (value,))
            return
        entry = self._writes.setdefault(id(variable), (variable, {}))[1]
        entry.setdefault(place.index, []).append((kind, value))

    def apply(self, optimizer, pairs, **kwargs):
        """Applies an optimizer step, once for all replicas."""
        key = id(optimizer), self._at.get((id(optimizer), place.index), 0)
        self._at[id(optimizer), place.index] = key[1] + 1
        waiting = self._steps.setdefault(key, {})
        waiting[place.index] = pairs
        if len(waiting) == self.count:
            del self._steps[key]
            self._step(optimizer, [waiting[i] for i in sorted(waiting)], kwargs)
        return getattr(optimizer, "iterations", None)

    def _step(self, optimizer, all_pairs, kwargs):
        devices = self.strategy.devices
        variables = [v for _, v in all_pairs[0]]
        if self._has_homes(optimizer, variables):
            self._step_at_home(optimizer, all_pairs, variables, kwargs)
            return
        with at(None, None):
            totals = self._reduced(all_pairs, devices)
        for index, where in enumerate(devices):
            with at(index, "update"), device(where):
                optimizer.apply_gradients(
                    [(t[index] if t is not None else None, v) for t, v in zip(totals, variables)],
                    **kwargs,
                )

    def _has_homes(self, optimizer, variables):
        """Returns whether each variable may be updated on one device and copied: not if the
        optimizer uses all
        gradients or variables together, or cross_device_ops is set."""
        devices = self.strategy.devices
        if (
            len(devices) == 1
            or self.strategy.several_processes
            or self.strategy.cross_device_ops is not None
            or getattr(optimizer, "global_clipnorm", None)
            or getattr(optimizer, "use_ema", False)
            or getattr(optimizer, "_uses_all_gradients", False)
        ):
            return False
        return all(
            isinstance(v, MirroredVariable) and len(v.values) == len(devices) for v in variables
        )

    def _choose_homes(self, variables):
        """Assigns each variable to the device with the fewest elements to update."""
        load = [0] * len(self.strategy.devices)
        sizes = {id(v): prod(v.shape.as_list()) for v in variables}
        for variable in sorted(variables, key=lambda v: -sizes[id(v)]):
            if variable.home is None:
                variable.home = load.index(min(load))
            load[variable.home] += sizes[id(variable)]

    def _step_at_home(self, optimizer, all_pairs, variables, kwargs):
        """Updates each variable on its home device with the sum computed there, and copies it to
        the others."""
        self._choose_homes(variables)
        devices = self.strategy.devices
        grads = [[g for g, _ in several if g is not None] for several in zip(*all_pairs)]
        for index, where in enumerate(devices):
            mine = [(v, g) for v, g in zip(variables, grads) if v.home == index]
            with at(None, None):
                pairs = [
                    (reduction.added([dense(x, v) for x in g], where) if g else None, v)
                    for v, g in mine
                ]
            with at(index, "update"), device(where):
                if any(g is not None for g, _ in pairs):
                    optimizer.apply_gradients(pairs, **kwargs)
                elif hasattr(optimizer, "iterations"):
                    optimizer.iterations.assign_add(1)
        for variable, some in zip(variables, grads):
            if some:
                variable.spread()

    def _reduced(self, all_pairs, devices):
        """Returns the all-reduced gradient of each variable on every device."""
        all_values = [
            [dense(g, v) for g, v in several if g is not None] for several in zip(*all_pairs)
        ]
        if self.strategy.several_processes:
            return self._reduced_far(all_values, devices)
        return [
            reduction.all_reduce(values, devices, self.strategy.cross_device_ops)
            if values
            else None
            for values in all_values
        ]

    def _reduced_far(self, all_values, devices):
        """Reduces over all processes in one message."""
        sums = [reduction.added(values, devices[0]) for values in all_values if values]
        totals = iter(self.strategy.sum_over_processes(sums))
        return [[next(totals)] * len(devices) if values else None for values in all_values]

    def finish(self):
        """Called when all replicas have run."""
        if self._steps:
            raise RuntimeError(
                "Some replicas made a different number of replica_context().merge_call() calls."
            )
        for variable, entry in self._writes.values():
            longest = max(len(some) for some in entry.values())
            for step in range(longest):
                some = [entry[i][step] for i in sorted(entry) if step < len(entry[i])]
                variable.join(some[0][0], [v for _, v in some])
        self._writes = {}
