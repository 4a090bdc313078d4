# SPDX-License-Identifier: Apache-2.0
"""test_replica_context.py: all_reduce with gradients, variables synchronized on read, and copies
between devices under tapes, on simulated GPUs."""

import os

os.environ.setdefault("SITU_SIM_GPUS", "4")

import numpy as np
import pytest

import situ as tf

ON_READ = tf.VariableSynchronization.ON_READ
SUM, MEAN = tf.distribute.ReduceOp.SUM, tf.distribute.ReduceOp.MEAN
Aggregation = tf.VariableAggregation


def strategy(count=2):
    return tf.distribute.MirroredStrategy([f"/gpu:{i}" for i in range(count)])


def numbers(value):
    parts = value.values if type(value).__name__ == "PerReplica" else [value]
    return [p.numpy().tolist() for p in parts]


def context():
    return tf.distribute.get_replica_context()


def own_value(scale=1.0):
    return scale * tf.cast(context().replica_id_in_sync_group + 1, tf.float32)


both_styles = pytest.mark.parametrize("wrap", [lambda f: f, tf.function], ids=["eager", "function"])


@pytest.mark.parametrize(
    "move",
    [
        lambda x: x.gpu(),
        lambda x: x.gpu(1),
        lambda x: x.cpu(),
        lambda x: x.gpu(3).cpu(),
        lambda x: x.gpu().gpu(1),
    ],
)
def test_gradients_pass_through_copies_between_devices(move):
    x = tf.constant([3.0, 4.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = move(x) * 2.0
    assert tape.gradient(y, x).numpy().tolist() == [2, 2]


def test_the_gradient_of_a_copy_returns_to_the_device_of_the_source():
    x = tf.constant([3.0, 4.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x.gpu(1)
    assert tape.gradient(y, x).device == x.device


def test_gradients_of_gradients_pass_through_copies():
    x = tf.constant(3.0)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = (x * x).gpu(1) ** 2
        grad = inner.gradient(y, x)
    assert grad.numpy() == 4 * 27 and outer.gradient(grad, x).numpy() == 12 * 9


@both_styles
def test_gradients_pass_through_an_identity_on_another_device(wrap):
    def move(x):
        with tf.device("/gpu:2"):
            return tf.identity(x)

    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = wrap(move)(x) * 2.0
    assert tape.gradient(y, x).numpy() == 2


def test_a_copy_of_a_variable_has_a_gradient():
    with tf.device("/gpu:1"):
        v = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = v.read_value().cpu() * v.value().gpu(2)
    assert tape.gradient(y, v).numpy() == 6


@both_styles
@pytest.mark.parametrize(
    "kind,expected", [(SUM, [8, 16]), ("sum", [8, 16]), (MEAN, [4, 8]), ("MEAN", [4, 8])]
)
@pytest.mark.parametrize("nested", [False, True])
def test_gradient_of_all_reduce(wrap, kind, expected, nested):
    def replica():
        x = own_value(2.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
            if nested:
                made = context().all_reduce(kind, {"a": y, "b": [2 * y]})
                z = made["a"] + made["b"][0]
            else:
                z = context().all_reduce(kind, y)
        return tape.gradient(z, x)

    made = strategy()
    found = numbers(wrap(lambda: made.run(replica))())
    assert found == [e * (3 if nested else 1) for e in expected]


@both_styles
def test_second_gradient_of_all_reduce(wrap):
    def replica():
        x = tf.constant(2.0)
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                z = context().all_reduce("sum", x**3)
            grad = inner.gradient(z, x)
        return outer.gradient(grad, x)

    made = strategy()
    assert numbers(wrap(lambda: made.run(replica))()) == [24, 24]


@both_styles
def test_gradient_of_all_reduce_with_one_replica(wrap):
    def replica():
        x = tf.constant(3.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            z = context().all_reduce("sum", x * x)
        return tape.gradient(z, x)

    assert wrap(replica)().numpy() == 6
    assert numbers(wrap(lambda: strategy(1).run(replica))()) == [6]


@both_styles
def test_a_tape_around_run_records_all_replicas(wrap):
    made = strategy()
    v = tf.constant(3.0)

    def whole():
        with tf.GradientTape() as tape:
            tape.watch(v)
            z = made.run(lambda: context().all_reduce("sum", v * v))
            total = made.reduce("sum", z, axis=None)
        return tape.gradient(total, v)

    assert wrap(whole)().numpy() == 24


def test_all_reduce_of_integers_and_unknown_kinds():
    def replica():
        return context().all_reduce("sum", tf.constant(2)), context().all_reduce("mean", [1, 3])

    total, (one, three) = strategy().run(replica)
    assert numbers(total) == [4, 4] and numbers(one) == [1, 1] and numbers(three) == [3, 3]
    assert "GPU:1" in total.values[1].device
    with pytest.raises(ValueError, match="'MAX' is not a valid ReduceOp"):
        strategy().run(lambda: context().all_reduce("max", tf.constant(1)))
    with pytest.raises(ValueError, match="'MAX' is not a valid ReduceOp"):
        strategy().reduce("max", tf.constant(1), axis=None)


def test_values_that_replicas_share_are_one():
    made, c = strategy(), tf.constant(3.0)
    assert made.run(lambda: c) is c and made.run(lambda: (None, "a", 1)) == (None, "a", 1)
    assert (
        made.run(
            lambda: context().merge_call(lambda s, y: s.reduce("sum", y, axis=None), (own_value(),))
        ).numpy()
        == 3
    )
    assert made.reduce("mean", c, axis=None).numpy() == 3
    assert made.reduce("sum", tf.constant([1.0, 2.0]), axis=0).numpy() == 6
    with pytest.raises(ValueError, match="A non-DistributedValues value .* cannot be reduced"):
        made.reduce("sum", c, axis=None)


def variable(aggregation, value=0.0, dtype=tf.float32):
    made = strategy()
    with made.scope():
        v = tf.Variable(tf.cast(value, dtype), synchronization=ON_READ, aggregation=aggregation)
    assert not v.trainable and v.synchronization is ON_READ and v.aggregation is aggregation
    return made, v


def parts(v):
    return [p.numpy() for p in v.values]


@both_styles
@pytest.mark.parametrize(
    "aggregation,expected",
    [(Aggregation.SUM, 3), (Aggregation.MEAN, 1.5), (Aggregation.ONLY_FIRST_REPLICA, 1)],
)
def test_reads_of_variables_synchronized_on_read(wrap, aggregation, expected):
    made, v = variable(aggregation)
    made.run(lambda: v.assign_add(own_value()))
    for read in (v.read_value, v.value, lambda: tf.identity(v), lambda: v + 0.0):
        assert wrap(read)().numpy() == expected
    assert v.numpy() == expected
    assert numbers(wrap(lambda: made.run(v.read_value))()) == [1, 2]
    assert numbers(wrap(lambda: made.run(lambda: context().all_reduce(SUM, v)))()) == [3, 3]
    assert numbers(wrap(lambda: made.run(lambda: context().all_reduce(MEAN, v)))()) == [1.5, 1.5]
    assert made.reduce(SUM, v, axis=None).numpy() == 3
    assert [p.numpy() for p in made.experimental_local_results(v)] == [1, 2]


@both_styles
def test_no_aggregation_no_read_in_cross_replica_context(wrap):
    made, v = variable(Aggregation.NONE)
    made.run(lambda: v.assign_add(own_value()))
    with pytest.raises(ValueError, match="Could not convert from `tf.VariableAggregation`"):
        wrap(v.read_value)()
    assert numbers(made.run(v.read_value)) == [1, 2]
    assert numbers(made.run(lambda: context().all_reduce("sum", v))) == [3, 3]


@pytest.mark.parametrize("dtype", [tf.float32, tf.int64])
def test_assignments_in_cross_replica_context(dtype):
    six = tf.cast(6, dtype)
    _, v = variable(Aggregation.SUM, dtype=dtype)
    v.assign(six)
    assert parts(v) == [3, 3] and v.numpy() == 6
    for name in ("assign_add", "assign_sub"):
        with pytest.raises(ValueError, match=f"does not support `{name}` in cross-replica"):
            getattr(v, name)(six)
    made, v = variable(Aggregation.ONLY_FIRST_REPLICA, dtype=dtype)
    made.run(lambda: v.assign(tf.cast(own_value(), dtype)))
    v.assign_add(six)
    assert parts(v) == [7, 8]
    v.assign_sub(six)
    assert parts(v) == [1, 2]
    v.assign(six)
    assert parts(v) == [6, 6]


def test_modes_of_variables():
    made = strategy()
    with made.scope():
        with pytest.raises(ValueError, match="aggregation=MEAN and a non-floating dtype"):
            tf.Variable(0, aggregation=Aggregation.MEAN)
        with pytest.raises(ValueError, match="`NONE` variable synchronization mode is not supp"):
            tf.Variable(0.0, synchronization=tf.VariableSynchronization.NONE)
        assert tf.Variable(0.0, synchronization=ON_READ, trainable=True).trainable
    with pytest.raises(ValueError, match="Invalid variable aggregation mode: x for variable"):
        tf.Variable(0.0, aggregation="x")
    with pytest.raises(ValueError, match="Invalid variable synchronization mode: x for variable"):
        tf.Variable(0.0, synchronization="x")


@pytest.mark.parametrize(
    "trainable,mode,expected",
    [
        (None, "ON_READ", False),
        (True, "ON_READ", True),
        (False, "ON_READ", False),
        (None, "AUTO", True),
        (None, "ON_WRITE", True),
        (None, "NONE", True),
        (False, "AUTO", False),
    ],
)
def test_trainable_by_default(trainable, mode, expected):
    words = {"trainable": trainable, "synchronization": getattr(tf.VariableSynchronization, mode)}
    assert tf.Variable(0.0, **words).trainable is expected
    v1 = tf.compat.v1
    with v1.Graph().as_default():
        for v in (
            v1.Variable(0.0, **words),
            v1.Variable(0.0, use_resource=True, **words),
            v1.get_variable("v", [], **words),
        ):
            assert v.trainable is expected
            assert any(v is t for t in v1.trainable_variables()) is expected
            assert v.synchronization is words["synchronization"]


def test_weights_of_layers_synchronized_on_read():
    layer = tf.keras.layers.Layer()
    assert not layer.add_weight("a", [], synchronization=ON_READ).trainable
    with pytest.raises(ValueError, match="ON_READ only for non-trainable variables"):
        layer.add_weight("b", [], synchronization=ON_READ, trainable=True)
    np.testing.assert_equal(len(layer.non_trainable_weights), 1)


@both_styles
def test_metrics_are_updated_outside_of_replicas(wrap):
    made = strategy()
    with made.scope():
        total, mean = tf.keras.metrics.Sum(), tf.keras.metrics.Mean()
        made.run(lambda: total.update_state(own_value()))
        wrap(lambda: (total.update_state(4.0), mean.update_state([2.0, 4.0])))()
    assert total.result().numpy() == 7 and mean.result().numpy() == 3
