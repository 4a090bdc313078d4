# SPDX-License-Identifier: Apache-2.0
"""test_function_calls.py: calls of tf.function: which trace runs, and the devices of results."""

import collections
import gc
import threading
import weakref

import pytest

import situ as tf


def counted(body):
    """A tf.function and the list of its tracings."""
    tracings = []

    def python(*args):
        tracings.append(args)
        return body(*args)

    return tf.function(python), tracings


def test_same_kinds_of_arguments_share_a_trace():
    f, tracings = counted(lambda x, y: x + y)
    for k in range(5):
        a, b = tf.constant([1.0, k]), tf.constant([10.0, 20.0])
        assert f(a, b).numpy().tolist() == [11.0, 20.0 + k]
    assert len(tracings) == 1
    assert f(tf.constant([[1.0]]), tf.constant([2.0])).numpy().tolist() == [[3.0]]
    assert f(tf.constant([1]), tf.constant([2])).numpy().tolist() == [3]
    assert len(tracings) == 3
    assert f(tf.constant([1.0, 2.0]), tf.constant([1.0, 1.0])).numpy().tolist() == [2.0, 3.0]
    assert len(tracings) == 3


def test_python_values_are_part_of_the_kind():
    f, tracings = counted(lambda x, n, how: x * n if how == "times" else x + n)
    x = tf.constant(3.0)
    for _ in range(3):
        assert float(f(x, 2.0, "times")) == 6.0
        assert float(f(x, 2.0, "plus")) == 5.0
        assert float(f(x, 4.0, "times")) == 12.0
    assert len(tracings) == 3


def test_equal_numbers_of_other_types_are_other_kinds():
    f, tracings = counted(lambda x, n: x + (10.0 if n is True else 0.0))
    x = tf.constant(1.0)
    for _ in range(2):
        assert float(f(x, True)) == 11.0
        assert float(f(x, 1)) == 1.0
        assert float(f(x, 1.0)) == 1.0
    assert len(tracings) == 3


def test_more_kinds_than_are_remembered():
    f, tracings = counted(lambda x: tf.reduce_sum(x))
    for _ in range(3):
        for n in range(1, 13):
            assert float(f(tf.constant([1.0] * n))) == n
    assert len(tracings) == 12


def test_structures_of_results():
    pair = collections.namedtuple("pair", "one two")
    f = tf.function(lambda x: {"a": [x, None], "b": pair(x + 1.0, (x + 2.0,))})
    for k in range(3):
        result = f(tf.constant(float(k)))
        assert float(result["a"][0]) == k and result["a"][1] is None
        assert isinstance(result["b"], pair) and float(result["b"].one) == k + 1
        assert isinstance(result["b"].two, tuple) and float(result["b"].two[0]) == k + 2
    assert tf.function(lambda: None)() is None


def test_variables_are_read_and_written_in_each_call():
    v = tf.Variable(1.0)

    @tf.function
    def step(x):
        before = v * 1.0
        v.assign_add(x)
        return before

    for k in range(4):
        assert float(step(tf.constant(2.0))) == 1.0 + 2.0 * k
        assert float(v) == 3.0 + 2.0 * k
    v.assign(100.0)
    assert float(step(tf.constant(2.0))) == 100.0


def test_kept_results_are_not_overwritten():
    f = tf.function(lambda x: x + 1.0)
    chain = [tf.constant([0.0])]
    for _ in range(50):
        chain.append(f(chain[-1]))
    assert [float(t[0]) for t in chain] == [float(k) for k in range(51)]


def test_captured_tensors_stay():
    found = [tf.constant([5.0])]
    f = tf.function(lambda x: x + found[0])
    f(tf.constant([1.0]))
    found.clear()
    gc.collect()
    for _ in range(3):
        assert f(tf.constant([1.0])).numpy().tolist() == [6.0]


def test_errors_name_the_function():
    @tf.function
    def wrong(x, i):
        return tf.gather(x, i)

    good, bad = tf.constant([0, 1]), tf.constant([0, 7])
    x = tf.constant([1.0, 2.0])
    assert wrong(x, good).numpy().tolist() == [1.0, 2.0]
    for _ in range(2):
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[Op:__inference_wrong\]"):
            wrong(x, bad)
    assert wrong(x, good).numpy().tolist() == [1.0, 2.0]


def test_inside_of_a_trace_it_is_inlined():
    inner = tf.function(lambda x: x * 2.0)
    outer = tf.function(lambda x: inner(x) + inner(x))
    inner(tf.constant(1.0))
    for k in range(3):
        assert float(outer(tf.constant(float(k)))) == 4.0 * k


def test_methods_have_traces_of_their_own():
    class Scale:
        def __init__(self, by):
            self.by = by

        @tf.function
        def call(self, x):
            return x * self.by

    two, three = Scale(2.0), Scale(3.0)
    for _ in range(3):
        assert float(two.call(tf.constant(1.0))) == 2.0
        assert float(three.call(tf.constant(1.0))) == 3.0


def test_signature_fits_all_shapes():
    tracings = []

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def total(x):
        tracings.append(1)
        return tf.reduce_sum(x)

    for n in (1, 2, 3, 2, 1, 2):
        assert float(total(tf.constant([1.0] * n))) == n
    assert float(total([1.0, 2.0])) == 3.0
    assert len(tracings) == 1


def test_threads_may_call_one_function():
    f = tf.function(lambda x: x * 2.0 + 1.0)
    wrong = []

    def work(k):
        x = tf.constant([float(k)] * 4)
        for _ in range(300):
            if f(x).numpy().tolist() != [2.0 * k + 1.0] * 4:
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_functions_are_freed():
    f = tf.function(lambda x: x + 1.0)
    f(tf.constant(1.0))
    f(tf.constant(1.0))
    gone = weakref.ref(f)
    del f
    gc.collect()
    assert gone() is None


GPU = """
import situ as tf
f = tf.function(lambda x: tf.matmul(x, x))
x = tf.constant([[1., 2.], [3., 4.]])
for _ in range(3):
    x1 = f(x)
    assert x1.device.endswith("GPU:0"), x1.device
    x2 = f(x1)
    assert x2.device.endswith("GPU:0"), x2.device
print(x2.numpy().tolist())
with tf.device("/cpu:0"):
    print(f(x).device)
    print(f(x1).numpy().tolist())
reshape = tf.function(lambda t, s: tf.reshape(t, s))
print(reshape(x1, tf.constant([4]) + tf.constant([0])).shape)
"""


def test_results_stay_on_the_gpu(python):
    result = python(GPU, gpus=1)
    assert result.out.splitlines() == [
        "[[199.0, 290.0], [435.0, 634.0]]",
        "/job:localhost/replica:0/task:0/device:CPU:0",
        "[[199.0, 290.0], [435.0, 634.0]]",
        "(4,)",
    ], result.err


def test_options_of_functions_are_checked():
    feature = tf.autograph.experimental.Feature
    function = tf.function(lambda x: x + 1, experimental_autograph_options=feature.ALL)
    assert int(function(1)) == 2
    tf.function(lambda x: x, experimental_attributes={"api_implements": "x"})
    with pytest.raises(ValueError, match="Attribute name y is not supported by tf.function"):
        tf.function(lambda x: x, experimental_attributes={"y": 1})
    with pytest.raises(ValueError, match="must be a tf.autograph.experimental.Feature"):
        tf.function(lambda x: x, experimental_autograph_options=("ALL",))


def test_keyword_only_tensors_keep_their_names():
    @tf.function
    def difference(*, b, a):
        return b - a

    x, y = tf.constant(5.0), tf.constant(3.0)
    assert float(difference(b=x, a=y)) == float(difference(a=y, b=x)) == 2
    spec = tf.TensorSpec([], "float32")
    concrete = difference.get_concrete_function(b=spec, a=spec)
    assert float(concrete(a=y, b=x)) == 2
    named = {k: tf.TensorSpec([], "float32", k) for k in "ab"}
    assert concrete.structured_input_signature == ((), named)
