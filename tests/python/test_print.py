# SPDX-License-Identifier: Apache-2.0
"""test_print.py: tf.print and tf.Print print what TensorFlow prints."""

LONG = """
    import situ as tf
    tf.print("x", tf.range(10), tf.constant([[1.5, 2.0], [1 / 3, 4.0]]), 3, sep="|")
    tf.print(tf.constant("text"), [tf.constant(1), tf.constant(["a"])], summarize=-1)
"""


def test_eager(python):
    done = python(LONG)
    assert done.err == ('x|[0 1 2 ... 7 8 9]|[[1.5 2]\n [0.333333343 4]]|3\n"text" [1, ["a"]]\n')


def test_forms(python):
    done = python("""
        import numpy as np
        import situ as tf
        text = tf.constant('it\\'s "x"')
        tf.print(text)
        tf.print("a", text, b"bytes", None, 1e-8, [1, "b"])
        tf.print(np.array([1.0, 2.0]), [np.array([1]), tf.constant(2)], {"k": tf.constant("v")})
        tf.print(tf.ragged.constant([["a"], ["b", "c"]]), tf.sparse.from_dense([[0, 1]]))

        @tf.function
        def say(x):
            tf.print(tf.RaggedTensor.from_row_lengths(x, [1, 2]), x)
        say(tf.constant([1, 2, 3]))
    """)
    assert done.err.split("\n") == [
        'it\'s "x"',
        "a \"it\\'s \\\"x\\\"\" b'bytes' None 1e-08 [1, 'b']",
        "array([1., 2.]) [array([1]), 2] {'k': \"v\"}",
        "[['a'], ['b', 'c']] 'SparseTensor(indices=[[0 1]], values=[1], shape=[1 2])'",
        "[[1], [2, 3]] [1 2 3]",
        "",
    ]


def test_graph(python):
    done = python("""
        import situ.compat.v1 as tf
        x = tf.placeholder(tf.float32, [None])
        y = tf.Print(x * 2, [x, tf.shape(x)], "x is ", summarize=2)
        p = tf.print("sum", tf.reduce_sum(x), output_stream="file://out.txt")
        with tf.Session() as session:
            print(session.run(y, {x: [1, 2, 3]}))
    """)
    assert done.out == "[2. 4. 6.]\n"
    assert done.err == "x is [1 2...][3]\n"
