# SPDX-License-Identifier: Apache-2.0
"""optimizers.py: writes optimizers.json: what the optimizers of the real TensorFlow make of given
gradients, for tests/python/test_optimizers.py and test_optimizers_eager.py.

Usage: python3 tests/golden/optimizers.py > tests/golden/optimizers.json    (needs tensorflow)
"""
import json

import numpy as np
import tensorflow as tf

GRAPH = [
    ("GradientDescentOptimizer", {"learning_rate": 0.1}),
    ("MomentumOptimizer", {"learning_rate": 0.1, "momentum": 0.9}),
    ("MomentumOptimizer", {"learning_rate": 0.1, "momentum": 0.9, "use_nesterov": True}),
    ("AdagradOptimizer", {"learning_rate": 0.1}),
    ("AdadeltaOptimizer", {"learning_rate": 1.0, "rho": 0.9, "epsilon": 1e-6}),
    ("RMSPropOptimizer", {"learning_rate": 0.1}),
    ("RMSPropOptimizer", {"learning_rate": 0.1, "decay": 0.8, "momentum": 0.5, "epsilon": 0.01}),
    ("RMSPropOptimizer", {"learning_rate": 0.1, "centered": True, "epsilon": 0.01}),
    ("AdamOptimizer", {"learning_rate": 0.1}),
    ("AdamOptimizer", {"learning_rate": 0.1, "beta1": 0.5, "beta2": 0.7, "epsilon": 0.1}),
    ("FtrlOptimizer", {"learning_rate": 0.1}),
    ("FtrlOptimizer", {"learning_rate": 0.1, "l1_regularization_strength": 0.3,
                       "l2_regularization_strength": 0.2, "learning_rate_power": -0.7}),
    ("FtrlOptimizer", {"learning_rate": 0.1, "l2_shrinkage_regularization_strength": 0.2}),
    ("ProximalGradientDescentOptimizer", {"learning_rate": 0.1, "l1_regularization_strength": 0.5,
                                          "l2_regularization_strength": 0.2}),
    ("ProximalAdagradOptimizer", {"learning_rate": 0.1, "l1_regularization_strength": 0.5}),
]
EAGER = [
    ("SGD", {"learning_rate": 0.1}),
    ("SGD", {"learning_rate": 0.1, "momentum": 0.9}),
    ("SGD", {"learning_rate": 0.1, "momentum": 0.9, "nesterov": True}),
    ("Adam", {"learning_rate": 0.1}),
    ("Adam", {"learning_rate": 0.1, "beta_1": 0.5, "beta_2": 0.7, "epsilon": 0.1}),
    ("Adamax", {"learning_rate": 0.1}),
    ("RMSprop", {"learning_rate": 0.1}),
    ("RMSprop", {"learning_rate": 0.1, "rho": 0.8, "momentum": 0.5, "centered": True,
                 "epsilon": 0.01}),
    ("Adagrad", {"learning_rate": 0.1}),
    ("Adadelta", {"learning_rate": 1.0, "rho": 0.9, "epsilon": 1e-6}),
    ("Ftrl", {"learning_rate": 0.1}),
    ("Ftrl", {"learning_rate": 0.1, "l1_regularization_strength": 0.3,
              "l2_regularization_strength": 0.2, "learning_rate_power": -0.7}),
]
SCHEDULES = [
    ("exponential_decay", [0.5], {"decay_steps": 3, "decay_rate": 0.5}),
    ("exponential_decay", [0.5], {"decay_steps": 3, "decay_rate": 0.5, "staircase": True}),
    ("polynomial_decay", [0.5], {"decay_steps": 5, "end_learning_rate": 0.1, "power": 2.0}),
    ("polynomial_decay", [0.5], {"decay_steps": 3, "cycle": True}),
    ("natural_exp_decay", [0.5], {"decay_steps": 3, "decay_rate": 0.5}),
    ("natural_exp_decay", [0.5], {"decay_steps": 3, "decay_rate": 0.5, "staircase": True}),
    ("inverse_time_decay", [0.5], {"decay_steps": 3, "decay_rate": 0.5}),
    ("cosine_decay", [0.5], {"decay_steps": 5, "alpha": 0.1}),
    ("cosine_decay_restarts", [0.5], {"first_decay_steps": 3, "m_mul": 0.5, "alpha": 0.1}),
]
BEGIN = [1.0, -2.0, 0.5, 0.0, 3.0]
GRADIENTS = [[0.5, -1.0, 0.25, 0.0, 2.0], [1.0, 1.0, -1.0, 0.5, -0.5], [-0.25, 2.0, 0.0, 0.0, 1.0],
             [0.125, -0.5, 4.0, -1.0, 0.0]]

# Rows of a matrix of 6 rows: their numbers, and their gradients.
ROWS = [([0, 3, 0], [[1.0, -1.0], [0.5, 2.0], [0.25, 0.5]]), ([5, 3], [[-1.0, 1.0], [2.0, 0.0]]),
        ([3], [[-0.5, 0.25]])]


def sparse_values(name, words):
    """What a matrix becomes when rows alone have gradients; then the last of its slots."""
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as sess:
        start = np.linspace(-1, 2, 12, dtype="f").reshape(6, 2)
        w = v1.get_variable("w", initializer=start, use_resource=False)
        values, ids = v1.placeholder(tf.float32, [None, 2]), v1.placeholder(tf.int64, [None])
        rows = tf.IndexedSlices(values, ids, tf.constant([6, 2]))
        train = getattr(v1.train, name)(**words).apply_gradients([(rows, w)])
        sess.run(v1.global_variables_initializer())
        found = []
        for numbers, step in ROWS:
            sess.run(train, {values: step, ids: numbers})
            found.append(sess.run(w).tolist())
        return found + [np.asarray(sess.run(v)).tolist() for v in v1.global_variables()[1:]]


def graph_case(name, words):
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as sess:
        w = v1.get_variable("w", initializer=np.array(BEGIN, "f"), use_resource=False)
        step = v1.train.create_global_step()
        grad = v1.placeholder(tf.float32, [len(BEGIN)])
        train = getattr(v1.train, name)(**words).apply_gradients([(grad, w)], global_step=step)
        sess.run(v1.global_variables_initializer())
        values = []
        for g in GRADIENTS:
            sess.run(train, {grad: g})
            values.append(sess.run(w).tolist())
        names = [v.name for v in v1.global_variables()]
        last = [np.asarray(sess.run(v)).tolist() for v in v1.global_variables()]
    return {"class": name, "words": words, "values": values, "names": names, "last": last,
            "sparse": sparse_values(name, words)}


def eager_case(name, words):
    w = tf.Variable(np.array(BEGIN, "f"))
    optimizer, values = getattr(tf.keras.optimizers, name)(**words), []
    for g in GRADIENTS:
        optimizer.apply_gradients([(tf.constant(g), w)])
        values.append(w.numpy().tolist())
    return {"class": name, "words": words, "values": values}


def schedule_case(name, args, words):
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as sess:
        step = v1.placeholder(tf.int64, [])
        rate = getattr(v1.train, name)(*args, step, **words)
        values = [float(sess.run(rate, {step: i})) for i in range(9)]
    return {"function": name, "args": args, "words": words, "values": values}


def main():
    result = {"begin": BEGIN, "gradients": GRADIENTS, "rows": ROWS,
              "graph": [graph_case(*c) for c in GRAPH],
              "eager": [eager_case(*c) for c in EAGER],
              "schedules": [schedule_case(*c) for c in SCHEDULES]}
    text = json.dumps(result)
    print(text.replace('{"class"', '\n{"class"').replace('{"function"', '\n{"function"'))


main()
