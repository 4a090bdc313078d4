# SPDX-License-Identifier: Apache-2.0
"""test_shared_memory.py: memory shared with other libraries: the buffer protocol, __array__,
DLPack."""

import gc
import weakref

import numpy as np
import pytest

import situ as tf

TYPES = ["float32", "float64", "float16", "int32", "int64", "int8", "uint8", "bool"]


def address(array):
    return array.__array_interface__["data"][0]


@pytest.mark.parametrize("dtype", TYPES)
def test_dlpack_both_ways(dtype):
    array = np.arange(6).reshape(2, 3).astype(dtype)
    tensor = tf.experimental.dlpack.from_dlpack(array)
    assert tensor.dtype == dtype and tensor.numpy().tolist() == array.tolist()
    back = np.from_dlpack(tensor)
    assert back.dtype == dtype and back.tolist() == array.tolist()
    assert address(back) == address(array) == address(np.asarray(memoryview(tensor)))


def test_dlpack_shares_memory():
    array = np.zeros(4, "float32")
    tensor = tf.experimental.dlpack.from_dlpack(array)
    array[2] = 5
    assert tensor.numpy().tolist() == [0, 0, 5, 0]


def test_dlpack_keeps_memory_alive():
    class Array(np.ndarray):
        pass

    array = np.arange(1000.0).view(Array)
    gone = weakref.ref(array)
    tensor = tf.experimental.dlpack.from_dlpack(array)
    del array
    gc.collect()
    assert gone() is not None and float(tf.reduce_sum(tensor)) == 499500
    del tensor
    gc.collect()
    assert gone() is None


def test_dlpack_of_tensors_outlives_them():
    back = np.from_dlpack(tf.constant([1.0, 2.0, 3.0]) * 2)
    gc.collect()
    assert back.tolist() == [2, 4, 6]


def test_capsules():
    capsule = tf.experimental.dlpack.to_dlpack(tf.constant([[1, 2]]))
    assert tf.experimental.dlpack.from_dlpack(capsule).numpy().tolist() == [[1, 2]]
    with pytest.raises(TypeError):
        tf.experimental.dlpack.from_dlpack(capsule)  # it is used up
    tf.experimental.dlpack.to_dlpack(tf.constant(1.0))  # nobody takes it
    with pytest.raises(TypeError):
        tf.experimental.dlpack.to_dlpack([1.0])
    with pytest.raises(BufferError):
        tf.experimental.dlpack.to_dlpack(tf.constant("text"))


def test_elements_that_lie_apart_are_copied():
    array = np.arange(12.0).reshape(3, 4)
    assert tf.experimental.dlpack.from_dlpack(array.T).numpy().tolist() == array.T.tolist()
    assert (
        tf.experimental.dlpack.from_dlpack(array[::2, 1:3]).numpy().tolist()
        == array[::2, 1:3].tolist()
    )


def test_a_device_that_dlpack_does_not_know(python):
    result = python(
        """
        import situ as tf
        with tf.device('/gpu:0'):
            x = tf.constant([1., 2.]) + 1
        for call in (x.__dlpack__, x.__dlpack_device__):
            try:
                call()
            except BufferError as e:
                print('GPU:0' in str(e))
        print(tf.experimental.dlpack.from_dlpack(x.cpu()).numpy())
        """,
        gpus=1,
    )
    assert result.out.splitlines() == ["True", "True", "[2. 3.]"]


@pytest.mark.parametrize("dtype", TYPES)
def test_buffer_protocol(dtype):
    tensor = tf.constant(np.arange(6).reshape(2, 3).astype(dtype))
    view = memoryview(tensor)
    assert view.shape == (2, 3) and view.readonly and view.nbytes == np.dtype(dtype).itemsize * 6
    array = np.asarray(view)
    assert array.dtype == dtype and array.tolist() == tensor.numpy().tolist()
    del tensor
    assert array.tolist() == np.arange(6).reshape(2, 3).astype(dtype).tolist()


def test_array():
    tensor = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    assert np.array(tensor).tolist() == [[1, 2], [3, 4]]
    assert np.asarray(tensor, "int64").dtype == "int64" and np.asarray(tf.constant(3)).shape == ()
    copy = tensor.numpy()
    copy[0, 0] = 7
    assert tensor.numpy()[0, 0] == 1


def test_dlpack_copies_on_demand():
    tensor = tf.constant([1.0, 2.0]) * 2.0
    shared, copied = (np.from_dlpack(_Copying(tensor, copy)) for copy in (False, True))
    address = lambda array: array.__array_interface__["data"][0]
    assert shared.tolist() == copied.tolist() == [2, 4] and address(shared) != address(copied)


class _Copying:
    """A tensor that is exported with the argument `copy`, which NumPy passes from version 2 on."""

    def __init__(self, tensor, copy):
        self._tensor, self._copy = tensor, copy

    def __dlpack__(self, **_kwargs):
        return self._tensor.__dlpack__(copy=self._copy)

    def __dlpack_device__(self):
        return self._tensor.__dlpack_device__()
