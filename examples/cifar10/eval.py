# SPDX-License-Identifier: Apache-2.0
"""eval.py: how many of the test images the network of a checkpoint knows.

The variables are read from their moving averages, which are steadier than the last values.

    situ run eval.py
"""

import images
import model
import tensorflow as tf

import data

FLAGS = tf.app.flags.FLAGS
tf.app.flags.DEFINE_string("data_dir", "/tmp/cifar10_data", "Where the files of images are.")
tf.app.flags.DEFINE_string("train_dir", "/tmp/cifar10_train", "Where the checkpoints are.")
tf.app.flags.DEFINE_string("eval_dir", "/tmp/cifar10_eval", "Where the summary goes.")
tf.app.flags.DEFINE_integer("batch_size", 250, "Images of a step.", lower_bound=1)
tf.app.flags.DEFINE_boolean("moving_averages", True, "Use averages, not the last values.")


def count(session, right):
    """(how many are right, how many there are), until the files end."""
    coordinator = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess=session, coord=coordinator)
    correct = total = 0
    try:
        while not coordinator.should_stop():
            found = session.run(right)
            correct, total = correct + int(found.sum()), total + len(found)
    except tf.errors.OutOfRangeError:
        pass
    coordinator.request_stop()
    coordinator.join(threads)
    return correct, total


def main(_):
    last = tf.train.latest_checkpoint(FLAGS.train_dir)
    if not last:
        raise SystemExit(f"There is no checkpoint in {FLAGS.train_dir}: run train.py first.")
    with tf.Graph().as_default():
        paths = data.files(FLAGS.data_dir, data.TEST)
        batch, labels = images.batches(paths, FLAGS.batch_size, False)
        right = tf.nn.in_top_k(model.logits_of(batch), labels, 1)
        averages = tf.train.ExponentialMovingAverage(model.MOVING_AVERAGE_DECAY)
        restored = averages.variables_to_restore() if FLAGS.moving_averages else None
        saver = tf.train.Saver(restored)
        with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
            session.run(tf.local_variables_initializer())
            saver.restore(session, last)
            correct, total = count(session, right)
    step = int(last.rsplit("-", 1)[-1])
    print(f"step {step}: accuracy = {correct / total:.4f} ({correct} of {total})")
    writer = tf.summary.FileWriter(FLAGS.eval_dir)
    value = tf.Summary.Value(tag="accuracy", simple_value=correct / total)
    writer.add_summary(tf.Summary(value=[value]), step)
    writer.close()


if __name__ == "__main__":
    tf.app.run()
