# SPDX-License-Identifier: Apache-2.0
"""test_seeds.py: random numbers and initial weights of programs with seeds: TensorFlow 2.21's."""

import numpy
import pytest
from conftest import run_once

# isort: off
import situ.compat.v1 as tf  # the first import of situ selects the mode
import situ as tf2
# isort: on

KERAS = {
    "GlorotUniform": [0.4575, 0.31882, -0.81883],
    "GlorotNormal": [-0.40967, -0.21797, -1.14217],
    "HeNormal": [-0.54195, -0.28834, -1.51094],
    "HeUniform": [0.60522, 0.42175, -1.08321],
    "LecunNormal": [-0.38322, -0.20389, -1.0684],
    "LecunUniform": [0.42795, 0.29822, -0.76595],
    "RandomNormal": [-0.03371, -0.01793, -0.09398],
    "RandomUniform": [0.02471, 0.01722, -0.04422],
    "TruncatedNormal": [-0.03371, -0.01793, -0.09398],
    "VarianceScaling": [-0.38322, -0.20389, -1.0684],
    "Orthogonal": [-0.32566, 0.04051, -0.87219],
}


def close(found, expected):
    numpy.testing.assert_allclose(numpy.ravel(found)[: len(expected)], expected, atol=2e-5)


def test_numbers_of_ops_in_graphs(graph):
    """The seed of an op is how many random ops without a seed the graph had before it."""
    tf.set_random_seed(1234)
    first = tf.random_uniform([2])
    unused = tf.constant(1.0) + tf.constant(2.0)
    with_seed, second = tf.random_uniform([2], seed=7), tf.random_uniform([2])
    assert unused.op.name == "add"
    for found, expected in zip(
        run_once([first, with_seed, second]),
        ([0.13047, 0.97609], [0.797026, 0.059967], [0.16898, 0.97255]),
    ):
        close(found, expected)


@pytest.mark.parametrize("resource", [False, True])
def test_numbers_of_variables_in_graphs(graph, resource):
    tf.set_random_seed(1234)
    with tf.variable_scope("", use_resource=resource):
        made = [
            tf.get_variable("a", [3]),
            tf.get_variable("b", [3]),
            tf.Variable(tf.truncated_normal([3])),
            tf.get_variable("c", [3], initializer=tf.random_normal_initializer(seed=3)),
            tf.get_variable("z", [3], initializer=tf.zeros_initializer()),
            tf.get_variable("d", [3]),
        ]
    for found, expected in zip(
        run_once(made, begin=True),
        (
            [-0.73906, 0.95219, -0.97556],
            [-0.66204, 0.9451, 0.80073],
            [-0.99046, 0.54563, 0.28653],
            [-0.13863, -0.24789, -0.2218],
            [0.0, 0.0, 0.0],
            [0.92094, 0.1623, 0.28318],
        ),
    ):
        close(found, expected)


def test_parts_of_a_variable_are_scaled_as_the_whole(graph):
    tf.set_random_seed(1234)
    v = tf.get_variable("v", [6], partitioner=tf.fixed_size_partitioner(2))
    found, later = run_once([v.as_tensor(), tf.random_uniform([2])], begin=True)
    close(found, [-0.52259, 0.6733, -0.68982])
    close(later, [0.52763, 0.83014])


def test_initializers_are_told_which_part_they_make(graph):
    seen = []

    def begin(shape, dtype=None, partition_info=None):
        seen.append((list(shape), list(partition_info.full_shape), partition_info.var_offset))
        return tf.zeros(shape, dtype)

    tf.get_variable("v", [5, 2], initializer=begin, partitioner=tf.fixed_size_partitioner(2))
    assert seen == [([3, 2], [5, 2], [0, 0]), ([2, 2], [5, 2], [3, 0])]


def test_an_iterator_takes_a_seed_of_its_graph(graph):
    tf.set_random_seed(1234)
    numbers = tf.data.make_one_shot_iterator(tf.data.Dataset.range(10).shuffle(10).batch(3))
    found, later = run_once([numbers.get_next(), tf.random_uniform([2])])
    assert found.tolist() == [3, 1, 9]
    close(later, [0.52763, 0.83014])


def test_keras_initializers_in_graphs(graph):
    tf.set_random_seed(1234)
    kinds = tf.keras.initializers
    found = run_once(
        [
            kinds.he_normal(seed=1)([3]),
            kinds.RandomNormal(seed=1)([3]),
            kinds.Orthogonal(seed=1)([3, 3]),
            tf.random_uniform([2]),
        ]
    )
    for have, expected in zip(
        found,
        (
            [-0.30042, 1.72441, 0.36718],
            [-0.01618, 0.09289, 0.01978],
            [-0.77357, 0.07915, -0.62875],
            [0.13047, 0.97609],
        ),
    ):
        close(have, expected)


def test_keras_initializers_with_a_seed(python):
    done = python(f"""
        import situ as tf
        for name in {list(KERAS)!r}:
            made = getattr(tf.keras.initializers, name)(seed=7)
            first, again = made((4, 3)).numpy(), made((4, 3)).numpy()
            assert (first == again).all(), name
            print(*first.ravel()[:3])
        print(*tf.random_normal_initializer(0., 1., seed=7)((4, 3)).numpy().ravel()[:3])
        print(*tf.initializers.GlorotUniform(seed=7)((4, 3)).numpy().ravel()[:3])
    """)
    lines = [[float(x) for x in line.split()] for line in done.out.splitlines()]
    assert len(lines) == len(KERAS) + 2, done.err
    for found, expected in zip(lines, KERAS.values()):
        close(found, expected)
    close([x * 0.05 for x in lines[-2]], KERAS["RandomNormal"])
    close(lines[-1], KERAS["GlorotUniform"])


LAYERS = """
    import random
    import situ as tf

    def weights(kind=tf.keras.layers.Dense):
        made = [kind(3), kind(3)]
        for layer in made:
            layer.build((None, 4))
        return [float(layer.kernel.numpy().ravel()[0]) for layer in made]
"""


def test_initial_weights_after_set_random_seed(python):
    done = python(
        LAYERS
        + """
    tf.keras.utils.set_random_seed(1)
    print(*weights())
    tf.keras.utils.set_random_seed(3)
    layer = tf.keras.layers.LSTM(2)
    layer.build((None, 3, 2))
    print(*[float(w.ravel()[0]) for w in layer.get_weights()])
    """
    )
    first, second = ([float(x) for x in line.split()] for line in done.out.splitlines())
    close(first, [-0.44625, 0.16898])
    close(second, [-0.0032, 0.38176, 0.0])


def test_initial_weights_after_other_seeds(python):
    """tf.random.set_seed alone, Python's random alone, and SITU_SEED make weights the same."""
    done = python(
        LAYERS
        + """
    import os
    found = []
    for _ in range(2):
        random.seed(5)
        found.append(weights())
    for _ in range(2):
        tf.random.set_seed(5)
        found.append(weights())
    tf.keras.utils.set_random_seed(1)
    tf.random.set_seed(5)
    found.append(weights())
    assert found[0] == found[1] and found[2] == found[3] == found[4] and found[0] != found[2]
    assert all(a != b for a, b in found)
    """,
        SITU_SEED="",
    )
    assert (done.code, done.err) == (0, "")
    one, two = (python(LAYERS + "    print(weights())", SITU_SEED="4").out for _ in range(2))
    assert one == two != ""


def test_determinism_requires_seeds(python):
    done = python(
        """
        import situ as tf
        tf.config.experimental.enable_op_determinism()
        tf.random.uniform([2], seed=1)
        try:
            tf.random.uniform([2])
        except RuntimeError as e:
            print(e)
        tf.random.set_seed(1)
        tf.random.uniform([2])
    """,
        SITU_SEED="",
    )
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("Random ops require a seed to be set when determinism is enabled.")


def test_names_of_both_styles():
    assert isinstance(tf2.initializers.GlorotUniform(), tf2.keras.initializers.GlorotUniform)
    assert tf2.keras.initializers.get("glorot_uniform").get_config() == {"seed": None}
    assert type(tf.glorot_uniform_initializer()).__name__ == "GlorotUniform"
