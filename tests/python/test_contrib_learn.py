# SPDX-License-Identifier: Apache-2.0
"""test_contrib_learn.py: distributions, sequences of lists, VocabularyProcessor, the embedding
projector."""

import collections
import os
import pickle
import subprocess
import sys
import types

import numpy as np
import pytest

import situ.compat.v1 as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as result:
        yield result


def _run(*fetches):
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        return sess.run(fetches if len(fetches) > 1 else fetches[0])


def test_normal():
    d = tf.distributions.Normal([0.0, 1.0], [1.0, 2.0])
    p = _run(d.log_prob([0.5, 0.5]))
    want = -0.5 * np.array([0.5, -0.25]) ** 2 - np.log([1, 2]) - 0.5 * np.log(2 * np.pi)
    np.testing.assert_allclose(p, want, rtol=1e-6)
    np.testing.assert_allclose(
        _run(d.entropy()), 0.5 * np.log(2 * np.pi * np.e) + np.log([1, 2]), rtol=1e-6
    )
    x = _run(d.sample(20000, seed=3))
    assert x.shape == (20000, 2)
    np.testing.assert_allclose(x.mean(0), [0, 1], atol=0.05)
    np.testing.assert_allclose(x.std(0), [1, 2], atol=0.05)
    other = tf.distributions.Normal(1.0, 2.0)
    np.testing.assert_allclose(
        _run(tf.distributions.kl_divergence(d, other)),
        [1 / 8 + 0.5 * (0.25 - 1 - np.log(0.25)), 0],
        atol=1e-6,
    )
    np.testing.assert_allclose(_run(d.cdf([0.0, 1.0])), [0.5, 0.5], atol=1e-6)


def test_categorical_and_bernoulli():
    p = np.array([[0.2, 0.3, 0.5], [0.1, 0.8, 0.1]], np.float32)
    d = tf.distributions.Categorical(probs=p)
    np.testing.assert_allclose(_run(d.prob([2, 1])), [0.5, 0.8], rtol=1e-5)
    np.testing.assert_allclose(_run(d.entropy()), -(p * np.log(p)).sum(1), rtol=1e-5)
    x = _run(d.sample(4000, seed=1))
    assert x.shape == (4000, 2) and abs((x[:, 0] == 2).mean() - 0.5) < 0.05
    assert abs((x[:, 1] == 1).mean() - 0.8) < 0.05
    b = tf.distributions.Bernoulli(probs=[0.25, 0.9])
    np.testing.assert_allclose(_run(b.prob([1, 0])), [0.25, 0.1], rtol=1e-5)
    np.testing.assert_allclose(_run(b.sample([5000], seed=2)).mean(0), [0.25, 0.9], atol=0.03)
    with pytest.raises(ValueError, match="probs or logits"):
        tf.distributions.Bernoulli()
    u = tf.distributions.Uniform(2.0, 4.0)
    assert _run(u.prob([1.0, 3.0])).tolist() == [0.0, 0.5]


@pytest.mark.parametrize(
    "make,match",
    [
        (lambda d, x: d.Normal(0.0, x, validate_args=True).mean(), "x > 0"),
        (lambda d, x: d.Uniform(x, -1.0, validate_args=True).mean(), "low >= high"),
        (lambda d, x: d.Bernoulli(probs=x, validate_args=True).mean(), "x >= 0"),
        (lambda d, x: d.Bernoulli(probs=-2 * x, validate_args=True).mean(), "greater than 1"),
        (lambda d, x: d.Bernoulli(0.5, validate_args=True).log_prob(-2 * x), "exceed 1"),
        (lambda d, x: d.Bernoulli(0.5, validate_args=True).prob(-0.5 * x), "integers"),
        (lambda d, x: d.Categorical(probs=[-x, -x], validate_args=True).entropy(), "sum to 1"),
        (lambda d, x: d.Categorical([0.0, 1.0], validate_args=True).prob(x), "non-negative"),
        (lambda d, x: d.kl_divergence(d.Normal(0.0, x), d.Normal(0.0, 1.0), False), "NaN values"),
        (
            lambda d, x: d.Normal(0.0, x, allow_nan_stats=False).kl_divergence(d.Normal(0.0, 1.0)),
            "NaN values",
        ),
    ],
)
def test_distributions_check_their_arguments(make, match):
    x = tf.placeholder(tf.float32, [])  # a value that is known only in a run
    result = make(tf.distributions, x)
    with tf.Session() as sess, pytest.raises(tf.errors.InvalidArgumentError, match=match):
        sess.run(result, {x: -1.0 if match != "NaN values" else float("nan")})


def test_names_of_distributions():
    d = tf.distributions.Normal(0.0, 1.0)
    assert d.name == "Normal/" and not d.validate_args and d.allow_nan_stats
    assert d.variance().op.name.startswith("Normal/variance/")
    assert d.mean(name="middle").op.name.startswith("Normal/middle/")
    assert tf.distributions.Uniform(name="u").range().op.name.startswith("u/range/")
    assert d.kl_divergence(d, name="kl").op.name.startswith("Normal/kl/KullbackLeibler/")
    with pytest.raises(NotImplementedError):
        tf.distributions.Categorical([0.0, 1.0]).mean()


def test_decoders_of_lists():
    seq = tf.contrib.legacy_seq2seq
    cell = tf.nn.rnn_cell.BasicLSTMCell(4)
    kwargs = [tf.constant([1, 2]) for _ in range(3)]
    out, state = seq.embedding_rnn_seq2seq(kwargs, kwargs, cell, 5, 6, 3)
    assert [v.name for v in tf.trainable_variables()] == [
        "embedding_rnn_seq2seq/rnn/embedding_wrapper/embedding:0",
        "embedding_rnn_seq2seq/rnn/embedding_wrapper/basic_lstm_cell/kernel:0",
        "embedding_rnn_seq2seq/rnn/embedding_wrapper/basic_lstm_cell/bias:0",
        "embedding_rnn_seq2seq/embedding_rnn_decoder/embedding:0",
        "embedding_rnn_seq2seq/embedding_rnn_decoder/rnn_decoder/output_projection_wrapper/"
        "basic_lstm_cell/kernel:0",
        "embedding_rnn_seq2seq/embedding_rnn_decoder/rnn_decoder/output_projection_wrapper/"
        "basic_lstm_cell/bias:0",
        "embedding_rnn_seq2seq/embedding_rnn_decoder/rnn_decoder/output_projection_wrapper/"
        "kernel:0",
        "embedding_rnn_seq2seq/embedding_rnn_decoder/rnn_decoder/output_projection_wrapper/bias:0",
    ]
    loss = seq.sequence_loss(out, kwargs, [tf.ones([2])] * 3)
    value, last = _run(loss, state)
    assert abs(value - np.log(6)) < 0.5 and last.h.shape == (2, 4)
    assert all(g is not None for g in tf.gradients(loss, tf.trainable_variables()))


def test_a_decoder_that_reads_itself():
    cell = tf.nn.rnn_cell.BasicRNNCell(2)
    seen = []

    def again(previous, i):
        seen.append(i)
        return previous * 2.0

    inputs = [tf.ones([1, 2])] * 3
    out, _ = tf.contrib.legacy_seq2seq.rnn_decoder(
        inputs, cell.zero_state(1, tf.float32), cell, again, scope="rnnlm"
    )
    assert seen == [1, 2] and len(out) == 3
    assert tf.trainable_variables()[0].name == "rnnlm/basic_rnn_cell/kernel:0"
    _run(out)


def test_words_as_numbers(tmp_path):
    result = tf.contrib.learn.preprocessing.VocabularyProcessor(4)
    rows = np.array(list(result.fit_transform(["the cat sat", "the dog sat on the mat"])))
    assert rows.tolist() == [[1, 2, 3, 0], [1, 4, 3, 5]]
    assert len(result.vocabulary_) == 7
    result.save(str(tmp_path / "vocab"))
    assert (tmp_path / "vocab").read_bytes()[:1] == b"{"  # JSON, not a pickle
    again = tf.contrib.learn.preprocessing.VocabularyProcessor.restore(str(tmp_path / "vocab"))
    assert list(again.transform(["a dog"]))[0].tolist() == [0, 4, 0, 0]
    assert list(again.reverse([[1, 4]])) == ["the dog"]


class _Malicious:
    """A pickle that writes a file when it is read."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch {self.path}",)


def words_of_lines(iterator):
    """A function of the program that divides texts into words."""
    for text in iterator:
        yield text.split("|")


def test_a_vocabulary_runs_no_code_of_its_file(tmp_path):
    kind = tf.contrib.learn.preprocessing.VocabularyProcessor
    mark, path = tmp_path / "mark", str(tmp_path / "vocab")
    with open(path, "wb") as file:
        pickle.dump(_Malicious(str(mark)), file)
    with pytest.raises(ValueError, match="asks to call '.*system'"):
        kind.restore(path)
    result = kind(4)
    result.extra = _Malicious(str(mark))
    with open(path, "wb") as file:
        pickle.dump(result, file)
    with pytest.raises(ValueError, match="asks to call '.*system'"):
        kind.restore(path)
    for text in "{", "{}", '{"words": [], "format": 1}', "{" * 100000:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        with pytest.raises(ValueError, match="holds no VocabularyProcessor"):
            kind.restore(path)
    for other in {"a": 1}, [1, 2], tf.contrib.learn.preprocessing.CategoricalVocabulary():
        with open(path, "wb") as file:
            pickle.dump(other, file)
        with pytest.raises(ValueError, match="holds no VocabularyProcessor"):
            kind.restore(path)
    result = kind(4, tokenizer_fn=subprocess.getoutput)
    result.save(path)
    with pytest.raises(ValueError, match="getoutput"):
        kind.restore(path)
    assert not mark.exists()


@pytest.mark.parametrize("protocol", range(6))
def test_a_vocabulary_of_tensorflow(tmp_path, monkeypatch, protocol):
    """A pickle of TensorFlow's classes is read, but not unpickled."""
    module = types.ModuleType("tensorflow.contrib.learn.python.learn.preprocessing.text")
    exec(
        "class VocabularyProcessor: pass\nclass CategoricalVocabulary: pass\n"
        "def tokenizer(iterator): pass",
        module.__dict__,
    )
    made, words = module.VocabularyProcessor(), module.CategoricalVocabulary()
    vars(words).update(
        _unknown_token="<UNK>",
        _mapping={"<UNK>": 0, "the": 1, "cat": 2},
        _reverse_mapping=["<UNK>", "the", "cat"],
        _freq=collections.defaultdict(int, the=2, cat=1),
        _freeze=True,
        _support_reverse=True,
    )
    vars(made).update(
        max_document_length=3, min_frequency=0, vocabulary_=words, _tokenizer=module.tokenizer
    )
    parts = module.__name__.split(".")
    for i in range(1, len(parts)):
        monkeypatch.setitem(sys.modules, ".".join(parts[:i]), types.ModuleType("parent"))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    (tmp_path / "vocab").write_bytes(pickle.dumps(made, protocol))
    monkeypatch.undo()
    monkeypatch.setattr(pickle, "Unpickler", None)
    again = tf.contrib.learn.preprocessing.VocabularyProcessor.restore(str(tmp_path / "vocab"))
    assert list(again.transform(["cat the dog"]))[0].tolist() == [2, 1, 0]
    assert list(again.reverse([[1, 2]])) == ["the cat"]
    assert again.vocabulary_._frequency == {"the": 2, "cat": 1}


def test_a_vocabulary_with_a_function_of_the_program(tmp_path):
    kind = tf.contrib.learn.preprocessing.VocabularyProcessor
    result = kind(3, tokenizer_fn=words_of_lines)
    assert [r.tolist() for r in result.fit_transform(["a b|c"])] == [[1, 2, 0]]
    result.save(str(tmp_path / "vocab"))
    again = kind.restore(str(tmp_path / "vocab"))
    assert [r.tolist() for r in again.transform(["c|a b|d"])] == [[2, 1, 0]]


def test_projector(tmp_path):
    projector = tf.contrib.tensorboard.plugins.projector
    config = projector.ProjectorConfig()
    embedding = config.embeddings.add()
    embedding.tensor_name, embedding.metadata_path = "emb:0", "labels.tsv"
    embedding.sprite.image_path = "a.png"
    embedding.sprite.single_image_dim.extend([28, 28])
    writer = tf.summary.FileWriter(str(tmp_path))
    projector.visualize_embeddings(writer, config)
    text = (tmp_path / "projector_config.pbtxt").read_text()
    assert (
        text.split()
        == (
            'embeddings { tensor_name: "emb:0" metadata_path: "labels.tsv" '
            'sprite { image_path: "a.png" single_image_dim: 28 '
            "single_image_dim: 28 } }"
        ).split()
    )


def test_statistics_and_samples_of_continuous_distributions():
    d = tf.distributions
    gamma = d.Gamma([2.0, 3.0], 2.0)
    np.testing.assert_allclose(_run(gamma.mean()), [1, 1.5])
    np.testing.assert_allclose(_run(gamma.mode()), [0.5, 1])
    np.testing.assert_allclose(_run(gamma.prob([1.0, 1.0])), [0.541341, 0.541341], rtol=1e-5)
    np.testing.assert_allclose(_run(gamma.cdf(1.0)), [0.593994, 0.323324], rtol=1e-5)
    beta = d.Beta(2.0, [3.0, 0.5])
    np.testing.assert_allclose(_run(beta.mean()), [0.4, 0.8])
    np.testing.assert_allclose(_run(beta.mode()), [1 / 3, np.nan], rtol=1e-6)
    np.testing.assert_allclose(_run(beta.cdf([0.5, 0.5])), [0.6875, 0.116117], rtol=1e-5)
    student = d.StudentT(3.0, 1.0, 2.0)
    np.testing.assert_allclose(_run(student.variance()), 12)
    np.testing.assert_allclose(_run(student.cdf(1.0)), 0.5)
    laplace = d.Laplace(0.0, 2.0)
    np.testing.assert_allclose(_run(laplace.log_survival_function(200.0)), -100.693147, rtol=1e-6)
    np.testing.assert_allclose(_run(d.Exponential(4.0).stddev()), 0.25)
    normal = d.Normal(0.0, 1.0)
    np.testing.assert_allclose(_run(normal.log_cdf(-30.0)), -454.3212, rtol=1e-6)
    np.testing.assert_allclose(_run(normal.quantile(0.975)), 1.959964, rtol=1e-6)
    for one in (gamma, beta, student, laplace, d.Exponential(4.0), d.Uniform(1.0, 3.0)):
        many = one.sample(20000, seed=1)
        assert many.shape.as_list() == [20000] + one.batch_shape.as_list()
        np.testing.assert_allclose(_run(tf.reduce_mean(many, 0)), _run(one.mean()), atol=0.15)


def test_statistics_of_counts():
    d = tf.distributions
    counts = d.Multinomial([4.0, 2.0], probs=[0.5, 0.25, 0.25])
    assert counts.batch_shape.as_list() == [2] and counts.event_shape.as_list() == [3]
    np.testing.assert_allclose(_run(counts.mean()), [[2, 1, 1], [1, 0.5, 0.5]])
    np.testing.assert_allclose(_run(counts.prob([[2.0, 1, 1], [2, 0, 0]])), [0.1875, 0.25], 1e-5)
    np.testing.assert_allclose(
        _run(counts.covariance())[0], [[1, -0.5, -0.5], [-0.5, 0.75, -0.25], [-0.5, -0.25, 0.75]]
    )
    drawn = _run(counts.sample(5, seed=3))
    assert drawn.shape == (5, 2, 3)
    np.testing.assert_array_equal(drawn.sum(-1), [[4, 2]] * 5)
    rows = d.Dirichlet([1.0, 2.0, 3.0])
    np.testing.assert_allclose(_run(rows.mean()), [1 / 6, 1 / 3, 1 / 2])
    np.testing.assert_allclose(_run(rows.prob([0.2, 0.3, 0.5])), 4.5, rtol=1e-5)
    np.testing.assert_allclose(_run(rows.sample(4)).sum(-1), np.ones(4), rtol=1e-5)
    mixed = d.DirichletMultinomial(2.0, [1.0, 1.0])
    np.testing.assert_allclose(_run(mixed.prob([[2.0, 0], [1, 1]])), [1 / 3, 1 / 3], rtol=1e-5)
    np.testing.assert_array_equal(_run(mixed.sample(6)).sum(-1), [2] * 6)
    classes = d.Categorical(probs=[[0.2, 0.8], [0.5, 0.5]])
    np.testing.assert_allclose(_run(classes.cdf([1, 2])), [0.2, 1])


def test_divergences_are_registered_by_class():
    d = tf.distributions

    class Mine(d.Normal):
        pass

    assert float(_run(d.kl_divergence(Mine(0.0, 1.0), d.Normal(0.0, 1.0)))) == 0.0
    d.RegisterKL(Mine, d.Normal)(lambda a, b, name=None: tf.constant(7.0))
    assert float(_run(d.kl_divergence(Mine(0.0, 1.0), d.Normal(0.0, 1.0)))) == 7.0
    with pytest.raises(ValueError, match="has already been registered"):
        d.RegisterKL(Mine, d.Normal)(lambda a, b, name=None: None)
    with pytest.raises(TypeError, match="must be callable"):
        d.RegisterKL(Mine, d.Beta)("no function")
    copy = d.Beta(1.0, 2.0).copy(concentration0=5.0)
    assert float(_run(copy.concentration0)) == 5.0
    shapes = d.Normal.param_static_shapes([2, 3])
    assert shapes["loc"].as_list() == shapes["scale"].as_list() == [2, 3]
