# SPDX-License-Identifier: Apache-2.0
"""train_eager.py: the network of train.py in eager style: tapes and tf.function, no sessions.

situ run --gpus 2 train_eager.py --num_gpus 2 --max_steps 200
"""

import argparse
import math
import time

import numpy
import tensorflow as tf

import data

CROP = 24


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data_dir", default="/tmp/cifar10_data")
    parser.add_argument("--train_dir", default="/tmp/cifar10_train_eager")
    parser.add_argument("--max_steps", type=int, default=200)
    parser.add_argument("--batch_size", type=int, default=128, help="on all GPUs together")
    parser.add_argument("--num_gpus", type=int, default=1)
    parser.add_argument("--learning_rate", type=float, default=0.06, help="the first one")
    parser.add_argument("--decay_steps", type=int, default=250, help="until it is a tenth")
    parser.add_argument("--log_frequency", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


class Network(tf.Module):
    """Two convolutions and three dense layers; its variables are on the CPU."""

    def __init__(self):
        super().__init__(name="cifar10")
        self.conv1 = self.layer("conv1", [5, 5, 3, 64], 5e-2, 0.0)
        self.conv2 = self.layer("conv2", [5, 5, 64, 64], 5e-2, 0.1)
        self.local3 = self.layer("local3", [6 * 6 * 64, 384], 0.04, 0.1)
        self.local4 = self.layer("local4", [384, 192], 0.04, 0.1)
        self.linear = self.layer("softmax_linear", [192, data.CLASSES], 1 / 192, 0.0)

    @staticmethod
    def layer(name, shape, stddev, bias):
        with tf.device("/cpu:0"):
            weights = tf.random.truncated_normal(shape, stddev=stddev)
            return [
                tf.Variable(weights, name=name + "/weights"),
                tf.Variable(tf.fill([shape[-1]], bias), name=name + "/biases"),
            ]

    def __call__(self, images):
        x = tf.nn.relu(tf.nn.conv2d(images, self.conv1[0], 1, "SAME") + self.conv1[1])
        x = tf.nn.lrn(tf.nn.max_pool2d(x, 3, 2, "SAME"), 4, 1.0, 0.001 / 9.0, 0.75)
        x = tf.nn.relu(tf.nn.conv2d(x, self.conv2[0], 1, "SAME") + self.conv2[1])
        x = tf.nn.max_pool2d(tf.nn.lrn(x, 4, 1.0, 0.001 / 9.0, 0.75), 3, 2, "SAME")
        x = tf.reshape(x, [-1, 6 * 6 * 64])
        x = tf.nn.relu(tf.matmul(x, self.local3[0]) + self.local3[1])
        x = tf.nn.relu(tf.matmul(x, self.local4[0]) + self.local4[1])
        return tf.matmul(x, self.linear[0]) + self.linear[1]

    def loss(self, images, labels):
        """The mean cross-entropy, and the decay of the two large matrices."""
        entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=self(images))
        decay = tf.nn.l2_loss(self.local3[0]) + tf.nn.l2_loss(self.local4[0])
        return tf.reduce_mean(entropy) + 0.004 * decay


def standardized(images):
    """Images of bytes as floats of mean 0 and deviation 1, each by itself."""
    images = images.astype(numpy.float32)
    mean, deviation = (f(images, axis=(1, 2, 3), keepdims=True) for f in (numpy.mean, numpy.std))
    return (images - mean) / numpy.maximum(deviation, 1 / math.sqrt(CROP * CROP * 3))


def batches(images, labels, size, random):
    """Views of images at random, without end: cut out anywhere, and half of them turned round."""
    while True:
        picked = random.randint(len(images), size=size)
        top, left, flip = (
            random.randint(9, size=size),
            random.randint(9, size=size),
            random.randint(2, size=size),
        )
        views = [
            images[p, y : y + CROP, x : x + CROP][:, :: -1 if f else 1]
            for p, y, x, f in zip(picked, top, left, flip)
        ]
        yield standardized(numpy.stack(views)), labels[picked]


def make_step(network, optimizer, num_gpus):
    """The function of a step: a tower per GPU, and the mean of their gradients."""
    variables = network.trainable_variables

    @tf.function
    def step(images, labels):
        losses, gradients = [], []
        shares = zip(tf.split(images, num_gpus), tf.split(labels, num_gpus))
        for i, share in enumerate(shares):
            with tf.device(f"/gpu:{i}"), tf.GradientTape() as tape:
                losses.append(network.loss(*share))
            gradients.append(tape.gradient(losses[-1], variables))
        with tf.device("/cpu:0"):
            mean = [tf.add_n(g) / num_gpus for g in zip(*gradients)]
            optimizer.apply_gradients(zip(mean, variables))
            return tf.add_n(losses) / num_gpus

    return step


def accuracy(network, images, labels):
    """How many of the middles of these images the network knows."""
    middle = (data.SIDE - CROP) // 2
    middles = standardized(images[:, middle : middle + CROP, middle : middle + CROP])
    right = 0
    for i in range(0, len(labels), 250):
        found = tf.argmax(network(tf.constant(middles[i : i + 250])), axis=1).numpy()
        right += int((found == labels[i : i + 250]).sum())
    return right / len(labels)


def main():
    options = arguments()
    tf.config.set_soft_device_placement(True)
    tf.random.set_seed(options.seed)
    network = Network()
    optimizer = tf.keras.optimizers.SGD(
        tf.keras.optimizers.schedules.ExponentialDecay(
            options.learning_rate, options.decay_steps, 0.1
        )
    )
    source = batches(
        *data.load(options.data_dir, data.TRAIN),
        options.batch_size,
        numpy.random.RandomState(options.seed),
    )
    step = make_step(network, optimizer, options.num_gpus)
    checkpoint = tf.train.Checkpoint(network=network, optimizer=optimizer)
    began = time.time()
    for number, (images, labels) in zip(range(options.max_steps), source):
        loss = step(tf.constant(images), tf.constant(labels))
        if number % options.log_frequency == 0:
            seconds = (time.time() - began) / (options.log_frequency if number else 1)
            print(
                f"step {number}, loss = {float(loss):.5f} "
                f"({options.batch_size / seconds:.1f} examples/sec)",
                flush=True,
            )
            began = time.time()
    print("saved", checkpoint.save(options.train_dir + "/model.ckpt"))
    print(f"accuracy = {accuracy(network, *data.load(options.data_dir, data.TEST)):.4f}")


if __name__ == "__main__":
    main()
