# SPDX-License-Identifier: Apache-2.0
"""slim.py: tf.contrib.slim: variables by scope, losses, queues of batches, slim.learning.train."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Sequence
from typing import Any

import _situ
from situ._src.framework import api, logs
from situ._src.framework.api import V1, export
from situ._src.framework.graph import GraphKeys, get_default_graph
from situ._src.framework.graph import scope as name_scope
from situ._src.framework.keywords import unsupported
from situ._src.framework.protos import RunOptions
from situ._src.legacy import queue_runner, queues
from situ._src.ops.array_ops import cast, convert_to_tensor, op
from situ._src.profiler.step_stats import RunMetadata, Timeline
from situ._src.summary.file_writer import FileWriter
from situ._src.summary.summary_ops import merge_all, scalar
from situ._src.training import (
    class_metrics,
    losses,
    metrics,
    supervisor,
    threshold_metrics,
    top_k_metrics,
)
from situ._src.training import global_step as steps
from situ._src.training.global_step import get_or_create_global_step
from situ._src.variables import variable_scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Callable, TensorLike

V1["contrib.slim.get_or_create_global_step"] = get_or_create_global_step
V1["contrib.slim.get_global_step"] = V1["contrib.framework.get_global_step"]
V1["contrib.slim.create_global_step"] = V1["contrib.framework.create_global_step"]


def _both(name):
    return "contrib.slim." + name, "contrib.framework." + name


@export(v1=_both("get_variables"))
def get_variables(
    scope: Any = None, suffix: Any = None, collection: Any = GraphKeys.GLOBAL_VARIABLES
) -> Any:
    """Returns the variables of a scope whose names end with suffix.

    Args:
      scope: Scope, or its name; default: all.
      suffix: End of the names.
      collection: Key of the collection.
    """
    if isinstance(scope, variable_scope.VariableScope):
        scope = scope.name
    if suffix is not None:
        scope = (scope or "") + ".*" + (suffix if ":" in suffix else suffix + ":0")
        pattern = re.compile(scope)
        return [v for v in get_default_graph().get_collection(collection) if pattern.match(v.name)]
    return get_default_graph().get_collection(collection, scope)


for _name, _key in (
    ("model", GraphKeys.MODEL_VARIABLES),
    ("local", GraphKeys.LOCAL_VARIABLES),
    ("trainable", GraphKeys.TRAINABLE_VARIABLES),
):
    V1.update(
        dict.fromkeys(
            _both(f"get_{_name}_variables"),
            lambda scope=None, suffix=None, key=_key: get_variables(scope, suffix, key),
        )
    )


@export(v1=_both("get_variables_by_name"))
def get_variables_by_name(given_name: Any, scope: Any = None) -> list:
    """Returns the variables of a scope with a given last name.

    Args:
      given_name: The last part of the name.
      scope: Scope, or its name.
    """
    return [
        v for v in get_variables(scope) if re.search(f"(^|/){re.escape(given_name)}(:0)?$", v.name)
    ]


V1.update(
    dict.fromkeys(
        _both("get_variables_by_suffix"), lambda suffix, scope=None: get_variables(scope, suffix)
    )
)


@export(v1=_both("get_unique_variable"))
def get_unique_variable(var_op_name: Any) -> Any:
    """Returns the variable with a name; raises a ValueError if there is none.

    Args:
      var_op_name: The name.
    """
    result = [v for v in get_variables(var_op_name) if v.op.name == var_op_name]
    if not result:
        raise ValueError(f"Variable {var_op_name} does not uniquely identify a variable")
    return result[0]


@export(v1=_both("get_variables_to_restore"))
def get_variables_to_restore(include: Any = None, exclude: Any = None) -> list:
    """Returns the variables of included scopes without those of excluded scopes.

    Args:
      include: Names of scopes; default: all variables.
      exclude: Names of scopes.
    """

    def of(scopes):
        return [
            v for s in ([scopes] if isinstance(scopes, str) else scopes) for v in get_variables(s)
        ]

    result = get_variables() if include is None else of(include)
    dropped = [] if exclude is None else of(exclude)
    return [v for v in dict.fromkeys(result) if not any(v is d for d in dropped)]


@export(v1=_both("add_model_variable"))
def add_model_variable(var: TensorLike) -> None:
    """Adds a variable to the collection MODEL_VARIABLES.

    Args:
      var: The variable.
    """
    get_default_graph().add_to_collection(GraphKeys.MODEL_VARIABLES, var)


@export(v1=_both("assign_from_checkpoint"))
def assign_from_checkpoint(
    model_path: str, var_list: Any, ignore_missing_vars: bool = False
) -> Any:
    """Returns (op, feed_dict) that restore variables from a checkpoint.

    Args:
      model_path: A checkpoint or its directory.
      var_list: List of variables, or dictionary from names in the checkpoint to variables.
      ignore_missing_vars: Whether to leave out variables that the checkpoint lacks.

    Raises:
      ValueError: If the checkpoint lacks a variable, or it has another number of elements.
    """
    reader = V1["train.NewCheckpointReader"](model_path)
    named = var_list if isinstance(var_list, dict) else {v.op.name: v for v in var_list}
    updates, feed = [], {}
    for name, variable in named.items():
        if not reader.has_tensor(name):
            if ignore_missing_vars:
                continue
            raise ValueError(f"Checkpoint is missing variable [{name}]")
        value = V1["placeholder"](variable.dtype.base_dtype, variable.shape)
        feed[value] = reader.get_tensor(name).reshape(variable.shape.as_list())
        updates.append(variable.assign(value))
    return V1["group"](*updates) if "group" in V1 else api.BOTH["group"](*updates), feed


# Losses: tf.losses with the predictions as first argument.


def _export_predictions_first(name):
    """Exports a function of tf.losses under tf.contrib.losses, with predictions before labels."""
    result = getattr(losses, name)

    def called(
        predictions=None,
        labels=None,
        *args,
        logits=None,
        onehot_labels=None,
        multi_class_labels=None,
        target=None,
        **kwargs,
    ):
        def first(*values):
            return next((v for v in values if v is not None), None)

        return result(
            first(labels, onehot_labels, multi_class_labels, target),
            first(predictions, logits),
            *args,
            **kwargs,
        )

    called.__name__, called.__doc__ = name, result.__doc__
    V1["contrib.slim.losses." + name] = V1["contrib.losses." + name] = called


for _name in (
    "softmax_cross_entropy",
    "sigmoid_cross_entropy",
    "sparse_softmax_cross_entropy",
    "hinge_loss",
    "cosine_distance",
):
    _export_predictions_first(_name)
for _name in ("mean_squared_error", "absolute_difference", "log_loss"):
    _made = V1["losses." + _name]
    V1["contrib.slim.losses." + _name] = V1["contrib.losses." + _name] = (
        lambda predictions, labels=None, weights=1.0, *args, made=_made, **kwargs: made(
            labels, predictions, weights, *args, **kwargs
        )
    )
for _name in (
    "add_loss",
    "get_losses",
    "get_regularization_losses",
    "get_total_loss",
    "compute_weighted_loss",
):
    V1["contrib.slim.losses." + _name] = V1["contrib.losses." + _name] = V1["losses." + _name]


@export(v1="contrib.slim.prefetch_queue.prefetch_queue")
def prefetch_queue(
    tensors: Any,
    capacity: int = 8,
    num_threads: int = 1,
    dynamic_pad: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Returns a queue that threads fill with batches of these tensors.

    Args:
      tensors: Tensors, or a dictionary of them.
      capacity: Capacity of the queue.
      num_threads: Number of threads.
      dynamic_pad: Whether to pad tensors of different shapes with zeros.
      shared_name: Name under which sessions share the queue.
      name: A name for the operation (optional).
    """
    names = sorted(tensors) if isinstance(tensors, dict) else None
    flat = [convert_to_tensor(t) for t in ([tensors[n] for n in names] if names else tensors)]
    with name_scope(name, "prefetch_queue"):
        kind = queues.PaddingFIFOQueue if dynamic_pad else queues.FIFOQueue
        queue = kind(capacity, [t.dtype for t in flat], [t.shape for t in flat], names, shared_name)
        enqueue = queue.enqueue(dict(zip(names, flat)) if names else flat)
        queue_runner.add_queue_runner(queue_runner.QueueRunner(queue, [enqueue] * num_threads))
        scalar(f"fraction_of_{capacity}_full", cast(queue.size(), "float32") * (1.0 / capacity))
        return queue


@export(
    v1=(
        "contrib.slim.utils.convert_collection_to_dict",
        "contrib.layers.utils.convert_collection_to_dict",
    )
)
def convert_collection_to_dict(collection: str, clear_collection: bool = False) -> Any:
    """Returns the tensors of a collection by alias or name.

    Args:
      collection: Key of the collection.
      clear_collection: Whether to empty the collection.
    """
    graph = get_default_graph()
    result = {getattr(t, "alias", None) or t.op.name: t for t in graph.get_collection(collection)}
    if clear_collection:
        graph.clear_collection(collection)
    return result


@export(v1=("contrib.slim.metrics.aggregate_metrics", "contrib.metrics.aggregate_metrics"))
def aggregate_metrics(*value_update_tuples: Any) -> Any:
    """Returns (values, updates) of (value, update) pairs.

    Args:
      *value_update_tuples: Pairs of a value and its update operation.
    """
    if not value_update_tuples:
        raise ValueError("Expected at least one value_tensor/update_op pair")
    values, updates = zip(*value_update_tuples)
    return list(values), list(updates)


@export(v1=("contrib.slim.metrics.aggregate_metric_map", "contrib.metrics.aggregate_metric_map"))
def aggregate_metric_map(names_to_tuples: Any) -> Any:
    """Returns ({name: value}, {name: update}) of named pairs.

    Args:
      names_to_tuples: Dictionary from names to pairs of a value and its update operation.
    """
    return (
        {n: pair[0] for n, pair in names_to_tuples.items()},
        {n: pair[1] for n, pair in names_to_tuples.items()},
    )


# The modules whose metrics are shown under slim, too.
METRICS = (class_metrics, metrics, threshold_metrics, top_k_metrics)
for _key in [k for k in V1 if k.startswith("contrib.metrics.streaming")]:
    V1["contrib.slim.metrics." + _key.rpartition(".")[2]] = V1[_key]


_DEFAULT = supervisor.Supervisor.USE_DEFAULT


@export(v1="contrib.slim.learning.train_step")
def train_step(sess: Any, train_op: Any, global_step: Any, train_step_kwargs: Any) -> Any:
    """Runs a training step; returns (loss, whether to stop).

    Args:
      sess: Session.
      train_op: Op that trains and returns the loss.
      global_step: Variable that counts the steps.
      train_step_kwargs: Dictionary of `should_stop`, `should_log` and `should_trace`, boolean
        tensors, `logdir`, the folder of traces, and `log_every_n_steps`.
    """
    options = metadata = None
    if "should_trace" in train_step_kwargs:
        if "logdir" not in train_step_kwargs:
            raise ValueError(
                "logdir must be present in train_step_kwargs when should_trace is present"
            )
        if sess.run(train_step_kwargs["should_trace"]):
            options, metadata = RunOptions(trace_level=RunOptions.FULL_TRACE), RunMetadata()
    began = time.time()
    loss, step = sess.run([train_op, global_step], options=options, run_metadata=metadata)
    took = time.time() - began
    if metadata is not None:
        path = os.path.join(train_step_kwargs["logdir"], f"tf_trace-{step}.json")
        logs.info("Writing trace to %s", path)
        text = Timeline(metadata.step_stats).generate_chrome_trace_format()
        _situ.replace_file(path, text.encode())
    stop = (
        bool(sess.run(train_step_kwargs["should_stop"]))
        if "should_stop" in train_step_kwargs
        else False
    )
    every = train_step_kwargs.get("log_every_n_steps")
    log = train_step_kwargs.get("should_log")
    if every and step % every == 0 or log is not None and sess.run(log):
        logs.info("global step %d: loss = %.4f (%.3f sec/step)", step, loss, took)
    return loss, stop


def _wait_for_step(sess, global_step, step):
    while int(sess.run(global_step)) < step:
        time.sleep(1)


def _loop(sess, made, train_step_fn, train_op, global_step, kwargs, number_of_steps):
    loss = None
    while not made.should_stop():
        loss, stop = train_step_fn(sess, train_op, global_step, kwargs)
        if stop or number_of_steps is not None and int(sess.run(global_step)) >= number_of_steps:
            logs.info("Stopping Training.")
            made.request_stop()
            break
    return loss


@export(v1="contrib.slim.learning.train")
def train(
    train_op: Any,
    logdir: str,
    train_step_fn: Callable = train_step,
    train_step_kwargs: Any = _DEFAULT,
    log_every_n_steps: int = 1,
    graph: Any = None,
    master: str = "",
    is_chief: bool = True,
    global_step: Any = None,
    number_of_steps: int | None = None,
    init_op: Any = _DEFAULT,
    init_feed_dict: Any = None,
    local_init_op: Any = _DEFAULT,
    init_fn: Callable | None = None,
    ready_op: Any = _DEFAULT,
    summary_op: Any = _DEFAULT,
    save_summaries_secs: float = 600,
    summary_writer: Any = _DEFAULT,
    startup_delay_steps: int = 0,
    saver: Any = None,
    save_interval_secs: float = 600,
    sync_optimizer: Any = None,
    session_config: Any = None,
    session_wrapper: Any = None,
    trace_every_n_steps: int | None = None,
    ignore_live_threads: bool = False,
) -> Any:
    """Runs training steps until one requests a stop; returns the last loss.

    Args:
      train_op: Operation that trains and returns the loss.
      logdir: Directory of checkpoints, summaries and traces; None: none are written.
      train_step_fn: Function of (session, train_op, global step, train_step_kwargs) that returns
        the loss and whether to stop.
      train_step_kwargs: Dictionary that is passed to it.
      log_every_n_steps: Steps between logged losses.
      graph: The graph; default: the current one.
      master: The target of the session.
      is_chief: Whether this task initializes variables and writes checkpoints.
      global_step: The global step; default: that of the graph.
      number_of_steps: Step to stop at; None: no limit.
      init_op: Operation that initializes variables; default: all.
      init_feed_dict: Feeds of init_op.
      local_init_op: Operation to run after the variables are initialized or restored.
      init_fn: Function of the session to call after init_op.
      ready_op: Tensor of the names of uninitialized variables.
      summary_op: Summary to write; default: all; None: none.
      save_summaries_secs: Seconds between summaries.
      summary_writer: Writer of the summaries.
      startup_delay_steps: Global step that tasks other than the chief wait for.
      saver: The Saver; default: of all variables.
      save_interval_secs: Seconds between checkpoints.
      sync_optimizer: Must be None.
      session_config: ConfigProto of the session.
      session_wrapper: Function of the session that returns the one to use.
      trace_every_n_steps: Steps between traces; None: none.
      ignore_live_threads: Whether it is no error if threads do not stop.

    Raises:
      RuntimeError: If threads do not stop at the end.
      ValueError: If train_op is None, there is a sync_optimizer, or number_of_steps is not
        positive.
    """
    if train_op is None:
        raise ValueError("train_op cannot be None.")
    if sync_optimizer is not None:
        raise ValueError("situ has no sync_optimizer: towers on several GPUs are in step anyhow.")
    if number_of_steps is not None and number_of_steps <= 0:
        raise ValueError("`number_of_steps` must be either None or a positive number.")
    graph = graph or get_default_graph()
    with graph.as_default():
        step = steps.get_or_create_global_step() if global_step is None else global_step
        kwargs = (
            {"log_every_n_steps": log_every_n_steps}
            if train_step_kwargs is _DEFAULT
            else dict(train_step_kwargs or {})
        )
        if summary_op is _DEFAULT:
            summary_op = merge_all()
        if train_step_kwargs is _DEFAULT and trace_every_n_steps is not None:
            if logdir is None:
                raise ValueError("logdir must be given with trace_every_n_steps.")
            every = convert_to_tensor(trace_every_n_steps, step.dtype.base_dtype)
            zero = convert_to_tensor(0, step.dtype.base_dtype)
            kwargs["should_trace"] = op("Equal", op("FloorMod", step, every), zero)
            kwargs["logdir"] = logdir
        result = supervisor.Supervisor(
            graph=graph,
            is_chief=is_chief,
            logdir=logdir,
            init_op=init_op,
            init_feed_dict=init_feed_dict,
            local_init_op=local_init_op,
            ready_op=ready_op,
            summary_op=summary_op,
            summary_writer=summary_writer,
            global_step=step,
            saver=saver or _DEFAULT,
            save_summaries_secs=save_summaries_secs,
            save_model_secs=save_interval_secs,
            init_fn=init_fn,
        )
        with result.managed_session(master, config=session_config) as sess:
            logs.info("Starting Session.")
            run = session_wrapper(sess) if session_wrapper is not None else sess
            if startup_delay_steps > 0 and not is_chief:
                _wait_for_step(run, step, min(startup_delay_steps, number_of_steps or sys.maxsize))
            loss = _loop(run, result, train_step_fn, train_op, step, kwargs, number_of_steps)
            if logdir and result.is_chief:
                logs.info("Finished training! Saving model to disk.")
                result.saver.save(sess, result.save_path, global_step=result.global_step)
            result.stop(ignore_live_threads=ignore_live_threads)
    sys.stdout.flush()
    return loss


@export(v1="contrib.slim.evaluation.evaluate_once")
def evaluate_once(
    master: str,
    checkpoint_path: str | None,
    logdir: str | None = None,
    num_evals: int = 1,
    initial_op: Any = None,
    initial_op_feed_dict: Any = None,
    eval_op: Any = None,
    eval_op_feed_dict: Any = None,
    final_op: Any = None,
    final_op_feed_dict: Any = None,
    summary_op: Any = _DEFAULT,
    summary_op_feed_dict: Any = None,
    variables_to_restore: Any = None,
    session_config: Any = None,
    hooks: Sequence | None = None,
) -> Any:
    """Restores a checkpoint, runs eval_op num_evals times and returns the value of final_op.

    With a logdir, writes the summary of summary_op (default: all summaries; None: none) there.

    Args:
      master: The target of the session.
      checkpoint_path: The checkpoint.
      logdir: Directory of the summary.
      num_evals: Number of evaluation steps.
      initial_op: Operation to run first.
      initial_op_feed_dict: Feeds of initial_op.
      eval_op: Operation of an evaluation step.
      eval_op_feed_dict: Feeds of eval_op.
      final_op: Tensors to run at the end.
      final_op_feed_dict: Feeds of final_op.
      summary_op: Summary to write; default: all.
      summary_op_feed_dict: Feeds of summary_op.
      variables_to_restore: List of variables; default: all.
      session_config: ConfigProto of the session.
      hooks: Must be empty.

    Raises:
      NotImplementedError: If there are hooks.
    """
    unsupported("evaluate_once", hooks=(hooks or None, None))
    summary_op = merge_all() if summary_op is _DEFAULT else summary_op
    step = get_or_create_global_step() if logdir else None
    saver = V1["train.Saver"](variables_to_restore)
    local = initial_op if initial_op is not None else V1["local_variables_initializer"]()
    with V1["Session"](master, config=session_config) as sess:
        saver.restore(sess, checkpoint_path)
        sess.run(local, initial_op_feed_dict)
        coord = V1["train.Coordinator"]()
        threads = V1["train.start_queue_runners"](sess, coord)
        for _ in range(num_evals if eval_op is not None else 0):
            sess.run(eval_op, eval_op_feed_dict)
        value = sess.run(final_op, final_op_feed_dict) if final_op is not None else None
        if logdir and summary_op is not None:
            writer = FileWriter(logdir)
            writer.add_summary(sess.run(summary_op, summary_op_feed_dict), int(sess.run(step)))
            writer.close()
        coord.request_stop()
        coord.join(threads, ignore_live_threads=True)
    return value
