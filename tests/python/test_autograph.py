# SPDX-License-Identifier: Apache-2.0
"""test_autograph.py: Python's if, while and for over tensors in tf.function."""

import functools

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


def test_datasets():
    data = tf.data.Dataset.from_tensor_slices((np.arange(6, dtype=np.float32), np.arange(6))).batch(
        2
    )
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

    with pytest.raises(ValueError, match="'y' is used undefined"):
        wrong(tf.constant(1.0))


def test_as_it_is():
    @tf.function(autograph=False)
    def plain(x):
        return x if x > 0 else -x

    with pytest.raises(TypeError):
        plain(tf.constant(1.0))


def test_return_out_of_loops():
    def find(wanted):
        values = tf.constant([4, 5, 6])
        for i in tf.range(tf.shape(values)[0]):
            if values[i] == wanted:
                return i
        return tf.constant(-1)

    def count_down(n):
        total = 0
        while n > 0:
            if n == 3:
                return total * 100
            total += n
            n -= 1
        return total

    def nested(n):
        total = 0
        for i in tf.range(n):
            for j in tf.range(n):
                if i == 2 and j == 1:
                    return total
                if not (i < j or j == 0):
                    continue
                total += j
        return total

    assert of(find, 4, 6, 9) == [0, 2, -1]
    assert of(count_down, 5, 2) == [900, 3]
    assert of(nested, 2, 3, 4) == [1, 5, 11]


def test_return_of_structures_and_texts_out_of_loops():
    @tf.function
    def first_big(rows):
        for row in rows:
            if tf.reduce_sum(row) > 3.0:
                return row * 2.0, {"name": "big"}
        return tf.zeros([2]), {"name": "none"}

    row, more = first_big(tf.constant([[1.0, 1.0], [2.0, 3.0], [9.0, 9.0]]))
    assert row.numpy().tolist() == [4.0, 6.0] and more["name"].numpy() == b"big"
    row, more = first_big(tf.zeros([2, 2]))
    assert row.numpy().tolist() == [0.0, 0.0] and more["name"].numpy() == b"none"


def test_return_out_of_a_loop_of_python():
    @tf.function
    def first(x):
        for name in ("a", "b", "c"):
            if name == "b":
                return x + 1.0
        return x

    assert first(tf.constant(1.0)).numpy() == 2.0


def test_gradient_through_a_return_out_of_a_loop():
    @tf.function
    def power(x):
        y = x
        for i in tf.range(10):
            y = y * x
            if i == 1:
                return y
        return y

    @tf.function
    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = power(x)
        return tape.gradient(y, x)

    assert slope(tf.constant(2.0)).numpy() == 12.0


OUTSIDE = lambda x: x * 2 if x > 0 else -x


def test_choices_in_lambdas():
    def inside(x):
        turn = lambda a: a * 2 if a > 0 else -a
        return turn(x)

    assert of(inside, 3, -3) == [6, 3]
    assert of(lambda x: OUTSIDE(x), 3, -3) == [6, 3]
    rows = tf.data.Dataset.range(4).map(lambda x: x if x > 1 else x - 10)
    assert [x.numpy() for x in rows] == [-10, -9, 2, 3]

    @tf.function
    def mapped(x):
        def step(e):
            if e > 2.0:
                return e + 1.0
            return e * 10.0

        return tf.map_fn(step, x)

    assert mapped(tf.constant([1.0, 3.0])).numpy().tolist() == [10.0, 4.0]


def test_array_that_one_way_writes():
    @tf.function
    def positive(x):
        out = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        for e in x:
            if e < 0.0:
                continue
            out = out.write(out.size(), e)
        return out.stack()

    assert positive(tf.constant([1.0, -2.0, 3.0])).numpy().tolist() == [1.0, 3.0]


def test_variable_that_starts_from_an_argument():
    class Sum(tf.Module):
        def __init__(self):
            super().__init__()
            self.total = None

        @tf.function
        def __call__(self, x):
            if self.total is None:
                self.total = tf.Variable(tf.ones_like(x))
            self.total.assign_add(x)
            return self.total + 0.0

    add = Sum()
    add(tf.constant([1.0, 2.0]))
    assert add(tf.constant([1.0, 2.0])).numpy().tolist() == [3.0, 5.0]


def test_functions_that_wrap_others_are_converted_themselves():
    def tenfold(function):
        @functools.wraps(function)
        def wrapper(x):
            if x > 0:
                x = x + 1
            return function(x) * 10

        return wrapper

    @tenfold
    def size(x):
        if x > 0:
            return x
        return -x

    class Choice:
        def __call__(self, x):
            return x * 2 if x > 0 else x * 3

    part, choice = functools.partial(size), Choice()
    for made in (
        tf.function(lambda x: size(x)),
        tf.function(size),
        tf.function(part),
        tf.function(lambda x: part(x)),
    ):
        assert [float(made(tf.constant(x))) for x in (2.0, -2.0)] == [30, 20]
    for made in tf.function(choice), tf.function(lambda x: choice(x)):
        assert [float(made(tf.constant(x))) for x in (2.0, -2.0)] == [4, -6]


def test_chained_comparisons():
    asked = []

    def middle(x):
        asked.append(x)
        return x

    def between(x):
        return 1 < middle(x) < 5

    assert of(between, 0, 3, 7) == [False, True, False]
    assert len(asked) == 3  # once in each trace
    assert tf.function(lambda: 1 < 2 < 3 and not 3 < 2 < [][0])()


def test_functions_of_python():
    def numbers(x):
        return len(x), int(x[0]) // 2, float(x[1]) / 2, max(x), min([3, 4])

    assert [
        float(v)
        for v in tf.function(numbers, input_signature=[tf.TensorSpec([None], tf.float64)])(
            np.array([5.5, 3.0, 9.0])
        )
    ] == [3, 2, 1.5, 9, 3]

    @tf.function
    def pairs():
        total = tf.constant(0, tf.int64)
        for i, (a, b) in enumerate(zip(tf.data.Dataset.range(3), tf.data.Dataset.range(5, 8))):
            total += i * (a + b)
        return total

    assert int(pairs()) == 25


def test_names_of_others_and_parts_of_things():
    calls = 0

    class Thing:
        held = None

    def change(x):
        nonlocal calls
        calls += 1
        thing, parts = Thing(), {"a": x}
        if x > 0:
            thing.held = x * 2
        else:
            thing.held = -x
        for i in tf.range(3):
            parts["a"] = parts["a"] + i
            values = i * 10  # any name will do
        return thing.held + parts["a"] + values

    assert of(change, 1, -1) == [26, 23] and calls == 2


def test_variables_in_branches_and_loops():
    v, w = tf.Variable(1.5), tf.Variable(2.5)

    def choose(c):
        chosen, also = v, None
        if c:
            chosen, also = w * 10, c
        for _ in tf.range(2):
            chosen = chosen * 2
        return chosen

    assert of(choose, True, False) == [100.0, 6.0]


def test_shapes_that_a_loop_may_change():
    def double(x):
        for _ in tf.range(2):
            tf.autograph.experimental.set_loop_options(
                shape_invariants=[(x, tf.TensorShape([None]))]
            )
            x = tf.concat([x, x], 0)
        return x

    assert of(double, [1]) == [[1, 1, 1, 1]]


def test_the_largest_number_of_iterations():
    def loop(n):
        i = tf.constant(0)
        while i < n:
            tf.autograph.experimental.set_loop_options(maximum_iterations=3)
            i += 1
        return i

    def rows(x):
        s = tf.constant(0)
        for _ in x:
            tf.autograph.experimental.set_loop_options(maximum_iterations=tf.constant(3))
            s += 1
        return s

    def ranges(n):
        s = tf.constant(0)
        for _ in tf.range(n):
            tf.autograph.experimental.set_loop_options(maximum_iterations=3)
            s += 1
            if s > 6:
                break
        return s

    assert of(loop, 10, 2) == [3, 2]
    assert of(rows, np.zeros(10), np.zeros(1)) == [3, 1]
    assert of(ranges, 10, 2) == [3, 2]


def test_the_largest_number_of_iterations_of_an_inner_loop():
    def nested(n):
        i, total = tf.constant(0), tf.constant(0)
        while i < n:
            j = tf.constant(0)
            while j < n:
                tf.autograph.experimental.set_loop_options(maximum_iterations=2)
                last = j * 10
                j += 1
                total += 1
            i += last // 10
        return tf.stack([i, total])

    assert of(nested, 5) == [[5, 10]]


def test_the_largest_number_of_iterations_over_datasets():
    @tf.function
    def count(items):
        s = tf.constant(0)
        for _ in items:
            tf.autograph.experimental.set_loop_options(maximum_iterations=3)
            s += 1
        return s

    @tf.function
    def count_all():
        return count(tf.data.Dataset.range(10))

    assert count(iter(tf.data.Dataset.range(10))).numpy() == 3
    assert count_all().numpy() == 10  # of a dataset TensorFlow takes all elements


def test_arguments_of_the_conversion_that_are_not_supported():
    with pytest.raises(NotImplementedError, match="recursive=False"):
        tf.autograph.to_graph(of, recursive=False)
    for convert in (tf.autograph.to_graph, tf.autograph.to_code):
        with pytest.raises(NotImplementedError, match="experimental_optional_features"):
            convert(of, experimental_optional_features=("LISTS",))


def test_defaults_are_not_evaluated_again():
    """The names in the expressions of defaults and annotations may no longer exist."""
    functions = [tf.function(lambda x, k=k: x * float(k)) for k in range(3)]
    assert [float(f(tf.constant(2.0))) for f in functions] == [0.0, 2.0, 4.0]
    calls = []

    def create():
        scale, kind = 3.0, float

        @tf.function
        def scaled(x: kind, factor=calls.append(1) or scale, *, more: kind = scale + 1.0):
            if x > 0.0:
                x = x * factor
            return x + more

        del kind
        return scaled

    scaled = create()
    assert float(scaled(tf.constant(2.0))) == 10.0
    assert float(scaled(tf.constant(-2.0), more=1.0)) == -1.0
    assert calls == [1]
