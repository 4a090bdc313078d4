# SPDX-License-Identifier: Apache-2.0
"""wrappers.py: optimizers and tapes that all-reduce gradients over all ranks."""

from situ._src.cluster import processes
from situ._src.cluster.messages import grouped_allreduce
from situ._src.cluster.reductions import Average, Compression
from situ._src.framework.gradient_tape import GradientTape
from situ._src.framework.indexed_slices import is_slices
from situ._src.framework.keywords import unsupported
from situ._src.ops.array_ops import convert_to_tensor


def _reduced(gradients, compression, op, sparse_as_dense):
    """All-reduces gradients; None entries stay."""
    if sparse_as_dense:
        gradients = [convert_to_tensor(g) if is_slices(g) else g for g in gradients]
    dense = [g for g in gradients if g is not None]
    if processes.size() == 1 or not dense:
        return list(gradients)
    totals = iter(grouped_allreduce(dense, compression=compression, op=op))
    return [None if g is None else next(totals) for g in gradients]


def DistributedOptimizer(
    optimizer,
    name=None,
    use_locking=False,
    device_dense="",
    device_sparse="",
    compression=Compression.none,
    sparse_as_dense=False,
    backward_passes_per_step=1,
    op=Average,
    gradient_predivide_factor=1.0,
    average_aggregated_gradients=False,
    num_groups=0,
    groups=None,
):
    """Returns an optimizer like the given one that applies the reduced gradients of all ranks.

    Args:
      optimizer: An optimizer of tf.train or Keras.
      name: The name of the optimizer; by default "Distributed" and the given one's class.
      compression: The compression of gradients.
      sparse_as_dense: Whether gradients that are IndexedSlices become dense.
      op: The reduction; by default the mean.
      backward_passes_per_step: Must be 1.
      gradient_predivide_factor: Must be 1.

    The other arguments have no effect: all gradients are one message through the memory of the CPU.

    Raises:
      NotImplementedError: an argument that must be 1 is not.
    """
    unsupported(
        "DistributedOptimizer",
        backward_passes_per_step=(backward_passes_per_step, 1),
        gradient_predivide_factor=(gradient_predivide_factor, 1.0),
    )
    del use_locking  # the given optimizer applies the gradients
    del device_dense, device_sparse, num_groups, groups  # all gradients are one message of the CPU
    del average_aggregated_gradients  # of several backward passes, which are not supported
    how = compression, op, sparse_as_dense
    kind = type(optimizer)
    # `fit` calls apply_gradients alone; minimize of tf.train begins with compute_gradients.
    is_keras = hasattr(kind, "iterations")

    def compute_gradients(self, *args, **kwargs):
        pairs = kind.compute_gradients(self, *args, **kwargs)
        return list(zip(_reduced([g for g, _ in pairs], *how), [v for _, v in pairs]))

    def apply_gradients(self, grads_and_vars, *args, **kwargs):
        pairs = list(grads_and_vars)
        totals = _reduced([g for g, _ in pairs], *how)
        return kind.apply_gradients(self, list(zip(totals, [v for _, v in pairs])), *args, **kwargs)

    title = name or "Distributed" + kind.__name__
    own = (
        {"apply_gradients": apply_gradients}
        if is_keras
        else {"compute_gradients": compute_gradients, "get_name": lambda self: title}
    )
    result = object.__new__(type("Distributed" + kind.__name__, (kind,), own))
    result.__dict__.update(optimizer.__dict__)
    if hasattr(optimizer, "name"):  # of Keras
        result.name = title
    return result


class DistributedGradientTape(GradientTape):
    """A tape that all-reduces its gradients over all ranks.

    Args:
      gradtape: The tape that records, which also says whether it is persistent.
      compression: The compression of gradients.
      sparse_as_dense: Whether gradients that are IndexedSlices become dense.
      op: The reduction; by default the mean.
      gradient_predivide_factor: Must be 1.
      persistent: May be true only if `gradtape` is persistent.

    The other arguments have no effect: all gradients are one message through the memory of the CPU,
    and `gradtape` records.

    Raises:
      NotImplementedError: gradient_predivide_factor is not 1, or persistent is true and `gradtape`
        is not persistent.
    """

    def __new__(cls, *_args, **_kwargs):
        del _kwargs  # __init__ checks them
        return GradientTape.__new__(cls)

    def __init__(
        self,
        gradtape,
        device_dense="",
        device_sparse="",
        compression=Compression.none,
        sparse_as_dense=False,
        op=Average,
        gradient_predivide_factor=1.0,
        num_groups=0,
        groups=None,
        persistent=False,
        watch_accessed_variables=True,
    ):
        unsupported(
            "DistributedGradientTape",
            gradient_predivide_factor=(gradient_predivide_factor, 1.0),
            persistent=(persistent and not gradtape._persistent, False),
        )
        del device_dense, device_sparse, num_groups, groups  # all are one message of the CPU
        del watch_accessed_variables  # gradtape records
        self._tape, self._how = gradtape, (compression, op, sparse_as_dense)

    def __enter__(self):
        self._tape.__enter__()
        return self

    def __exit__(self, *error):
        return self._tape.__exit__(*error)

    def gradient(self, target, sources, output_gradients=None, **kwargs):
        """Computes gradients and all-reduces them over all ranks."""
        found = self._tape.gradient(target, sources, output_gradients, **kwargs)
        if isinstance(found, (list, tuple)):
            return type(found)(_reduced(list(found), *self._how))
        return _reduced([found], *self._how)[0]

    def watch(self, tensor):
        self._tape.watch(tensor)

    def watched_variables(self):
        return self._tape.watched_variables()
