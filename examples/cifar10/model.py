# SPDX-License-Identifier: Apache-2.0
"""model.py: the network of the CIFAR-10 tutorial as a graph: its variables, logits and loss.

Variables live on the CPU, whatever device computes with them: that is how towers share them.
"""

import tensorflow as tf

CROP, CLASSES = 24, 10
MOVING_AVERAGE_DECAY = 0.9999


def variable(name, shape, initializer):
    """A variable on the CPU, made once and found again by each tower."""
    with tf.device("/cpu:0"):
        return tf.get_variable(name, shape, tf.float32, initializer)


def weights(shape, stddev, decay=0.0):
    """Weights at random; a decay adds them to the losses of the tower."""
    w = variable("weights", shape, tf.truncated_normal_initializer(stddev=stddev))
    if decay:
        tf.add_to_collection("losses", tf.multiply(tf.nn.l2_loss(w), decay, name="weight_loss"))
    return w


def convolution(x, depth, bias):
    """A 5x5 convolution, its biases and relu."""
    kernel = weights([5, 5, int(x.shape[-1]), depth], 5e-2)
    biases = variable("biases", [depth], tf.constant_initializer(bias))
    return tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, kernel, [1, 1, 1, 1], padding="SAME"), biases))


def dense(x, size, stddev=0.04, decay=0.004, bias=0.1):
    """A fully connected layer without an activation."""
    w = weights([int(x.shape[-1]), size], stddev, decay)
    return tf.matmul(x, w) + variable("biases", [size], tf.constant_initializer(bias))


def pool(x):
    return tf.nn.max_pool(x, ksize=[1, 3, 3, 1], strides=[1, 2, 2, 1], padding="SAME")


def normalize(x):
    return tf.nn.lrn(x, 4, bias=1.0, alpha=0.001 / 9.0, beta=0.75)


def logits_of(images):
    """[batch, 24, 24, 3] to [batch, 10]."""
    with tf.variable_scope("conv1"):
        x = normalize(pool(convolution(images, 64, 0.0)))
    with tf.variable_scope("conv2"):
        x = pool(normalize(convolution(x, 64, 0.1)))
    x = tf.reshape(x, [-1, 6 * 6 * 64])
    with tf.variable_scope("local3"):
        x = tf.nn.relu(dense(x, 384))
    with tf.variable_scope("local4"):
        x = tf.nn.relu(dense(x, 192))
    with tf.variable_scope("softmax_linear"):
        return dense(x, CLASSES, stddev=1 / 192.0, decay=0.0, bias=0.0)


def loss_of(logits, labels, scope=None):
    """The mean cross-entropy and the decay of the weights that were used in this scope."""
    entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    decays = tf.get_collection("losses", scope)
    return tf.add_n([tf.reduce_mean(entropy, name="cross_entropy")] + decays, name="total_loss")
