# SPDX-License-Identifier: Apache-2.0
"""context.py: where a program is: in a replica, or outside of all; the strategy of this place."""
from situ._lib import nest, variables
from situ._lib.api import export
from situ._lib.distribute import reduction, threads
from situ._lib.distribute.strategy import Strategy
from situ._lib.distribute.values import PerReplica
from situ._lib.variable_eager import place


@export("distribute.experimental.ValueContext")
class ValueContext:
    """For which replica a value is made."""

    def __init__(self, replica_id_in_sync_group=0, num_replicas_in_sync=1):
        self.replica_id_in_sync_group = replica_id_in_sync_group
        self.num_replicas_in_sync = num_replicas_in_sync


@export("distribute.ReplicaContext")
class ReplicaContext:
    """What a function that strategy.run calls knows of itself."""

    def __init__(self, strategy, replica_id_in_sync_group):
        self._strategy, self._id = strategy, replica_id_in_sync_group

    strategy = distribution_strategy = property(lambda s: s._strategy)
    num_replicas_in_sync = property(lambda s: s._strategy.num_replicas_in_sync)
    devices = property(lambda s: (s._strategy.devices[s._id],))

    @property
    def replica_id_in_sync_group(self):
        return self._id

    replica_id = replica_id_in_sync_group

    def merge_call(self, merge_fn, args=(), kwargs=None):
        """Calls a function once for all replicas, when all are here: merge_fn(strategy, ...)."""
        worker = threads.current()
        if worker is not None:
            return worker.merge(merge_fn, tuple(args), dict(kwargs or {}))
        if self.num_replicas_in_sync > 1:
            raise RuntimeError("merge_call: a tape around strategy.run records it, so that its "
                               "replicas run one after the other. Put the tape into the function "
                               "that strategy.run calls.")
        return merge_fn(self._strategy, *args, **(kwargs or {}))

    def all_reduce(self, reduce_op, value, options=None):
        """The sum or the mean of the values of all replicas."""
        kind = getattr(reduce_op, "value", reduce_op).upper()

        def merged(strategy, *leaves):
            return tuple(self._joined(strategy, kind, leaf) for leaf in leaves)
        leaves = self.merge_call(merged, tuple(nest.flatten(value)))
        return nest.pack_sequence_as(value, list(leaves)) if nest.is_nested(value) else leaves[0]

    @staticmethod
    def _joined(strategy, kind, leaf):
        values = list(leaf) if isinstance(leaf, PerReplica) else \
            [leaf] * strategy.num_replicas_in_sync
        sums = reduction.all_reduce(values, strategy.devices, strategy.cross_device_ops)
        share = 1.0 / len(values) if kind == "MEAN" else None
        return PerReplica(sums if share is None else [s * share for s in sums])

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


class _Default(Strategy):
    """Where no strategy was chosen: one replica, wherever ops go."""

    def __init__(self):
        super().__init__(["/device:CPU:0"])

    def make_variable(self, graph, args, words):
        return None

    def run(self, fn, args=(), kwargs=None, options=None):
        return fn(*args, **(kwargs or {}))

    experimental_run_v2 = run

    def experimental_distribute_dataset(self, dataset, options=None):
        return dataset


_default = []


def default_strategy():
    if not _default:
        _default.append(_Default())
    return _default[0]


@export("distribute.get_strategy", v1="distribute.get_distribution_strategy")
def get_strategy():
    """The strategy whose scope this is; a strategy of one replica where there is none."""
    return variables.strategy() or default_strategy()


@export("distribute.has_strategy", v1="distribute.has_distribution_strategy")
def has_strategy():
    return variables.strategy() is not None


@export("distribute.in_cross_replica_context")
def in_cross_replica_context():
    return variables.strategy() is not None and place.mode != "replica"


@export("distribute.get_replica_context")
def get_replica_context():
    """Which replica this is; None outside of all."""
    if place.mode == "replica":
        return ReplicaContext(place.run.strategy, place.index)
    if variables.strategy() is not None:
        return None
    return ReplicaContext(default_strategy(), 0)


@export("distribute.experimental_set_strategy")
def experimental_set_strategy(strategy):
    """Makes a strategy that of the whole program."""
    variables._strategies[:] = [] if strategy is None else [strategy]


def replicas():
    """How many replicas the strategy of this place has."""
    found = variables.strategy()
    return 1 if found is None else found.num_replicas_in_sync
