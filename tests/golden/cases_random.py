# SPDX-License-Identifier: Apache-2.0
"""cases_random.py: random numbers: the same seeds must give TensorFlow's numbers."""


def seeded(seed, *makes):
    """The tensors that `makes` give in a graph with a seed."""
    def build(tf):
        tf.set_random_seed(seed)
        return [make(tf) for make in makes]
    return build


def logits(tf):
    return tf.math.log([[.1, .2, .3, .4], [.4, .3, .2, .1]])


def matrix(tf):
    return tf.reshape(tf.range(36), [6, 6])


RANDOM_GRAPH = {
    "uniform": lambda tf: tf.random_uniform([9], seed=5),
    "uniform_bounds": lambda tf: tf.random_uniform([3, 3], -2, 3, seed=5),
    "uniform_half": lambda tf: tf.random_uniform([5], dtype=tf.float16, seed=5),
    "uniform_double": lambda tf: tf.random_uniform([5], dtype=tf.float64, seed=5),
    "integers": lambda tf: tf.random_uniform([9], -3, 100, tf.int32, seed=5),
    "integers_64": lambda tf: tf.random_uniform([9], -3, 100, tf.int64, seed=5),
    "normal": lambda tf: tf.random_normal([9], 1.0, 2.0, seed=1),
    "normal_half": lambda tf: tf.random_normal([9], dtype=tf.float16, seed=1),
    "normal_double": lambda tf: tf.random_normal([9], dtype=tf.float64, seed=1),
    "normal_end": lambda tf: tf.random_normal([100001], seed=1)[-9:],
    "truncated": lambda tf: tf.truncated_normal([9], stddev=0.1, seed=1),
    "truncated_double": lambda tf: tf.truncated_normal([9], dtype=tf.float64, seed=1),
    "truncated_end": lambda tf: tf.truncated_normal([30000], seed=1)[-9:],
    "seed_of_the_graph": seeded(
        7, lambda tf: tf.random_uniform([3]), lambda tf: tf.random_normal([3]),
        lambda tf: tf.constant(1), lambda tf: tf.truncated_normal([3]),
        lambda tf: tf.random_uniform([3], seed=4), lambda tf: tf.random_normal([3])),
    "seed_of_zeros": seeded(0, lambda tf: tf.random_uniform([3], seed=0)),
    "seed_large": seeded(2 ** 40, lambda tf: tf.random_uniform([3], seed=2 ** 41)),
    "variables": seeded(3, lambda tf: tf.get_variable("w", [3, 3]).initial_value,
                        lambda tf: tf.get_variable("v", [3]).initial_value),
    "shuffle": lambda tf: tf.random_shuffle(tf.range(9), seed=1),
    "shuffle_rows": lambda tf: tf.random_shuffle(matrix(tf), seed=1),
    "multinomial": lambda tf: tf.multinomial(logits(tf), 5, seed=1),
    "gamma": lambda tf: tf.random_gamma([5], 2.5, seed=1),
    "gamma_small": lambda tf: tf.random_gamma([4], [.5, 1., 3.], 2.0, seed=1),
    "crop": lambda tf: tf.random_crop(matrix(tf), [2, 3], seed=1),
    "stateless": lambda tf: tf.random.stateless_uniform([9], seed=[1, 2]),
    "stateless_normal": lambda tf: tf.random.stateless_normal([9], seed=[1, 2]),
    "stateless_truncated": lambda tf: tf.random.stateless_truncated_normal([9], seed=[1, 2]),
    "stateless_integers": lambda tf: tf.random.stateless_uniform([9], [1, 2], 0, 10, tf.int32),
}


def eager_seed(tf):
    tf.random.set_seed(5)
    return [tf.random.uniform([3]), tf.random.normal([3]), tf.random.uniform([3], seed=1),
            tf.random.uniform([3], seed=1), tf.random.categorical(logits(tf), 4),
            tf.random.shuffle(tf.range(5))]


def function_seed(tf):
    tf.random.set_seed(5)

    @tf.function
    def numbers():
        return tf.random.uniform([3]), tf.random.normal([3]), tf.random.uniform([3], seed=1)
    return [numbers(), numbers()]


RANDOM_EAGER = {"seed": eager_seed, "function_seed": function_seed}
