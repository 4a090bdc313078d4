# SPDX-License-Identifier: Apache-2.0
"""context.py: replica and cross-replica context, and the current strategy."""

from __future__ import annotations

from situ._src.distribute import reduction
from situ._src.distribute.strategy import Strategy
from situ._src.distribute.values import PerReplica, ValueContext, chosen, of_replicas, on
from situ._src.framework import nest
from situ._src.framework.api import export
from situ._src.framework.custom_gradient import with_gradient
from situ._src.framework.indexed_slices import is_slices, map_values
from situ._src.framework.scopes import device
from situ._src.ops.array_ops import concat, convert_to_tensor, op
from situ._src.ops.constant_op import constant
from situ._src.variables import variable
from situ._src.variables.eager_variable import place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any, Axis, Callable, TensorLike


@export("distribute.ReplicaContext")
class ReplicaContext:
    """The context of a function that strategy.run calls."""

    def __init__(self, strategy: Any, replica_id_in_sync_group: Any):
        self._strategy, self._id = strategy, replica_id_in_sync_group

    strategy = distribution_strategy = property(lambda s: s._strategy)
    num_replicas_in_sync = property(lambda s: s._strategy.num_replicas_in_sync)
    devices = property(lambda s: (s._strategy.devices[s._id],))

    @property
    def replica_id_in_sync_group(self) -> Any:
        """The index of the replica, a tensor; 0 outside of strategies."""
        if isinstance(self._strategy, _Default):
            return 0
        with device("/device:CPU:0"):
            return constant(
                self._strategy.first_replica + self._id, "int32", name="replica_id_in_sync_group"
            )

    replica_id = replica_id_in_sync_group

    def merge_call(self, merge_fn: Callable, args: Any = (), kwargs: Any = None) -> Any:
        """Calls merge_fn(strategy, ...) once, when all replicas have arrived."""
        if place.run is not None:
            return place.run.merge(merge_fn, args, kwargs)
        return chosen(0, merge_fn(self._strategy, *args, **(kwargs or {})))

    def all_reduce(self, reduce_op: Any, value: TensorLike, options: Any = None) -> Any:
        """Reduces the values of all replicas (sum or mean); gradients are reduced the same way.

        Args:
          reduce_op: tf.distribute.ReduceOp.SUM or MEAN, or its name.
          value: A tensor, IndexedSlices, or a structure of them. Reduced IndexedSlices remain
            IndexedSlices, without gradients.
          options: Has no effect: it selects how values are packed and sent.

        Returns:
          The reduced value in the same structure.
        """
        del options  # how values are packed and sent; the sums are the same
        kind = reduction.as_reduce_op(reduce_op)
        leaves = [v if is_slices(v) else convert_to_tensor(v) for v in nest.flatten(value)]

        def merged(strategy, *values):
            return tuple(self._joined(strategy, kind, v) for v in values)

        reduced = list(self.merge_call(merged, tuple(leaves)))
        if not any(is_slices(leaf) for leaf in leaves):
            reduced = self._linked(kind, leaves, reduced)
        return nest.pack_sequence_as(value, reduced) if nest.is_nested(value) else reduced[0]

    @staticmethod
    def _joined(strategy, kind, leaf):
        values = of_replicas(strategy, leaf)
        sums = reduction.all_reduce(values, strategy.devices, strategy.cross_device_ops)
        if strategy.several_processes:
            sums = strategy.sum_over_processes(sums[:1]) * len(sums)
        if kind is reduction.ReduceOp.MEAN:
            mean = lambda t: t / strategy.num_replicas_in_sync
            sums = [map_values(mean, s) for s in sums]
        return PerReplica(on(where, s) for where, s in zip(strategy.devices, sums))

    def all_gather(self, value: TensorLike, axis: Axis, options: Any = None) -> Any:
        """Concatenates the values of all replicas. The gradient of a replica's value is its part
        of the sum of the gradients of all replicas.

        Args:
          value: A tensor or a structure of tensors, with equal ranks in all replicas.
          axis: The dimension to concatenate along; only its size may differ between replicas.
          options: Has no effect: it selects how values are packed and sent.

        Returns:
          The concatenated values in the same structure.

        Raises:
          NotImplementedError: a value is IndexedSlices.
        """
        del options  # how values are packed and sent
        if any(is_slices(leaf) for leaf in nest.flatten(value)):
            raise NotImplementedError("all_gather does not support IndexedSlices")
        leaves = [convert_to_tensor(leaf) for leaf in nest.flatten(value)]

        def merged(strategy, *values):
            return tuple(_gathered(strategy, v, axis) for v in values)

        answers = self.merge_call(merged, tuple(leaves))
        gathered, starts = [a[0] for a in answers], [a[1] for a in answers]
        gathered = self._gather_linked(leaves, gathered, starts, axis)
        return nest.pack_sequence_as(value, gathered) if nest.is_nested(value) else gathered[0]

    def _gather_linked(self, leaves, gathered, starts, axis):
        """Returns the results of all_gather with their gradients."""

        def back(grads):
            context = get_replica_context()
            if context is None or context.num_replicas_in_sync == 1:
                return [*grads, *[None] * len(leaves)]
            given = [op("ZerosLike", r) if g is None else g for g, r in zip(grads, gathered)]
            sums = context.all_reduce(reduction.ReduceOp.SUM, given)
            own = [_part(s, start, x, axis) for s, start, x in zip(sums, starts, leaves)]
            return [*[None] * len(gathered), *own]

        return with_gradient([*gathered, *leaves], gathered, back)

    def _linked(self, kind, leaves, reduced):
        """The gradient of an all-reduce: an all-reduce of the gradients in a replica; outside of
        replicas, the gradients of the operations that computed the sum."""

        def back(grads):
            context = get_replica_context()
            if context is None or context.num_replicas_in_sync == 1:
                return [*grads, *[None] * len(leaves)]
            given = [op("ZerosLike", r) if g is None else g for g, r in zip(grads, reduced)]
            return [*[None] * len(reduced), *context.all_reduce(kind, given)]

        return with_gradient([*reduced, *leaves], reduced, back)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


def _gathered(strategy, leaf, axis):
    """Returns a pair of PerReplica values: the concatenation, and where each replica's part
    starts."""
    values = of_replicas(strategy, leaf)
    sizes = [op("Shape", v)[axis] for v in values]
    starts = [sum(sizes[:i], start=convert_to_tensor(0)) for i in range(len(values))]
    whole = []
    for where in strategy.devices:
        with device(where):
            whole.append(concat([convert_to_tensor(v) for v in values], axis))
    if strategy.several_processes:
        whole = [strategy.gather_over_processes(whole[0], axis)] * len(whole)
        before = strategy.size_before(sum(sizes, start=convert_to_tensor(0)))
        starts = [before + start for start in starts]
    whole = [on(where, w) for where, w in zip(strategy.devices, whole)]
    return PerReplica(whole), PerReplica(starts)


def _part(tensor, start, like, axis):
    """Returns the part of a concatenation that has the shape of `like`."""
    rank = tensor.shape.rank
    at_axis = op("OneHot", convert_to_tensor(axis % rank), rank, 1, 0)
    return op("Slice", tensor, at_axis * start, op("Shape", like))


class _Default(Strategy):
    """The strategy without a scope: one replica, default placement."""

    def __init__(self):
        super().__init__(["/device:CPU:0"])
        self.replica_context = ReplicaContext(self, 0)

    def make_variable(self, _graph, _args, _words):
        return None

    def run(self, fn, args=(), kwargs=None, options=None):
        del options  # of TPUs
        return fn(*args, **(kwargs or {}))

    experimental_run_v2 = run

    def experimental_local_results(self, value):
        return (value,)

    unwrap = experimental_local_results

    def experimental_distribute_values_from_function(self, value_fn):
        return value_fn(ValueContext())

    def experimental_distribute_dataset(self, dataset, options=None):
        del options  # of several replicas
        return dataset


_default: list = []


def default_strategy():
    if not _default:
        _default.append(_Default())
    return _default[0]


def _scoped():
    """Returns the strategy of the current scope; None for the default strategy."""
    found = variable.strategy()
    return None if isinstance(found, _Default) else found


@export("distribute.get_strategy", v1="distribute.get_distribution_strategy")
def get_strategy() -> Any:
    """Returns the current strategy; a strategy of one replica if there is none."""
    return _scoped() or default_strategy()


@export("distribute.has_strategy", v1="distribute.has_distribution_strategy")
def has_strategy() -> bool:
    """Returns whether a strategy is in scope, other than that of one replica."""
    return _scoped() is not None


@export("distribute.in_cross_replica_context")
def in_cross_replica_context() -> Any:
    """Returns whether the program is in the scope of a strategy but not in a replica."""
    return _scoped() is not None and place.mode != "replica"


@export("distribute.get_replica_context")
def get_replica_context() -> Any:
    """Returns the current replica context; None in cross-replica context."""
    if place.mode == "replica":
        return ReplicaContext(place.run.strategy, place.index)
    if _scoped() is not None:
        return None
    return default_strategy().replica_context


@export("distribute.experimental_set_strategy")
def experimental_set_strategy(strategy: Any) -> None:
    """Sets the global strategy.

    Args:
      strategy: The strategy.
    """
    variable.swap_strategies([] if strategy is None else [strategy])


def replicas():
    """Returns the number of replicas of the current strategy."""
    strategy = variable.strategy()
    return 1 if strategy is None else strategy.num_replicas_in_sync
