# SPDX-License-Identifier: Apache-2.0
"""test_candidate_sampling.py: candidate samplers, with TensorFlow's numbers for equal seeds."""

import numpy as np
import pytest

import situ.compat.v1 as tf

TRUE = np.array([[1], [5], [0], [19]], "int64")


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        tf.set_random_seed(4)
        yield


def run(fetch):
    with tf.Session() as sess:
        return sess.run(fetch)


def test_samples_are_tensorflows():
    log = tf.nn.log_uniform_candidate_sampler(TRUE, 1, 8, True, 20)
    even = tf.nn.uniform_candidate_sampler(TRUE, 1, 6, True, 20, seed=9)
    more = tf.nn.uniform_candidate_sampler(TRUE, 1, 6, False, 32)
    with tf.Session() as sess:
        first, second, third, again = (sess.run(f) for f in (log, even, more, log))
    assert first.sampled_candidates.tolist() == [2, 0, 6, 8, 3, 5, 13, 1]
    np.testing.assert_allclose(
        first.true_expected_count[:, 0], [0.8440141, 0.4910808, 0.9652115, 0.1894317], rtol=1e-6
    )
    np.testing.assert_allclose(first.sampled_expected_count[:2], [0.7248296, 0.9652115], rtol=1e-6)
    assert second.sampled_candidates.tolist() == [13, 7, 12, 1, 8, 9]
    assert third.sampled_candidates.tolist() == [1, 17, 4, 11, 25, 1]
    assert again.sampled_candidates.tolist() == [4, 12, 0, 2, 1, 19, 16, 11]


def test_classes_outside_are_errors():
    with pytest.raises(tf.errors.InvalidArgumentError, match="19"):
        run(tf.nn.uniform_candidate_sampler(TRUE, 1, 4, True, 16))
    with pytest.raises(ValueError, match="range is too small"):
        tf.nn.uniform_candidate_sampler(TRUE, 1, 30, True, 20)
    with pytest.raises(ValueError, match="Dimension must be 2 but is 1"):
        tf.nn.uniform_candidate_sampler(TRUE, 2, 3, True, 20)


def test_losses_over_samples_are_tensorflows():
    x, t = np.arange(8) % 20, (np.arange(8)[:, None] * 3) % 20
    table = tf.Variable(tf.random_uniform([20, 4], -1.0, 1.0))
    w, b = tf.Variable(tf.truncated_normal([20, 4])), tf.Variable(tf.zeros([20]))
    rows = tf.nn.embedding_lookup(table, x)
    one = tf.reduce_mean(tf.nn.nce_loss(w, b, t, rows, 5, 20))
    other = tf.reduce_mean(tf.nn.sampled_softmax_loss(w, b, t, rows, 5, 20))
    step = tf.train.GradientDescentOptimizer(0.5).minimize(one + other)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        got = [sess.run([one, other, step])[:2] for _ in range(3)]
    np.testing.assert_allclose(
        got, [[6.5496402, 1.9938873], [7.9411941, 1.8027701], [5.5047717, 1.8130224]], rtol=1e-4
    )


def test_all_classes():
    made, true, every = run(tf.nn.all_candidate_sampler(TRUE, 1, 20, True))
    assert made.tolist() == list(range(20)) and (true == 1).all() and (every == 1).all()


UNIGRAMS = [3, 1, 0.25, 0.5, 7]
WANTED = {  # (arguments): what TensorFlow draws first, and how often it expects 1, 3 and 0
    "list": (
        dict(num_sampled=8, unique=False, range_max=5, unigrams=UNIGRAMS),
        [0, 1, 4, 0, 4, 4, 4, 0],
        [0.6808510, 0.3404255, 2.0425532],
    ),
    "distorted": (
        dict(num_sampled=4, unique=True, range_max=5, unigrams=UNIGRAMS, distortion=0.75, seed=9),
        [0, 4, 1, 3],
        [0.8254359, 0.6363049, 0.9871228],
    ),
    "file": (
        dict(num_sampled=6, unique=False, range_max=4),
        [0, 1, 0, 0, 0, 0],
        [2.0487804, 0.8780488, 2.9268293],
    ),
    "reserved": (
        dict(num_sampled=5, unique=False, range_max=6, num_reserved_ids=2),
        [2, 2, 2, 2, 3],
        [0, 1.7073171, 0],
    ),
    "part": (
        dict(
            num_sampled=5,
            unique=False,
            range_max=4,
            unigrams=list(range(1, 9)),
            num_shards=2,
            shard=1,
        ),
        [2, 0, 2, 2, 3],
        [1, 2, 0.5],
    ),
    "part_reserved": (
        dict(
            num_sampled=5,
            unique=False,
            range_max=5,
            unigrams=list(range(1, 9)),
            num_shards=2,
            shard=1,
            num_reserved_ids=3,
        ),
        [3, 2, 4, 4, 4],
        [0.3125, 1.5625, 0],
    ),
}


def test_samples_by_weight_are_tensorflows(tmp_path):
    words = tmp_path / "words.csv"
    words.write_text('the,10\na,7\n\ncat,"x",0.5\nsat,3\n')
    made = []
    for more, _, _ in WANTED.values():
        if "unigrams" not in more:
            more = {**more, "vocab_file": str(words)}
        made.append(
            tf.nn.fixed_unigram_candidate_sampler(np.array([[1], [3], [0]], "int64"), 1, **more)
        )
    with tf.Session() as sess:
        found = [sess.run(sample) for sample in made]
        again = sess.run(made[1])
    for (_, drawn, expected), sample in zip(WANTED.values(), found):
        assert sample.sampled_candidates.tolist() == drawn
        np.testing.assert_allclose(sample.true_expected_count[:, 0], expected, rtol=1e-6)
    assert again.sampled_candidates.tolist() == [1, 4, 2, 0]
    np.testing.assert_allclose(
        again.sampled_expected_count, [0.5821913, 0.9926609, 0.2564208, 0.8865224], rtol=1e-6
    )


def test_weights_survive_a_graph_def():
    sample = tf.nn.fixed_unigram_candidate_sampler(
        TRUE[:3], 1, 8, False, 6, seed=2, unigrams=[1.0, 0.1, 2.5, 3, 4, 5e-3]
    )
    node = tf.get_default_graph().as_graph_def()
    with tf.Graph().as_default():
        again = tf.import_graph_def(node, return_elements=[sample[0].name, sample[1].name])
        drawn, expected = run(again)
    first = run(sample)
    assert drawn.tolist() == first.sampled_candidates.tolist()
    assert expected.tolist() == first.true_expected_count.tolist()


def test_unigrams_at_once(python):
    result = python("""
        import situ as tf
        for seen in range(3):
            sample = tf.random.fixed_unigram_candidate_sampler(
                [[0]], 1, 2, True, 3, unigrams=[1, 0, 5])
            assert sorted(sample.sampled_candidates.numpy()) == [0, 2]
        other = tf.nn.fixed_unigram_candidate_sampler([[0]], 1, 4, False, 3, unigrams=[0, 1, 0])
        assert other.sampled_candidates.numpy().tolist() == [1] * 4
        """)
    assert result.code == 0, result.err


@pytest.mark.parametrize(
    "more, match",
    [
        ({}, "either vocab_file or unigrams"),
        ({"unigrams": [1.0] * 5, "vocab_file": "x"}, "only provide one of"),
        ({"unigrams": [1.0, 2.0]}, "range is 5 must be equal to weights size 2"),
        ({"unigrams": [1.0] * 6}, "range is 5, but there are more"),
        ({"unigrams": [1.0] * 5, "num_shards": 2, "shard": 2}, "from 0 to before num_shards"),
        ({"unigrams": [0.0] * 5}, "none can be drawn"),
        ({"unigrams": [1.0, 0.0, 0.0, 0.0, 0.0], "unique": True}, "2 different classes of 1"),
        ({"unigrams": [1.0, -2.0, 1.0, 1.0, 1.0]}, "-2 is not a valid weight"),
    ],
)
def test_weights_that_make_no_sense_are_errors(more, match):
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match=match):
        run(
            tf.nn.fixed_unigram_candidate_sampler([[1]], 1, 2, more.pop("unique", False), 5, **more)
        )


def test_files_of_weights_that_cannot_be_read(tmp_path):
    path = tmp_path / "words"
    with pytest.raises(tf.errors.NotFoundError, match="words; No such file"):
        run(tf.nn.fixed_unigram_candidate_sampler([[1]], 1, 2, False, 5, vocab_file=str(path)))
    path.write_text("a,1\nb,much\n")
    with pytest.raises(tf.errors.InvalidArgumentError, match="at line: b,much"):
        run(tf.nn.fixed_unigram_candidate_sampler([[1]], 1, 2, False, 2, vocab_file=str(path)))
    with pytest.raises(tf.errors.InvalidArgumentError, match="5"):
        run(tf.nn.fixed_unigram_candidate_sampler([[5]], 1, 2, False, 5, unigrams=[1.0] * 5))
