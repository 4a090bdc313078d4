# SPDX-License-Identifier: Apache-2.0
"""test_autograph.py: Python's if, while and for over tensors in tf.function."""
import numpy as np
import pytest

import situ as tf


def of(function, *values):
    return [tf.function(function)(tf.constant(v)).numpy().tolist() for v in values]


def test_if_sets_names():
    def double_or_turn(x):
        note = "kept"
        if x > 0:
            y = x * 2
            inside = x + 1
            y += inside - inside
        else:
            y = -x
        assert note == "kept"
        return y
    assert of(double_or_turn, 3.0, -3.0) == [6.0, 3.0]


def test_if_returns():
    def steps(x):
        if x > 10:
            return x
        if x > 5:
            return x + 100
        y = x * 2
        return y
    assert of(steps, 11.0, 6.0, 1.0) == [11.0, 106.0, 2.0]


def test_while():
    def collatz(n):
        count = 0
        while n != 1:
            if n % 2 == 0:
                n = n // 2
            else:
                n = 3 * n + 1
            count += 1
        return count
    assert of(collatz, 27, 1) == [111, 0]


def test_for_with_jumps():
    def odd(n):
        total = tf.constant(0)
        for i in tf.range(n):
            if i % 2 == 0:
                continue
            if i > 7:
                break
            total += i
        return total
    assert of(odd, 20, 4) == [16, 4]


def test_range_of_python():
    def total(n):
        result = 0
        for i in range(n):
            result = result + i
        return result
    assert of(total, 5) == [10]
    assert int(tf.function(total)(5)) == 10


def test_rows_and_arrays():
    def sums(x):
        array = tf.TensorArray(tf.float32, 0, dynamic_size=True)
        i = 0
        for row in x:
            array = array.write(i, tf.reduce_sum(row) if row[0] > 0 else 0.0)
            i += 1
        return array.stack()
    assert of(sums, [[1.0, 2.0], [-3.0, 4.0]]) == [[3.0, 0.0]]


def test_words():
    def inside(x):
        return 1.0 if x > 1 and x < 5 and not x == 3 else 0.0
    assert of(inside, 2.0, 3.0, 6.0) == [1.0, 0.0, 0.0]


def helper(x):
    if x > 1:
        return x * 10
    return x


class Model:
    def __init__(self):
        self.total = tf.Variable(0.0)

    def __call__(self, x):
        for row in x:
            self.total.assign_add(helper(row))
        return self.total + 0.0


def test_functions_that_are_called():
    model = Model()

    @tf.function
    def step(x):
        return model(x)
    assert float(step(tf.constant([1.0, 2.0]))) == 21.0
    assert float(step(tf.constant([1.0, 1.0]))) == 23.0 == float(model.total)


def test_gradients():
    @tf.function
    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x
            for _ in tf.range(3):
                y = y * x
        return tape.gradient(y, x)
    assert float(slope(tf.constant(2.0))) == 32.0


def test_prints_inside(tmp_path):
    where = f"file://{tmp_path}/out"

    @tf.function
    def fizz(n):
        for i in range(1, n + 1):
            if i % 3 == 0:
                tf.print("Fizz", output_stream=where)
            else:
                tf.print(i, output_stream=where)
    fizz(tf.constant(4))
    assert (tmp_path / "out").read_text().split() == ["1", "2", "Fizz", "4"]


def test_data_sets():
    data = tf.data.Dataset.from_tensor_slices(
        (np.arange(6, dtype=np.float32), np.arange(6))).batch(2)
    seen = tf.Variable(0.0)

    @tf.function
    def epoch():
        total = tf.constant(0.0)
        for x, y in data:
            seen.assign_add(tf.reduce_sum(x))
            total += tf.reduce_sum(x) * tf.cast(y[0], tf.float32)
        return total
    assert [float(epoch()), float(seen), float(epoch()), float(seen)] == [46.0, 15.0, 46.0, 30.0]


def test_what_is_not_set_everywhere():
    @tf.function
    def wrong(x):
        if x > 0:
            y = x
        return y + 1
    with pytest.raises(UnboundLocalError, match="'y' is used undefined"):
        wrong(tf.constant(1.0))


def test_as_it_is():
    @tf.function(autograph=False)
    def plain(x):
        return x if x > 0 else -x
    with pytest.raises(TypeError):
        plain(tf.constant(1.0))
