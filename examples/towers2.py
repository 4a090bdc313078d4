# SPDX-License-Identifier: Apache-2.0
"""towers2.py: steps of training on two GPUs: the variables are on the CPU, each GPU has half of the
examples, the gradients are averaged on the CPU. On any two GPUs:

    situ run --log-placement --gpus 2 towers2.py
    POCL_DEVICES="basic basic" SITU_OPENCL_DEVICES=all situ run --log-placement towers2.py
"""

import numpy as np
import tensorflow as tf

rows = np.arange(64 * 8, dtype=np.float32).reshape(64, 8)
inputs = np.sin(rows)
targets = np.tanh(inputs @ np.cos(rows[:8, :1]))

with tf.device("/cpu:0"):
    hidden = tf.get_variable("hidden", initializer=np.cos(rows[:8] * 3) * np.float32(0.5))
    last = tf.get_variable("last", initializer=np.sin(rows[:8, :1]) * np.float32(0.5))
    optimizer = tf.train.GradientDescentOptimizer(0.1)

losses, gradients = [], []
for gpu in range(2):
    with tf.device("/gpu:%d" % gpu), tf.name_scope("tower_%d" % gpu):
        x = tf.constant(inputs[gpu * 32 : gpu * 32 + 32])
        y = tf.constant(targets[gpu * 32 : gpu * 32 + 32])
        guess = tf.matmul(tf.nn.relu(tf.matmul(x, hidden)), last)
        loss = tf.reduce_mean(tf.square(guess - y))
        losses.append(loss)
        gradients.append(tf.gradients(loss, [hidden, last]))

with tf.device("/cpu:0"):
    loss = tf.add_n(losses) / 2
    means = [(a + b) / 2 for a, b in zip(*gradients)]
    train = optimizer.apply_gradients(zip(means, [hidden, last]))

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(5):
        print("step %d: loss %.4f" % (step, sess.run([loss, train])[0]))
    print("hidden", " ".join("%.4f" % value for value in sess.run(hidden)[0]))
