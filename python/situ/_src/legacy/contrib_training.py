# SPDX-License-Identifier: Apache-2.0
"""contrib_training.py: tf.contrib.training: evaluation of new checkpoints, bucketing by length,
placement of variables by size; and parts of tf.contrib.framework."""

from __future__ import annotations

import math
import random
import re
import time
from collections.abc import Sequence
from typing import Any

from situ._src.checkpoint.state import latest_checkpoint
from situ._src.framework import dtypes, logs
from situ._src.framework.api import BOTH, V1, export
from situ._src.framework.graph import GraphKeys, get_default_graph
from situ._src.framework.graph import scope as name_scope
from situ._src.framework.tensor_shape import as_shape
from situ._src.legacy import queue_batch, queue_runner, queues
from situ._src.ops import control_flow_ops
from situ._src.ops.array_ops import cast, constant, convert_to_tensor, group, op
from situ._src.summary import summary_ops
from situ._src.training import global_step, monitored_session
from situ._src.training.session_run_hook import SessionRunHook
from situ._src.variables import variable, variable_scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Callable, TensorLike


@export(
    v1=(
        "contrib.training.wait_for_new_checkpoint",
        "contrib.slim.evaluation.wait_for_new_checkpoint",
    )
)
def wait_for_new_checkpoint(
    checkpoint_dir: str,
    last_checkpoint: Any = None,
    seconds_to_sleep: int = 1,
    timeout: float | None = None,
) -> Any:
    """Waits for the next checkpoint of a folder.

    Args:
      checkpoint_dir: The folder.
      last_checkpoint: The last known checkpoint.
      seconds_to_sleep: Seconds between checks.
      timeout: Largest number of seconds to wait; None: no limit.

    Returns:
      Path of the checkpoint, or None after the timeout.
    """
    logs.info("Waiting for new checkpoint at %s", checkpoint_dir)
    end = None if timeout is None else time.time() + timeout
    while True:
        result = latest_checkpoint(checkpoint_dir)
        if result is not None and result != last_checkpoint:
            logs.info("Found new checkpoint at %s", result)
            return result
        if end is not None and time.time() + seconds_to_sleep > end:
            return None
        time.sleep(seconds_to_sleep)


@export(
    "train.checkpoints_iterator",
    v1=("contrib.training.checkpoints_iterator", "contrib.slim.evaluation.checkpoints_iterator"),
)
def checkpoints_iterator(
    checkpoint_dir: str,
    min_interval_secs: float = 0,
    timeout: float | None = None,
    timeout_fn: Callable | None = None,
) -> Any:
    """Yields the checkpoints of a folder as they appear.

    Args:
      checkpoint_dir: The folder.
      min_interval_secs: Smallest number of seconds between checkpoints.
      timeout: Largest number of seconds to wait for each; None: no limit.
      timeout_fn: Function that returns whether to stop after a timeout.
    """
    path = None
    while True:
        new = wait_for_new_checkpoint(checkpoint_dir, path, timeout=timeout)
        if new is None:
            if not timeout_fn or timeout_fn():
                return
            continue
        began, path = time.time(), new
        yield path
        left = began + min_interval_secs - time.time()
        if left > 0:
            time.sleep(left)


@export(v1="contrib.training.get_or_create_eval_step")
def get_or_create_eval_step() -> Any:
    """Returns the variable that counts the steps of an evaluation."""
    graph = get_default_graph()
    result = graph.get_collection("eval_step")
    if result:
        return result[0]
    return variable_scope.get_variable(
        "eval_step",
        [],
        "int64",
        V1["zeros_initializer"]() if "zeros_initializer" in V1 else BOTH["zeros_initializer"](),
        trainable=False,
        collections=[GraphKeys.LOCAL_VARIABLES, "eval_step"],
    )


@export(v1="contrib.training.StopAfterNEvalsHook")
class StopAfterNEvalsHook(SessionRunHook):
    """Stops an evaluation after a number of steps."""

    def __init__(self, num_evals: int, log_progress: bool = True) -> None:
        self._count, self._log, self._seen = num_evals, log_progress, 0

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self._seen += 1
        if self._log:
            logs.info("Evaluation [%d/%d]", self._seen, self._count)
        if self._count is not None and self._seen >= self._count:
            run_context.request_stop()


@export(v1="contrib.training.SummaryAtEndHook")
class SummaryAtEndHook(SessionRunHook):
    """Writes summaries at the end of an evaluation."""

    def __init__(
        self,
        log_dir: str | None = None,
        summary_writer: Any = None,
        summary_op: Any = None,
        feed_dict: dict | None = None,
    ) -> None:
        self._folder, self._writer = log_dir, summary_writer
        self._op, self._feed = summary_op, feed_dict

    def begin(self) -> None:
        if self._writer is None and self._folder:
            self._writer = V1["summary.FileWriter"](self._folder)
        self._step = global_step.get_or_create_global_step()
        self._op = self._op if self._op is not None else summary_ops.merge_all()

    def end(self, session: Any) -> None:
        step = session.run(self._step)
        if self._op is not None and self._writer is not None:
            self._writer.add_summary(session.run(self._op, self._feed), step)
            self._writer.flush()


@export(v1="contrib.training.evaluate_once")
def evaluate_once(
    checkpoint_path: str | None,
    master: str = "",
    scaffold: Any = None,
    eval_ops: Any = None,
    feed_dict: dict | None = None,
    final_ops: Any = None,
    final_ops_feed_dict: Any = None,
    hooks: Sequence | None = None,
    config: Any = None,
) -> Any:
    """Evaluates a checkpoint: runs eval_ops until a hook stops; returns the values of final_ops.

    Args:
      checkpoint_path: The checkpoint.
      master: The target of the session.
      scaffold: A tf.train.Scaffold; default: a new one.
      eval_ops: Tensors and operations to run.
      feed_dict: Feeds of eval_ops.
      final_ops: Tensors to run at the end.
      final_ops_feed_dict: Feeds of final_ops.
      hooks: List of SessionRunHooks.
      config: ConfigProto of the session.
    """
    hooks, values = list(hooks or []), None
    ending = V1.get("train.FinalOpsHook") or BOTH["train.FinalOpsHook"]
    last = ending(final_ops, final_ops_feed_dict)
    creator = monitored_session.ChiefSessionCreator(
        scaffold=scaffold,
        checkpoint_filename_with_path=checkpoint_path,
        master=master,
        config=config,
    )
    with monitored_session.MonitoredSession(creator, [*hooks, last]) as session:
        while eval_ops is not None and not session.should_stop():
            session.run(eval_ops, feed_dict)
    values = last.final_ops_values
    logs.info("Finished evaluation at %s", time.strftime("%Y-%m-%d-%H:%M:%S", time.gmtime()))
    return values


@export(v1="contrib.training.evaluate_repeatedly")
def evaluate_repeatedly(
    checkpoint_dir: str,
    master: str = "",
    scaffold: Any = None,
    eval_ops: Any = None,
    feed_dict: dict | None = None,
    final_ops: Any = None,
    final_ops_feed_dict: Any = None,
    eval_interval_secs: float = 60,
    hooks: Sequence | None = None,
    config: Any = None,
    max_number_of_evaluations: int | None = None,
    timeout: float | None = None,
    timeout_fn: Callable | None = None,
) -> Any:
    """Evaluates each checkpoint of a folder as it appears; returns the last values of final_ops.

    Args:
      checkpoint_dir: The folder.
      master: The target of the session.
      scaffold: A tf.train.Scaffold; default: a new one.
      eval_ops: Tensors and operations to run.
      feed_dict: Feeds of eval_ops.
      final_ops: Tensors to run at the end.
      final_ops_feed_dict: Feeds of final_ops.
      eval_interval_secs: Seconds between the starts of evaluations.
      hooks: List of SessionRunHooks.
      config: ConfigProto of the session.
      max_number_of_evaluations: Number of evaluations; None: no limit.
      timeout: Largest number of seconds to wait; None: no limit.
      timeout_fn: Function that returns whether to stop after a timeout.
    """
    values, count = None, 0
    for path in checkpoints_iterator(checkpoint_dir, eval_interval_secs, timeout, timeout_fn):
        for hook in hooks or ():
            if isinstance(hook, StopAfterNEvalsHook):
                hook._seen = 0
        values = evaluate_once(
            path,
            master,
            scaffold,
            eval_ops,
            feed_dict,
            final_ops,
            final_ops_feed_dict,
            hooks,
            config,
        )
        count += 1
        if max_number_of_evaluations is not None and count >= max_number_of_evaluations:
            break
    return values


@export(v1="contrib.training.train")
def train(
    train_op: Any,
    logdir: str,
    master: str = "",
    is_chief: bool = True,
    scaffold: Any = None,
    hooks: Sequence | None = None,
    chief_only_hooks: Any = None,
    save_checkpoint_secs: float = 600,
    save_summaries_steps: int = 100,
    config: Any = None,
    max_wait_secs: float = 7200,
) -> Any:
    """Runs train_op in a MonitoredTrainingSession until a hook stops; returns its last value.

    Arguments as in tf.train.MonitoredTrainingSession, with logdir as checkpoint_dir.

    Args:
      train_op: Operation that trains and returns the loss.
      logdir: Directory of checkpoints and summaries; None: none are written.
      master: The target of the session.
      is_chief: Whether this task initializes variables and writes checkpoints.
      scaffold: A tf.train.Scaffold; default: a new one.
      hooks: List of SessionRunHooks.
      chief_only_hooks: Hooks of the chief.
      save_checkpoint_secs: Seconds between checkpoints.
      save_summaries_steps: Steps between summaries.
      config: ConfigProto of the session.
      max_wait_secs: Seconds that other tasks wait for the chief.
    """
    loss = None
    with monitored_session.MonitoredTrainingSession(
        master=master,
        is_chief=is_chief,
        checkpoint_dir=logdir,
        scaffold=scaffold,
        hooks=hooks,
        chief_only_hooks=chief_only_hooks,
        save_checkpoint_secs=save_checkpoint_secs,
        save_summaries_steps=save_summaries_steps,
        config=config,
        max_wait_secs=max_wait_secs,
    ) as session:
        while not session.should_stop():
            loss = session.run(train_op)
    return loss


@export(v1=("contrib.training.clip_gradient_norms", "contrib.slim.learning.clip_gradient_norms"))
def clip_gradient_norms(gradients_to_variables: Any, max_norm: float) -> list:
    """Clips the norm of each gradient.

    Args:
      gradients_to_variables: List of (gradient, variable).
      max_norm: Largest norm.
    """
    clip = BOTH.get("clip_by_norm") or V1["clip_by_norm"]
    return [(g if g is None else clip(g, max_norm), v) for g, v in gradients_to_variables]


@export(v1=("contrib.training.multiply_gradients", "contrib.slim.learning.multiply_gradients"))
def multiply_gradients(grads_and_vars: Any, gradient_multipliers: Any) -> Any:
    """Multiplies gradients by factors.

    Args:
      grads_and_vars: List of (gradient, variable).
      gradient_multipliers: Dictionary from variables or their names to factors.
    """
    result = []
    for gradient, trained in grads_and_vars:
        for key in (trained, trained.op.name):
            if key in gradient_multipliers:
                gradient = gradient * convert_to_tensor(gradient_multipliers[key], gradient.dtype)
                break
        result.append((gradient, trained))
    return result


@export(
    v1=("contrib.training.add_gradients_summaries", "contrib.slim.learning.add_gradients_summaries")
)
def add_gradients_summaries(grads_and_vars: Any) -> list:
    """Adds summaries of gradients and their norms.

    Args:
      grads_and_vars: List of (gradient, variable).
    """
    return [
        summary
        for gradient, variable in grads_and_vars
        if gradient is not None
        for summary in (
            summary_ops.histogram(variable.op.name + "/gradient", gradient),
            summary_ops.scalar(
                variable.op.name + "/gradient_norm",
                V1["global_norm"]([gradient])
                if "global_norm" in V1
                else BOTH["linalg.global_norm"]([gradient]),
            ),
        )
    ]


# Bucketing by length


def _one_queue(types, sizes, capacity, pad, shared_name, name):
    kind = queues.PaddingFIFOQueue if pad else queues.FIFOQueue
    return kind(capacity, types, sizes, shared_name=shared_name, name=name)


@export(v1="contrib.training.bucket")
def bucket(
    tensors: Any,
    which_bucket: Any,
    batch_size: Any,
    num_buckets: TensorLike,
    num_threads: int = 1,
    capacity: int = 32,
    bucket_capacities: Any = None,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    keep_input: bool = True,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Groups elements into buckets; each batch comes from one bucket.

    Args:
      tensors: Tensors of an element.
      which_bucket: Index of its bucket, a scalar tensor.
      batch_size: Batch size, or one per bucket.
      num_buckets: Number of buckets.
      num_threads: Number of threads that fill the buckets.
      capacity: Capacity of the queue of batches.
      bucket_capacities: Capacity of each bucket; default: the larger of capacity and two batches.
      shapes: Shapes of the elements; default: inferred.
      dynamic_pad: Whether to pad elements of different shapes with zeros.
      allow_smaller_final_batch: Whether the last batch of a bucket may be smaller.
      keep_input: Whether to add the element, a scalar bool or tensor.
      shared_name: Name under which sessions share the queue of batches; with the index of a
        bucket, its queue.
      name: Name scope of the ops.

    Returns:
      (index of the bucket, batch).
    """
    form = queue_batch._Form(tensors, False)
    with name_scope(name, "bucket"):
        flat = form.flat(tensors)
        which = cast(convert_to_tensor(which_bucket), "int32")
        sizes = shapes or [t.shape for t in flat]
        types = [t.dtype.base_dtype for t in flat]
        batches = (
            batch_size if isinstance(batch_size, (list, tuple)) else [batch_size] * num_buckets
        )
        rooms = bucket_capacities or [max(capacity, 2 * b) for b in batches]
        parts = [
            _one_queue(
                types,
                sizes,
                rooms[i],
                dynamic_pad,
                f"{shared_name}_{i}" if shared_name else None,
                f"bucket_queue_{i}",
            )
            for i in range(num_buckets)
        ]
        top = queues.FIFOQueue(
            capacity, ["int32", *types], shared_name=shared_name, name="top_queue"
        )

        def put(i):
            return lambda: _enqueued(parts[i].enqueue(flat))

        keep = convert_to_tensor(keep_input)
        choose = control_flow_ops.case(
            [(op("LogicalAnd", keep, op("Equal", which, i)), put(i)) for i in range(num_buckets)],
            default=lambda: constant(False),
        )
        queue_runner.add_queue_runner(_Feeding(parts, [choose.op] * num_threads))
        for i, part in enumerate(parts):
            take = part.dequeue_up_to if allow_smaller_final_batch else part.dequeue_many
            batch = take(batches[i])
            batch = batch if isinstance(batch, list) else [batch]
            queue_runner.add_queue_runner(
                _Draining(top, [top.enqueue([constant(i), *batch])], num_buckets)
            )
        result = top.dequeue()
        for tensor, size in zip(result[1:], sizes):
            count = None if allow_smaller_final_batch or len(set(batches)) > 1 else batches[0]
            known = size.as_list() if hasattr(size, "as_list") else list(size)
            tensor.set_shape([count, *known])
        return result[0], form.back(result[1:])


def _enqueued(operation):
    with get_default_graph().control_dependencies([operation]):
        return op("Identity", constant(True))


class _Feeding(queue_runner.QueueRunner):
    """Fills all buckets; closes them when the input ends."""

    def __init__(self, parts, operations):
        super().__init__(
            parts[0],
            operations,
            group(*[p.close() for p in parts]),
            group(*[p.close(cancel_pending_enqueues=True) for p in parts]),
        )


class _Draining(queue_runner.QueueRunner):
    """Moves batches of one bucket to the queue of batches, which the last thread closes."""

    _left: dict = {}

    def __init__(self, top, operations, count):
        super().__init__(top, operations)
        self._count = count
        self._left.setdefault(top, count)

    def _done(self, sess):
        if not super()._done(sess):
            return False
        self._left[self._queue] -= 1
        return self._left[self._queue] == 0


@export(v1="contrib.training.bucket_by_sequence_length")
def bucket_by_sequence_length(
    input_length: Any,
    tensors: Any,
    batch_size: Any,
    bucket_boundaries: Any,
    num_threads: int = 1,
    capacity: int = 32,
    bucket_capacities: Any = None,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    keep_input: bool = True,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Groups elements by length into batches.

    Args:
      input_length: Length of an element, a scalar tensor.
      tensors: Tensors of the element.
      batch_size: Batch size, or one per bucket.
      bucket_boundaries: Increasing boundaries of the lengths.
      num_threads: Number of threads that fill the buckets.
      capacity: Capacity of the queue of batches.
      bucket_capacities: Capacity of each bucket; default: the larger of capacity and two batches.
      shapes: Shapes of the elements; default: inferred.
      dynamic_pad: Whether to pad elements of different shapes with zeros.
      allow_smaller_final_batch: Whether the last batch of a bucket may be smaller.
      keep_input: Whether to add the element, a scalar bool or tensor.
      shared_name: Name under which sessions share the queue of batches.

    Returns:
      (lengths, batch): the batch is a list, also of one tensor, or a dictionary.
    """
    length = cast(convert_to_tensor(input_length), "int32")
    which = op(
        "Sum", cast(op("GreaterEqual", length, constant(list(bucket_boundaries))), "int32"), [0]
    )
    form = queue_batch._Form(tensors, False)
    _, result = bucket(
        [length, *form.flat(tensors)],
        which,
        batch_size,
        len(bucket_boundaries) + 1,
        num_threads,
        capacity,
        bucket_capacities,
        None if shapes is None else [[], *shapes],
        dynamic_pad,
        allow_smaller_final_batch,
        keep_input,
        shared_name,
        name,
    )
    return result[0], result[1:] if form.keys is None else form.back(
        result[1:]
    )  # here one is a list


# Where variables go


@export(v1="contrib.training.byte_size_load_fn")
def byte_size_load_fn(op_: Any) -> Any:
    """Returns the size of a variable in bytes.

    Args:
      op_: The operation of the variable.
    """
    sizes = as_shape(op_.get_attr("shape")).as_list()
    return math.prod(sizes) * dtypes.as_dtype(op_.get_attr("dtype")).size


@export(v1="contrib.training.GreedyLoadBalancingStrategy")
class GreedyLoadBalancingStrategy:
    """Assigns each variable to the task with the smallest load so far."""

    def __init__(self, num_tasks: int, load_fn: Callable) -> None:
        self._loads, self._load_fn = [0.0] * num_tasks, load_fn

    def __call__(self, op_):
        task = self._loads.index(min(self._loads))
        self._loads[task] += self._load_fn(op_)
        return task


@export(v1="contrib.training.RandomStrategy")
class RandomStrategy:
    """Assigns each variable to a random task."""

    def __init__(self, num_ps: int, seed: int | None = 0) -> None:
        self._count, self._random = num_ps, random.Random(seed)

    def __call__(self, op_):
        del op_  # the choice is random
        return self._random.randrange(self._count)


# More of tf.contrib.framework


@export(v1="contrib.framework.filter_variables")
def filter_variables(
    var_list: Any,
    include_patterns: Any = None,
    exclude_patterns: Any = None,
    reg_search: bool = True,
) -> list:
    """Returns the variables whose names match include_patterns and none of exclude_patterns.

    Args:
      var_list: List of variables.
      include_patterns: Regular expressions; default: all variables.
      exclude_patterns: Regular expressions.
      reg_search: Whether a pattern may match anywhere in a name, not only at its start.
    """
    find = re.search if reg_search else re.match
    return [
        v
        for v in var_list
        if (not include_patterns or any(find(p, v.name) for p in include_patterns))
        and not any(find(p, v.name) for p in exclude_patterns or ())
    ]


@export(v1="contrib.framework.assign_from_values_fn")
def assign_from_values_fn(var_names_to_values: Any) -> Any:
    """Returns a function of a session that assigns values to variables.

    Args:
      var_names_to_values: Dictionary from names of variables to values.
    """
    make, fed = V1["contrib.framework.assign_from_values"](var_names_to_values)
    return lambda session: session.run(make, fed)


@export(v1="contrib.framework.local_variable")
def local_variable(
    initial_value: Any,
    validate_shape: bool = True,
    name: str | None = "local_variable",
    use_resource: bool | None = None,
) -> Any:
    """Creates a variable that is neither saved nor trained.

    Args:
      initial_value: Its initial value.
      validate_shape: Whether the shape of the initial value must be known.
      name: Name scope of the ops.
      use_resource: Whether to create a resource variable.
    """
    return variable.variable(
        initial_value,
        trainable=False,
        name=name,
        collections=[GraphKeys.LOCAL_VARIABLES],
        validate_shape=validate_shape,
        use_resource=use_resource,
    )


@export(v1="contrib.framework.get_name_scope")
def get_name_scope() -> Any:
    """Returns the current name scope."""
    return get_default_graph().get_name_scope()


for _name in ("variable", "model_variable"):
    V1["contrib.framework." + _name] = V1["contrib.layers." + _name]
V1["contrib.training.create_global_step"] = global_step.create_global_step
