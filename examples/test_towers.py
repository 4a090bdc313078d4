# SPDX-License-Identifier: Apache-2.0
"""test_towers.py: tests of a program for several GPUs, on a machine without one, by pytest."""

import pytest

import situ as tf


def sum_of_towers(devices):
    """The code under test."""
    results = []
    for device in devices:
        with tf.device(device):
            results.append(tf.matmul(tf.ones([2, 1024]), tf.ones([1024, 2])))
    with tf.device("/cpu:0"):
        return tf.add_n(results)


@pytest.mark.simulated_gpus(4)
def test_every_gpu_works():
    total = sum_of_towers(["/gpu:0", "/gpu:1", "/gpu:2", "/gpu:3"])
    assert total.numpy().tolist() == [[4096.0, 4096.0], [4096.0, 4096.0]]
    for i in range(4):
        assert tf.config.experimental.get_memory_info(f"GPU:{i}")["peak"] > 0


def test_memory_that_does_not_suffice(simulated_gpus):
    simulated_gpus(1, memory="1MiB")
    with pytest.raises(tf.errors.ResourceExhaustedError):
        tf.zeros([1024, 1024])


def test_a_gpu_that_dies(simulated_gpus):
    simulated_gpus("Weak=1GiB;lost_after=2")
    with pytest.raises(tf.errors.UnavailableError):
        sum_of_towers(["/gpu:0", "/gpu:0"]).numpy()
