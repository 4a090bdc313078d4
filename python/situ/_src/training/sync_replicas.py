# SPDX-License-Identifier: Apache-2.0
"""sync_replicas.py: tf.train.SyncReplicasOptimizer: applies the mean of the gradients of several
workers.

A worker adds its gradients to accumulators beside the variables and waits for a token of the next
step. A queue runner of the chief takes the means, applies them, and hands out the tokens."""

from __future__ import annotations

from situ._src.framework.api import export
from situ._src.framework.graph import GraphKeys, get_default_graph, scope
from situ._src.framework.indexed_slices import IndexedSlices
from situ._src.framework.scopes import colocate_with, control_dependencies, device
from situ._src.legacy import queue_runner, queues
from situ._src.legacy.conditional_accumulator import (
    ConditionalAccumulator,
    SparseConditionalAccumulator,
)
from situ._src.ops.array_ops import group, op
from situ._src.training.optimizer import Optimizer
from situ._src.training.session_run_hook import SessionRunHook
from situ._src.variables import initialization
from situ._src.variables.variable import variable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any


class _ChiefRunner(queue_runner.QueueRunner):
    """The queue runner of the chief. Its thread ends with the session, without being joined: it
    may wait for gradients of workers that have stopped."""

    def create_threads(self, sess, coord=None, daemon=False, start=False):
        del daemon  # always a daemon, which does not keep the process alive
        threads = super().create_threads(sess, coord, daemon=True, start=start)
        if coord is None:
            return threads
        coord.unregister_threads(threads)
        return []


class _Hook(SessionRunHook):
    """Initializes the steps of a worker, and on the chief the accumulators and tokens."""

    def __init__(self, optimizer, is_chief, num_tokens):
        self._optimizer, self._is_chief, self._num_tokens = optimizer, is_chief, num_tokens
        self._runner = self._tokens = None

    def begin(self):
        optimizer = self._optimizer
        if optimizer._queue is None:
            raise ValueError(
                "SyncReplicasOptimizer.apply_gradient should be called before using the hook."
            )
        self._ready = optimizer.ready_for_local_init_op
        self._init = optimizer.local_step_init_op
        if self._is_chief:
            self._init = optimizer.chief_init_op
            self._runner = optimizer.get_chief_queue_runner()
            self._tokens = optimizer.get_init_tokens_op(self._num_tokens)

    def after_create_session(self, session, coord):
        missing = [str(name) for name in session.run(self._ready)]
        if missing:
            raise RuntimeError(
                "Init operations did not make model ready for SyncReplicasOptimizer local_init. "
                f"Init op: {self._init.name}, error: Variables not initialized: "
                f"{', '.join(missing)}"
            )
        session.run(self._init)
        if self._tokens is not None:
            session.run(self._tokens)
        if self._runner is not None:
            self._runner.create_threads(session, coord=coord, daemon=True, start=True)


@export(v1="train.SyncReplicasOptimizer")
class SyncReplicasOptimizer(Optimizer):
    """Waits for gradients of `replicas_to_aggregate` workers and applies their mean.

    A step of a worker ends when its gradients have been applied, or dropped because they belong
    to an earlier step. The chief must run the queue runner: use `make_session_run_hook`, or
    `get_chief_queue_runner`, `get_init_tokens_op`, `chief_init_op` and `local_step_init_op`.

    Args:
      opt: the optimizer that applies the means.
      replicas_to_aggregate: the number of gradients of a step.
      total_num_replicas: the number of workers; by default as many. With more, the slowest
        gradients are dropped; with fewer, workers compute several gradients for a step.
      variable_averages: a tf.train.ExponentialMovingAverage to update after a step, or None.
      variables_to_average: its variables.
      use_locking: whether updates are locked.
      name: a name for the operations.
    """

    def __init__(
        self,
        opt: Any,
        replicas_to_aggregate: Any,
        total_num_replicas: Any = None,
        variable_averages: Any = None,
        variables_to_average: Any = None,
        use_locking: bool = False,
        name: str = "sync_replicas",
    ):
        super().__init__(use_locking, name)
        self._opt, self._needed = opt, int(replicas_to_aggregate)
        self._replicas = self._needed if total_num_replicas is None else total_num_replicas
        self._averages, self._averaged = variable_averages, variables_to_average
        self._step = self._local_step = self._queue = self._runner = None
        self._accumulators: list = []  # (accumulator, device)

    def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
        return self._opt.compute_gradients(*args, **kwargs)

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> Any:
        return self._opt.get_slot_names(*args, **kwargs)

    def variables(self) -> Any:
        return self._opt.variables()

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        """Returns an operation that adds gradients and waits for the end of the step.

        Args:
          grads_and_vars: pairs of gradients and variables.
          global_step: the variable that counts steps.
          name: has no effect.

        Raises:
          ValueError: there are no pairs, or no global_step.
        """
        del name  # as in TensorFlow: the operations have the name of the optimizer
        pairs = list(grads_and_vars)
        if not pairs:
            raise ValueError("Must supply at least one variable")
        if global_step is None:
            raise ValueError("Global step is required to check staleness")
        self._step = global_step
        self._make_local_step()
        with scope(None, self._name):
            applied, means = self._accumulate(pairs)
            with device(global_step.device), get_default_graph().name_scope(""):
                update = self._opt.apply_gradients(means, global_step)
                train = self._wait(applied)
                self._make_runner(update)
            reset = [self._reset(*pair) for pair in self._accumulators]
            self.chief_init_op = group(self.local_step_init_op, *reset)
        return train

    def _make_local_step(self):
        """Creates the step of this worker, on the worker."""
        with colocate_with(op("NoOp")):
            self._local_step = variable(
                0,
                trainable=False,
                collections=[GraphKeys.LOCAL_VARIABLES],
                dtype=self._step.dtype.base_dtype,
                name="sync_rep_local_step",
            )
        self.local_step_init_op = self._local_step.assign(self._step).op
        self.ready_for_local_init_op = initialization.report_uninitialized_variables(
            get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES)
        )

    def _accumulate(self, pairs):
        """Returns the operations that add gradients, and the pairs of means and variables."""
        applied, means = [], []
        for gradient, var in pairs:
            if gradient is None:
                means.append((None, var))
                continue
            with device(var.device):
                accumulator, add, mean = self._accumulator(gradient, var)
            applied.append(add)
            means.append((mean, var))
            self._accumulators.append((accumulator, var.device))
        return applied, means

    def _accumulator(self, gradient, var):
        name, dtype = f"{var.name}/grad_accum", gradient.dtype.base_dtype
        if isinstance(gradient, IndexedSlices):
            sparse = SparseConditionalAccumulator(dtype, shape=(), shared_name=name)
            added = sparse.apply_indexed_slices_grad(gradient, self._local_step)
            return sparse, added, sparse.take_indexed_slices_grad(self._needed)
        dense = ConditionalAccumulator(dtype, shape=var.shape, shared_name=name)
        return dense, dense.apply_grad(gradient, self._local_step), dense.take_grad(self._needed)

    def _reset(self, accumulator, where):
        """Returns an operation that sets the step of an accumulator to the global one."""
        with device(where):
            return accumulator.set_global_step(self._step, name="SetGlobalStep")

    def _wait(self, applied):
        """Returns the operation of a worker: it takes a token, the number of the next step."""
        self._queue = queues.FIFOQueue(
            -1,
            self._step.dtype.base_dtype,
            shapes=[[]],
            name="sync_token_q",
            shared_name="sync_token_q",
        )
        with control_dependencies(applied):
            token = self._queue.dequeue()
        return self._local_step.assign(token)

    def _make_runner(self, update):
        """Creates the queue runner of the chief. Its queue is another one, because it closes it."""
        with control_dependencies([update]):
            done = self._queue.enqueue_many([self._tokens_of(max(self._replicas, self._needed))])
        if self._averages is not None:
            with control_dependencies([done]), get_default_graph().name_scope(""):
                done = self._averages.apply(self._averaged)
        closed = queues.FIFOQueue(
            1, "int32", shapes=[[]], name="dummy_queue", shared_name="dummy_queue"
        )
        self._runner = _ChiefRunner(closed, [done])

    def _tokens_of(self, count):
        """Returns `count` tokens of the current step."""
        return op("Fill", [count], self._step.read_value())

    def get_chief_queue_runner(self) -> Any:
        """Returns the queue runner that applies the means, for the chief.

        Raises:
          ValueError: apply_gradients was not called.
        """
        if self._runner is None:
            raise ValueError("Should be called after apply_gradients().")
        return self._runner

    def get_init_tokens_op(self, num_tokens: int = -1) -> Any:
        """Returns an operation that hands out the first tokens, for the chief.

        Args:
          num_tokens: how many; -1 for as many as gradients of a step.

        Raises:
          ValueError: there are too few tokens for the first step, or apply_gradients was not
            called.
        """
        if self._queue is None:
            raise ValueError("get_init_tokens_op() should be called after apply_gradients().")
        needed = self._needed - self._replicas
        if num_tokens == -1:
            num_tokens = self._needed
        elif num_tokens < needed:
            raise ValueError(
                f"Too few tokens to finish the first step: {num_tokens} (given) vs {needed} "
                "(needed)"
            )
        if num_tokens <= 0:
            return op("NoOp", name="no_init_tokens")
        with device(self._step.device), get_default_graph().name_scope(""):
            return self._queue.enqueue_many([self._tokens_of(num_tokens)])

    def make_session_run_hook(self, is_chief: bool, num_tokens: int = -1) -> Any:
        """Returns a hook that initializes a worker and, on the chief, starts the queue runner.

        Args:
          is_chief: whether this worker is the chief.
          num_tokens: the argument of get_init_tokens_op.
        """
        return _Hook(self, is_chief, num_tokens)
