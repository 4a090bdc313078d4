# SPDX-License-Identifier: Apache-2.0
"""keras.py: horovod.keras and horovod.tensorflow.keras: situ.mpi for models of Keras."""

from __future__ import annotations

from typing import Any

import situ.mpi
from situ._src.cluster import keras_callbacks as callbacks
from situ._src.cluster import messages, wrappers
from situ._src.cluster.reductions import Average, Compression
from situ._src.cluster.variables import broadcast_global_variables as broadcast_all
from situ._src.framework.keywords import unsupported
from situ._src.keras import context, registry, saving
from situ._src.keras import optimizer as optimizers

__all__ = [
    "DistributedOptimizer",
    "allgather",
    "allreduce",
    "broadcast",
    "broadcast_global_variables",
    "callbacks",
    "load_model",
]


def __getattr__(name):
    """The other names are those of situ.mpi: init, rank, size, Compression, ..."""
    if name.startswith("__") or name not in situ.mpi.__all__:
        if name in ("elastic", "run"):
            raise AttributeError(f"horovod.keras.{name} is not supported by situ.")
        raise AttributeError(f"module 'horovod.keras' has no attribute '{name}'")
    return getattr(situ.mpi, name)


def DistributedOptimizer(
    optimizer: Any,
    name: str | None = None,
    device_dense: str = "",
    device_sparse: str = "",
    compression: Any = Compression.none,
    sparse_as_dense: bool = False,
    gradient_predivide_factor: float = 1.0,
    op: Any = Average,
    backward_passes_per_step: int = 1,
    average_aggregated_gradients: bool = False,
    num_groups: int = 0,
    groups: Any = None,
    process_set: Any = None,
    scale_local_gradients: bool = True,
) -> Any:
    """Returns an optimizer like the given one that applies the reduced gradients of all ranks.

    Args:
      optimizer: An optimizer of Keras.
      name: Its name; default: "Distributed" and the class of the given one.
      device_dense, device_sparse, num_groups, groups: Have no effect: all gradients are one message
        through the memory of the CPU.
      compression: The compression of gradients.
      sparse_as_dense: Whether gradients that are IndexedSlices become dense.
      gradient_predivide_factor: Must be 1.
      op: The reduction; by default the mean.
      backward_passes_per_step: Must be 1.
      average_aggregated_gradients: Of several backward passes, which are not supported.
      process_set: Must be None: all ranks take part.
      scale_local_gradients: Has no effect: there are no local gradients.

    Raises:
      NotImplementedError: an argument has a value that is not supported.
    """
    unsupported("hvd.DistributedOptimizer", process_set=(process_set, None))
    del scale_local_gradients  # of local variables, which cannot be registered
    return wrappers.DistributedOptimizer(
        optimizer,
        name,
        device_dense=device_dense,
        device_sparse=device_sparse,
        compression=compression,
        sparse_as_dense=sparse_as_dense,
        backward_passes_per_step=backward_passes_per_step,
        op=op,
        gradient_predivide_factor=gradient_predivide_factor,
        average_aggregated_gradients=average_aggregated_gradients,
        num_groups=num_groups,
        groups=groups,
    )


def broadcast_global_variables(root_rank: int):
    """Broadcasts all variables of the default graph from a rank."""

    return broadcast_all(root_rank)


def allreduce(
    value: Any,
    name: str | None = None,
    average: bool | None = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    op: Any = None,
    compression: Any = Compression.none,
):
    """Reduces a value over all ranks and returns the result as an array.

    Args:
      value: Number, array or tensor.
      name: Has no effect on the result.
      average: Whether to compute the mean, where op is None.
      prescale_factor: A factor before the reduction.
      postscale_factor: A factor after the reduction.
      op: The reduction; by default the mean.
      compression: The compression.
    """
    del name  # messages are matched by their order
    with context.eager():
        return messages.allreduce(
            value,
            average=average,
            compression=compression,
            op=op,
            prescale_factor=prescale_factor,
            postscale_factor=postscale_factor,
        ).numpy()


def allgather(value: Any, name: str | None = None):
    """Returns the values of all ranks, joined along the first axis, as an array.

    Args:
      value: Array or tensor.
      name: Has no effect on the result.
    """
    del name  # messages are matched by their order
    with context.eager():
        return messages.allgather(value).numpy()


def broadcast(value: Any, root_rank: int, name: str | None = None):
    """Returns the value of a rank as an array.

    Args:
      value: Number, array or tensor.
      root_rank: The rank.
      name: Has no effect on the result.
    """
    del name  # messages are matched by their order
    with context.eager():
        return messages.broadcast(value, root_rank).numpy()


def load_model(
    filepath: Any,
    custom_optimizers: Any = None,
    custom_objects: Any = None,
    compression: Any = Compression.none,
    legacy_opts: bool = False,
):
    """Loads a model and makes its optimizer a DistributedOptimizer.

    Args:
      filepath: Path of the model.
      custom_optimizers: List of optimizer classes of the program.
      custom_objects: Dictionary from names to classes and functions of the program.
      compression: The compression of gradients.
      legacy_opts: Has no effect: each optimizer has one class.

    Returns:
      The compiled model.
    """
    del legacy_opts  # each optimizer has one class
    known = {c.__name__: c for c in custom_optimizers or ()}
    known.update(custom_objects or {})
    plain = lambda name: name[len("Distributed") :] if name.startswith("Distributed") else name
    with registry.custom_object_scope(_distributed_names(known)):
        model = saving.load_model(filepath, known)
    if model.optimizer is not None:
        kind = plain(type(model.optimizer).__name__)
        model.optimizer = DistributedOptimizer(
            model.optimizer, "Distributed" + kind, compression=compression
        )
    return model


def _distributed_names(known):
    """Returns the classes of optimizers under the names that DistributedOptimizer gives them."""
    names = ("SGD", "RMSprop", "Adam", "AdamW", "Adagrad", "Adadelta", "Adamax", "Nadam", "Ftrl")
    kinds = {n: optimizers._find_class(n) for n in names}
    kinds.update({n: c for n, c in known.items() if hasattr(c, "apply_gradients")})
    return {"Distributed" + n: c for n, c in kinds.items()}
