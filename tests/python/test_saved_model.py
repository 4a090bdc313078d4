# SPDX-License-Identifier: Apache-2.0
"""test_saved_model.py: objects with their variables and functions, in folders."""

import collections
import json

import numpy as np
import pytest

import situ as tf
from situ._src.checkpoint import safetensors
from situ._src.framework.autotrackable import AutoTrackable


class Line(tf.Module):
    def __init__(self):
        super().__init__()
        self.w, self.inner = tf.Variable(2.0, name="w"), tf.Module()
        self.inner.parts = [tf.Variable([1.0, 2.0]), tf.Variable(5, trainable=False)]

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, "x")])
    def line(self, x):
        return {"y": x * self.w + self.inner.parts[0][0]}

    @tf.function
    def scaled(self, x, factor=1.0, wide=False):
        return (x * factor, [tf.ones([3])]) if wide else x * factor

    @tf.function
    def count(self):
        self.inner.parts[1].assign_add(1)
        return self.inner.parts[1].read_value()


def test_module(tmp_path):
    module = Line()
    module.scaled(tf.constant([1.0]), 3.0)
    module.scaled(tf.constant([1, 2]), 2, wide=True)
    module.count()
    tf.saved_model.save(module, str(tmp_path / "m"), signatures=module.line)
    again = tf.saved_model.load(str(tmp_path / "m"))
    assert again.w.numpy() == 2.0 and again.w.trainable
    assert again.inner.parts[1].numpy() == 6 and not again.inner.parts[1].trainable
    assert again.line([1.0, 2.0])["y"].numpy().tolist() == [3.0, 5.0]
    assert again.scaled(tf.constant([4.0]), 3.0).numpy().tolist() == [12.0]
    first, (second,) = again.scaled(tf.constant([4, 5]), 2, wide=True)
    assert first.numpy().tolist() == [8, 10] and second.numpy().tolist() == [1, 1, 1]
    assert [int(again.count()) for _ in range(2)] == [7, 8]
    assert again.inner.parts[1].numpy() == 8 and module.inner.parts[1].numpy() == 6
    again.w.assign(10.0)
    served = again.signatures["serving_default"]
    assert served(x=tf.constant([1.0]))["y"].numpy().tolist() == [11.0]
    with pytest.raises(ValueError, match="Could not find matching"):
        again.scaled(tf.constant([1.0]), 9.0)


def test_gradient_of_a_loaded_function(tmp_path):
    module = Line()
    tf.saved_model.save(module, tmp_path)
    again = tf.saved_model.load(tmp_path)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(again.line(tf.constant([1.0, 3.0]))["y"])
    assert tape.gradient(loss, again.w).numpy() == 4.0


class Composites(tf.Module):
    @tf.function(
        input_signature=[
            tf.RaggedTensorSpec([None, None], "float32"),
            {"s": tf.SparseTensorSpec([None, 3]), "d": tf.TensorSpec([3, 1])},
        ]
    )
    def mixed(self, r, x):
        product = tf.sparse.sparse_dense_matmul(x["s"], x["d"])
        return {"sum": tf.reduce_sum(r, 1), "r": [r * 2], "s": x["s"], "product": product}

    @tf.function
    def slices(self, r):
        return tf.IndexedSlices(r.values, tf.range(2))


def test_composite_arguments_and_results(tmp_path):
    made, ragged = Composites(), tf.ragged.constant([[1.0, 2.0], []])
    made.slices(ragged)
    tf.saved_model.save(made, str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    x = {"s": tf.sparse.from_dense([[1.0, 0.0, 2.0]]), "d": tf.ones([3, 1])}
    for result in (loaded.mixed(ragged, x), loaded.mixed(r=ragged, x=x)):
        assert result["sum"].numpy().tolist() == [3, 0]
        assert result["r"][0].to_list() == [[2, 4], []]
        assert tf.sparse.to_dense(result["s"]).numpy().tolist() == [[1, 0, 2]]
        assert result["product"].numpy().tolist() == [[3]]
    slices = loaded.slices(ragged)
    assert isinstance(slices, tf.IndexedSlices) and slices.indices.numpy().tolist() == [0, 1]
    with pytest.raises(ValueError, match="RaggedTensorSpec"):
        loaded.mixed(tf.ones([2, 2]), x)


def test_keras_model(tmp_path):
    inputs = tf.keras.Input((4, 4, 1), name="image")
    made = tf.keras.layers.Conv2D(3, 2)(inputs)
    made = tf.keras.layers.BatchNormalization()(made)
    made = tf.keras.layers.Dense(2)(tf.keras.layers.Flatten()(made))
    model = tf.keras.Model(inputs, made)
    x = np.random.RandomState(0).randn(3, 4, 4, 1).astype("f")
    model.save(tmp_path / "keras")
    tf.saved_model.save(model, tmp_path / "saved")
    for folder in ("keras", "saved"):
        again = tf.saved_model.load(tmp_path / folder)
        np.testing.assert_allclose(again(x).numpy(), model.predict(x, verbose=0), rtol=1e-5)
        served = again.signatures["serving_default"](image=tf.constant(x))
        np.testing.assert_allclose(
            served["output_0"].numpy(), model.predict(x, verbose=0), rtol=1e-5
        )
        whole = tf.keras.models.load_model(tmp_path / folder)
        np.testing.assert_array_equal(whole.get_weights()[0], model.get_weights()[0])


def test_what_cannot_be_saved(tmp_path):
    class Python(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([], tf.int32)])
        def f(self, n):
            return tf.py_function(lambda x: x + 1, [n], tf.int32)

    with pytest.raises(NotImplementedError, match="calls Python"):
        tf.saved_model.save(Python(), tmp_path)
    with pytest.raises(ValueError, match="Expected an object of type `Trackable`"):
        tf.saved_model.save([tf.Variable(1.0)], tmp_path)
    (tmp_path / "saved_model.pb").write_bytes(b"x")
    with pytest.raises(OSError, match="TensorFlow wrote"):
        tf.saved_model.load(tmp_path)


class Control(tf.Module):
    def __init__(self):
        super().__init__()
        self.v = tf.Variable(2.0)

    @tf.function(input_signature=[tf.TensorSpec([], tf.int32), tf.TensorSpec([], tf.float32)])
    def power(self, n, x):
        y = tf.constant(1.0)
        while n > 0:
            if n % 2 == 1:
                y *= x * self.v
            n -= 1
        return y

    @tf.function(input_signature=[tf.TensorSpec([], tf.bool)])
    def bump(self, up):
        if up:
            self.v.assign_add(1.0)
        return self.v.read_value()


def saved_and_loaded(obj, folder, times=1, **options):
    for i in range(times):
        path = str(folder / str(i))
        tf.saved_model.save(obj, path, **options)
        obj = tf.saved_model.load(path)
    return obj


@pytest.mark.parametrize("times", [1, 3])
def test_branches_and_loops(tmp_path, times):
    loaded = saved_and_loaded(Control(), tmp_path, times)
    assert float(loaded.power(3, 5.0)) == 100
    assert [float(loaded.bump(up)) for up in (True, False, True)] == [3, 3, 4]
    x = tf.constant(1.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = loaded.power(tf.constant(3), x)
    dx, dv = tape.gradient(y, [x, loaded.v])
    assert (float(dx), float(dv)) == (32, 8)


@pytest.mark.parametrize("times", [1, 2, 3])
def test_structure_and_identity(tmp_path, times):
    root, shared = AutoTrackable(), AutoTrackable()
    shared.v = tf.Variable(3.0)
    shared.root = root  # a cycle
    root.parts = [shared, {"again": shared, "v": shared.v}, (shared.v, tf.Variable([1, 2]))]
    root.empty, root.text = [], "not saved"
    root.f = tf.function(lambda x: x * shared.v)
    root.g = root.f
    root.f(tf.constant(2.0))
    loaded = saved_and_loaded(root, tmp_path, times)
    one, two, three = loaded.parts
    assert one is two["again"] and one.root is loaded and one.v is two["v"] is three[0]
    assert three[1].numpy().tolist() == [1, 2] and isinstance(three, tuple)
    assert loaded.empty == [] and not hasattr(loaded, "text") and loaded.f is loaded.g
    one.v.assign(5.0)
    assert float(loaded.f(tf.constant(2.0))) == 10


@pytest.mark.parametrize("times", [1, 2])
def test_calls_select_a_trace(tmp_path, times):
    class Several(tf.Module):
        @tf.function
        def f(self, x, scale=1.0, *, shift=0, train=False):
            return x * scale + shift if train else x

    root = Several()
    root.f(tf.constant(2.0), train=True)
    root.f(tf.constant(2.0))
    root.f(tf.constant(2.0), 5.0, shift=3, train=True)
    root.f(tf.constant([2.0]))
    f = saved_and_loaded(root, tmp_path, times).f
    assert len(f.concrete_functions) == 4
    assert [float(f(x)) for x in (4.0, tf.constant(4.0), np.float32(4))] == [4, 4, 4]
    assert float(f(4.0, train=True)) == 4 and float(f(4.0, 5.0, shift=3, train=True)) == 23
    assert f(x=tf.constant([4.0])).numpy().tolist() == [4]
    with pytest.raises(ValueError, match=r"(?s)Could not find matching.*Option 4:"):
        f(tf.constant([1.0, 2.0]))
    with pytest.raises(ValueError, match="Could not find matching"):
        f(tf.constant(1.0), shift=4)
    with pytest.raises(TypeError, match="Binding inputs to tf.function failed"):
        f(tf.constant(1.0), wrong=4)
    concrete = f.get_concrete_function(tf.TensorSpec([], "float32"), train=True)
    assert float(concrete(tf.constant(2.0))) == 2


def test_a_function_without_traces(tmp_path):
    root = AutoTrackable()
    root.f = tf.function(lambda x: x)
    loaded = saved_and_loaded(root, tmp_path)
    with pytest.raises(ValueError, match="Found zero restored functions"):
        loaded.f(1)


@pytest.mark.parametrize("times", [1, 2])
def test_concrete_functions(tmp_path, times):
    root = AutoTrackable()
    root.v = tf.Variable(3.0)
    function = tf.function(lambda x, y: {"sum": x + y * root.v})
    root.f = function.get_concrete_function(
        tf.TensorSpec([None], "float32"), tf.TensorSpec([], "float32", "second")
    )
    loaded = saved_and_loaded(root, tmp_path, times)
    assert loaded.f(tf.constant([1.0]), tf.constant(2.0))["sum"].numpy().tolist() == [7]
    assert loaded.f(x=tf.constant([1.0]), y=tf.constant(2.0))["sum"].numpy().tolist() == [7]
    assert [v.numpy() for v in loaded.f.variables] == [3]


def test_signatures(tmp_path):
    spec = tf.TensorSpec([None], "float32")
    root = AutoTrackable()
    root.f = tf.function(lambda y, x: (x, x + 3 * y), input_signature=[spec, spec])
    root.g = tf.function(lambda x: {"twice": 2 * x}).get_concrete_function(spec)
    loaded = saved_and_loaded(root, tmp_path, signatures={"f": root.f, "g": root.g})
    f, g = loaded.signatures["f"], loaded.signatures["g"]
    assert sorted(loaded.signatures) == ["f", "g"] and len(loaded.signatures) == 2
    with pytest.raises(TypeError):
        loaded.signatures["h"] = f
    x = tf.constant([1.0])
    assert {k: float(v) for k, v in f(y=x, x=x).items()} == {"output_0": 1, "output_1": 4}
    assert float(f(y=2 * x, x=x)["output_1"]) == 7
    assert float(g(x)["twice"]) == 2
    assert f.structured_input_signature == (
        (),
        {n: tf.TensorSpec([None], "float32", n) for n in "xy"},
    )
    assert g.structured_outputs == {"twice": tf.TensorSpec([None], "float32", "twice")}
    with pytest.raises(TypeError, match="by name"):
        f(x, x)
    with pytest.raises(TypeError, match="Binding inputs to tf.function failed"):
        f(x=x)
    again = saved_and_loaded(loaded, tmp_path / "b", signatures=loaded.signatures)
    assert float(again.signatures["f"](x=x, y=2 * x)["output_1"]) == 7
    assert not saved_and_loaded(loaded, tmp_path / "c").signatures  # two functions qualify
    del root.f
    assert list(saved_and_loaded(root, tmp_path / "d").signatures) == ["serving_default"]
    with pytest.raises(ValueError, match="Only `tf.functions` with an input signature"):
        tf.saved_model.save(root, str(tmp_path), tf.function(lambda x: x))
    bad = tf.function(lambda: {1: tf.constant(1)}, input_signature=[])
    with pytest.raises(ValueError, match="non-string key 1"):
        tf.saved_model.save(root, str(tmp_path), bad)
    root.signatures = {}
    with pytest.raises(ValueError, match="attribute named 'signatures'"):
        tf.saved_model.save(root, str(tmp_path))


@pytest.mark.parametrize("times", [1, 2])
def test_tables(tmp_path, times):
    root, strings = AutoTrackable(), tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2])
    root.static = tf.lookup.StaticHashTable(strings, -1)
    root.mutable = tf.lookup.experimental.MutableHashTable("int64", "string", "none")
    root.mutable.insert(tf.constant([4], "int64"), ["four"])
    root.dense = tf.lookup.experimental.DenseHashTable("int64", "int64", -1, -2, -3)
    root.dense.insert(tf.constant([4], "int64"), tf.constant([5], "int64"))
    root.find = tf.function(
        lambda x: root.mutable.lookup(tf.cast(root.static.lookup(x), tf.int64) * 2),
        input_signature=[tf.TensorSpec([None], "string")],
    )
    loaded = saved_and_loaded(root, tmp_path, times)
    assert loaded.static.lookup(tf.constant(["b", "c"])).numpy().tolist() == [2, -1]
    assert loaded.find(["b", "c"]).numpy().tolist() == [b"four", b"none"]
    loaded.mutable.insert(tf.constant([4], "int64"), ["new"])
    assert loaded.find(["b"]).numpy().tolist() == [b"new"]
    assert loaded.dense.lookup(tf.constant([4, 6], "int64")).numpy().tolist() == [5, -1]


@tf.custom_gradient
def scaled(x):
    return x * x, lambda dy: dy * 100.0 * x


@tf.custom_gradient
def two_of(x, y):
    def back(dx, dy):
        return dx * 2.0 + dy, dy * 5.0

    return (x + y, x * y), back


class Custom(tf.Module):
    """Functions with gradients of their own."""

    def __init__(self):
        super().__init__()
        self.v = tf.Variable(2.0)

    @tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
    def one(self, x):
        return scaled(x) * self.v

    @tf.function(input_signature=[tf.TensorSpec([], tf.float32), tf.TensorSpec([], tf.float32)])
    def two(self, x, y):
        a, b = two_of(x, y)
        return a + 3.0 * b


def gradients_of(function, *values):
    values = [tf.constant(v) for v in values]
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(values)
        result = function(*values)
    return float(result), [float(g) for g in tape.gradient(result, values)]


def test_gradients_of_their_own_are_kept(tmp_path):
    module = Custom()
    before = gradients_of(module.one, 3.0), gradients_of(module.two, 3.0, 4.0)
    assert before == ((18, [600]), (43, [5, 15]))
    for _ in range(2):  # saving changes nothing, and may be done again
        tf.saved_model.save(
            module, str(tmp_path / "m"), signatures={"one": module.one.get_concrete_function()}
        )
        assert (gradients_of(module.one, 3.0), gradients_of(module.two, 3.0, 4.0)) == before
    loaded = tf.saved_model.load(str(tmp_path / "m"))
    assert (gradients_of(loaded.one, 3.0), gradients_of(loaded.two, 3.0, 4.0)) == before
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        y = loaded.one(x)
    assert float(tape.gradient(y, loaded.v)) == 9
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = loaded.one(x)
        grad = inner.gradient(y, x)
    assert float(outer.gradient(grad, x)) == 200


def test_gradients_of_their_own_that_options_leave_out(tmp_path):
    options = tf.saved_model.SaveOptions(experimental_custom_gradients=False)
    tf.saved_model.save(Custom(), str(tmp_path / "m"), options=options)
    assert gradients_of(tf.saved_model.load(str(tmp_path / "m")).one, 3.0) == (18, [12])


def test_options_and_tags(tmp_path):
    class Scale(tf.Module):
        def __init__(self):
            self.v = tf.Variable(3.0)

        @tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
        def scale(self, x):
            return x * self.v

    model, load = Scale(), tf.saved_model.load
    tf.saved_model.save(model, tmp_path / "plain")
    load(tmp_path / "plain", tags="serve"), load(tmp_path / "plain", ["serve"])
    with pytest.raises(ValueError, match="has one MetaGraph with tags"):
        load(tmp_path / "plain", ["train"])
    options = tf.saved_model.SaveOptions(function_aliases={"f": model.scale}, extra_tags=["gpu"])
    tf.saved_model.save(model, tmp_path / "tagged", options=options)
    with pytest.raises(ValueError, match="tags"):
        load(tmp_path / "tagged", "serve")
    aliased = tf.saved_model.LoadOptions(experimental_load_function_aliases=True)
    made = load(tmp_path / "tagged", ["gpu", "serve"], aliased)
    assert made.function_aliases["f"](tf.constant(2.0)).numpy() == 6
    assert not hasattr(load(tmp_path / "tagged"), "function_aliases")


@pytest.mark.parametrize(
    "make, argument",
    [
        (tf.saved_model.SaveOptions, {"save_debug_info": True}),
        (tf.saved_model.SaveOptions, {"experimental_debug_stripper": True}),
        (tf.saved_model.SaveOptions, {"experimental_variable_policy": "save_variable_devices"}),
        (tf.saved_model.LoadOptions, {"experimental_skip_checkpoint": True}),
    ],
)
def test_unsupported_options(make, argument):
    with pytest.raises(NotImplementedError, match=next(iter(argument))):
        make(**argument)


def test_a_variable_alone(tmp_path):
    tf.saved_model.save(tf.Variable([1.0, 2.0], name="w"), str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    assert isinstance(loaded, tf.Variable) and loaded.numpy().tolist() == [1, 2]


@pytest.mark.parametrize("times", [1, 2])
def test_attributes_of_variables(tmp_path, times):
    root = AutoTrackable()
    root.variables = [
        tf.Variable(
            1.0,
            trainable=False,
            synchronization=tf.VariableSynchronization.NONE,
            aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA,
        ),
        tf.Variable([1.0], shape=[None], name="w"),
        tf.Variable(["a", "b"], shape=tf.TensorShape(None)),
    ]
    first, second, third = saved_and_loaded(root, tmp_path, times).variables
    assert not first.trainable and first.synchronization is tf.VariableSynchronization.NONE
    assert first.aggregation is tf.VariableAggregation.ONLY_FIRST_REPLICA
    second.assign([1.0, 2.0])
    assert second.shape.as_list() == [None] and second.name == "w:0"
    assert third.shape.rank is None and third.numpy().tolist() == [b"a", b"b"]


@pytest.mark.parametrize("times", [1, 2])
def test_named_tuples_of_results(tmp_path, times):
    pair = collections.namedtuple("Pair", "b a")
    root = AutoTrackable()
    root.f = tf.function(lambda x: pair(x, [x + 1]), input_signature=[tf.TensorSpec([])])
    made = saved_and_loaded(root, tmp_path, times).f(2.0)
    assert (float(made.b), float(made.a[0]), type(made).__name__) == (2, 3, "Pair")


@pytest.mark.parametrize("times", [1, 2])
def test_assets(tmp_path, times):
    (tmp_path / "x").mkdir()
    files = tmp_path / "words.txt", tmp_path / "x" / "words.txt"
    for file in files:
        file.write_text(str(file))
    root = AutoTrackable()
    root.one, root.two = (tf.saved_model.Asset(str(file)) for file in files)
    root.same = tf.saved_model.Asset(tf.constant(str(files[0])))
    root.read = tf.function(lambda: tf.io.read_file(root.two.asset_path), input_signature=[])
    loaded = saved_and_loaded(root, tmp_path / "m", times)
    texts = [str(file).encode() for file in files]
    for file in files:
        file.unlink()
    assert loaded.read().numpy() == texts[1]
    paths = [a.asset_path.numpy().decode() for a in (loaded.one, loaded.two, loaded.same)]
    assert paths[0] == paths[2] != paths[1]
    folder = tmp_path / "m" / str(times - 1) / "assets"
    assert sorted(paths[:2]) == sorted(map(str, folder.iterdir()))


def test_defaults_of_parameters_with_a_signature(tmp_path):
    root = AutoTrackable()
    root.f = tf.function(
        lambda x=np.float32(5.0), scale=2.0: x * scale, input_signature=[tf.TensorSpec([])]
    )
    assert float(root.f()) == 10 and float(root.f(1.0)) == 2
    with pytest.raises(TypeError, match="1 arguments, but 2 were given"):
        root.f(1.0, 3.0)
    loaded = saved_and_loaded(root, tmp_path)
    assert float(loaded.f(3.0)) == 6


def test_traces_that_read_what_the_file_does_not_have(tmp_path):
    module = tf.Module()
    module.v = tf.Variable(2.0)
    module.f = tf.function(lambda x: x * module.v, input_signature=[tf.TensorSpec([])])
    tf.saved_model.save(module, str(tmp_path))
    path = next(p for p in tmp_path.iterdir() if p.suffix == ".safetensors")
    file = safetensors.File(path)
    traces = json.loads(file.metadata["traces"])
    traces[0]["reads"] = [[name, 7] for name, _ in traces[0]["reads"]]
    tensors = {name: file.get(name) for name in file.entries}
    safetensors.write(
        str(path), tensors, {"object": file.metadata["object"], "traces": json.dumps(traces)}
    )
    loaded = tf.saved_model.load(str(tmp_path))
    with pytest.raises(tf.errors.DataLossError, match="damaged: KeyError: 'variable/7'"):
        loaded.f(tf.constant(1.0))
