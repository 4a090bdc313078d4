# SPDX-License-Identifier: Apache-2.0
"""test_print.py: tf.print and tf.Print print what TensorFlow prints."""

LONG = """
    import situ as tf
    tf.print("x", tf.range(10), tf.constant([[1.5, 2.0], [1 / 3, 4.0]]), 3, sep="|")
    tf.print(tf.constant("text"), [tf.constant(1), tf.constant(["a"])], summarize=-1)
"""


def test_eager(python):
    done = python(LONG)
    assert done.err == ("x|[0 1 2 ... 7 8 9]|[[1.5 2]\n [0.333333343 4]]|3\n"
                        "text [1, [\"a\"]]\n")


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
