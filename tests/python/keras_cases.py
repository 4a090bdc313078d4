# SPDX-License-Identifier: Apache-2.0
"""keras_cases.py: small models with inputs, labels and a loss, for comparison with TensorFlow."""

import numpy as np

CLASSES = np.eye(3, dtype="f")[[0, 1, 2, 0, 1, 2]]
SLOW = ("conv2d", "merge", "td", "convT")  # which a learning rate of 0.1 would let explode


def draw(*shape, seed=0):
    return np.random.RandomState(seed + sum(shape)).randn(*shape).astype("f")


def weights(model):
    """Values for all weights, the same in every framework."""
    return [
        np.full(v.shape, 1.5, "f")
        if "variance" in v.name
        else np.random.RandomState(i + 7).randn(*v.shape).astype("f") * 0.5
        for i, v in enumerate(model.weights)
    ]


def chain(tf, shape, *layers, dtype=None):
    result = tensor = tf.keras.Input(shape=shape, dtype=dtype)
    for layer in layers:
        tensor = layer(tensor)
    return tf.keras.Model(result, tensor)


def _masked(tf):
    layers, x = tf.keras.layers, draw(4, 5, 3)
    x[0, 3:] = x[2, 1:] = x[3, 0] = 0
    return (
        chain(tf, (5, 3), layers.Masking(), layers.LSTM(4), layers.Dense(2)),
        x,
        draw(4, 2),
        "mse",
    )


def _masked_sequence(tf):
    layers, x = tf.keras.layers, np.random.RandomState(1).randint(0, 4, (6, 5)).astype("int32")
    x[:, 0] = 1
    model = chain(
        tf,
        (5,),
        layers.Embedding(10, 4, mask_zero=True),
        layers.LSTM(4, return_sequences=True),
        layers.TimeDistributed(layers.Dense(2)),
        dtype="int32",
    )
    return model, x, draw(6, 5, 2), "mse"


def _merged(tf):
    layers = tf.keras.layers
    a, b, shared = tf.keras.Input((4,)), tf.keras.Input((4,)), layers.Dense(3)
    x, y = shared(a), shared(b)
    z = layers.Concatenate()(
        [
            layers.Add()([x, y]),
            layers.Multiply()([x, y]),
            layers.Subtract()([x, y]),
            layers.Average()([x, y]),
            layers.Maximum()([x, y]),
            layers.Minimum()([x, y]),
            layers.Dot(axes=1)([x, y]),
        ]
    )
    return (
        tf.keras.Model([a, b], layers.Dense(1)(z)),
        [draw(5, 4), draw(5, 4, seed=3)],
        draw(5, 1),
        "mse",
    )


def _two(tf):
    layers, a = tf.keras.layers, tf.keras.Input((4,))
    h = layers.Dense(3, activation="elu")(a)
    model = tf.keras.Model(
        a, [layers.Dense(1, name="one")(h), layers.Dense(3, activation="softmax", name="two")(h)]
    )
    return model, draw(6, 4), [draw(6, 1), CLASSES], ["mse", "categorical_crossentropy"]


def _ops(tf):
    a = tf.keras.Input((4,))
    return tf.keras.Model(a, tf.keras.layers.Dense(3)(a) * 2.0 + 1.0), draw(6, 4), draw(6, 3), "mse"


def _attention(tf):
    a, b = tf.keras.Input((3, 4)), tf.keras.Input((5, 4))
    return (
        tf.keras.Model([a, b], tf.keras.layers.Attention()([a, b])),
        [draw(2, 3, 4), draw(2, 5, 4)],
        draw(2, 3, 4),
        "mse",
    )


def _nested(tf):
    layers = tf.keras.layers
    inner = tf.keras.Sequential(
        [tf.keras.Input((4,)), layers.Dense(3, activation="relu"), layers.Dense(2)]
    )
    return chain(tf, (4,), layers.Dense(4), inner, layers.Dense(1)), draw(6, 4), draw(6, 1), "mse"


def _dense(tf, loss, y, scale=1, activation=None):
    return (
        chain(tf, (4,), tf.keras.layers.Dense(3, activation=activation)),
        draw(6, 4) * scale,
        y,
        loss,
    )


def cases(tf):
    """Name -> a function that gives model, x, y and loss."""
    L, R = tf.keras.layers, draw
    penalties = tf.keras.regularizers
    kwargs = np.random.RandomState(1).randint(0, 10, (6, 5)).astype("int32")
    signs, yes = np.sign(R(6, 3)), np.array([[0.0], [1], [1], [0], [1], [0]], "f")
    c = lambda *args, **kwargs: chain(tf, *args, **kwargs)
    return {
        "dense": lambda: (
            c((5,), L.Dense(4, activation="relu"), L.Dense(3, activation="softmax")),
            R(6, 5),
            np.array([0, 1, 2, 0, 1, 2]),
            "sparse_categorical_crossentropy",
        ),
        "dense3d": lambda: (
            c((4, 5), L.Dense(3, activation="tanh")),
            R(6, 4, 5),
            R(6, 4, 3),
            "mse",
        ),
        "reg": lambda: (
            c(
                (5,),
                L.Dense(
                    4, kernel_regularizer=penalties.L2(0.1), activity_regularizer=penalties.L1(0.01)
                ),
                L.Dense(1),
            ),
            R(6, 5),
            R(6, 1),
            "mse",
        ),
        "conv2d": lambda: (
            c(
                (8, 8, 3),
                L.Conv2D(4, 3, padding="same", activation="relu"),
                L.MaxPooling2D(),
                L.Conv2D(2, 3, strides=2),
                L.Flatten(),
                L.Dense(2),
            ),
            R(3, 8, 8, 3),
            R(3, 2),
            "mse",
        ),
        "conv1d": lambda: (
            c(
                (10, 3),
                L.Conv1D(4, 3, padding="causal"),
                L.Conv1D(4, 2, strides=2),
                L.GlobalAveragePooling1D(),
            ),
            R(3, 10, 3),
            R(3, 4),
            "mae",
        ),
        "conv1dil": lambda: (
            c(
                (10, 3),
                L.Conv1D(4, 3, padding="same", dilation_rate=2),
                L.MaxPooling1D(2),
                L.AveragePooling1D(2, padding="same"),
            ),
            R(3, 10, 3),
            R(3, 3, 4),
            "mse",
        ),
        "convT": lambda: (
            c(
                (5, 5, 3),
                L.Conv2DTranspose(4, 3, strides=2, padding="same"),
                L.Conv2DTranspose(2, 3),
            ),
            R(2, 5, 5, 3),
            R(2, 12, 12, 2),
            "mse",
        ),
        "conv1T": lambda: (
            c((5, 3), L.Conv1DTranspose(4, 3, strides=2, padding="same")),
            R(2, 5, 3),
            R(2, 10, 4),
            "mse",
        ),
        "depth": lambda: (
            c(
                (6, 6, 3),
                L.DepthwiseConv2D(3, depth_multiplier=2),
                L.SeparableConv2D(4, 3, padding="same"),
            ),
            R(2, 6, 6, 3),
            R(2, 4, 4, 4),
            "mse",
        ),
        "bn": lambda: (
            c((4,), L.BatchNormalization(momentum=0.9), L.Dense(2)),
            R(8, 4),
            R(8, 2),
            "mse",
        ),
        "bn4": lambda: (
            c((4, 4, 3), L.BatchNormalization(momentum=0.9), L.GlobalMaxPooling2D()),
            R(8, 4, 4, 3),
            R(8, 3),
            "mse",
        ),
        "ln": lambda: (
            c((4, 6), L.LayerNormalization(), L.Dense(2)),
            R(8, 4, 6),
            R(8, 4, 2),
            "mse",
        ),
        "emb": lambda: (
            c(
                (5,),
                L.Embedding(10, 4),
                L.GlobalAveragePooling1D(),
                L.Dense(1, activation="sigmoid"),
                dtype="int32",
            ),
            kwargs,
            yes,
            "binary_crossentropy",
        ),
        "rnn": lambda: (
            c((5, 3), L.SimpleRNN(4, return_sequences=True), L.SimpleRNN(3)),
            R(4, 5, 3),
            R(4, 3),
            "mse",
        ),
        "lstm": lambda: (
            c((5, 3), L.LSTM(4, return_sequences=True), L.LSTM(3)),
            R(4, 5, 3),
            R(4, 3),
            "mse",
        ),
        "gru": lambda: (
            c((5, 3), L.GRU(4, return_sequences=True), L.GRU(3, reset_after=False)),
            R(4, 5, 3),
            R(4, 3),
            "mse",
        ),
        "bi": lambda: (
            c(
                (5, 3),
                L.Bidirectional(L.LSTM(4, return_sequences=True)),
                L.Bidirectional(L.GRU(3), merge_mode="sum"),
            ),
            R(4, 5, 3),
            R(4, 3),
            "mse",
        ),
        "mask": lambda: _masked(tf),
        "maskseq": lambda: _masked_sequence(tf),
        "td": lambda: (
            c(
                (4, 6, 6, 1),
                L.TimeDistributed(L.Conv2D(2, 3)),
                L.TimeDistributed(L.Flatten()),
                L.TimeDistributed(L.Dense(2)),
            ),
            R(2, 4, 6, 6, 1),
            R(2, 4, 2),
            "mse",
        ),
        "merge": lambda: _merged(tf),
        "two": lambda: _two(tf),
        "ops": lambda: _ops(tf),
        "att": lambda: _attention(tf),
        "nest": lambda: _nested(tf),
        "acts": lambda: (
            c(
                (6,),
                L.Dense(6),
                L.LeakyReLU(0.3),
                L.Dense(6),
                L.PReLU(),
                L.Dense(6),
                L.ELU(),
                L.Dense(6, activation="gelu"),
                L.Dense(6, activation="swish"),
                L.Dense(6, activation="softplus"),
                L.Dense(6, activation="selu"),
                L.ReLU(max_value=6.0),
                L.Softmax(),
            ),
            R(5, 6),
            R(5, 6),
            "mse",
        ),
        "shape": lambda: (
            c(
                (4, 6),
                L.Permute((2, 1)),
                L.Reshape((3, 8)),
                L.ZeroPadding1D(1),
                L.Cropping1D((1, 0)),
                L.UpSampling1D(2),
                L.Flatten(),
                L.RepeatVector(2),
            ),
            R(2, 4, 6),
            R(2, 2, 64),
            "mse",
        ),
        "pad2": lambda: (
            c(
                (4, 4, 2),
                L.ZeroPadding2D(((1, 2), (0, 1))),
                L.Cropping2D(1),
                L.UpSampling2D(2),
                L.AveragePooling2D(3, strides=2, padding="same"),
                L.GlobalAveragePooling2D(),
            ),
            R(2, 4, 4, 2),
            R(2, 2),
            "mse",
        ),
        "huber": lambda: _dense(tf, "huber", R(6, 3) * 3, 3),
        "logcosh": lambda: _dense(tf, "log_cosh", R(6, 3) * 3, 3),
        "hinge": lambda: _dense(tf, "hinge", signs),
        "sqhinge": lambda: _dense(tf, "squared_hinge", signs),
        "cathinge": lambda: _dense(tf, "categorical_hinge", CLASSES),
        "poisson": lambda: _dense(tf, "poisson", abs(R(6, 3)), activation="softplus"),
        "kld": lambda: _dense(
            tf, "kl_divergence", np.full((6, 3), 1 / 3.0, "f"), activation="softmax"
        ),
        "cos": lambda: _dense(tf, "cosine_similarity", R(6, 3)),
        "mape": lambda: _dense(tf, "mean_absolute_percentage_error", R(6, 3) + 2),
        "msle": lambda: _dense(
            tf, "mean_squared_logarithmic_error", abs(R(6, 3)), activation="softplus"
        ),
    }


def losses(tf, name):
    """The losses of three steps of training, as TensorFlow's test file was written."""
    model, x, y, loss = cases(tf)[name]()
    model.set_weights(weights(model))
    model.compile(tf.keras.optimizers.SGD(0.001 if name in SLOW else 0.1), loss)
    return model.fit(x, y, batch_size=100, epochs=3, verbose=0, shuffle=False).history["loss"]
