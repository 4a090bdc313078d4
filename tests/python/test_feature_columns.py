# SPDX-License-Identifier: Apache-2.0
"""test_feature_columns.py: feature columns, vocabularies, and models with feature columns."""

import numpy as np
import pytest

import situ.compat.v1 as tf
from situ._src.summary.file_writer import FileWriterCache

fc = tf.feature_column


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as result:
        yield result
    FileWriterCache.clear()


def _run(tensor):
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.tables_initializer()])
        return sess.run(tensor)


def _input(features, *columns):
    return _run(fc.input_layer(features, list(columns))).tolist()


def test_fingerprints():
    """As TensorFlow's: the first four of its own test, the others FarmHash's."""
    kwargs = ["a", "b", "c", "d"]
    assert _run(tf.string_to_hash_bucket_fast(kwargs, 10)).tolist() == [9, 2, 2, 5]
    longer = ["x" * n for n in (3, 10, 20, 50, 100, 150)]
    assert _run(tf.strings.to_hash_bucket_fast(longer, 1000)).tolist() == [
        28,
        499,
        348,
        893,
        719,
        633,
    ]


@pytest.mark.parametrize("function", [tf.strings.to_hash_bucket, tf.string_to_hash_bucket])
def test_the_first_hash_of_texts(function):
    """TensorFlow's numbers for texts of no byte, of less than a word, of words and a rest."""
    kwargs = ["a", "", "hello", "hello world!", "12345678", "caf\u00e9 au lait"]
    assert _run(function(kwargs, 10)).tolist() == [8, 9, 8, 3, 7, 9]
    assert _run(function(input=kwargs[:2], num_buckets=1 << 40)).tolist() == [
        825286642172,
        142163811899,
    ]


def test_words_are_compared():
    x = tf.constant(["a", "b", "c"])
    assert _run(tf.equal(x, "b")).tolist() == [False, True, False]
    assert _run(tf.not_equal(x, ["a", "x", "c"])).tolist() == [False, True, False]
    assert _run(tf.equal(x[:, None], x[None, 1:])).tolist() == [
        [False, False],
        [True, False],
        [False, True],
    ]
    assert _run(tf.cond(tf.equal(x[1], "b"), lambda: 1, lambda: 2)) == 1
    assert _run(tf.equal([1, 2], [1, 3])).tolist() == [True, False]


def test_tables(tmp_path):
    kwargs = tf.constant([["b", "zz"], ["a", "b"]])
    table = tf.contrib.lookup.index_table_from_tensor(["a", "b"], default_value=7)
    assert _run(table.lookup(kwargs)).tolist() == [[1, 7], [0, 1]]
    table = tf.contrib.lookup.index_table_from_tensor(["a", "b"], num_oov_buckets=3)
    result = _run(table.lookup(kwargs)).tolist()
    assert result[1] == [0, 1] and 2 <= result[0][1] < 5 and _run(table.size()) == 5
    path = tmp_path / "words.txt"
    path.write_text("a\nb\nc\n")
    table = tf.contrib.lookup.index_table_from_file(str(path))
    assert _run(table.lookup(kwargs)).tolist() == [[1, -1], [0, 1]]
    back = tf.contrib.lookup.index_to_string_table_from_file(str(path))
    assert _run(back.lookup(tf.constant([2, 0, 9], tf.int64))).tolist() == [b"c", b"a", b"UNK"]
    numbers = tf.contrib.lookup.HashTable(
        tf.contrib.lookup.KeyValueTensorInitializer(["x", "y"], [10, 20], value_dtype=tf.int64), -1
    )
    assert _run(numbers.lookup(tf.constant(["y", "q"]))).tolist() == [20, -1]
    with pytest.raises(TypeError, match="Keys must be dtype"):
        table.lookup(tf.constant([1]))


def test_numbers_and_buckets():
    features = {"a": [[1.0, 2.0], [3.0, 4.0]], "b": [5, 15]}
    a = fc.numeric_column("a", shape=2, normalizer_fn=lambda x: x * 10.0)
    b = fc.bucketized_column(fc.numeric_column("b"), [10, 20])
    assert _input(features, b, a) == [[10, 20, 1, 0, 0], [30, 40, 0, 1, 0]]
    with pytest.raises(ValueError, match="must be a sorted list"):
        fc.bucketized_column(fc.numeric_column("b"), [2, 1])


def test_categories():
    features = {"w": [["x", "y"], ["z", ""]], "n": [1, 5]}
    w = fc.categorical_column_with_vocabulary_list("w", ["x", "y", "z"])
    n = fc.categorical_column_with_identity("n", 3, default_value=0)
    assert _input(features, fc.indicator_column(w), fc.indicator_column(n)) == [
        [0, 1, 0, 1, 1, 0],
        [1, 0, 0, 0, 0, 1],
    ]
    h = fc.categorical_column_with_hash_bucket("w", 10)
    ones = _run(fc.input_layer(features, [fc.indicator_column(h)]))
    assert ones.sum(1).tolist() == [2, 1]
    crossed = fc.crossed_column(["w", n], 50)
    assert crossed.name == "n_X_w"
    assert _run(fc.input_layer(features, [fc.indicator_column(crossed)])).sum(1).tolist() == [2, 1]
    with pytest.raises(ValueError, match="wrap a categorical column"):
        fc.input_layer(features, [w])


def test_embeddings_and_their_names():
    w = fc.categorical_column_with_vocabulary_list("w", ["x", "y", "z"])
    result = fc.embedding_column(
        w, 2, initializer=tf.constant_initializer([[1, 2], [3, 4], [5, 6]])
    )
    out = fc.input_layer({"w": [["x", "y"], ["z", ""], ["", ""]]}, [result])
    assert [v.name for v in tf.trainable_variables()] == [
        "input_layer/w_embedding/embedding_weights:0"
    ]
    assert _run(out).tolist() == [[2, 3], [5, 6], [0, 0]]


def test_linear_model_and_spec():
    w = fc.categorical_column_with_vocabulary_list("w", ["x", "y"])
    out = fc.linear_model({"w": [["x"], ["y"]], "a": [[1.0], [2.0]]}, [w, fc.numeric_column("a")])
    assert [v.name for v in tf.trainable_variables()] == [
        "linear_model/a/weights:0",
        "linear_model/w/weights:0",
        "linear_model/bias_weights:0",
    ]
    assert _run(out).tolist() == [[0.0], [0.0]]
    spec = fc.make_parse_example_spec([fc.indicator_column(w), fc.numeric_column("a")])
    assert spec == {"w": tf.VarLenFeature(tf.string), "a": tf.FixedLenFeature((1,), tf.float32)}


def _data(n=256):
    x = np.random.RandomState(1).randn(n, 2).astype(np.float32)
    kwargs = np.where(x[:, 0] > 0, "up", "down")
    return {"a": x[:, 0], "b": x[:, 1], "w": kwargs}, x


def _inputs(features, labels, epochs=None):
    return tf.estimator.inputs.numpy_input_fn(features, labels, 64, epochs, shuffle=False)


COLUMNS = [fc.numeric_column("a"), fc.numeric_column("b")]
WORDS = fc.categorical_column_with_vocabulary_list("w", ["up", "down"])


def test_deep_classifier_of_three(tmp_path):
    features, x = _data()
    labels = (x[:, 0] > 0).astype(np.int32) + (x[:, 1] > 0)
    model = tf.estimator.DNNClassifier([16, 16], COLUMNS, str(tmp_path), n_classes=3)
    model.train(_inputs(features, labels), steps=200)
    result = model.evaluate(_inputs(features, labels, 1))
    assert sorted(result) == ["accuracy", "average_loss", "global_step", "loss"]
    assert result["accuracy"] > 0.9 and result["global_step"] == 200
    np.testing.assert_allclose(result["loss"], result["average_loss"] * 64, rtol=1e-4)  # sums
    said = next(model.predict(_inputs(features, None, 1)))
    assert said["probabilities"].shape == (3,) and said["classes"][0] in (b"0", b"1", b"2")
    assert "dnn/hiddenlayer_1/kernel/Adagrad" in model.get_variable_names()


def test_linear_classifier_of_strings(tmp_path):
    features, x = _data()
    labels = np.where(x[:, 0] > 0, "yes", "no")
    model = tf.estimator.LinearClassifier(
        [WORDS, COLUMNS[1]], str(tmp_path), label_vocabulary=["no", "yes"]
    )
    model.train(_inputs(features, labels), steps=50)
    result = model.evaluate(_inputs(features, labels, 1))
    assert result["accuracy"] == 1 and result["auc"] > 0.99 and result["precision"] == 1
    assert result["auc_precision_recall"] > 0.99
    np.testing.assert_allclose(
        result["accuracy_baseline"], max(result["label/mean"], 1 - result["label/mean"])
    )
    assert next(model.predict(_inputs(features, None, 1)))["classes"][0] == labels[0].encode()
    assert model.get_variable_value("linear/linear_model/w/weights").shape == (2, 1)


@pytest.mark.parametrize(
    "make",
    [
        lambda folder: tf.estimator.LinearRegressor(COLUMNS, folder, optimizer="Adam"),
        lambda folder: tf.estimator.DNNRegressor(
            [32], COLUMNS, folder, optimizer=lambda: tf.train.AdamOptimizer(0.01)
        ),
        lambda folder: tf.estimator.DNNLinearCombinedRegressor(
            folder,
            [COLUMNS[0]],
            tf.train.AdamOptimizer(0.05),
            COLUMNS,
            tf.train.AdamOptimizer(0.02),
            [16],
        ),
    ],
)
def test_regressors(tmp_path, make):
    features, x = _data()
    labels = (2 * x[:, 0] - x[:, 1] + 1)[:, None]
    model = make(str(tmp_path))
    model.train(_inputs(features, labels), steps=150)
    result = model.evaluate(_inputs(features, labels, 1))
    assert result["average_loss"] < 0.3 and result["global_step"] == 150


def test_area_under_a_curve():
    labels, share = tf.constant([0, 0, 1, 1]), tf.constant([0.1, 0.4, 0.35, 0.8])
    result = {c: tf.metrics.auc(labels, share, curve=c) for c in ("ROC", "PR")}
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        sess.run([m[1] for m in result.values()])
        assert abs(sess.run(result["ROC"][0]) - 0.75) < 1e-4
        assert 0.7 < sess.run(result["PR"][0]) < 0.9


def test_names_that_programs_log(tmp_path):
    features, x = _data()
    labels = (x[:, 0] > 0).astype(np.int32)
    seen = {}

    class Look(tf.train.SessionRunHook):
        def before_run(self, run_context):
            return tf.train.SessionRunArgs(["head/weighted_loss/Sum:0", "head/truediv:0"])

        def after_run(self, run_context, run_values):
            seen["sum"], seen["mean"] = run_values.results

    tf.estimator.LinearClassifier(COLUMNS, str(tmp_path)).train(
        _inputs(features, labels), [Look()], steps=1
    )
    np.testing.assert_allclose(seen["sum"], 64 * seen["mean"], rtol=1e-5)


def test_embeddings_from_a_checkpoint_with_a_norm(tmp_path):
    with tf.Graph().as_default(), tf.Session() as sess:
        saved = tf.get_variable("old", initializer=[[3.0, 4.0], [0.6, 0.8]])
        sess.run(saved.initializer)
        path = tf.train.Saver().save(sess, str(tmp_path / "model"))
    kind = fc.categorical_column_with_identity("id", 2)
    features = {"id": tf.constant([[0], [1]])}
    plain = fc.embedding_column(kind, 2, ckpt_to_load_from=path, tensor_name_in_ckpt="old")
    short = fc.embedding_column(
        kind, 2, ckpt_to_load_from=path, tensor_name_in_ckpt="old", max_norm=1.0
    )
    found = _run([fc.input_layer(features, [plain]), fc.input_layer(features, [short])])
    np.testing.assert_allclose(found[0], [[3, 4], [0.6, 0.8]], rtol=1e-6)
    np.testing.assert_allclose(found[1], [[0.6, 0.8], [0.6, 0.8]], rtol=1e-6)
    with pytest.raises(ValueError, match="Must specify both"):
        fc.embedding_column(kind, 2, ckpt_to_load_from=path)


def test_collections_of_a_linear_model():
    features = {"x": tf.constant([[1.0]])}
    fc.linear_model(features, [fc.numeric_column("x")], weight_collections=["mine"])
    names = ["linear_model/x/weights", "linear_model/bias_weights"]
    assert [v.op.name for v in tf.get_collection("mine")] == names
    assert [v.op.name for v in tf.global_variables()] == names


def test_features_of_unknown_rank_and_weights_in_parts():
    words = fc.categorical_column_with_vocabulary_list("s", ["a", "b", "c"])
    number = fc.numeric_column("r", shape=(2,))
    sparse, dense = tf.sparse_placeholder("string"), tf.placeholder("float32")
    found: dict = {}
    halves = lambda shape, dtype: [min(2, shape[0])] + [1] * (len(shape) - 1)
    with tf.variable_scope("", partitioner=halves):
        sums = fc.linear_model({"s": sparse, "r": dense}, [words, number], cols_to_vars=found)
    assert [v.shape.as_list() for v in found[words]] == [[2, 1], [1, 1]]
    assert [len(found[key]) for key in (number, "bias")] == [2, 1]
    rows = tf.SparseTensorValue([[0, 0], [1, 0], [1, 2]], ["b", "a", "c"], [2, 3])
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.tables_initializer()])
        for part, values in zip(found[words], ([[1.0], [2.0]], [[3.0]])):
            part.load(values, sess)
        found[number][0].load([[10.0]], sess)
        found[number][1].load([[100.0]], sess)
        got = sess.run(sums, {sparse: rows, dense: [[1.0, 2.0], [3.0, 4.0]]})
    assert got.tolist() == [[212.0], [434.0]]
    with pytest.raises(ValueError, match=r"Feature \(key: r\) cannot have rank 0"):
        fc.input_layer({"r": tf.constant(1.0)}, [number])


def test_fields_of_vocabularies(tmp_path):
    (tmp_path / "words").write_text("a\nb\nc\n")
    file = fc.categorical_column_with_vocabulary_file("x", str(tmp_path / "words"), 2, 1)
    assert (file.vocabulary_file, file.vocabulary_size) == (str(tmp_path / "words"), 2)
    assert (file.num_oov_buckets, file.num_buckets, file.default_value) == (1, 3, -1)
    words = fc.categorical_column_with_vocabulary_list("x", ["a", "b"], default_value=1)
    assert (words.vocabulary_list, words.default_value) == ((b"a", b"b"), 1)


def test_variables_of_columns_in_parts():
    words = fc.categorical_column_with_vocabulary_list("x", ["a", "b", "c"])
    column = fc.embedding_column(words, 2, initializer=tf.ones_initializer())
    found: dict = {}
    with tf.variable_scope("all", partitioner=tf.fixed_size_partitioner(3)):
        rows = fc.input_layer({"x": tf.constant([["a"], ["c"]])}, [column], cols_to_vars=found)
    assert [v.shape.as_list() for v in found[column]] == [[1, 2]] * 3
    assert _run(rows).tolist() == [[1, 1], [1, 1]]
