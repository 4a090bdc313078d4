# SPDX-License-Identifier: Apache-2.0
"""test_index_errors.py: errors about indices name the argument, not the ops that implement a
function; sizes beyond the memory are ResourceExhaustedError."""

import numpy as np
import pytest

import situ as tf

CASES = [
    (lambda: tf.math.segment_sum([1.0, 2.0], [1, 0]), "segment ids are not increasing"),
    (lambda: tf.math.segment_max([1.0, 2.0], [1, 0]), "segment ids are not increasing"),
    (lambda: tf.math.segment_mean([1.0, 2.0], [1, 0]), "segment ids are not increasing"),
    (lambda: tf.math.segment_sum([1.0, 2.0], [-1, 0]), "Segment id -1 out of range"),
    (lambda: tf.reverse_sequence(tf.zeros([2, 3]), [4, 1], 1, 0), r"seq_lens > input.dims\(1\)"),
    (lambda: tf.reverse_sequence(tf.zeros([2, 3]), [-1, 1], 1, 0), "seq_lens < 0"),
    (
        lambda: tf.image.crop_and_resize(tf.zeros([1, 4, 4, 1]), [[0.0, 0, 1, 1]], [3], [2, 2]),
        r"box_index has values outside \[0, batch_size\)",
    ),
]


@pytest.mark.parametrize("call, text", CASES)
def test_index_errors_name_the_argument(call, text):
    for run in (call, tf.function(call)):
        with pytest.raises(tf.errors.OpError, match=text):
            run()


def test_valid_segments():
    assert tf.math.segment_sum([1.0, 2.0, 4.0], [0, 0, 2]).numpy().tolist() == [3, 0, 4]
    assert tf.math.segment_sum(tf.zeros([0]), tf.zeros([0], tf.int32)).shape == [0]


@pytest.mark.parametrize(
    "call",
    [
        lambda: tf.linspace(0.0, 1.0, 2**44),
        lambda: tf.eye(10**7),
        lambda: tf.eye(10**7, 10**8, dtype=tf.int32),
        lambda: tf.TensorArray(tf.float32, 2**50),
    ],
)
def test_sizes_beyond_the_memory(call):
    with pytest.raises(tf.errors.ResourceExhaustedError):
        call()


@pytest.mark.parametrize("num", [1, 2, 3, 7, 50])
@pytest.mark.parametrize("ends", [(0.0, 1.0), (-3, 10), (5.0, 5.0), (1.0, -0.1)])
def test_linspace_is_that_of_numpy(ends, num):
    dtype = "float64" if isinstance(ends[0], int) else "float32"
    np.testing.assert_array_equal(
        tf.linspace(*ends, num).numpy(), np.linspace(*ends, num, dtype=dtype)
    )


def test_linspace_of_tensors():
    assert tf.linspace(np.float64(0), 0.1, 12).numpy()[-1] == 0.1
    assert tf.linspace(tf.constant(-1.0), 0.1, 42).numpy()[-1] == np.float32(0.1)
    assert tf.linspace(tf.constant(1.0), 2.0, 0).shape == [0]
    with pytest.raises(tf.errors.InvalidArgumentError, match="start <= limit"):
        tf.linspace(tf.constant(0.0), 1.0, -1)
    unknown = [tf.TensorSpec(None)] * 2 + [tf.TensorSpec([], tf.int32)]
    start, stop = np.array([1.0, 2], "f"), np.array([[3.0, 4]], "f")
    for axis in (0, 1, -1):
        function = tf.function(lambda a, b, n: tf.linspace(a, b, n, axis=axis), unknown)
        np.testing.assert_allclose(function(start, stop, 5), np.linspace(start, stop, 5, axis=axis))


@pytest.mark.parametrize("dtype", ["float16", "float64", "int32", "int64", "bool"])
def test_eye(dtype):
    assert tf.eye(2, 3, dtype=dtype).numpy().tolist() == np.eye(2, 3, dtype=dtype).tolist()
