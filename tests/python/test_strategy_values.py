# SPDX-License-Identifier: Apache-2.0
"""test_strategy_values.py: gather, all_gather, reduced IndexedSlices, generators and optional
elements in replicas, on simulated GPUs. The random numbers are TensorFlow's."""

import os

os.environ.setdefault("SITU_SIM_GPUS", "4")

import numpy as np
import pytest

import situ as tf

SUM, MEAN = tf.distribute.ReduceOp.SUM, tf.distribute.ReduceOp.MEAN
both_styles = pytest.mark.parametrize("wrap", [lambda f: f, tf.function], ids=["eager", "function"])


def strategy(count=2):
    return tf.distribute.MirroredStrategy([f"/gpu:{i}" for i in range(count)])


def one_replica():
    return [
        tf.distribute.OneDeviceStrategy("/cpu:0"),
        tf.distribute.OneDeviceStrategy("/gpu:1"),
        strategy(1),
        tf.distribute.get_strategy(),
    ]


def context():
    return tf.distribute.get_replica_context()


def rank():
    return context().replica_id_in_sync_group


def slices():
    number = tf.cast(rank() + 1, tf.float32)
    return tf.IndexedSlices(tf.fill([1, 2], number), tf.constant([1]), tf.constant([3, 2]))


@pytest.mark.parametrize("index", range(4))
def test_gathers_of_one_replica(index):
    made = one_replica()[index]
    value = made.run(lambda: tf.constant([[1.0, 2.0]]))
    assert made.gather(value, axis=0).numpy().tolist() == [[1, 2]]
    value = made.run(lambda: context().all_gather({"a": tf.constant([3.0])}, axis=0))
    assert value["a"].numpy().tolist() == [3]


@both_styles
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_all_gather(wrap, axis):
    some = strategy(3)

    def replica():
        return context().all_gather(tf.fill([2, 2], rank() + 1), axis)

    whole = np.concatenate([np.full([2, 2], i + 1) for i in range(3)], axis)
    for index, value in enumerate(wrap(lambda: some.run(replica))().values):
        assert value.numpy().tolist() == whole.tolist()
        assert value.device.endswith(f"GPU:{index}")


def test_replicas_gather_parts_of_different_sizes():
    some = strategy()

    def replica():
        return context().all_gather(tf.fill([rank() + 1, 1], float(rank())), 0)

    assert some.run(replica).values[1].numpy().tolist() == [[0], [1], [1]]
    parts = some.run(lambda: tf.fill([rank() + 1], 7))
    assert some.gather(parts, 0).numpy().tolist() == [7, 7, 7]


@both_styles
def test_gradient_of_all_gather_is_the_part_of_the_replica(wrap):
    some = strategy()

    def replica():
        x = tf.fill([rank() + 1, 2], 1.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = context().all_gather(x, 0) * tf.constant([[1.0], [10.0], [100.0]])
        return tape.gradient(y, x)

    first, second = wrap(lambda: some.run(replica))().values
    assert first.numpy().tolist() == [[2, 2]]
    assert second.numpy().tolist() == [[20, 20], [200, 200]]


def test_gathers_reject_slices_and_the_wrong_context():
    some = strategy()
    with pytest.raises(NotImplementedError, match="all_gather does not support IndexedSlices"):
        some.run(lambda: context().all_gather(slices(), 0))
    with pytest.raises(NotImplementedError, match="gather does not support IndexedSlices"):
        some.gather(some.run(slices), 0)
    with pytest.raises(RuntimeError, match="requires cross-replica context"):
        some.run(lambda: some.gather(tf.constant([1]), 0))
    assert some.gather(tf.constant([5]), 0).numpy().tolist() == [5]


@both_styles
@pytest.mark.parametrize("kind, values", [(SUM, [1, 2]), (MEAN, [0.5, 1])])
def test_reduced_slices_stay_sparse(wrap, kind, values):
    some = strategy()
    rows = [[v, v] for v in values]
    for one in some.experimental_local_results(
        wrap(lambda: some.run(lambda: context().all_reduce(kind, [slices()])[0]))()
    ):
        assert isinstance(one, tf.IndexedSlices)
        assert one.indices.numpy().tolist() == [1, 1] and one.values.numpy().tolist() == rows
        assert one.dense_shape.numpy().tolist() == [3, 2]
    for one in (
        some.reduce(kind, some.run(slices), axis=None),
        some.extended.reduce_to(kind, some.run(slices), "/cpu:0"),
    ):
        assert isinstance(one, tf.IndexedSlices) and one.values.numpy().tolist() == rows
    assert one.values.device.endswith("CPU:0")


def test_all_reduce_of_slices_and_tensors_together():
    some = strategy()
    both = some.run(lambda: context().all_reduce(SUM, (slices(), tf.constant(2.0))))
    assert isinstance(both[0].values[0], tf.IndexedSlices)
    assert [v.numpy() for v in both[1].values] == [4, 4]


@both_styles
def test_generators_draw_other_numbers_in_each_replica(wrap):
    some = strategy()
    with some.scope():
        one = tf.random.Generator.from_seed(1)
    draw = wrap(lambda: some.run(lambda: one.normal([2])))
    wanted = [
        [[-0.87930447, 1.4680789], [0.02066157, 1.9473345]],
        [[-0.5039703, -0.17300826], [0.1251838, -0.25414044]],
    ]
    for numbers in wanted:
        np.testing.assert_allclose([v.numpy() for v in draw().values], numbers, rtol=1e-5)
    assert [v.numpy().tolist() for v in one.state.values] == [[1025, 0, 0]] * 2


def test_generators_in_cross_replica_context_and_of_replicas():
    some = strategy()
    with some.scope():
        one = tf.random.Generator.from_seed(1)
        first = one.normal([2])
    np.testing.assert_allclose(first.numpy(), [0.43842274, -0.53439844], rtol=1e-5)
    assert [v.numpy().tolist() for v in one.state.values] == [[513, 0, 0]] * 2
    own = some.run(lambda: tf.random.Generator.from_seed(3).normal([2]))
    np.testing.assert_allclose(
        [v.numpy() for v in own.values],
        [[0.8135517, 1.3360611], [0.2773456, 0.40124485]],
        rtol=1e-5,
    )
    shared = some.run(lambda: tf.random.get_global_generator().uniform([]))
    assert shared.values[0].numpy() != shared.values[1].numpy()


def test_generators_in_models_that_fit():
    with strategy().scope():
        noise = tf.random.Generator.from_seed(1)
        model = tf.keras.Sequential(
            [
                tf.keras.layers.Dense(2, input_shape=(3,)),
                tf.keras.layers.Lambda(lambda x: x + noise.normal([2])),
            ]
        )
        model.compile("adam", "mse")
    model.fit(np.ones((8, 3)), np.ones((8, 2)), verbose=0)
    states = [v.numpy().tolist() for v in noise.state.values]
    assert states[0] == states[1] and states[0][0] > 1


def _total(some, element):
    return some.reduce("SUM", some.run(tf.reduce_sum, args=(element,)), axis=None)


def _in_graph(some):
    @tf.function
    def total(iterator):
        result = tf.constant(0, tf.int64)
        while tf.constant(True):
            optional = iterator.get_next_as_optional()
            if not optional.has_value():
                break
            result += _total(some, optional.get_value())
        return result

    return total


def _eagerly(some):
    def total(iterator):
        result = 0
        while True:
            optional = iterator.get_next_as_optional()
            if not optional.has_value():
                return tf.constant(result)
            result += _total(some, optional.get_value())

    return total


@pytest.mark.parametrize("style", [_in_graph, _eagerly])
@pytest.mark.parametrize("count", [1, 2])
def test_optional_elements_end_loops(style, count):
    some = strategy(count)
    numbers = tf.data.Dataset.range(10)
    both = (
        some.experimental_distribute_dataset(numbers.batch(4)),
        some.distribute_datasets_from_function(lambda _: numbers.batch(5)),
    )
    for dataset in both:
        assert style(some)(iter(dataset)).numpy() == 45
    plain = tf.distribute.get_strategy()
    assert style(plain)(iter(numbers.batch(3))).numpy() == 45


def test_an_optional_of_a_graph_without_a_value_has_none():
    @tf.function
    def second(iterator):
        iterator.get_next_as_optional()
        return iterator.get_next_as_optional().get_value()

    with pytest.raises(tf.errors.InvalidArgumentError, match="does not have a value"):
        second(iter(tf.data.Dataset.range(1)))


@pytest.mark.parametrize("file", ["m.h5", "m.keras", "folder"])
def test_models_load_in_the_scope(file, tmp_path):
    model = tf.keras.Sequential(
        [tf.keras.layers.Dense(2, input_shape=(3,)), tf.keras.layers.BatchNormalization()]
    )
    model.compile("adam", "mse", metrics=["mae"])
    model.fit(np.ones((8, 3)), np.ones((8, 2)), verbose=0)
    model.save(str(tmp_path / file))
    with strategy(3).scope():
        loaded = tf.keras.models.load_model(str(tmp_path / file))
    x = np.arange(12.0).reshape(4, 3)
    np.testing.assert_allclose(loaded.predict(x, verbose=0), model.predict(x, verbose=0), rtol=1e-5)
    if file != "folder":
        assert int(loaded.optimizer.iterations.numpy()) == 1
    loaded.fit(np.ones((8, 3)), np.ones((8, 2)), verbose=0)
    assert all(len(v.values) == 3 for v in loaded.trainable_variables)


OPTIONS, MODE = tf.distribute.InputOptions, tf.distribute.InputReplicationMode
PER_REPLICA = {"experimental_replication_mode": MODE.PER_REPLICA}


def numbered(context):
    start = 10 * context.input_pipeline_id
    assert context.num_replicas_in_sync == 2
    return tf.data.Dataset.range(start, start + 3 * context.num_input_pipelines).batch(2)


def rounds(dataset):
    return [[v.numpy().tolist() for v in values.values] for values in dataset]


@pytest.mark.parametrize(
    "options, device",
    [
        ({}, "GPU:1"),
        ({"experimental_fetch_to_device": False}, "CPU:0"),
        (
            {"experimental_fetch_to_device": False, "experimental_place_dataset_on_device": True},
            "GPU:1",
        ),
    ],
)
def test_a_dataset_per_replica(options, device):
    made = strategy().distribute_datasets_from_function(numbered, OPTIONS(**PER_REPLICA, **options))
    assert rounds(made) == [[[0, 1], [10, 11]], [[2, 3], [12, 13]], [[4, 5], [14, 15]]]
    assert next(iter(made)).values[1].device.endswith(device)


def test_options_of_a_dataset_per_replica():
    with pytest.raises(NotImplementedError, match="only supported in"):
        strategy().experimental_distribute_dataset(tf.data.Dataset.range(2), OPTIONS(**PER_REPLICA))
    with pytest.raises(NotImplementedError, match="MirroredStrategy"):
        tf.distribute.OneDeviceStrategy("/gpu:0").distribute_datasets_from_function(
            numbered, OPTIONS(**PER_REPLICA)
        )
    for options in (PER_REPLICA, {}):
        with pytest.raises(ValueError, match="experimental_place_dataset_on_device"):
            strategy().distribute_datasets_from_function(
                numbered, OPTIONS(experimental_place_dataset_on_device=True, **options)
            )


def test_replicas_without_an_element_get_an_empty_batch():
    made = strategy().distribute_datasets_from_function(numbered)
    assert rounds(made) == [[[0, 1], [2]]]
    of_five = lambda _: tf.data.Dataset.range(5).batch(2)
    assert rounds(strategy().distribute_datasets_from_function(of_five))[-1] == [[4], []]
    of_three = lambda _: tf.data.Dataset.range(3)  # static shapes: the rest is left out
    assert rounds(strategy().distribute_datasets_from_function(of_three)) == [[0, 1]]


def test_the_element_spec_is_a_signature():
    made = strategy().experimental_distribute_dataset(tf.data.Dataset.range(6).batch(4))
    both = tf.function(
        lambda v: strategy().run(lambda x: x * 2, (v,)), input_signature=[made.element_spec]
    )
    assert rounds(map(both, made)) == [[[0, 2], [4, 6]], [[8], [10]]]
    assert repr(made.element_spec).startswith("PerReplicaSpec(TensorSpec(shape=(None,)")


def test_values_from_a_function():
    made = strategy().experimental_distribute_values_from_function(
        lambda c: {"a": tf.constant(c.replica_id_in_sync_group)}
    )
    local = strategy().experimental_local_results(made)
    assert [int(v["a"]) for v in local] == [0, 1]
    assert strategy().experimental_local_results({"b": 1}) == ({"b": 1}, {"b": 1})
    for one in (tf.distribute.get_strategy(), tf.distribute.OneDeviceStrategy("/gpu:1")):
        plain = one.experimental_distribute_values_from_function(lambda _: tf.constant(3))
        assert int(one.run(lambda x: x + 1, (plain,))) == 4


@pytest.mark.parametrize("axis", [0, [0], -2, [0, -1]])
def test_means_over_sizes_that_are_unknown_in_a_trace(axis):
    made = strategy()
    dataset = tf.data.Dataset.from_tensor_slices(np.arange(6.0).reshape(3, 2)).batch(4)
    iterator = iter(made.experimental_distribute_dataset(dataset))  # batches of 2 and 1
    function = tf.function(lambda i: made.reduce("MEAN", next(i), axis=axis))
    expected = np.arange(6.0).reshape(3, 2).mean(axis=tuple(np.atleast_1d(axis)))
    np.testing.assert_allclose(function(iterator), expected)


@pytest.mark.parametrize("traced", [False, True])
def test_draws_of_a_generator_with_central_storage(traced):
    made = tf.distribute.experimental.CentralStorageStrategy(["/gpu:0", "/gpu:1"])
    with made.scope():
        generator = tf.random.Generator.from_seed(1234)
    draw = lambda: tf.stack([generator.uniform_full_int([2], tf.int32) for _ in range(2)])
    draw = tf.function(draw) if traced else draw
    drawn = [v.numpy() for _ in range(2) for v in made.experimental_local_results(made.run(draw))]
    assert len(np.unique(drawn)) == 16
