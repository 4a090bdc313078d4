# SPDX-License-Identifier: Apache-2.0
"""networks.py: the two networks that bench/training.py trains, in each system that it knows.

A maker takes the name of a network and gives a function of one step, which gives nothing back, and
the loss as a function. All begin with the same weights and see the same batch.
"""

import os

BATCH, RATE = 128, 0.01
SHAPES = {
    "cifar": [
        (5, 5, 3, 64),
        (64,),
        (5, 5, 64, 64),
        (64,),
        (2304, 384),
        (384,),
        (384, 192),
        (192,),
        (192, 10),
        (10,),
    ],
    "mlp": [(784, 512), (512,), (512, 512), (512,), (512, 10), (10,)],
}


def arrays(model):
    """Images, labels and the first values of the variables."""
    import numpy as np

    random = np.random.RandomState(0)
    images = random.rand(*((BATCH, 24, 24, 3) if model == "cifar" else (BATCH, 784)))
    labels = random.randint(0, 10, BATCH).astype(np.int32)
    values = [random.randn(*s) * 0.05 if len(s) > 1 else np.zeros(s) for s in SHAPES[model]]
    return images.astype(np.float32), labels, [v.astype(np.float32) for v in values]


def graph_network(tf, model, x, v):
    """The logits, with the names of TensorFlow 1."""

    def conv(x, w, b):
        return tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, w, [1, 1, 1, 1], padding="SAME"), b))

    def pool(x):
        return tf.nn.max_pool(x, [1, 3, 3, 1], [1, 2, 2, 1], padding="SAME")

    def lrn(x):
        return tf.nn.lrn(x, 4, bias=1.0, alpha=0.001 / 9.0, beta=0.75)

    if model == "cifar":
        x = lrn(pool(conv(x, v[0], v[1])))
        x = tf.reshape(pool(lrn(conv(x, v[2], v[3]))), [-1, 2304])
        v = v[4:]
    x = tf.nn.relu(tf.matmul(x, v[0]) + v[1])
    x = tf.nn.relu(tf.matmul(x, v[2]) + v[3])
    return tf.matmul(x, v[4]) + v[5]


def make_graph(tf, model):
    """A session of situ or of TensorFlow."""
    images, labels, values = arrays(model)
    with tf.Graph().as_default():
        v = [tf.Variable(value) for value in values]
        x, y = tf.Variable(images, trainable=False), tf.Variable(labels, trainable=False)
        logits = graph_network(tf, model, x, v)
        loss = tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
        )
        step = tf.train.GradientDescentOptimizer(RATE).minimize(loss, var_list=v)
        threads = os.cpu_count()
        session = tf.Session(
            config=tf.ConfigProto(
                intra_op_parallelism_threads=threads, inter_op_parallelism_threads=threads
            )
        )
        session.run(tf.global_variables_initializer())
    return lambda: session.run(step), lambda: float(session.run(loss))


def make_situ(model):
    import situ.compat.v1 as tf

    return make_graph(tf, model)


def make_tensorflow(model):
    import tensorflow.compat.v1 as tf

    return make_graph(tf, model)


def torch_network(torch, model, values):
    """A module with these values, whose weights lie the other way round."""
    nn, f = torch.nn, torch.nn.functional

    class Cifar(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1, self.conv2 = nn.Conv2d(3, 64, 5, padding=2), nn.Conv2d(64, 64, 5, padding=2)
            self.dense = nn.Sequential(
                nn.Linear(2304, 384), nn.ReLU(), nn.Linear(384, 192), nn.ReLU(), nn.Linear(192, 10)
            )

        def forward(self, x):
            def lrn(x):
                return f.local_response_norm(x, 9, alpha=0.001, beta=0.75, k=1.0)

            # SAME of TensorFlow: the odd row and column of padding stand behind
            x = f.max_pool2d(f.pad(f.relu(self.conv1(x)), (0, 1, 0, 1)), 3, 2)
            x = f.max_pool2d(f.pad(lrn(f.relu(self.conv2(lrn(x)))), (0, 1, 0, 1)), 3, 2)
            return self.dense(x.permute(0, 2, 3, 1).flatten(1))

    net = (
        Cifar()
        if model == "cifar"
        else nn.Sequential(
            nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)
        )
    )
    with torch.no_grad():
        for parameter, value in zip(net.parameters(), values):
            axes = {4: (3, 2, 0, 1), 2: (1, 0), 1: (0,)}[value.ndim]
            parameter.copy_(torch.from_numpy(value.transpose(axes).copy()))
    return net


def make_torch(model, layout="channels_last", compiled=False):
    import torch

    torch.set_num_threads(os.cpu_count())
    images, labels, values = arrays(model)
    net, y = torch_network(torch, model, values), torch.from_numpy(labels).long()
    x = torch.from_numpy(images)
    if model == "cifar":
        x = x.permute(0, 3, 1, 2)
        form = torch.channels_last if layout == "channels_last" else torch.contiguous_format
        x, net = x.contiguous(memory_format=form), net.to(memory_format=form)
    optimizer = torch.optim.SGD(net.parameters(), lr=RATE)
    forward = torch.compile(net) if compiled else net

    def step():
        optimizer.zero_grad(set_to_none=True)
        torch.nn.functional.cross_entropy(forward(x), y).backward()
        optimizer.step()

    return step, lambda: torch.nn.functional.cross_entropy(net(x), y).item()


def make_jax(model):
    import jax
    import jax.numpy as jnp
    from jax import lax

    images, labels, values = arrays(model)
    x, y, state = jnp.asarray(images), jnp.asarray(labels), [[jnp.asarray(v) for v in values]]

    def conv(x, w):
        return lax.conv_general_dilated(
            x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )

    def pool(x):
        return lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")

    def lrn(x):
        sums = lax.reduce_window(x * x, 0.0, lax.add, (1, 1, 1, 9), (1, 1, 1, 1), "SAME")
        return x * (1 + 0.001 / 9 * sums) ** -0.75

    def network(v, x):
        if model == "cifar":
            x = lrn(pool(jax.nn.relu(conv(x, v[0]) + v[1])))
            x = pool(lrn(jax.nn.relu(conv(x, v[2]) + v[3]))).reshape(-1, 2304)
            v = v[4:]
        x = jax.nn.relu(jax.nn.relu(x @ v[0] + v[1]) @ v[2] + v[3])
        return x @ v[4] + v[5]

    def loss(v):
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(network(v, x)), y[:, None], 1))

    @jax.jit
    def update(v):
        return [p - RATE * g for p, g in zip(v, jax.grad(loss)(v))]

    def step():
        state[0] = jax.block_until_ready(update(state[0]))

    return step, lambda: float(jax.jit(loss)(state[0]))
