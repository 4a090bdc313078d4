# SPDX-License-Identifier: Apache-2.0
"""test_keras_composite.py: ragged and sparse tensors as inputs, outputs and labels of Keras
models."""

import numpy as np
import pytest

import situ as tf

ROWS = [[1, 2, 3], [4], [5, 6], [7, 8, 9, 1], [2, 2]]
LABELS = np.array([0.0, 1.0, 1.0, 0.0, 1.0], "float32")


def ragged_batch():
    return tf.ragged.constant(ROWS, dtype="int64")


def padded_batch():
    return ragged_batch().to_tensor().numpy()


def sparse_batch():
    dense = np.zeros([5, 4], "float32")
    dense[0, 1], dense[1, 3], dense[3, 0], dense[3, 2] = 1.0, 2.0, 3.0, -1.0
    return tf.sparse.from_dense(dense), dense


def mean_model(**kwargs):
    x = tf.keras.Input([None], dtype="int64", ragged=True)
    h = tf.keras.layers.Embedding(10, 4)(x)
    h = tf.keras.layers.GlobalAveragePooling1D()(h)
    return tf.keras.Model(x, tf.keras.layers.Dense(1)(h), **kwargs)


def test_input_creates_symbolic_composite_tensors():
    ragged = tf.keras.Input([None, 3], ragged=True, name="r")
    assert isinstance(ragged, tf.RaggedTensor) and ragged.shape.as_list() == [None, None, 3]
    assert ragged.ragged_rank == 1
    assert tf.keras.Input([None, 3, None], ragged=True).ragged_rank == 3
    sparse = tf.keras.Input([7], sparse=True, dtype="float64", batch_size=2)
    assert isinstance(sparse, tf.SparseTensor) and sparse.shape.as_list() == [2, 7]
    assert sparse.dtype == tf.float64
    spec = tf.RaggedTensorSpec([None, None], tf.int32, 1)
    typed = tf.keras.Input(type_spec=spec)
    assert typed.dtype == tf.int32 and typed.shape.as_list() == [None, None]
    assert tf.keras.Input(type_spec=tf.TensorSpec([None, 3])).shape.as_list() == [None, 3]


def test_arguments_of_input_that_exclude_each_other():
    with pytest.raises(ValueError, match="both sparse and ragged"):
        tf.keras.Input([None], sparse=True, ragged=True)
    with pytest.raises(ValueError, match="all other args except `name` must be None"):
        tf.keras.Input([None], type_spec=tf.TensorSpec([None, 3]))
    with pytest.raises(ValueError, match="dtype is not None"):
        tf.keras.Input(dtype="int32", type_spec=tf.TensorSpec([None, 3]))
    with pytest.raises(ValueError, match="`type_spec`"):
        tf.keras.Input()


def test_embedding_and_pooling_of_ragged_inputs():
    model = mean_model()
    table, kernel, bias = model.get_weights()
    want = np.stack([table[r].mean(0) for r in ROWS]) @ kernel + bias
    np.testing.assert_allclose(model(ragged_batch()), want, rtol=1e-5)
    np.testing.assert_allclose(model.predict(ragged_batch(), batch_size=2), want, rtol=1e-5)
    data = tf.data.Dataset.from_tensor_slices(ragged_batch()).batch(2)
    np.testing.assert_allclose(model.predict(data), want, rtol=1e-5)
    rows = tf.data.experimental.dense_to_ragged_batch
    data = tf.data.Dataset.from_generator(
        lambda: iter(ROWS), output_signature=tf.TensorSpec([None], tf.int64)
    )
    np.testing.assert_allclose(model.predict(data.apply(rows(3))), want, rtol=1e-5)


def test_fit_with_ragged_inputs_traces_once():
    model = mean_model()
    calls = []

    class Counted(tf.keras.layers.Layer):
        def call(self, inputs):
            calls.append(1)
            return inputs

    x = tf.keras.Input([None], dtype="int64", ragged=True)
    counted = tf.keras.Model(x, model(Counted()(x)))
    del calls[:]
    counted.compile("sgd", "mse")
    history = counted.fit(ragged_batch()[:4], LABELS[:4], batch_size=2, epochs=3, verbose=0)
    assert len(calls) == 1  # all batches have two rows
    assert history.history["loss"][-1] < history.history["loss"][0]
    loss = counted.evaluate(ragged_batch(), LABELS, verbose=0)
    out = counted.predict(ragged_batch())
    np.testing.assert_allclose(loss, np.mean((out[:, 0] - LABELS) ** 2), rtol=1e-5)
    data = tf.data.Dataset.from_tensor_slices((ragged_batch(), LABELS)).batch(2)
    np.testing.assert_allclose(counted.evaluate(data, verbose=0), loss, rtol=1e-5)
    counted.fit(data, epochs=2, verbose=0)
    counted.fit(ragged_batch(), LABELS, validation_split=0.4, verbose=0)
    counted.train_on_batch(ragged_batch(), LABELS)
    assert counted.predict_on_batch(ragged_batch()).shape == (5, 1)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "SimpleRNN"])
@pytest.mark.parametrize("backwards", [False, True])
def test_recurrent_layers_on_ragged_inputs(kind, backwards):
    values = tf.random.stateless_normal([12, 3], [1, 2])
    ragged = tf.RaggedTensor.from_row_lengths(values, [len(r) for r in ROWS])
    make = getattr(tf.keras.layers, kind)
    layer = make(4, return_sequences=True, return_state=True, go_backwards=backwards)
    result, *states = layer(ragged)
    assert isinstance(result, tf.RaggedTensor)
    for i, row in enumerate(ROWS):
        want, *last = layer(ragged[i][None])
        np.testing.assert_allclose(result[i], want[0], rtol=1e-4, atol=1e-6)
        for state, one in zip(states, last):
            np.testing.assert_allclose(state[i], one[0], rtol=1e-4, atol=1e-6)
        assert result[i].shape == (len(row), 4)
    x = tf.keras.Input([None, 3], ragged=True)
    model = tf.keras.Model(x, layer(x)[0])
    np.testing.assert_allclose(
        model.predict(ragged, batch_size=2).flat_values, result.flat_values, rtol=1e-4, atol=1e-6
    )


def test_what_recurrent_layers_refuse_with_ragged_inputs():
    x = tf.keras.Input([None], dtype="int64", ragged=True)
    masked = tf.keras.layers.Embedding(10, 3, mask_zero=True)(x)
    with pytest.raises(ValueError, match="cannot be applied to RaggedTensor inputs"):
        tf.keras.layers.LSTM(2)(masked)
    ragged = tf.keras.layers.Embedding(10, 3)(x)
    with pytest.raises(ValueError, match="does not support unrolling"):
        tf.keras.layers.GRU(2, unroll=True)(ragged)
    with pytest.raises(ValueError, match="last dimension of a RaggedTensor input to Dense"):
        tf.keras.layers.Dense(2).call(tf.ragged.constant([[1.0], [2.0, 3.0]]))
    with pytest.raises(ValueError, match="does not support RaggedTensors"):
        tf.keras.layers.Dot(1)([ragged, ragged])


def test_layers_on_ragged_inputs_keep_rows():
    values = tf.random.stateless_normal([12, 3], [1, 2])
    ragged = tf.RaggedTensor.from_row_lengths(values, [len(r) for r in ROWS])
    dense = tf.keras.layers.Dense(2, activation="relu")
    want = dense(values)
    for layer in (dense, tf.keras.layers.TimeDistributed(dense)):
        result = layer(ragged)
        assert isinstance(result, tf.RaggedTensor) and result.shape.as_list() == [5, None, 2]
        np.testing.assert_allclose(result.flat_values, want, rtol=1e-5)
    for layer in (
        tf.keras.layers.Activation("tanh"),
        tf.keras.layers.ReLU(),
        tf.keras.layers.Dropout(0.5),
    ):
        assert layer(ragged).row_splits.numpy().tolist() == [0, 3, 4, 6, 10, 12]
    np.testing.assert_allclose(
        tf.keras.layers.Activation("tanh")(ragged).flat_values, np.tanh(values), rtol=1e-5
    )
    both = tf.keras.layers.Concatenate()([ragged, ragged])
    assert both.shape.as_list() == [5, None, 6]
    added = tf.keras.layers.Add()([ragged, ragged])
    np.testing.assert_allclose(added.flat_values, values * 2, rtol=1e-6)
    long = tf.keras.layers.Concatenate(axis=1)([ragged, ragged])
    assert long.row_lengths().numpy().tolist() == [6, 2, 4, 8, 4]


def test_ops_on_symbolic_ragged_tensors():
    x = tf.keras.Input([None], ragged=True)
    model = tf.keras.Model(x, tf.reduce_sum(x * 2.0, axis=1) + tf.cast(x.row_lengths(), "float32"))
    data = tf.ragged.constant([[1.0, 2.0], [], [3.0]])
    np.testing.assert_allclose(model.predict(data), [8.0, 0.0, 7.0])
    doubled = tf.keras.Model(x, x * 2.0)
    assert doubled.predict(data, batch_size=2).to_list() == [[2.0, 4.0], [], [6.0]]
    dense = tf.keras.Model(x, x.to_tensor(default_value=-1.0))
    assert dense.predict(data).tolist() == [[1, 2], [-1, -1], [3, -1]]
    values = tf.keras.Input([])
    splits = tf.keras.Input([], dtype="int64")
    joined = tf.keras.Model([values, splits], tf.RaggedTensor.from_row_splits(values, splits))
    out = joined([tf.constant([1.0, 2.0, 3.0]), tf.constant([0, 1, 3], "int64")])
    assert out.to_list() == [[1.0], [2.0, 3.0]]
    copy = tf.keras.Model.from_config(doubled.get_config())
    assert copy(data).to_list() == [[2.0, 4.0], [], [6.0]]


def test_dense_on_sparse_inputs():
    sparse, dense = sparse_batch()
    x = tf.keras.Input([4], sparse=True)
    layer = tf.keras.layers.Dense(3, activation="tanh")
    model = tf.keras.Model(x, layer(x))
    want = np.tanh(dense @ layer.kernel.numpy())
    np.testing.assert_allclose(model(sparse), want, rtol=1e-5)
    np.testing.assert_allclose(model.predict(sparse, batch_size=2), want, rtol=1e-5)
    np.testing.assert_allclose(model.predict_on_batch(sparse), want, rtol=1e-5)
    data = tf.data.Dataset.from_tensor_slices((sparse, want)).batch(2)
    model.compile("sgd", "mse")
    assert model.evaluate(data, verbose=0) < 1e-10
    assert model.evaluate(sparse, want, verbose=0) < 1e-10
    before = layer.kernel.numpy()
    model.fit(sparse, want + 1.0, batch_size=2, epochs=2, verbose=0)
    assert not np.allclose(before, layer.kernel.numpy())
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(sparse))
    grads = tape.gradient(loss, layer.kernel)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(dense))
    grads = tf.convert_to_tensor(grads)
    np.testing.assert_allclose(grads, tape.gradient(loss, layer.kernel), rtol=1e-5)


def test_sparse_data_for_a_dense_input_becomes_dense():
    sparse, dense = sparse_batch()
    x = tf.keras.Input([4])
    model = tf.keras.Model(x, x * 2.0)
    np.testing.assert_allclose(model.predict(sparse), dense * 2.0)


def test_sparse_outputs_are_concatenated():
    sparse, dense = sparse_batch()
    x = tf.keras.Input([4], sparse=True)
    doubled = tf.keras.layers.Lambda(lambda s: s * 2.0)(x)
    out = tf.keras.Model(x, doubled).predict(sparse, batch_size=2)
    assert isinstance(out, tf.SparseTensor)
    np.testing.assert_allclose(tf.sparse.to_dense(out), dense * 2.0)


def test_embedding_of_sparse_inputs():
    ids = tf.sparse.from_dense(np.array([[1, 0, 2], [0, 3, 0]], "int64"))
    layer = tf.keras.layers.Embedding(5, 2)
    table = layer(np.arange(5)).numpy()
    np.testing.assert_allclose(layer(ids), table[[[1, 0, 2], [0, 3, 0]]])
    kept = tf.keras.layers.Embedding(5, 2, sparse=True)
    table = kept(np.arange(5)).numpy()
    result = kept(ids)
    assert isinstance(result, tf.SparseTensor) and result.shape.as_list() == [2, 3, 2]
    want = table[[[1, 0, 2], [0, 3, 0]]]
    want[0, 1] = want[1, 0] = want[1, 2] = 0.0
    np.testing.assert_allclose(tf.sparse.to_dense(result), want)


def test_structures_of_composite_inputs():
    sparse, dense = sparse_batch()
    inputs = {
        "ids": tf.keras.Input([None], dtype="int64", ragged=True, name="ids"),
        "flags": tf.keras.Input([4], sparse=True, name="flags"),
        "plain": tf.keras.Input([2], name="plain"),
    }
    embedded = tf.keras.layers.Embedding(10, 3)(inputs["ids"])
    merged = tf.keras.layers.Concatenate()(
        [
            tf.keras.layers.GlobalAveragePooling1D()(embedded),
            tf.keras.layers.Dense(2)(inputs["flags"]),
            inputs["plain"],
        ]
    )
    model = tf.keras.Model(inputs, tf.keras.layers.Dense(1)(merged))
    model.compile("adam", "mse", metrics=["mae"])
    data = {"ids": ragged_batch(), "flags": sparse, "plain": np.ones([5, 2], "float32")}
    history = model.fit(data, LABELS, batch_size=2, epochs=2, verbose=0)
    assert len(history.history["loss"]) == 2
    want = model.predict(data, batch_size=2)
    batches = tf.data.Dataset.from_tensor_slices((data, LABELS)).batch(3)
    np.testing.assert_allclose(model.predict(batches), want, rtol=1e-5)
    np.testing.assert_allclose(
        model.evaluate(batches, verbose=0), model.evaluate(data, LABELS, verbose=0), rtol=1e-5
    )
    model.summary(print_fn=lambda *args: None)


def test_models_with_composite_inputs_are_saved(tmp_path):
    model = mean_model()
    want = model.predict(ragged_batch())
    for name in ("m.keras", "m.h5"):
        model.save(tmp_path / name)
        again = tf.keras.models.load_model(tmp_path / name)
        np.testing.assert_allclose(again.predict(ragged_batch()), want, rtol=1e-6)
    sparse, _ = sparse_batch()
    x = tf.keras.Input(type_spec=tf.SparseTensorSpec([None, 4], tf.float32))
    model = tf.keras.Model(x, tf.keras.layers.Dense(2)(x))
    copy = tf.keras.models.clone_model(model)
    copy.set_weights(model.get_weights())
    np.testing.assert_allclose(copy(sparse), model(sparse))


def test_losses_and_metrics_of_ragged_predictions():
    y = tf.ragged.constant([[1.0, 2.0], [3.0]])
    p = tf.ragged.constant([[1.0, 4.0], [4.0]])
    mse = tf.keras.losses.MeanSquaredError()
    np.testing.assert_allclose(mse(y, p), (2.0 + 1.0) / 2)
    np.testing.assert_allclose(mse(y, p, sample_weight=[1.0, 0.0]), 1.0)
    metric = tf.keras.metrics.MeanSquaredError()
    metric.update_state(y, p)
    np.testing.assert_allclose(metric.result(), 5.0 / 3)
    x = tf.keras.Input([None, 2], ragged=True)
    model = tf.keras.Model(x, tf.keras.layers.Dense(3, activation="softmax")(x))
    model.compile("sgd", "sparse_categorical_crossentropy", metrics=["accuracy"])
    data = tf.RaggedTensor.from_row_lengths(tf.random.stateless_normal([6, 2], [0, 1]), [3, 1, 2])
    labels = tf.ragged.constant([[0, 1, 2], [0], [2, 2]])
    result = model.evaluate(data, labels, verbose=0)
    probabilities = model.predict(data).flat_values.numpy()
    want = -np.log(probabilities[np.arange(6), labels.flat_values.numpy()]).mean()
    np.testing.assert_allclose(result[0], want, rtol=1e-5)
    hits = probabilities.argmax(-1) == labels.flat_values.numpy()
    np.testing.assert_allclose(result[1], hits.mean(), rtol=1e-6)
    model.fit(data, labels, batch_size=2, verbose=0)


def test_subclassed_models_take_composite_inputs():
    class Bag(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.table = tf.keras.layers.Embedding(10, 2)
            self.out = tf.keras.layers.Dense(1)

        def call(self, inputs):
            return self.out(tf.reduce_sum(self.table(inputs["ids"]), axis=1))

    model = Bag()
    model.compile("sgd", "mse")
    model.fit({"ids": ragged_batch()}, LABELS, verbose=0)
    assert model.predict({"ids": ragged_batch()}).shape == (5, 1)
    sequential = tf.keras.Sequential(
        [
            tf.keras.layers.InputLayer([None], dtype="int64", ragged=True),
            tf.keras.layers.Embedding(10, 3),
            tf.keras.layers.LSTM(2),
        ]
    )
    assert sequential.predict(ragged_batch()).shape == (5, 2)


def test_sizes_of_composite_data_must_agree():
    model = mean_model()
    model.compile("sgd", "mse")
    with pytest.raises(ValueError, match=r"'x' sizes: 5[\s\S]*'y' sizes: 3"):
        model.fit(ragged_batch(), LABELS[:3], verbose=0)


def test_matrices_of_scipy_are_sparse_data():
    scipy = pytest.importorskip("scipy.sparse")
    _, dense = sparse_batch()
    x = tf.keras.Input([4], sparse=True)
    layer = tf.keras.layers.Dense(2)
    model = tf.keras.Model(x, layer(x))
    out = model.predict(scipy.csr_matrix(dense), batch_size=2)
    np.testing.assert_allclose(out, dense @ layer.kernel.numpy(), rtol=1e-5)
