# SPDX-License-Identifier: Apache-2.0
"""batch_ops.py: tf.nondifferentiable_batch_function: joins concurrent calls to batches."""

from __future__ import annotations

import itertools

from situ._src.framework import nest
from situ._src.framework.api import OPS, export
from situ._src.framework.function import function as tf_function
from situ._src.framework.graph import scope
from situ._src.ops.constant_op import is_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any

_FOREVER = 2**62  # microseconds
_numbers = itertools.count()


@export("python.ops.batch_ops.batch")
def batch(
    in_tensors: list,
    num_batch_threads: int,
    max_batch_size: int,
    batch_timeout_micros: int,
    grad_timeout_micros: int,
    max_enqueued_batches: int = 10,
    allowed_batch_sizes: list[int] | None = None,
    container: str = "",
    shared_name: str = "",
    batching_queue: str = "",
    name: str | None = None,
) -> tuple:
    """Joins concurrent calls to one batch: one call returns it, the others empty tensors.

    Args:
      in_tensors: Tensors to concatenate along their first dimension, of one size.
      num_batch_threads: As for `batch_function`.
      max_batch_size: The largest number of rows of a batch.
      batch_timeout_micros: How long a call waits for others, in microseconds.
      grad_timeout_micros: The timeout of the gradient, in microseconds.
      max_enqueued_batches: As for `batch_function`.
      allowed_batch_sizes: Increasing sizes of batches, which are filled with copies of a row.
      container: The container of the batcher.
      shared_name: The name of the batcher.
      batching_queue: The name of a queue in TensorFlow.
      name: A name for the operation (optional).

    Returns:
      (the batched tensors, the rows of each call, the number of this call).
    """
    *batched, index, call = OPS["Batch"](
        list(in_tensors),
        num_batch_threads=num_batch_threads,
        max_batch_size=max_batch_size,
        max_enqueued_batches=max_enqueued_batches,
        batch_timeout_micros=batch_timeout_micros,
        allowed_batch_sizes=list(allowed_batch_sizes or []),
        grad_timeout_micros=grad_timeout_micros,
        container=container,
        shared_name=shared_name,
        batching_queue=batching_queue,
        name=name,
    )
    return batched, index, call


@export("python.ops.batch_ops.unbatch")
def unbatch(
    batched_tensor: Any,
    batch_index: Any,
    id: Any,
    timeout_micros: int,
    container: str = "",
    shared_name: str = "",
    name: str | None = None,
) -> Any:
    """Returns the rows of a result that belong to this call of `batch`.

    Args:
      batched_tensor: The result for the batch, or an empty tensor.
      batch_index: The rows of each call.
      id: The number of this call.
      timeout_micros: How long to wait for the call that has the batch, in microseconds.
      container: The container of the object that holds rows for other calls.
      shared_name: The name of that object.
      name: A name for the operation (optional).

    Returns:
      A tensor.
    """
    return OPS["Unbatch"](
        batched_tensor,
        batch_index,
        id,
        timeout_micros=timeout_micros,
        container=container,
        shared_name=shared_name,
        name=name,
    )


@export("nondifferentiable_batch_function")
def batch_function(
    num_batch_threads: int,
    max_batch_size: int,
    batch_timeout_micros: int,
    allowed_batch_sizes: Any = None,
    max_enqueued_batches: int = 10,
    autograph: bool = True,
    enable_large_batch_splitting: bool = True,
) -> Any:
    """Returns a decorator for functions whose concurrent calls are computed as one batch.

    Args:
      num_batch_threads: The number of threads in TensorFlow; here batches are computed in the
        threads that call.
      max_batch_size: The largest number of rows of a batch.
      batch_timeout_micros: How long a call waits for others, in microseconds.
      allowed_batch_sizes: Increasing sizes of batches, which are filled with copies of a row.
      max_enqueued_batches: The length of the queue in TensorFlow; here calls wait.
      autograph: Whether `tf.function` converts the function.
      enable_large_batch_splitting: Larger inputs than `max_batch_size` are split in TensorFlow;
        here they are an error.

    Returns:
      A decorator. The function takes tensors, which are concatenated along their first dimension,
      and returns tensors with as many rows. It is also called with empty tensors.

    Raises:
      ValueError: When called, if an argument is no tensor.
    """
    del enable_large_batch_splitting  # inputs are not split

    def decorator(function):
        name = f"batch_function_{next(_numbers)}"

        def decorated(*args):
            for value in args:
                if not is_tensor(value):
                    raise ValueError(
                        "All arguments to functions decorated with `batch_function`  are supposed "
                        f"to be Tensors; found {value!r}."
                    )
            with scope(None, "batch"):
                *batched, index, call = OPS["Batch"](
                    list(args),
                    num_batch_threads=num_batch_threads,
                    max_batch_size=max_batch_size,
                    batch_timeout_micros=batch_timeout_micros,
                    allowed_batch_sizes=list(allowed_batch_sizes or []),
                    max_enqueued_batches=max_enqueued_batches,
                    grad_timeout_micros=0,
                    shared_name=name,
                )
                results = tf_function(function, autograph=autograph)(*nest.flatten(batched))
                leaves = [
                    OPS["Unbatch"](
                        leaf, index, call, timeout_micros=_FOREVER, shared_name=f"{name}_{i}"
                    )
                    for i, leaf in enumerate(nest.flatten(results))
                ]
                return nest.pack_sequence_as(results, leaves)

        return decorated

    return decorator
