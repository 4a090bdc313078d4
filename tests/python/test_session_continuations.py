# SPDX-License-Identifier: Apache-2.0
"""test_session_continuations.py: session runs with shapes that depend on data, which are split
into several programs."""


def test_what_an_earlier_part_of_a_step_has_done_is_not_waited_for(python):
    """Memory that is not set is no number that happens to be negative here."""
    done = python(
        """
        import situ.compat.v1 as tf
        with tf.device("/gpu:0"):
            v, w = tf.Variable(0.0), tf.Variable(0.0)
        with tf.device("/gpu:1"):
            other = tf.assign_add(tf.Variable(1.0), 1.0)
        first = tf.assign_add(v, 1.0)
        rows = tf.boolean_mask(tf.constant([1.0, 2.0, 3.0]), tf.constant([True, False, True]))
        with tf.control_dependencies([first, other]), tf.device("/gpu:0"):
            second = tf.assign_add(w, tf.reduce_sum(tf.ones([tf.size(rows)])))
        done = tf.group(first, second)
        with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
            session.run(tf.global_variables_initializer())
            for _ in range(3):
                session.run(done)
            print(session.run(v), session.run(w))
        """,
        gpus=2,
        MALLOC_PERTURB_="165",
    )
    assert done.out == "3.0 6.0\n", (done.code, done.err)
