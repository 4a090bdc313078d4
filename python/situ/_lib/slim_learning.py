# SPDX-License-Identifier: Apache-2.0
"""slim_learning.py: slim.learning.train: the loop around a training step; slim.evaluation."""
import sys
import time

from situ._lib import global_step as steps, logs, supervisor
from situ._lib.api import V1, export
from situ._lib.graph import get_default_graph
from situ._lib.keywords import unsupported
from situ._lib.summary_ops import merge_all

_DEFAULT = supervisor.Supervisor.USE_DEFAULT


@export(v1="contrib.slim.learning.train_step")
def train_step(sess, train_op, global_step, train_step_kwargs):
    """A step: (its loss, whether it was the last)."""
    began = time.time()
    loss, step = sess.run([train_op, global_step])
    took = time.time() - began
    stop = bool(sess.run(train_step_kwargs["should_stop"])) \
        if "should_stop" in train_step_kwargs else False
    every = train_step_kwargs.get("log_every_n_steps")
    if every and step % every == 0:
        logs.info("global step %d: loss = %.4f (%.3f sec/step)", step, loss, took)
    return loss, stop


def _loop(sess, made, train_step_fn, train_op, global_step, words, number_of_steps):
    loss = None
    while not made.should_stop():
        loss, stop = train_step_fn(sess, train_op, global_step, words)
        if stop or number_of_steps is not None and \
                int(sess.run(global_step)) >= number_of_steps:
            logs.info("Stopping Training.")
            made.request_stop()
            break
    return loss


@export(v1="contrib.slim.learning.train")
def train(train_op, logdir, train_step_fn=train_step, train_step_kwargs=_DEFAULT,
          log_every_n_steps=1, graph=None, master="", is_chief=True, global_step=None,
          number_of_steps=None, init_op=_DEFAULT, init_feed_dict=None, local_init_op=_DEFAULT,
          init_fn=None, ready_op=_DEFAULT, summary_op=_DEFAULT, save_summaries_secs=600,
          summary_writer=_DEFAULT, startup_delay_steps=0, saver=None, save_interval_secs=600,
          sync_optimizer=None, session_config=None, session_wrapper=None,
          trace_every_n_steps=None, ignore_live_threads=False):
    """Runs a training step until it is told to stop; returns the last loss. Checkpoints and
    summaries go to logdir."""
    if train_op is None:
        raise ValueError("train_op cannot be None.")
    if sync_optimizer is not None:
        raise ValueError("situ has no sync_optimizer: towers on several GPUs are in step anyhow.")
    if number_of_steps is not None and number_of_steps <= 0:
        raise ValueError("`number_of_steps` must be either None or a positive number.")
    graph = graph or get_default_graph()
    with graph.as_default():
        step = steps.get_or_create_global_step() if global_step is None else global_step
        words = {"log_every_n_steps": log_every_n_steps} if train_step_kwargs is _DEFAULT \
            else dict(train_step_kwargs or {})
        if summary_op is _DEFAULT:
            summary_op = merge_all()
        made = supervisor.Supervisor(
            graph=graph, is_chief=is_chief, logdir=logdir, init_op=init_op,
            init_feed_dict=init_feed_dict, local_init_op=local_init_op, ready_op=ready_op,
            summary_op=summary_op, summary_writer=summary_writer, global_step=step,
            saver=saver or _DEFAULT,
            save_summaries_secs=save_summaries_secs, save_model_secs=save_interval_secs,
            init_fn=init_fn)
        with made.managed_session(master, config=session_config) as sess:
            logs.info("Starting Session.")
            run = session_wrapper(sess) if session_wrapper is not None else sess
            loss = _loop(run, made, train_step_fn, train_op, step, words, number_of_steps)
            if logdir and made.is_chief:
                logs.info("Finished training! Saving model to disk.")
                made.saver.save(sess, made.save_path, global_step=made.global_step)
    sys.stdout.flush()
    return loss


@export(v1="contrib.slim.evaluation.evaluate_once")
def evaluate_once(master, checkpoint_path, logdir=None, num_evals=1, initial_op=None,
                  initial_op_feed_dict=None, eval_op=None, eval_op_feed_dict=None, final_op=None,
                  final_op_feed_dict=None, summary_op=None, summary_op_feed_dict=None,
                  variables_to_restore=None, session_config=None, hooks=None):
    """Restores a checkpoint, runs eval_op so often, and gives the value of final_op."""
    unsupported("evaluate_once", hooks=(hooks or None, None))
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
        coord.request_stop()
        coord.join(threads, ignore_live_threads=True)
    return value
