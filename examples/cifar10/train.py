# SPDX-License-Identifier: Apache-2.0
"""train.py: trains the network of the CIFAR-10 tutorial on several GPUs.

Every GPU has a tower: the network on its share of the batch. The variables are on the CPU and
shared; there the gradients of the towers are averaged and applied. So the batch, and what is
learned, is the same on any number of GPUs.

    situ run --gpus 4 train.py --num_gpus 4 --max_steps 200
"""

import os
import time
from datetime import datetime

import images
import model
import tensorflow as tf

import data

FLAGS = tf.app.flags.FLAGS
tf.app.flags.DEFINE_string("data_dir", "/tmp/cifar10_data", "Where the files of images are.")
tf.app.flags.DEFINE_string("train_dir", "/tmp/cifar10_train", "Where logs and checkpoints go.")
tf.app.flags.DEFINE_integer("max_steps", 1000, "Steps to run.", lower_bound=1)
tf.app.flags.DEFINE_integer(
    "batch_size", 128, "Images of a step, on all GPUs together.", lower_bound=1
)
tf.app.flags.DEFINE_integer("num_gpus", 1, "GPUs to use.", lower_bound=1)
tf.app.flags.DEFINE_integer("log_frequency", 10, "Steps between two lines.", lower_bound=1)
tf.app.flags.DEFINE_integer("seed", 0, "Not 0: the same images and numbers in every run.")
tf.app.flags.DEFINE_float("learning_rate", 0.06, "The first learning rate.")
tf.app.flags.DEFINE_integer("decay_steps", 250, "Steps after which it is a tenth.", lower_bound=1)
tf.app.flags.DEFINE_boolean("resume", False, "Go on from the last checkpoint.")
tf.app.flags.DEFINE_boolean("log_device_placement", False, "Say where each node runs.")


def tower(index, batch, labels):
    """The loss of a share of the batch, and its gradients."""
    with tf.device(f"/gpu:{index}"), tf.name_scope(f"tower_{index}") as scope:
        loss = model.loss_of(model.logits_of(batch), labels, scope)
        tf.get_variable_scope().reuse_variables()
        return loss, tf.gradients(loss, tf.trainable_variables(), colocate_gradients_with_ops=True)


def towers(batch, labels):
    """The loss of the whole batch, and (gradient, variable) of each variable."""
    shares = zip(tf.split(batch, FLAGS.num_gpus), tf.split(labels, FLAGS.num_gpus))
    with tf.variable_scope(tf.get_variable_scope()):
        losses, gradients = zip(*[tower(i, *share) for i, share in enumerate(shares)])
    mean = [tf.multiply(tf.add_n(g), 1.0 / FLAGS.num_gpus) for g in zip(*gradients)]
    loss = tf.multiply(tf.add_n(losses), 1.0 / FLAGS.num_gpus, name="loss")
    return loss, list(zip(mean, tf.trainable_variables()))


def training(step):
    """The op of a step, its loss, and its summaries."""
    paths = data.files(FLAGS.data_dir, data.TRAIN)
    batch, labels = images.batches(paths, FLAGS.batch_size, True, bool(FLAGS.seed))
    rate = tf.train.exponential_decay(FLAGS.learning_rate, step, FLAGS.decay_steps, 0.1)
    loss, gradients = towers(batch, labels)
    apply = tf.train.GradientDescentOptimizer(rate).apply_gradients(gradients, global_step=step)
    averages = tf.train.ExponentialMovingAverage(model.MOVING_AVERAGE_DECAY, step)
    with tf.control_dependencies([apply]):
        train = averages.apply(tf.trainable_variables())
    tf.summary.scalar("learning_rate", rate)
    tf.summary.scalar("loss", loss)
    for gradient, variable in gradients:
        tf.summary.histogram(variable.op.name, variable)
        tf.summary.histogram(variable.op.name + "/gradients", gradient)
    return train, loss, tf.summary.merge_all()


def run(session, step, train, loss, summary, writer, saver):
    """Steps, a line now and then, summaries and checkpoints."""
    began, since = time.time(), session.run(step)
    for number in range(since, FLAGS.max_steps):
        _, value = session.run([train, loss])
        assert value == value, "The loss is not a number."
        if number % FLAGS.log_frequency == 0:
            seconds = (time.time() - began) / (number + 1 - since)
            print(
                f"{datetime.now():%Y-%m-%d %H:%M:%S}: step {number}, loss = {value:.5f} "
                f"({FLAGS.batch_size / seconds:.1f} examples/sec; {seconds:.3f} sec/batch)",
                flush=True,
            )
            began, since = time.time(), number + 1
        if number % 100 == 0:
            writer.add_summary(session.run(summary), number)
        if number % 1000 == 0 or number + 1 == FLAGS.max_steps:
            saver.save(session, os.path.join(FLAGS.train_dir, "model.ckpt"), global_step=step)


def main(_):
    if FLAGS.batch_size % FLAGS.num_gpus:
        raise SystemExit(f"A batch of {FLAGS.batch_size} has no {FLAGS.num_gpus} equal shares.")
    if not FLAGS.resume and tf.gfile.Exists(FLAGS.train_dir):
        tf.gfile.DeleteRecursively(FLAGS.train_dir)
    tf.gfile.MakeDirs(FLAGS.train_dir)
    with tf.Graph().as_default(), tf.device("/cpu:0"):
        if FLAGS.seed:
            tf.set_random_seed(FLAGS.seed)
        step = tf.train.get_or_create_global_step()
        train, loss, summary = training(step)
        saver = tf.train.Saver(tf.global_variables())
        config = tf.ConfigProto(
            allow_soft_placement=True, log_device_placement=FLAGS.log_device_placement
        )
        with tf.Session(config=config) as session:
            session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
            last = tf.train.latest_checkpoint(FLAGS.train_dir)
            if last:
                saver.restore(session, last)
            writer = tf.summary.FileWriter(FLAGS.train_dir, session.graph)
            coordinator = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(sess=session, coord=coordinator)
            run(session, step, train, loss, summary, writer, saver)
            coordinator.request_stop()
            coordinator.join(threads)
            writer.close()


if __name__ == "__main__":
    tf.app.run()
