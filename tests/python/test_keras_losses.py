# SPDX-License-Identifier: Apache-2.0
"""test_keras_losses.py: the shapes of labels, predictions and weights in losses of Keras; shapes
that do not match are errors, in fit and evaluate, too. Expected values are TensorFlow's."""

import numpy
import pytest

import situ as tf

L = tf.keras.losses
SAME = "must have the same (shape|rank)"
ONE_HOT = numpy.eye(3, dtype="float32")[[0, 2, 1, 1]]
SCORES = numpy.array(
    [[0.7, 0.2, 0.1], [0.1, 0.2, 0.7], [0.3, 0.4, 0.3], [0.2, 0.5, 0.3]], "float32"
)


def classifier(loss, activation="softmax", units=10):
    model = tf.keras.Sequential(
        [tf.keras.layers.Dense(units, activation=activation, input_shape=(4,))]
    )
    model.compile("sgd", loss)
    return model


@pytest.mark.parametrize("call", ["fit", "evaluate", "train_on_batch", "test_on_batch"])
def test_class_ids_do_not_train_a_categorical_crossentropy(call):
    model = classifier("categorical_crossentropy")
    x, y = numpy.zeros((10, 4), "float32"), numpy.arange(10)
    with pytest.raises(ValueError, match=r"Shapes \(10,\) and \(10, 10\) are incompatible"):
        getattr(model, call)(x, y)
    model.fit(x, numpy.eye(10)[y], verbose=0)


@pytest.mark.parametrize(
    "loss", ["categorical_crossentropy", "binary_crossentropy", "binary_focal_crossentropy"]
)
def test_other_classes_than_the_model_has_are_refused(loss):
    x = numpy.zeros((10, 4), "float32")
    with pytest.raises(ValueError, match=SAME):
        classifier(loss, "sigmoid", 3).fit(x, numpy.zeros((10, 2)), verbose=0)


def test_one_hot_labels_do_not_train_a_sparse_crossentropy():
    x = numpy.zeros((10, 4), "float32")
    with pytest.raises(ValueError, match=r"must have rank \(ndim\) `target.ndim - 1`"):
        classifier("sparse_categorical_crossentropy").fit(x, numpy.eye(10), verbose=0)
    classifier("sparse_categorical_crossentropy").fit(x, numpy.arange(10), verbose=0)
    classifier("sparse_categorical_crossentropy").fit(x, numpy.arange(10)[:, None], verbose=0)


@pytest.mark.parametrize(
    "make",
    [
        lambda name: getattr(L, name),
        lambda name: getattr(
            L,
            {
                "categorical_crossentropy": "CategoricalCrossentropy",
                "binary_crossentropy": "BinaryCrossentropy",
            }[name],
        )(),
    ],
)
@pytest.mark.parametrize("name", ["categorical_crossentropy", "binary_crossentropy"])
@pytest.mark.parametrize("labels", [(4,), (4, 1), (1, 3), (4, 2), (2, 4, 3)])
def test_labels_of_crossentropies_have_the_shape_of_predictions(make, name, labels):
    with pytest.raises(ValueError, match=SAME):
        make(name)(numpy.zeros(labels, "float32"), SCORES)


@pytest.mark.parametrize("labels", [(5,), (4, 3), (4, 2), (2, 2)])
def test_class_ids_have_one_dimension_less_than_predictions(labels):
    with pytest.raises(ValueError, match="target.shape="):
        L.sparse_categorical_crossentropy(numpy.zeros(labels, "int32"), SCORES)


@pytest.mark.parametrize("labels, predictions", [((4, 1), (4,)), ((4,), (4, 1)), ((4, 1), (4, 1))])
@pytest.mark.parametrize(
    "name",
    [
        "MeanSquaredError",
        "MeanAbsoluteError",
        "Huber",
        "LogCosh",
        "Hinge",
        "Poisson",
        "BinaryCrossentropy",
    ],
)
def test_a_vector_is_a_column(name, labels, predictions):
    y, p = numpy.array([1, 0, 1, 0], "float32"), numpy.array([0.9, 0.2, 0.4, 0.6], "float32")
    column = getattr(L, name)(reduction="none")(y[:, None], p[:, None]).numpy()
    result = getattr(L, name)(reduction="none")(y.reshape(labels), p.reshape(predictions)).numpy()
    assert result.shape == (4,)
    assert result == pytest.approx(column)


def test_sequences_with_a_last_dimension_of_1():
    y, p = numpy.ones((2, 3), "float32"), numpy.zeros((2, 3, 1), "float32")
    assert L.MeanSquaredError(reduction="none")(y, p).numpy().tolist() == [1.0, 1.0]


@pytest.mark.parametrize("shape", [(2,), (5,), (4, 3)])
def test_weights_that_do_not_fit_are_refused(shape):
    weights = numpy.ones(shape, "float32")
    with pytest.raises((tf.errors.InvalidArgumentError, ValueError)):
        L.CategoricalCrossentropy()(ONE_HOT, SCORES, sample_weight=weights)


def test_weights():
    loss = L.MeanSquaredError()
    y, p = numpy.zeros((2, 2), "float32"), numpy.array([[1, 1], [2, 2]], "float32")
    assert loss(y, p, sample_weight=[1.0, 0.5]).numpy() == pytest.approx(1.5)
    assert loss(y, p, sample_weight=[[1.0], [0.5]]).numpy() == pytest.approx(1.5)
    assert loss(y, p, sample_weight=2.0).numpy() == pytest.approx(5.0)
    steps = L.MeanSquaredError(reduction="sum")
    series = numpy.ones((2, 3, 1), "float32")
    assert steps(series * 0, series, sample_weight=[1.0, 3.0]).numpy() == pytest.approx(12.0)


def test_an_ignored_class_does_not_count_in_the_mean():
    y = numpy.array([0, 2, 1, 1])
    every = L.sparse_categorical_crossentropy(y, SCORES).numpy()
    loss = L.SparseCategoricalCrossentropy(ignore_class=1)
    assert loss(y, SCORES).numpy() == pytest.approx(every[:2].mean(), rel=1e-5)
    metric = tf.keras.metrics.SparseCategoricalCrossentropy(ignore_class=1)
    assert metric(y, SCORES).numpy() == pytest.approx(every[:2].mean(), rel=1e-5)


def test_the_axis_of_classes():
    whole = L.CategoricalCrossentropy(axis=0)(ONE_HOT.T.copy(), SCORES.T.copy())
    assert whole.numpy() == pytest.approx(L.CategoricalCrossentropy()(ONE_HOT, SCORES).numpy())
    with pytest.raises(ValueError, match="Only axis=-1 is currently supported"):
        L.sparse_categorical_crossentropy([0, 1, 2], SCORES, axis=0)


def test_reductions():
    y, p = numpy.zeros((2, 1), "float32"), numpy.array([[1.0], [3.0]], "float32")
    for reduction, expected in (("mean", 5.0), ("sum", 10.0), ("sum_over_batch_size", 5.0)):
        assert L.MeanSquaredError(reduction=reduction)(y, p).numpy() == expected
    assert L.MeanSquaredError(reduction=None)(y, p).numpy().tolist() == [1.0, 9.0]
    mean = L.MeanSquaredError(reduction="mean_with_sample_weight")
    assert mean(y, p, sample_weight=[3.0, 1.0]).numpy() == pytest.approx(3.0)
    with pytest.raises(ValueError, match="Reduction"):
        L.MeanSquaredError(reduction="bogus")


def test_focal_and_overlap_losses():
    result = L.CategoricalFocalCrossentropy(reduction="none")(ONE_HOT, SCORES).numpy()
    share = (ONE_HOT * SCORES).sum(1)
    assert result == pytest.approx(-0.25 * (1 - share) ** 2 * numpy.log(share), rel=1e-4)
    both = (ONE_HOT * SCORES).sum()
    assert L.Dice()(ONE_HOT, SCORES).numpy() == pytest.approx(
        1 - 2 * both / (ONE_HOT.sum() + SCORES.sum()), rel=1e-5
    )
    assert L.Tversky()(ONE_HOT, SCORES).numpy() == pytest.approx(
        1
        - both
        / (both + 0.5 * (ONE_HOT * (1 - SCORES)).sum() + 0.5 * (SCORES * (1 - ONE_HOT)).sum()),
        rel=1e-5,
    )


BROADCAST = [
    "mean_squared_error",
    "mean_absolute_error",
    "mean_absolute_percentage_error",
    "mean_squared_logarithmic_error",
    "hinge",
    "squared_hinge",
    "categorical_hinge",
    "huber",
    "log_cosh",
    "poisson",
    "kl_divergence",
    "cosine_similarity",
    "dice",
    "tversky",
    "categorical_focal_crossentropy",
]


def same(**how):
    """A model that predicts what it is given."""
    model = tf.keras.Sequential([tf.keras.layers.Lambda(lambda x: x)])
    model.compile("sgd", **how)
    return model


@pytest.mark.parametrize("loss", BROADCAST)
def test_a_vector_of_labels_is_not_broadcast_over_the_columns_of_predictions(loss):
    y, p = numpy.ones(8, "float32"), numpy.full((8, 4), 0.5, "float32")
    for call in (
        lambda: getattr(L, loss)(y, p),
        lambda: L.get(loss)(y, p),
        lambda: same(loss=loss).evaluate(p, y, verbose=0),
        lambda: same(loss=getattr(L, loss)).test_on_batch(p, y),
    ):
        with pytest.raises((ValueError, tf.errors.InvalidArgumentError)):
            call()


@pytest.mark.parametrize(
    "metric",
    [
        "mae",
        "binary_accuracy",
        "hinge",
        "poisson",
        "kl_divergence",
        "categorical_accuracy",
        tf.keras.metrics.RootMeanSquaredError(),
        tf.keras.metrics.CosineSimilarity(),
        tf.keras.metrics.Accuracy(),
        tf.keras.metrics.LogCoshError(),
        tf.keras.metrics.AUC(),
        tf.keras.metrics.Precision(),
        lambda y, p: tf.reduce_mean(tf.abs(y - p)),
    ],
    ids=lambda m: m if isinstance(m, str) else type(m).__name__,
)
def test_nor_by_a_metric(metric):
    y, p = numpy.ones(8, "float32"), numpy.full((8, 4), 0.5, "float32")
    if metric == "categorical_accuracy":  # the largest of each: 0 of the vector; see Keras 3
        y = numpy.ones((8, 4, 2), "float32")
    model = same(loss=lambda y, p: tf.reduce_sum(p), metrics=[metric])
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError)):
        model.evaluate(p, y, verbose=0)


class Absolute(tf.keras.losses.Loss):
    def call(self, y_true, y_pred):
        return tf.abs(y_true - y_pred)


@pytest.mark.parametrize("loss", ["mae", Absolute(), lambda y, p: tf.abs(y - p)])
@pytest.mark.parametrize("labels", [(8,), (8, 1)])
def test_a_vector_of_labels_of_one_column_is_that_column(loss, labels):
    y, p = numpy.arange(8, dtype="float32"), numpy.zeros((8, 1), "float32")
    model = same(loss=loss, metrics=["mae", lambda y, p: tf.abs(y - p)])
    assert model.evaluate(p, y.reshape(labels), verbose=0) == pytest.approx([3.5] * 3)


def test_accuracy_of_class_ids_with_other_time_steps():
    M = tf.keras.metrics
    with pytest.raises(tf.errors.InvalidArgumentError):
        M.sparse_categorical_accuracy(numpy.zeros((8, 1, 1)), numpy.zeros((8, 3, 4), "float32"))
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError)):
        M.sparse_top_k_categorical_accuracy(0, numpy.zeros((1, 4), "float32"))
    result = M.sparse_categorical_accuracy(numpy.zeros((8, 1)), numpy.zeros((8, 1, 4), "float32"))
    assert result.shape == (8,) and result.numpy().all()


def test_keras_of_graph_style_expands_vectors_and_checks_targets(python):
    result = python("""
        import numpy
        import situ.compat.v1 as tf
        y, p = numpy.ones(8, "float32"), numpy.zeros((8, 4), "float32")
        model = tf.keras.Sequential([tf.keras.layers.Lambda(lambda x: x)])
        model.compile("sgd", "mae")
        print(model.evaluate(p, y, verbose=0))
        model.compile("sgd", "mse")
        try:
            model.evaluate(p, y, verbose=0)
        except ValueError as error:
            print(error)
        """)
    assert (
        result.out
        == """\
1.0
A target array with shape (8, 1) was passed for an output of shape (8, 4) while using as loss \
`mean_squared_error`. This loss expects targets to have the same shape as the output.
"""
    ), result.out + result.err


def test_scores_take_labels_in_the_shape_of_predictions():
    M = tf.keras.metrics
    for y, p in (((8, 4), (8, 1)), ((8, 4), (1, 4)), ((8, 1), (8, 4))):
        for metric in (M.R2Score(), M.F1Score()):
            with pytest.raises(ValueError, match="incompatible"):
                metric.update_state(numpy.ones(y), numpy.ones(p))
    result, y = M.R2Score(), numpy.arange(8.0)
    result.update_state(y, y[:, None] + 1)  # a vector is a column
    assert result.result().numpy() == pytest.approx(1 - 8 / 42)
    with pytest.raises(ValueError, match="at least 2 dimensions"):
        M.OneHotMeanIoU(4).update_state(numpy.ones(8), numpy.ones(8))
