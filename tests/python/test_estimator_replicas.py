# SPDX-License-Identifier: Apache-2.0
"""test_estimator_replicas.py: towers of a graph that sessions run: estimators that train on several
devices, and strategy.run in graph style."""

import textwrap

import pytest

ESTIMATOR = """
    import sys
    import numpy as np
    import situ.compat.v1 as tf
    x = np.arange(64, dtype=np.float32).reshape(16, 4) / 64
    y = 3 * x.sum(1, keepdims=True)

    def input_fn(size):
        return lambda: tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(size)

    def config(count, **words):
        names = [f"/gpu:{i}" for i in range(count)]
        return tf.estimator.RunConfig(tf_random_seed=1, train_distribute=count and
                                      tf.distribute.MirroredStrategy(names), **words)
"""

MODEL = """
    def model(features, labels, mode):
        hidden = tf.layers.dense(features, 3, name="a", kernel_regularizer=lambda w: 0.01 *
                                 tf.reduce_sum(w * w))
        weight = tf.Variable(2.0, name="scale")
        counter = tf.get_variable("counter", [], trainable=False,
                                  initializer=tf.zeros_initializer())
        out = tf.layers.dense(hidden, 1) * weight
        tf.losses.mean_squared_error(labels, out)
        loss = tf.losses.get_total_loss()
        tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, tf.assign_add(counter, 1.0))
        seen.append((out.op.device[-5:], out.name, [v.name for v in tf.trainable_variables()]))
        with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
            step = tf.train.MomentumOptimizer(0.01, 0.9).minimize(loss,
                                                                  tf.train.get_global_step())
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=step)

    found = []
    for count, size in ((0, 8), (2, 4)):
        seen = []
        made = tf.estimator.Estimator(model, None, config(count))
        made.train(input_fn(size), steps=5)
        made.train(input_fn(size), steps=2)
        loss = made.evaluate(input_fn(16), steps=1)["loss"]
        found.append({n: made.get_variable_value(n) for n in made.get_variable_names()})
        print(count, [s[:2] for s in seen[:count or 1]], len({str(s[2]) for s in seen}))
    assert set(found[0]) == set(found[1]), (set(found[0]), set(found[1]))
    for name in found[0]:
        np.testing.assert_allclose(found[0][name], found[1][name], rtol=1e-4, err_msg=name)
    print(found[1]["global_step"], found[1]["counter"])
"""

KERAS = """
    found = []
    for make in (lambda: tf.keras.optimizers.SGD(0.01), lambda: tf.train.AdamOptimizer(0.01)):
        for count, size in ((0, 8), (2, 4)):
            keras = tf.keras.Sequential([tf.keras.layers.Dense(
                n, kernel_initializer="ones", input_shape=(4,)) for n in (3, 2, 1)])
            keras.compile(make(), "mse")
            before = keras.get_weights()
            made = tf.keras.estimator.model_to_estimator(keras, config=config(count))
            made.train(input_fn(size), steps=6)
            found.append(made.evaluate(input_fn(16), steps=1)["loss"])
            for old, new in zip(before, keras.get_weights()):
                np.testing.assert_array_equal(old, new)
    print(np.allclose(found[0], found[1], rtol=1e-4), np.allclose(found[2], found[3], rtol=1e-4))
"""


def _program(text):
    return textwrap.dedent(ESTIMATOR) + textwrap.dedent(text)


def test_two_replicas_train_as_one_with_twice_the_batch(python):
    done = python(_program(MODEL), gpus=2)
    assert not done.code, done.err
    assert done.out.splitlines() == [
        "0 [('', 'mul:0')] 1",
        "2 [('GPU:0', 'mul:0'), ('GPU:1', 'replica_1/mul:0')] 1",
        "7 7.0",
    ], done.out


def test_keras_models_as_estimators(python):
    done = python(_program(KERAS), gpus=2)
    assert done.out == "True True\n", done.err


def test_input_that_is_no_dataset_is_refused(python):
    done = python(
        _program("""
        made = tf.estimator.LinearRegressor([tf.feature_column.numeric_column("x")],
                                            config=config(2))
        made.train(lambda: ({"x": tf.constant([1.0])}, tf.constant([1.0])), steps=1)
        """),
        gpus=2,
    )
    assert "must return a tf.data.Dataset" in done.err


def test_towers_of_a_strategy_in_a_session(python):
    done = python(
        """
        import situ.compat.v1 as tf
        strategy = tf.distribute.MirroredStrategy(["/gpu:0", "/gpu:1"])
        with strategy.scope():
            w = tf.get_variable("w", initializer=1.0)
        def step():
            me = tf.get_static_value(
                tf.distribute.get_replica_context().replica_id_in_sync_group)
            loss = w * (me + 1.0)
            with tf.control_dependencies([loss]):
                done = tf.train.GradientDescentOptimizer(0.125).minimize(loss)
            with tf.control_dependencies([done]):
                return tf.identity(loss)
        losses = strategy.experimental_run_v2(step)
        total = strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)
        with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
            session.run(tf.global_variables_initializer())
            print(session.run(total), session.run(w))
            session.run(total)
            print(session.run(w), [t.op.device[-5:] for t in losses.values])
        """,
        gpus=2,
    )
    assert done.out == "3.0 0.625\n0.25 ['GPU:0', 'GPU:1']\n", done.err


@pytest.mark.parametrize("text", ["tf.get_variable(f'w{me}', [])", "tf.Variable(0.0)"])
def test_more_variables_than_the_first_replica(python, text):
    done = python(
        f"""
        import situ.compat.v1 as tf
        strategy = tf.distribute.MirroredStrategy(["/gpu:0", "/gpu:1"])
        def step():
            me = tf.get_static_value(
                tf.distribute.get_replica_context().replica_id_in_sync_group)
            return [{text} for _ in range(me)]
        strategy.run(step)
        """,
        gpus=2,
    )
    assert "Replica 1 makes more variables than the first one." in done.err


@pytest.mark.parametrize(
    "kind", ["experimental_distribute_dataset", "make_dataset_iterator", "make_input_fn_iterator"]
)
def test_batches_of_replicas_in_a_session(python, kind):
    done = python(
        f"""
        import numpy as np
        import situ.compat.v1 as tf
        strategy = tf.distribute.MirroredStrategy(["/gpu:0", "/gpu:1"])
        def input_fn(size):
            x = np.arange(6, dtype=np.float32)
            rows = strategy.experimental_make_numpy_dataset((x, 2 * x)) if size == 4 else \\
                tf.data.Dataset.from_tensor_slices((x, 2 * x))
            return rows.batch(size)
        made = getattr(strategy, {kind!r})(
            (lambda context: input_fn(2)) if {kind!r} == "make_input_fn_iterator" else input_fn(4))
        if hasattr(made, "make_initializable_iterator"):
            made = made.make_initializable_iterator()
        parts = strategy.run(lambda pair: tf.reduce_sum(pair[1] - pair[0]),
                             args=(made.get_next(),))
        with tf.Session() as session:
            for _ in range(2):
                session.run(made.initialize())
                print([float(v) for v in session.run(list(parts.values))])
        """,
        gpus=2,
    )
    assert done.out == "[1.0, 5.0]\n" * 2, done.err
