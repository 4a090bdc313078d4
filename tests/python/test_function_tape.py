# SPDX-License-Identifier: Apache-2.0
"""test_function_tape.py: traced functions under tapes; signatures of functions as text. Numbers
and texts are TensorFlow's."""

import numpy as np
import pytest

import situ as tf


def close(found, wanted):
    np.testing.assert_allclose(tf.convert_to_tensor(found), wanted, rtol=2e-5)


def test_functions_are_traced_under_tapes():
    traced, v = [], tf.Variable(3.0)

    @tf.function
    def cube(x):
        traced.append(1)
        return x * x * v

    x = tf.constant(2.0)
    for _ in range(2):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = cube(x)
        assert [float(g) for g in tape.gradient(y, [x, v])] == [12, 4]
        assert tape.watched_variables() == (v,)
    assert len(traced) == 1
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = cube.get_concrete_function(x)(x)
    assert float(tape.gradient(y, x)) == 12


def test_structures_and_changes():
    v, rows, count = tf.Variable([[1.0, 2.0]]), tf.Variable([[1.0], [2.0]]), tf.Variable(0)

    @tf.function
    def mixed(x, k):
        count.assign_add(1)
        return {"a": x @ v, "b": [tf.gather(rows, k), k, None], "c": x}

    x = tf.constant([[3.0]])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        found = mixed(x, tf.constant([1, 1]))
        total = tf.reduce_sum(found["a"]) + tf.reduce_sum(found["b"][0] ** 2)
        same = found["c"] * 5.0
    assert found["b"][2] is None and found["b"][1].numpy().tolist() == [1, 1]
    close(tape.gradient(total, x), [[3]])
    close(tape.gradient(total, rows), [[0], [8]])
    close(tape.gradient(same, x), [[5]])
    close(tape.gradient(same, v), [[0, 0]])  # as of one op: zeros, not None
    assert int(count) == 1


def test_variables_that_the_function_changes():
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0]])

    @tf.function
    def change(x):
        v.assign(v * 2)
        y = tf.reduce_sum(x @ v)
        v.assign_add(v)
        return y + tf.reduce_sum(v**2)

    x = tf.constant([[0.1, 0.2], [0.3, 0.4]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = change(x)
    close(y, 490.8)
    for found, wanted in zip(
        tape.gradient(y, [x, v]), ([[6, 14], [6, 14]], [[8.4, 16.4], [24.6, 32.6]])
    ):
        close(found, wanted)


def test_derivatives_of_every_order():
    @tf.function
    def f(x):
        return tf.reduce_sum(tf.sin(x) ** 3 * tf.exp(x))

    x = tf.Variable([0.5, 1.0])
    with tf.GradientTape() as c:
        with tf.GradientTape() as b:
            with tf.GradientTape() as a:
                y = f(x)
            first = a.gradient(y, x)
        second = b.gradient(first, x)
    close(first, [1.1793787, 4.7394443])
    close(second, [5.284577, 7.006866])
    close(c.gradient(second, x), [12.199332, -10.844419])


def test_loops_and_branches():
    @tf.function
    def f(x):
        total = tf.zeros([])
        for _ in tf.range(3):
            if x[0] > 0.7:
                total += tf.reduce_sum(x**2)
            else:
                total += tf.reduce_sum(x) * total + 1.0
            x = x * 1.2
        return total

    x = tf.Variable([0.5, 1.0])
    with tf.GradientTape() as outer:
        with tf.GradientTape() as tape:
            y = f(x)
        g = tape.gradient(y, x)
    close(y, 6.392)
    close(g, [3.2736003, 5.3472004])
    close(outer.gradient(g, x), [4.1472, 4.1472])


def test_random_numbers_are_drawn_once():
    @tf.function
    def drop(x):
        return tf.nn.dropout(x, 0.5) * x

    x = tf.Variable(tf.ones([40]))
    with tf.GradientTape() as outer:
        with tf.GradientTape() as tape:
            y = drop(x)
        g = tape.gradient(y, x)
    close(g, 2 * y.numpy())
    close(outer.gradient(g, x), 2 * y.numpy())


def test_signatures():
    @tf.function
    def f(a, b=2, *, c=None):
        return {"x": a * b, "y": [a, c]}

    spec = "TensorSpec(shape=(None, 3), dtype=tf.float32, name=None)"
    made = f.get_concrete_function(tf.TensorSpec([None, 3]))
    gives = f"Dict[['x', {spec}], ['y', List[{spec}, Literal[None]]]]"
    assert str(made).split("\n") == [
        "ConcreteFunction Input Parameters:",
        f"  a (POSITIONAL_OR_KEYWORD): {spec}",
        "  b (POSITIONAL_OR_KEYWORD): Literal[2]",
        "  c (KEYWORD_ONLY): Literal[None]",
        "Output Type:",
        f"  {gives}",
        "Captures:",
        "  None",
    ]
    assert str(made.function_type) == f"(a: {spec}, b: Literal[2], *, c: Literal[None]) -> {gives}"
    with pytest.raises(TypeError, match="Binding inputs to tf.function failed"):
        made(tf.zeros([1, 3]), 3)


def test_fewer_traces():
    seen = []

    @tf.function(reduce_retracing=True)
    def f(x, y):
        seen.append((x.shape.rank and x.shape.as_list(), y))
        return x

    for shape in ([1], [2], [3], [3, 2], [5, 2], [1, 2, 3]):
        f(tf.zeros(shape), 1)
    f(tf.zeros([4]), 2)
    assert seen == [([1], 1), ([None], 1), (None, 1), ([4], 2)]


def test_objects_that_say_what_they_are_alike():
    traced = []

    class Kind(tf.types.experimental.TraceType):
        def __init__(self, kind):
            self.kind = kind

        is_subtype_of = __eq__ = lambda s, other: s.kind is getattr(other, "kind", None)
        most_specific_common_supertype = placeholder_value = lambda s, other: s
        __hash__ = lambda s: hash(s.kind)

    class Fruit:
        taste = 3

        def __tf_tracing_type__(self, context):
            return Kind(type(self))

    @tf.function
    def f(fruit):
        traced.append(1)
        return tf.constant(fruit.taste)

    assert [int(f(Fruit())) for _ in range(3)] == [3, 3, 3] and len(traced) == 1


def test_tensors_of_a_trace_mean_nothing_outside():
    kept = []

    @tf.function
    def f(x):
        kept.append(x + 1)
        return x

    f(tf.constant(1))
    for use in (lambda: kept[0] + 1, lambda: tf.function(lambda b: b + kept[0])(tf.constant(1))):
        with pytest.raises(TypeError, match="is out of scope and cannot be used here"):
            use()


def test_optimizers_of_later_traces():
    @tf.function
    def step(v, optimizer):
        with tf.GradientTape() as tape:
            loss = v * v
        optimizer.apply_gradients([(tape.gradient(loss, v), v)])

    v = tf.Variable(1.0)
    step(v, tf.keras.optimizers.Adam())
    with pytest.raises(ValueError, match="singleton tf.Variables created on the first call"):
        step(v, tf.keras.optimizers.Adam())


def test_specs():
    spec = tf.TensorSpec([None, 2], name="n")
    assert spec.is_compatible_with(tf.zeros([3, 2])) and not spec.is_compatible_with(tf.zeros([2]))
    assert isinstance(spec, tf.TypeSpec) and spec != tf.TensorSpec([None, 2])
    assert tf.TensorSpec.from_tensor(tf.zeros([1])) == tf.type_spec_from_value(tf.ones([1]))
    other = tf.TensorSpec([3, 4], name="n")
    assert spec.most_specific_compatible_type(other).shape.as_list() == [None, None]
    assert (
        str(tf.type_spec_from_value(tf.sparse.eye(2)))
        == "SparseTensorSpec(TensorShape([2, 2]), tf.float32)"
    )
