# SPDX-License-Identifier: Apache-2.0
"""optimizer_accumulation.py: accumulation of gradients over several calls, and scaled losses."""

from __future__ import annotations

from typing import Any

import _situ
from situ._src.framework import style
from situ._src.framework.indexed_slices import is_slices
from situ._src.framework.scopes import init_scope
from situ._src.ops.array_ops import convert_to_tensor, op
from situ._src.training import slot_creator
from situ._src.variables.eager_variable import EagerVariable


class Accumulating:
    """Mixin of tf.keras.optimizers.Optimizer."""

    gradient_accumulation_steps: int | None = None
    loss_scale_factor: float | None = None

    def _set_accumulation(self, steps, factor):
        if steps is not None and (not isinstance(steps, int) or steps < 2):
            raise ValueError(
                "`gradient_accumulation_steps` must be an integer >= 2. Received: "
                f"gradient_accumulation_steps={steps}"
            )
        if steps is not None and style.is_graph():
            raise NotImplementedError(
                "gradient_accumulation_steps is not supported in graph style."
            )
        self.gradient_accumulation_steps, self.loss_scale_factor = steps, factor
        self._calls: Any = None  # a variable: how many calls there were
        self._sums: dict = {}  # by the id of a variable: the sum of its gradients

    def _accumulation_config(self):
        names = ("loss_scale_factor", "gradient_accumulation_steps")
        return {n: getattr(self, n) for n in names if getattr(self, n) is not None}

    def _schedule_step(self: Any):
        """Returns the step of learning rate schedules, which counts all calls."""
        if self.gradient_accumulation_steps is None or self._calls is None:
            return self.iterations
        return self._calls.value() - convert_to_tensor(1, "int64")

    def _unscaled(self, pairs):
        """Divides gradients of a scaled loss by its factor."""
        if self.loss_scale_factor is None:
            return pairs
        scale = 1.0 / self.loss_scale_factor
        return [
            (
                type(g)(g.values * scale, g.indices, g.dense_shape)
                if is_slices(g)
                else convert_to_tensor(g) * scale,
                v,
            )
            for g, v in pairs
        ]

    def _make_sums(self, variables):
        """Creates the variables of the sums."""
        with init_scope():
            if self._calls is None:
                start = convert_to_tensor(0, "int64")
                self._calls = EagerVariable(start, trainable=False, name="accumulated_calls")
            for var in variables:
                if id(var) not in self._sums:
                    self._sums[id(var)] = slot_creator.zeros_slot(var, "gradient_accumulator")

    def _accumulate(self: Any, pairs, name):
        """Adds gradients to their sums; in every last of the steps, applies the means."""
        self._make_sums([v for _, v in pairs])
        steps = self.gradient_accumulation_steps
        self._calls.assign_add(convert_to_tensor(1, "int64"))
        count = self._calls.value() % convert_to_tensor(steps, "int64")
        is_due = op("Equal", count, convert_to_tensor(0, "int64"))
        sums = [self._sums[id(v)] for _, v in pairs]
        totals = [total.value() + convert_to_tensor(g) for total, (g, _) in zip(sums, pairs)]
        means = [(total / float(steps), v) for total, (_, v) in zip(totals, pairs)]
        if _situ.current_graph() is None:
            if bool(is_due):
                self._apply_pairs(means, name)
        else:
            self._apply_if(is_due, means, name)
        for variable, total in zip(sums, totals):
            variable.assign(op("SelectV2", is_due, op("ZerosLike", total), total))
        return self.iterations

    def _apply_if(self: Any, is_due, pairs, name):
        """Applies gradients in a graph; if they are not due, all variables keep their values."""
        self.build([v for _, v in pairs])
        changed = {id(v): v for v in [*[v for _, v in pairs], *self.variables]}.values()
        before = [v._situ_tensor_() for v in changed]
        self._apply_pairs(pairs, name)
        for variable, old in zip(changed, before):
            variable.assign(op("SelectV2", is_due, variable._situ_tensor_(), old))
