# SPDX-License-Identifier: Apache-2.0
"""program.py: a program that uses many parts of the API with annotations; type checkers must accept
it (tools/lint.sh), and it must run (test_typed_program.py)."""

from typing import Any

import numpy as np

import situ as tf
from situ import keras
from situ.keras import layers


class Linear(tf.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.w = tf.Variable(tf.random.normal([inputs, outputs], stddev=0.1), name="w")
        self.b = tf.Variable(tf.zeros([outputs]), name="b")

    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        return x @ self.w + self.b


class Block(layers.Layer):
    def __init__(self, units: int) -> None:
        super().__init__()
        self.dense = layers.Dense(units, activation="relu")
        self.norm = layers.BatchNormalization()

    def call(self, inputs: tf.Tensor, training: bool = False) -> tf.Tensor:
        return self.norm(self.dense(inputs), training=training)


class Classifier(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.blocks: list[Block] = [Block(8), Block(8)]
        self.head = layers.Dense(3)

    def call(self, inputs: tf.Tensor, training: bool = False) -> tf.Tensor:
        x = inputs
        for block in self.blocks:
            x = block(x, training=training)
        return self.head(x)


def arithmetic() -> tf.Tensor:
    a = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    v = tf.Variable(a)
    v.assign_add(tf.ones([2, 2]))
    c: tf.Tensor = a * 2.0 + v - v / 3.0
    d = -(c**2.0)
    e = v + 1.0
    f = 1.0 - v
    g = v * v
    h = a[0] + a[:, 1] + v[0]
    return tf.reduce_sum(d) + tf.reduce_mean(e) + tf.reduce_max(f + g) + tf.reduce_sum(h)


@tf.function
def step(model: Linear, optimizer: Any, x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x) - y))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


def data() -> tf.data.Dataset:
    x = np.random.rand(32, 4).astype("float32")
    y = np.random.randint(0, 3, size=32)
    ds = tf.data.Dataset.from_tensor_slices((x, y))
    return ds.shuffle(32).map(lambda a, b: (a * 2.0, b)).batch(8).prefetch(1).repeat(2)


def train() -> dict[str, list[float]]:
    model = Classifier()
    model.compile(
        optimizer=keras.optimizers.Adam(learning_rate=0.01),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy", keras.metrics.SparseTopKCategoricalAccuracy(k=2)],
    )
    callbacks = [keras.callbacks.EarlyStopping(monitor="loss", patience=2)]
    history = model.fit(data(), epochs=2, verbose=0, callbacks=callbacks)
    model.evaluate(data(), verbose=0)
    predictions = model.predict(np.zeros((2, 4), "float32"), verbose=0)
    assert predictions.shape == (2, 3)
    return history.history


def functional() -> keras.Model:
    inputs = keras.Input(shape=(8, 8, 3))
    x = layers.Conv2D(4, 3, padding="same", activation="relu")(inputs)
    x = layers.MaxPooling2D()(x)
    x = layers.Flatten()(x)
    x = layers.Dropout(0.5)(x)
    outputs = layers.Dense(2)(x)
    return keras.Model(inputs, outputs)


def sequential() -> keras.Sequential:
    model = keras.Sequential([layers.Dense(4, input_shape=(3,)), layers.ReLU()])
    model.add(layers.Dense(1))
    return model


def strategy() -> float:
    mirrored = tf.distribute.MirroredStrategy()
    with mirrored.scope():
        v = tf.Variable(1.0)

    def replica() -> tf.Tensor:
        return v + 1.0

    total = mirrored.run(replica)
    return float(mirrored.reduce(tf.distribute.ReduceOp.SUM, total, axis=None))


def session() -> tuple[float, float]:
    v1 = tf.compat.v1
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, shape=[None, 2], name="x")
        w = v1.get_variable("w", shape=[2, 1], initializer=v1.zeros_initializer())
        y = tf.matmul(x, w)
        loss = tf.reduce_mean(tf.square(y - 1.0))
        train_op = v1.train.GradientDescentOptimizer(0.1).minimize(loss)
        with v1.Session(config=v1.ConfigProto(allow_soft_placement=True)) as sess:
            sess.run(v1.global_variables_initializer())
            before, _ = sess.run([loss, train_op], feed_dict={x: np.ones((4, 2))})
            after = sess.run(loss, feed_dict={x: np.ones((4, 2))})
    return before, after


def devices() -> list[str]:
    gpus = tf.config.list_physical_devices("GPU")
    for gpu in gpus:
        tf.config.experimental.set_memory_growth(gpu, True)
    with tf.device("/cpu:0"):
        a = tf.constant(1)
    return [a.device, *(d.name for d in tf.config.list_logical_devices())]


def checkpoints(folder: str) -> None:
    v = tf.Variable(3.0)
    checkpoint = tf.train.Checkpoint(v=v)
    manager = tf.train.CheckpointManager(checkpoint, folder, max_to_keep=2)
    path = manager.save()
    checkpoint.restore(path)


def main() -> None:
    print(arithmetic().numpy(), float(arithmetic()))
    model = Linear(3, 2)
    optimizer = tf.optimizers.SGD(0.1)
    loss = step(model, optimizer, tf.ones([4, 3]), tf.zeros([4, 2]))
    functional().summary()
    print(loss.shape, loss.dtype, train(), sequential())
    print(strategy(), session(), devices(), tf.__version__)
    try:
        tf.matmul([[1.0]], [[1.0, 2.0], [3.0, 4.0]])
    except tf.errors.InvalidArgumentError as error:
        print(error.message)


if __name__ == "__main__":
    main()
