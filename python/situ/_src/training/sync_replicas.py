# SPDX-License-Identifier: Apache-2.0
"""sync_replicas.py: tf.train.SyncReplicasOptimizer: applies the mean of the gradients of several
workers."""

from situ._src.framework.api import export
from situ._src.framework.graph import GraphKeys, get_default_graph, scope
from situ._src.framework.indexed_slices import IndexedSlices
from situ._src.framework.scopes import (
    colocate_with,
    colocate_with_variable,
    control_dependencies,
    init_scope,
)
from situ._src.legacy import queue_runner, queues
from situ._src.ops.array_ops import convert_to_tensor, identity, op
from situ._src.ops.control_flow_ops import cond
from situ._src.training.optimizer import Optimizer
from situ._src.training.session_run_hook import SessionRunHook
from situ._src.variables import initialization
from situ._src.variables.variable import variable


class _Hook(SessionRunHook):
    """Checks that the optimizer is used. There is nothing to initialize: situ needs no tokens, the
    worker with the last gradient applies the step."""

    def __init__(self, optimizer, is_chief, num_tokens):
        self._optimizer, self._is_chief, self._tokens = optimizer, is_chief, num_tokens

    def begin(self):
        if self._optimizer._tokens is None:
            raise ValueError(
                "SyncReplicasOptimizer.apply_gradient should be called before using the hook."
            )
        if self._is_chief:
            self._optimizer.get_init_tokens_op(self._tokens)


def _accumulator(like, name):
    """Creates a variable that accumulates gradients."""
    with init_scope(), colocate_with_variable(like):
        return variable(
            op(
                "ZerosLike",
                like.initialized_value() if hasattr(like, "initialized_value") else like,
            ),
            trainable=False,
            name=f"{like.op.name}/{name}",
            collections=[GraphKeys.GLOBAL_VARIABLES],
        )


@export(v1="train.SyncReplicasOptimizer")
class SyncReplicasOptimizer(Optimizer):
    """Accumulates gradients until `replicas_to_aggregate` have arrived and applies their mean.

    Workers do not wait for the step. total_num_replicas only sets the capacity of the token queue,
    which nothing else reads. variables_to_average are the argument of variable_averages.apply.
    """

    def __init__(
        self,
        opt,
        replicas_to_aggregate,
        total_num_replicas=None,
        variable_averages=None,
        variables_to_average=None,
        use_locking=False,
        name="sync_replicas",
    ):
        super().__init__(use_locking, name)
        self._opt, self._needed = opt, int(replicas_to_aggregate)
        if self._needed < 1:
            raise ValueError(
                f"replicas_to_aggregate must be at least 1, not {replicas_to_aggregate}."
            )
        self._replicas = total_num_replicas or self._needed
        self._averages, self._averaged = variable_averages, variables_to_average
        self._step = self._tokens = None

    def compute_gradients(self, *args, **kwargs):
        return self._opt.compute_gradients(*args, **kwargs)

    def get_slot(self, *args, **kwargs):
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args, **kwargs):
        return self._opt.get_slot_names(*args, **kwargs)

    def variables(self):
        return self._opt.variables()

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """Returns an operation that accumulates gradients; the last one applies the step.

        Raises:
          ValueError: there are no pairs, or no global_step.
        """
        pairs = [(g, v) for g, v in grads_and_vars]
        if not pairs:
            raise ValueError("Must supply at least one variable")
        if global_step is None:
            raise ValueError("Global step is required to check staleness")
        self._step = global_step
        with scope(name, self._name):
            self._tokens = queues.FIFOQueue(
                max(64, self._replicas), [global_step.dtype.base_dtype], [[]], name="sync_token_q"
            )
            step = self._update(pairs) if self._needed == 1 else self._gathered(pairs)
            if self._averages is None:
                return step
            with control_dependencies([step]):
                return self._averages.apply(self._averaged)

    def _update(self, pairs):
        return self._opt.apply_gradients(pairs, self._step)

    def _gathered(self, pairs):
        pairs = [
            (convert_to_tensor(g) if isinstance(g, IndexedSlices) else g, v)
            for g, v in pairs
            if g is not None
        ]
        self._opt._create_slots([v for _, v in pairs])
        with init_scope(), colocate_with_variable(self._step):
            count = variable(0, trainable=False, name=self._name + "/count")
            mutex = op("MutexV2", name=self._name + "/mutex")
        sums = [_accumulator(v, self._name) for _, v in pairs]
        # No gradient may arrive between the last one and the step.
        with control_dependencies([g for g, _ in pairs]), colocate_with(self._step.op):
            lock = op("MutexLock", mutex)
        with control_dependencies([lock]):
            came = [s.assign_add(g) for s, (g, _) in zip(sums, pairs)] + [count.assign_add(1)]

        def change():
            means = [(s / float(self._needed), v) for s, (_, v) in zip(sums, pairs)]
            with control_dependencies([self._update(means)]):
                cleared = [s.assign(op("ZerosLike", s)) for s in sums] + [count.assign(0)]
            with control_dependencies(cleared):
                return convert_to_tensor(True)

        with control_dependencies(came):
            enough = op("GreaterEqual", identity(count), convert_to_tensor(self._needed))
            changed = cond(enough, change, lambda: convert_to_tensor(False))
        with control_dependencies([changed]), colocate_with(self._step.op):
            return op("ConsumeMutexLock", lock)

    # The token queue of TensorFlow, for programs that use it

    def _made(self):
        if self._tokens is None:
            raise ValueError("Should be called after apply_gradients().")

    def get_chief_queue_runner(self):
        """Returns a queue runner that fills the token queue."""
        self._made()
        token = self._tokens.enqueue(identity(self._step))
        return queue_runner.QueueRunner(self._tokens, [token])

    def get_init_tokens_op(self, num_tokens=-1):
        """Returns an operation that does nothing, because situ needs no tokens.

        Raises:
          ValueError: TensorFlow would need more tokens, or apply_gradients was not called.
        """
        self._made()
        needed = self._needed - self._replicas
        if num_tokens != -1 and num_tokens < needed:
            raise ValueError(
                f"Too few tokens to finish the first step: {num_tokens} (given) vs {needed} "
                "(needed)"
            )
        return op("NoOp", name="no_init_tokens")

    def make_session_run_hook(self, is_chief, num_tokens=-1):
        """Returns a hook that checks num_tokens on the chief."""
        return _Hook(self, is_chief, num_tokens)

    local_step_init_op = chief_init_op = property(lambda s: op("NoOp", name="sync_init"))

    @property
    def ready_for_local_init_op(self):
        return initialization.report_uninitialized_variables(
            get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES)
        )
