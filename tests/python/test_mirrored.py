# SPDX-License-Identifier: Apache-2.0
"""test_mirrored.py: tf.distribute: replicas on simulated GPUs have the results of one device."""

import os

os.environ.setdefault("SITU_SIM_GPUS", "4")

import numpy as np
import pytest

import situ as tf

X = np.arange(1, 8, dtype="f").reshape(7, 1)


def strategy(count):
    return tf.distribute.MirroredStrategy([f"/gpu:{i}" for i in range(count)])


def train(count, epochs=1, batch=7, optimizer=None, **kwargs):
    with strategy(count).scope():
        model = tf.keras.Sequential(
            [tf.keras.layers.Dense(1, kernel_initializer="ones", input_shape=(1,), **kwargs)]
        )
        model.compile(optimizer or tf.keras.optimizers.SGD(0.01), "mse", metrics=["mae"])
    history = model.fit(X, 0 * X, batch_size=batch, epochs=epochs, verbose=0, shuffle=False)
    return model, history.history


def test_devices():
    made = tf.distribute.MirroredStrategy()
    assert made.num_replicas_in_sync == 4
    assert made.extended.worker_devices[3] == "/job:localhost/replica:0/task:0/device:GPU:3"
    with pytest.raises(AssertionError, match="No duplicates allowed in `devices` argument"):
        tf.distribute.MirroredStrategy(["/gpu:0", "/gpu:0"])


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_uneven_shares_weigh_the_same(count):
    model, history = train(count)
    kernel, bias = model.get_weights()
    np.testing.assert_allclose([kernel[0, 0], bias[0]], [0.6, -0.08], rtol=1e-5)
    assert history["loss"][0] == pytest.approx(20) and history["mae"][0] == pytest.approx(4)


@pytest.mark.parametrize("count", [2, 3, 4])
@pytest.mark.parametrize(
    "make",
    [
        lambda: tf.keras.optimizers.Adam(0.1),
        lambda: tf.keras.optimizers.SGD(0.01, 0.9, clipnorm=1.0),
        lambda: tf.train.MomentumOptimizer(0.01, 0.9),
    ],
)
def test_as_on_one_device(count, make):
    words = {"kernel_regularizer": tf.keras.regularizers.L2(0.1)}
    one, many = train(1, 3, 3, make(), **words), train(count, 3, 3, make(), **words)
    for a, b in zip(one[0].get_weights(), many[0].get_weights()):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(one[1]["loss"], many[1]["loss"], rtol=1e-4)


def test_copies_are_the_same_and_on_their_devices():
    model, _ = train(4, epochs=2, batch=3)
    for weight in model.weights:
        assert [v.device[-5:] for v in weight.values] == ["GPU:0", "GPU:1", "GPU:2", "GPU:3"]
        for copy in weight.values[1:]:
            np.testing.assert_array_equal(copy.numpy(), weight.values[0].numpy())
    assert [v.name for v in model.weights[0].values][:2] == [
        model.weights[0].name,
        model.weights[0].name[:-2] + "/replica_1:0",
    ]


def test_results_do_not_depend_on_timing():
    found = [train(3, epochs=3, batch=5)[0].get_weights()[0].tobytes() for _ in range(3)]
    assert len(set(found)) == 1


def test_predict_and_evaluate():
    model, _ = train(3)
    np.testing.assert_allclose(model.predict(X, batch_size=5), 0.6 * X - 0.08, rtol=1e-4)
    assert model.evaluate(X, 0 * X, batch_size=4, verbose=0)[0] == pytest.approx(
        ((0.6 * X - 0.08) ** 2).mean(), rel=1e-4
    )


def test_averages_of_batch_normalization():
    with strategy(2).scope():
        model = tf.keras.Sequential(
            [tf.keras.layers.BatchNormalization(momentum=0.0, input_shape=(1,))]
        )
        model.compile("sgd", "mse")
    model.fit(X[:6], X[:6], batch_size=6, verbose=0, shuffle=False)
    assert model.layers[0].moving_mean.numpy()[0] == pytest.approx(3.5)


def test_run_and_reduce():
    made = strategy(2)

    def replica():
        return (
            tf.cast(tf.distribute.get_replica_context().replica_id_in_sync_group, tf.float32) + 1.0
        )

    for run in (made.run, made.experimental_run_v2, tf.function(lambda f: made.run(f))):
        values = run(replica)
        assert [float(v) for v in made.experimental_local_results(values)] == [1, 2]
        assert float(made.reduce(tf.distribute.ReduceOp.SUM, values, axis=None)) == 3
        assert float(made.reduce("MEAN", values, axis=None)) == 1.5
    assert type(values).__name__ == "PerReplica" and "GPU:1" in values.values[1].device


def test_loop_of_a_program():
    made = strategy(2)
    batches = [(X[:4], 0 * X[:4]), (X[4:], 0 * X[4:])]
    with made.scope():
        model = tf.keras.Sequential(
            [tf.keras.layers.Dense(1, kernel_initializer="ones", input_shape=(1,))]
        )
        optimizer = tf.keras.optimizers.SGD(0.01)
        loss = tf.keras.losses.MeanSquaredError(reduction=tf.keras.losses.Reduction.NONE)
        seen = tf.keras.metrics.Mean()

    def step(inputs):
        x, y = inputs
        with tf.GradientTape() as tape:
            each = loss(y, model(x, training=True))
            total = tf.nn.compute_average_loss(each, global_batch_size=4)
        grads = tape.gradient(total, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
        seen.update_state(total)
        return total

    @tf.function
    def whole(inputs):
        return made.reduce(tf.distribute.ReduceOp.SUM, made.run(step, args=(inputs,)), axis=None)

    found = [float(whole(b)) for b in made.experimental_distribute_dataset(batches)]
    assert found[0] == pytest.approx((X[:4] ** 2).mean())
    assert int(optimizer.iterations.numpy()) == 2
    assert float(seen.result()) == pytest.approx(sum(found) / 4)
    plain = tf.Variable([[1.0]]), tf.Variable([0.0])
    for x, _ in batches:
        error = x @ plain[0].numpy() + plain[1].numpy()
        plain[0].assign_sub(0.01 * 2 * x.T @ error / 4)
        plain[1].assign_sub(0.01 * 2 * error.sum(0) / 4)
    for a, b in zip(model.get_weights(), plain):
        np.testing.assert_allclose(a, b.numpy(), rtol=1e-4)


def test_variables_of_a_scope():
    made = strategy(2)
    with made.scope():
        plain = tf.Variable(1.0)
        total = tf.Variable(0.0, aggregation=tf.VariableAggregation.SUM)
        own = tf.Variable(
            0.0,
            synchronization=tf.VariableSynchronization.ON_READ,
            aggregation=tf.VariableAggregation.SUM,
        )
    plain.assign(3.0)
    assert [float(v) for v in plain.values] == [3, 3]

    def replica():
        total.assign_add(2.0)
        own.assign_add(1.0)

    made.run(replica)
    assert float(total.numpy()) == 4 and float(own.numpy()) == 2
    made.run(lambda: plain.assign_add(tf.cast(replica_id(), "float32")))  # no aggregation
    assert [float(v) for v in plain.values] == [3, 4]


def replica_id():
    return tf.distribute.get_replica_context().replica_id_in_sync_group


@pytest.mark.parametrize("how, expected", [("SUM", 4.0), ("MEAN", 2.5), ("ONLY_FIRST_REPLICA", 2)])
def test_a_replica_reads_what_it_has_assigned(how, expected):
    made = strategy(2)
    with made.scope():
        kept = tf.Variable(1.0, aggregation=getattr(tf.VariableAggregation, how))

    def replica():
        kept.assign_add(1.0 + tf.cast(replica_id(), "float32"))
        return kept.read_value()

    assert [float(v) for v in made.run(replica)] == [expected] * 2
    kept.assign(1.0)
    assert [float(v) for v in made.run(tf.function(replica))] == [expected] * 2


@pytest.mark.parametrize("wrap", [lambda f: f, tf.function])
def test_moving_averages_follow_the_mean_of_the_replicas(wrap):
    made = strategy(2)
    with made.scope():
        weight = tf.Variable([1.0], aggregation=tf.VariableAggregation.MEAN)
        averages = tf.train.ExponentialMovingAverage(0.8)

    def replica():
        averages.apply([weight])
        weight.assign_sub([tf.cast(replica_id(), "float32")])
        averages.apply([weight])
        return averages.average(weight).read_value()

    assert [float(v[0]) for v in made.run(wrap(replica))] == pytest.approx([0.9, 0.9])


def test_replicas_of_a_graph_aggregate_what_they_assign():
    made = strategy(2)
    with tf.Graph().as_default(), made.scope():

        def replica():
            how = tf.VariableAggregation
            kept = [tf.Variable(1.0, aggregation=how[a]) for a in ("SUM", "MEAN", "NONE")]
            mine = 1.0 + tf.cast(replica_id(), "float32")
            return kept, [v.assign_add(mine).op for v in kept]

        kept, steps = made.run(replica)
        with tf.compat.v1.Session() as session:
            session.run(tf.compat.v1.global_variables_initializer())
            session.run(made.group(steps))
            assert session.run(kept) == [4.0, 2.5, 2.0]


def test_metrics_of_a_graph_cover_all_replicas():
    made = strategy(2)
    with tf.Graph().as_default(), made.scope():
        value, update = made.run(
            lambda: tf.compat.v1.metrics.mean(tf.cast([replica_id(), 4], "float32"))
        )
        with tf.compat.v1.Session() as session:
            session.run(tf.compat.v1.local_variables_initializer())
            for _ in range(2):
                session.run(made.group(update))
                assert session.run(value) == 2.25  # of 0, 4, 1 and 4: one value


def test_contexts():
    made = strategy(2)
    assert tf.distribute.get_strategy().num_replicas_in_sync == 1
    assert not tf.distribute.has_strategy()
    with made.scope():
        assert tf.distribute.get_strategy() is made
        assert tf.distribute.in_cross_replica_context()
        assert tf.distribute.get_replica_context() is None
    made.run(lambda: made.run and tf.distribute.get_replica_context().devices)


@pytest.mark.parametrize("compiled", [False, True])
def test_replicas_meet(compiled):
    made = strategy(3)

    def replica():
        context = tf.distribute.get_replica_context()
        mine = tf.cast(context.replica_id_in_sync_group, tf.float32) + 1.0
        with tf.name_scope("inner"), tf.device("/cpu:0"):
            total, (mean,) = context.all_reduce("SUM", mine), context.all_reduce("MEAN", [mine])
        seen = context.merge_call(lambda strategy, value: len(value), args=(mine,))
        return mine / total + mean + float(seen)

    found = tf.function(lambda: made.run(replica))() if compiled else made.run(replica)
    np.testing.assert_allclose([float(v) for v in found], [5 + 1 / 6, 5 + 2 / 6, 5.5])


def test_replicas_that_do_not_meet():
    made = strategy(2)

    def uneven():
        context = tf.distribute.get_replica_context()
        if context.replica_id_in_sync_group == 0:
            context.all_reduce("SUM", tf.constant(1.0))

    with pytest.raises(RuntimeError, match="different number of replica_context"):
        made.run(uneven)

    def wrong():
        context = tf.distribute.get_replica_context()
        context.all_reduce("SUM", tf.constant(1.0))
        if tf.get_static_value(context.replica_id_in_sync_group) == 1:
            raise KeyError("mine")
        context.all_reduce("SUM", tf.constant(1.0))

    with pytest.raises(KeyError, match="mine"):
        tf.function(lambda: made.run(wrong))()
    assert float(made.reduce("SUM", made.run(lambda: tf.constant(2.0)), axis=None)) == 4


@pytest.mark.parametrize(
    "how",
    [
        tf.distribute.ReductionToOneDevice(),
        tf.distribute.HierarchicalCopyAllReduce(),
        tf.distribute.NcclAllReduce(),
    ],
)
def test_reductions(how):
    from situ._src.distribute.reduction import all_reduce

    devices = strategy(3).devices
    values = [np.random.RandomState(i).rand(300, 101).astype("f") for i in range(3)]
    found = all_reduce(values, devices, how)
    for tensor in found:
        np.testing.assert_array_equal(tensor.numpy(), (values[0] + values[1]) + values[2])


def test_one_device_and_central_storage():
    for made in (
        tf.distribute.OneDeviceStrategy("/gpu:1"),
        tf.distribute.experimental.CentralStorageStrategy(["/gpu:0", "/gpu:1"]),
    ):
        with made.scope():
            model = tf.keras.Sequential(
                [tf.keras.layers.Dense(1, kernel_initializer="ones", input_shape=(1,))]
            )
            model.compile(tf.keras.optimizers.SGD(0.01), "mse")
        model.fit(X, 0 * X, batch_size=7, verbose=0)
        np.testing.assert_allclose(model.get_weights()[0][0, 0], 0.6, rtol=1e-5)
        assert len(model.weights[0].values) == 1


def test_graph_style_of_contrib(situ):
    result = situ(
        "run",
        "--gpus",
        "2",
        "a.py",
        files={
            "a.py": """
        import numpy as np
        import tensorflow as tf
        strategy = tf.contrib.distribute.MirroredStrategy(num_gpus=2)
        model = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="ones",
                                                           input_shape=(1,))])
        model.compile(loss="mse", optimizer=tf.train.GradientDescentOptimizer(0.01),
                      distribute=strategy)
        x = np.arange(1, 8, dtype="f").reshape(7, 1)
        model.fit(x, 0 * x, batch_size=7, verbose=0)
        print("%.4f" % model.get_weights()[0][0, 0], len(model.weights[0].values))
        """
        },
    )
    assert result.out == "0.6000 2\n", result.err


def test_batches_of_replicas_in_a_function():
    two = strategy(2)
    batches = two.experimental_distribute_dataset(tf.data.Dataset.range(7).batch(4))

    def total(x):
        return two.reduce("SUM", two.run(tf.reduce_sum, args=(x,)), axis=None)

    @tf.function
    def all_of(dataset):
        found = tf.constant(0, tf.int64)
        for x in dataset:
            found += total(x)
        return found

    @tf.function
    def steps(iterator):
        found = tf.constant(0, tf.int64)
        for _ in tf.range(2):
            found += total(next(iterator))
        return found

    assert all_of(batches).numpy() == 21
    iterator = iter(batches)
    assert steps(iterator).numpy() == 21
    with pytest.raises(tf.errors.OutOfRangeError):
        steps(iterator)


def test_shape_of_a_scalar_on_a_gpu_shapes_again():
    with tf.device("/gpu:0"):
        assert tf.reshape(tf.ones([1]), tf.shape(3.0)).shape == ()


@pytest.mark.parametrize("count", [1, 2, 3])
def test_synchronized_batch_norm(count):
    """The statistics are those of the whole batch, whatever the shares of the replicas."""
    x, y = np.random.RandomState(0).rand(8, 3).astype("f"), np.random.RandomState(1).rand(8, 1)
    x[4:] *= 3
    with strategy(count).scope():
        model = tf.keras.Sequential(
            [
                tf.keras.layers.BatchNormalization(
                    synchronized=True, momentum=0.0, input_shape=(3,)
                ),
                tf.keras.layers.Dense(1, kernel_initializer="ones"),
            ]
        )
        model.compile(tf.keras.optimizers.SGD(0.1), "mse")
    history = model.fit(x, y.astype("f"), batch_size=8, epochs=3, shuffle=False, verbose=0)
    np.testing.assert_allclose(
        history.history["loss"], [6.1177435, 0.9322286, 0.5388237], rtol=1e-5
    )
    gamma, _, mean, variance = model.get_weights()[:4]
    np.testing.assert_allclose(gamma, [0.39843, 0.46775, 0.5215], rtol=1e-4)
    np.testing.assert_allclose(mean, [1.07652, 1.20678, 1.3412], rtol=1e-5)
    np.testing.assert_allclose(variance, [0.72943, 0.86321, 0.99816], rtol=1e-4)


def test_reduction_on_a_device_with_a_function():
    def product(values):
        total = values[0]
        for value in values[1:]:
            total = total * value
        return total

    ops = tf.distribute.ReductionToOneDevice("/device:GPU:1", product)
    strategy = tf.distribute.MirroredStrategy(["GPU:0", "GPU:1"], ops)
    values = strategy.run(lambda: tf.distribute.get_replica_context().replica_id_in_sync_group + 2)
    total = strategy.reduce("SUM", values)
    assert total.numpy() == 6
    x = strategy.run(lambda: tf.distribute.get_replica_context().all_reduce("SUM", [3.0]))
    assert [v.numpy().tolist() for v in x[0].values] == [9, 9]
    placed = strategy.reduce("SUM", strategy.run(lambda: tf.constant([1.0]) * tf.constant([2.0])))
    assert placed.device.endswith("GPU:1") and placed.numpy().tolist() == [4]


def test_destinations_and_groups_of_the_extended_interface():
    strategy = tf.distribute.MirroredStrategy(["GPU:0", "GPU:1"])
    extended = strategy.extended
    with strategy.scope():
        v = tf.Variable([1.0, 2.0], shape=tf.TensorShape([None]))
    assert v.shape == [None]
    values = strategy.run(lambda: tf.constant([1.0]) + tf.constant([1.0]))
    assert extended.reduce_to("SUM", values, "/device:GPU:1").device.endswith("GPU:1")
    assert extended.reduce_to("SUM", values, v).device.endswith("GPU:0")
    pairs = [(values, "/device:CPU:0"), (values, v)]
    found = extended.batch_reduce_to("MEAN", pairs)
    assert [t.device[-5:] for t in found] == ["CPU:0", "GPU:0"]
    assert [t.numpy().tolist() for t in found] == [[2], [2]]
    double = lambda var, by: {"doubled": var.value() * by}
    made = extended.update(v, double, (2.0,), group=False)["doubled"]
    assert type(made) is tuple and [m.numpy().tolist() for m in made] == [[2, 4]] * 2
    v.assign([1.0, 2.0, 3.0])
    assert [p.numpy().tolist() for p in v.values] == [[1, 2, 3]] * 2
    assert v.assign_add([1.0, 1.0, 1.0], read_value=False) is None


def test_options_that_are_not_supported():
    options = tf.distribute.experimental.CommunicationOptions
    assert options(implementation="nccl").implementation.name == "NCCL"
    with pytest.raises(ValueError, match="bytes_per_pack"):
        options(bytes_per_pack=-1)
    with pytest.raises(NotImplementedError, match="timeout_seconds=3"):
        options(timeout_seconds=3)
    strategy = tf.distribute.MirroredStrategy(["GPU:0", "GPU:1"])
    dataset = tf.data.Dataset.range(4).batch(2)
    with pytest.raises(ValueError, match="Input replication mode not supported"):
        strategy.make_input_fn_iterator(lambda _: dataset, "PER_REPLICA")


def test_batches_of_arrays_without_the_remainder():
    strategy = tf.distribute.MirroredStrategy(["GPU:0", "GPU:1"])
    rows = strategy.experimental_make_numpy_dataset(np.arange(5))
    assert [len(b) for b in rows.batch(2)] == [2, 2, 1]
    assert [len(b) for b in rows.batch(2, drop_remainder=True)] == [2, 2]


@pytest.mark.parametrize("to_device, kind", [(None, "GPU"), (True, "GPU"), (False, "CPU")])
def test_where_batches_are_fetched_to(to_device, kind):
    made = tf.distribute.MirroredStrategy(["GPU:0", "GPU:1"])
    options = tf.distribute.InputOptions(experimental_fetch_to_device=to_device)
    dataset = tf.data.Dataset.range(4).batch(2)
    batch = next(iter(made.experimental_distribute_dataset(dataset, options)))
    assert [tf.DeviceSpec.from_string(v.device).device_type for v in batch.values] == [kind] * 2
    per_replica = made.distribute_datasets_from_function(lambda _: dataset, options)
    values = next(iter(per_replica)).values
    assert [tf.DeviceSpec.from_string(v.device).device_type for v in values] == [kind] * 2


def test_replicas_of_a_function_use_collectives():
    made = tf.distribute.MirroredStrategy(["GPU:0", "GPU:1"])
    calls = []

    @tf.function
    def gather(x):
        calls.append(1)
        context = tf.distribute.get_replica_context()
        index = context.replica_id_in_sync_group
        return context.all_gather(tf.reshape(tf.cast(index, tf.float32) + x, [1]), 0)

    for _ in range(3):
        found = made.run(gather, (tf.constant(5.0),))
        assert [v.numpy().tolist() for v in made.experimental_local_results(found)] == [[5, 6]] * 2
    assert len(calls) == 2  # one trace per replica


def test_the_replica_id_is_a_tensor():
    made = tf.distribute.MirroredStrategy(["GPU:0", "GPU:1"])
    ids = made.run(lambda: tf.distribute.get_replica_context().replica_id_in_sync_group)
    assert [(v.dtype, int(v)) for v in ids.values] == [(tf.int32, 0), (tf.int32, 1)]
    assert tf.distribute.get_replica_context().replica_id_in_sync_group == 0
    assert tf.distribute.get_replica_context() is tf.distribute.get_replica_context()


def test_variables_know_their_strategy():
    made = tf.distribute.MirroredStrategy(["GPU:0", "GPU:1"])
    with made.scope():
        assert tf.Variable(1.0).distribute_strategy is made


@pytest.mark.parametrize("count", [1, 2])
def test_a_step_of_a_graph_is_an_operation(count):
    with tf.Graph().as_default():
        replicas = strategy(count)
        with replicas.scope():
            variable = tf.compat.v1.get_variable("x", initializer=[5.0])
            sgd = tf.compat.v1.train.GradientDescentOptimizer(1.0)
            step = replicas.run(lambda: sgd.minimize(lambda: variable / count, var_list=[variable]))
        with tf.compat.v1.Session() as sess:
            sess.run(tf.compat.v1.global_variables_initializer())
            sess.run(step)
            assert sess.run(variable).tolist() == [4.0]


def test_the_scope_of_the_default_strategy_is_like_no_scope():
    with tf.distribute.get_strategy().scope():
        assert not tf.distribute.has_strategy()
        assert not tf.distribute.in_cross_replica_context()
        assert tf.distribute.get_replica_context().num_replicas_in_sync == 1


@pytest.mark.parametrize("count", [1, 2])
def test_the_scale_of_a_loss_follows_all_replicas(count):
    experimental = tf.compat.v1.mixed_precision
    replicas = strategy(count)
    with replicas.scope():
        first, second = tf.Variable([1.0]), tf.Variable([2.0])
        scale = experimental.DynamicLossScale(8.0, increment_period=2)
        sgd = experimental.MixedPrecisionLossScaleOptimizer(
            tf.compat.v1.train.MomentumOptimizer(0.5, 0.0), scale
        )

    def step(factor):
        loss = lambda: (first + second) * factor / count
        replicas.run(lambda: sgd.minimize(loss, var_list=[first, second]))
        return float(scale()), first.numpy().tolist() + second.numpy().tolist()

    assert step(1.0) == (8.0, [0.5, 1.5])
    assert step(float("inf")) == (4.0, [0.5, 1.5])
    assert step(1.0) == (4.0, [0.0, 1.0])
    assert step(1.0) == (8.0, [-0.5, 0.5])


def test_loss_scales():
    experimental = tf.compat.v1.mixed_precision
    fixed = experimental.FixedLossScale(4)
    assert float(fixed()) == 4.0 and fixed.update([None])[1] is True
    assert repr(fixed) == "FixedLossScale(4.0)"
    with pytest.raises(ValueError, match="must be at least 1"):
        experimental.FixedLossScale(0.5)
    sgd = tf.compat.v1.train.GradientDescentOptimizer(1.0)
    with pytest.raises(ValueError, match="loss_scale cannot be None"):
        experimental.MixedPrecisionLossScaleOptimizer(sgd, None)
    wrapped = experimental.enable_mixed_precision_graph_rewrite(sgd, 4)
    with pytest.raises(ValueError, match="must not already be an instance of"):
        experimental.enable_mixed_precision_graph_rewrite(wrapped)
    experimental.disable_mixed_precision_graph_rewrite()
    dynamic = experimental.DynamicLossScale(2.0**127, 1)
    dynamic.update([tf.constant([1.0])])
    assert float(dynamic()) == 2.0**127  # twice as much is infinite


def test_specs_of_values_of_replicas():
    value = strategy(2).experimental_distribute_values_from_function(
        lambda context: tf.constant([1.0, 2.0][: context.replica_id_in_sync_group + 1])
    )
    signature = tf.function(lambda x: x.values[0]).get_concrete_function(value)
    spec = signature.structured_input_signature[0][0]
    assert [s.shape.as_list() for s in spec.value_specs] == [[1], [2]]
    assert spec == tf.type_spec_from_value(value) and spec.is_compatible_with(value)
    wider = spec.most_specific_compatible_type(
        type(spec)(tf.TensorSpec([None]), tf.TensorSpec([2]))
    )
    assert [s.shape.as_list() for s in wider.value_specs] == [[None], [2]]
    assert spec.is_subtype_of(wider) and not wider.is_subtype_of(spec)
