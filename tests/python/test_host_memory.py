# SPDX-License-Identifier: Apache-2.0
"""test_host_memory.py: SITU_HOST_MEMORY limits the host memory."""

EAGER = """
    import situ as tf
    a, kept = tf.ones([1024, 1024]), []
    try:
        while True:
            kept.append(tf.matmul(a, a))
    except tf.errors.ResourceExhaustedError as error:
        print(len(kept) < 16, str(error))
    kept.clear()
    print(float(tf.matmul(a, a)[0, 0]))
    """

SESSION = """
    import numpy as np
    import situ.compat.v1 as tf
    x = tf.placeholder(tf.float32, [None, 1024])
    y = tf.reduce_sum(tf.nn.relu(tf.matmul(x, x, transpose_b=True, name="square")))
    sess = tf.Session()
    for n in range(100, 1500, 100):
        assert sess.run(y, {x: np.ones([n, 1024], "float32")}) == 1024 * n * n
    try:
        sess.run(y, {x: np.ones([5000, 1024], "float32")})
    except tf.errors.ResourceExhaustedError as error:
        print(str(error))
    print(sess.run(y, {x: np.ones([2, 1024], "float32")}))
    """


def test_eager(python):
    result = python(EAGER, SITU_HOST_MEMORY="64MiB")
    assert result.out.startswith("True OOM when allocating tensor with shape[1024,1024] and type")
    assert "requested: 4.00MiB by MatMul\n  limit: 64.00MiB (SITU_HOST_MEMORY)" in result.out
    assert "raise SITU_HOST_MEMORY" in result.out and result.out.endswith("1024.0\n"), result.err


def test_a_session_frees_idle_memory_first(python):
    result = python(SESSION, SITU_HOST_MEMORY="64MiB")
    assert "OOM when allocating tensor with shape[5000,5000] and type float" in result.out
    assert "by square\n" in result.out and result.out.endswith("4096.0\n"), result.err


def test_the_length_of_a_list(python):
    result = python(
        """
        import situ as tf
        reserve = lambda n: tf.raw_ops.TensorListReserve(
            element_shape=tf.constant([2]), num_elements=n, element_dtype=tf.float32)
        try:
            reserve(2**31 - 1)
        except tf.errors.ResourceExhaustedError as error:
            print(str(error).split("\\n")[:2])
        print(int(tf.raw_ops.TensorListLength(input_handle=reserve(1000))))
        """,
        SITU_HOST_MEMORY="1GiB",
    )
    assert "requested: 16.00GiB" in result.out and result.out.endswith("1000\n"), result.err


def test_a_value_that_is_no_size(python):
    result = python(EAGER, SITU_HOST_MEMORY="plenty")
    assert "SITU_HOST_MEMORY is 'plenty'; expected a size above 0, as 8GiB." in result.err
