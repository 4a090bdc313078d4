# SPDX-License-Identifier: Apache-2.0
"""test_extension_type.py: tf.experimental.ExtensionType: fields, specs, functions, datasets, Keras
models and dispatch."""

import pickle
import typing

import numpy as np
import pytest

import situ as tf

ExtensionType = tf.experimental.ExtensionType


class Masked(ExtensionType):
    """A tensor with a mask."""

    values: tf.Tensor
    mask: tf.Tensor
    label: str = "m"

    def __validate__(self):
        self.values.shape.assert_is_compatible_with(self.mask.shape)

    @property
    def shape(self):
        return self.values.shape

    def with_values(self, values):
        return Masked(values, self.mask, self.label)

    class Spec:
        """Adds a shape to specs."""

        @property
        def shape(self):
            return self.values.shape


class Batch(tf.experimental.BatchableExtensionType):
    values: tf.Tensor
    rows: tf.RaggedTensor
    shape: tf.TensorShape
    size: int = 3


class Node(ExtensionType):
    value: tf.Tensor
    children: tuple["Node", ...] = ()


def masked(label="m"):
    return Masked([1, 2, 3], [True, False, True], label)


def batch():
    rows = tf.ragged.constant([[1], [2, 3], []])
    return Batch(tf.constant([[1, 2], [3, 4], [5, 6]]), rows, [3])


def test_fields_are_converted_and_immutable():
    value = masked()
    assert value.values.dtype == tf.int32 and value.mask.dtype == tf.bool
    with pytest.raises(AttributeError, match="Cannot mutate attribute `values`"):
        value.values = 3
    with pytest.raises(AttributeError, match="Cannot mutate attribute `label`"):
        del value.label
    assert repr(value).startswith("Masked(values=<tf.Tensor: shape=(3,)")
    assert tf.experimental.extension_type.as_dict(value)["label"] == "m"
    with pytest.raises(ValueError, match="not compatible|incompatible"):
        Masked([1, 2], [True])
    with pytest.raises(TypeError, match="label: expected 'str', got 'int'"):
        Masked([1], [True], 3)
    with pytest.raises(TypeError):
        Masked([1])
    with pytest.raises(AssertionError, match="abstract base class"):
        ExtensionType()


def test_annotations():
    class Everything(ExtensionType):
        a: typing.Union[int, tf.Tensor]
        b: typing.Mapping[str, tf.Tensor]
        c: tuple[int, ...]
        d: tuple[str, float]
        e: tf.TensorShape
        f: tf.DType
        g: typing.Optional[bytes] = None
        h: bool = True

    value = Everything(1, {"x": [1.0]}, [1, 2], ("s", 2.5), [None, 3], "int8")
    assert value.c == (1, 2) and value.e.as_list() == [None, 3] and value.f == tf.int8
    assert value.b["x"].numpy().tolist() == [1.0] and value.g is None
    with pytest.raises(TypeError):
        value.b["x"] = 2
    assert isinstance(Everything([2], {}, [], ("s", 1.0), [], "int8").a, tf.Tensor)
    spec = value._type_spec
    assert spec.b["x"] == tf.TensorSpec([1], tf.float32) and spec.a == 1
    with pytest.raises(TypeError, match=r"c\[1\]: expected 'int', got 'str'"):
        Everything(1, {}, [1, "x"], ("s", 2.5), [], "int8")
    with pytest.raises(TypeError, match="In field 'x': Unsupported type annotation 'list'"):
        type("Bad", (ExtensionType,), {"__annotations__": {"x": list}})
    with pytest.raises(TypeError, match="Mapping had a key 'Tensor'"):
        type("Bad", (ExtensionType,), {"__annotations__": {"x": typing.Mapping[tf.Tensor, int]}})
    with pytest.raises(ValueError, match="Field 'Spec' is reserved|Spec must be a nested class"):
        type("Bad", (ExtensionType,), {"__annotations__": {"Spec": int}, "Spec": 3})
    with pytest.raises(ValueError, match="Field x is missing a type annotation"):
        type("Bad", (ExtensionType,), {"x": 3})
    with pytest.raises(ValueError, match="'_type_spec' is reserved"):
        type("Bad", (ExtensionType,), {"__annotations__": {"_type_spec": int}})


def test_constructors_and_forward_references():
    class Scaled(ExtensionType):
        values: tf.Tensor
        scale: float

        def __init__(self, values, percent=100):
            self.values = values
            self.scale = percent / 100

    assert Scaled([1], percent=50).scale == 0.5
    with pytest.raises(AttributeError, match="Cannot mutate attribute `other`"):

        class Wrong(ExtensionType):
            values: tf.Tensor

            def __init__(self):
                self.other = 3

        Wrong()
    tree = Node(1, [Node(2), Node(3, [Node(4)])])
    total = sum(int(t) for t in tf.nest.flatten(tree, expand_composites=True))
    assert total == 10
    doubled = tf.nest.map_structure(lambda t: t * 2, tree, expand_composites=True)
    assert int(doubled.children[1].children[0].value) == 8

    class Late(ExtensionType):
        first: int = 1
        second: tf.Tensor

    with pytest.raises(TypeError):
        Late(1, 2)
    assert int(Late(second=2).second) == 2


def test_equality():
    assert bool(masked() == masked())
    assert not bool(masked() == Masked([1, 2, 4], [True, False, True]))
    assert (masked() == masked("n")) is False and (masked() == 3) is False
    assert bool(masked() != Masked([1, 2, 4], [True, False, True]))
    assert not isinstance(masked().__hash__, typing.Callable)


def test_specs():
    spec = masked()._type_spec
    assert isinstance(spec, Masked.Spec) and spec.value_type is Masked
    assert spec.shape.as_list() == [3] and spec.label == "m"
    assert spec == Masked.Spec(tf.TensorSpec([3], "int32"), tf.TensorSpec([3], "bool"), "m")
    assert hash(spec) == hash(masked()._type_spec) and spec != masked("n")._type_spec
    assert spec.is_compatible_with(masked()) and not spec.is_compatible_with(masked("n"))
    wide = Masked.Spec(tf.TensorSpec([None], "int32"), tf.TensorSpec([None], "bool"), "m")
    assert wide.is_compatible_with(spec) and spec.is_subtype_of(wide)
    assert not wide.is_subtype_of(spec)
    other = Masked([1], [True])._type_spec
    assert spec.most_specific_compatible_type(other) == wide
    with pytest.raises(ValueError, match="No TypeSpec is compatible"):
        spec.most_specific_compatible_type(masked("n")._type_spec)
    assert pickle.loads(pickle.dumps(spec)) == spec
    assert tf.type_spec_from_value(masked()) == spec
    with pytest.raises(TypeError, match="values: expected a TensorSpec, got 'int'"):
        Masked.Spec(3, tf.TensorSpec([3], "bool"), "m")
    assert repr(spec).startswith("Masked.Spec(values=TensorSpec(shape=(3,)")


def test_functions_are_traced_by_type_and_static_fields():
    traces = []

    @tf.function
    def double(x):
        traces.append(x.label)
        return Masked(x.values * 2, x.mask, x.label + "!")

    assert double(masked()).values.numpy().tolist() == [2, 4, 6]
    assert double(masked()).label == "m!" and double(masked("n")).label == "n!"
    assert traces == ["m", "n"]
    wide = Masked.Spec(tf.TensorSpec([None], "int32"), tf.TensorSpec([None], "bool"), "m")

    @tf.function(input_signature=[wide])
    def total(x):
        return tf.reduce_sum(tf.where(x.mask, x.values, 0))

    assert int(total(masked())) == 4 and int(total(Masked([5], [True]))) == 5

    @tf.function
    def nested(values):
        return {"a": [v.with_values(v.values + 1) for v in values["list"]]}

    result = nested({"list": [masked(), masked("n")]})
    assert [v.label for v in result["a"]] == ["m", "n"]
    assert result["a"][1].values.numpy().tolist() == [2, 3, 4]

    @tf.function
    def change(values):
        values.append(1)

    with pytest.raises(ValueError, match="should not modify its Python input arguments"):
        change([masked()])


@pytest.mark.parametrize("wrap", [lambda f: f, tf.function])
def test_control_flow(wrap):
    @wrap
    def choose(flag, x):
        return tf.cond(flag, lambda: x, lambda: x.with_values(-x.values))

    assert choose(tf.constant(False), masked()).values.numpy().tolist() == [-1, -2, -3]

    @wrap
    def grow(x):
        return tf.while_loop(
            lambda i, x: i < 3, lambda i, x: (i + 1, x.with_values(x.values * 2)), [0, x]
        )[1]

    assert grow(masked()).values.numpy().tolist() == [8, 16, 24]


def test_gradients():
    value = Masked(tf.constant([1.0, 2.0]), [True, False])
    with tf.GradientTape() as tape:
        tape.watch(value.values)
        loss = tf.reduce_sum(value.values**2)
    assert tape.gradient(loss, value.values).numpy().tolist() == [2.0, 4.0]


def test_datasets():
    data = tf.data.Dataset.from_tensors(masked())
    assert data.element_spec == masked()._type_spec
    (value,) = data.map(lambda x: x.with_values(x.values + 1))
    assert value.values.numpy().tolist() == [2, 3, 4] and value.label == "m"
    with pytest.raises(TypeError, match="cannot be batched"):
        data.batch(2)
    with pytest.raises(TypeError, match="cannot be unbatched"):
        tf.data.Dataset.from_tensor_slices(masked())


def test_batchable_types_in_datasets():
    data = tf.data.Dataset.from_tensor_slices(batch())
    spec = data.element_spec
    assert spec.values.shape.as_list() == [2] and spec.shape.as_list() == [] and spec.size == 3
    first, second = data.batch(2)
    assert first.values.numpy().tolist() == [[1, 2], [3, 4]]
    assert first.rows.to_list() == [[1], [2, 3]] and second.rows.to_list() == [[]]
    assert [v.values.numpy().tolist() for v in data.batch(3).unbatch()] == [[1, 2], [3, 4], [5, 6]]
    sums = tf.map_fn(lambda x: tf.reduce_sum(x.values), batch(), fn_output_signature=tf.int32)
    assert sums.numpy().tolist() == [3, 7, 11]
    same = tf.map_fn(lambda x: x, batch())
    assert isinstance(same, Batch) and same.rows.to_list() == [[1], [2, 3], []]


def test_own_batch_encoders():
    class Encoder(tf.experimental.ExtensionTypeBatchEncoder):
        def encode(self, spec, value, minimum_rank=0):
            return {"both": tf.stack([value.x, value.y], -1)}

        def encoding_specs(self, spec):
            shape = [*spec.x.shape.as_list(), 2]
            return {"both": tf.TensorSpec(shape, spec.x.dtype)}

        def decode(self, spec, encoded_value):
            return Point(encoded_value["both"][..., 0], encoded_value["both"][..., 1])

    class Point(tf.experimental.BatchableExtensionType):
        x: tf.Tensor
        y: tf.Tensor
        __batch_encoder__ = Encoder()

    data = tf.data.Dataset.from_tensor_slices(Point([1, 2, 3], [4, 5, 6])).batch(2)
    first = next(iter(data))
    assert first.x.numpy().tolist() == [1, 2] and first.y.numpy().tolist() == [4, 5]
    with pytest.raises(ValueError, match="__batch_encoder__ should only be defined"):
        type("Bad", (ExtensionType,), {"__batch_encoder__": Encoder()})


def test_keras_models():
    class Pair(tf.experimental.BatchableExtensionType):
        a: tf.Tensor
        b: tf.Tensor

        @property
        def shape(self):
            return self.a.shape

        @property
        def dtype(self):
            return self.a.dtype

        class Spec:
            """The shape and dtype of both."""

            @property
            def shape(self):
                return self.a.shape

            @property
            def dtype(self):
                return self.a.dtype

    class Sum(tf.keras.layers.Layer):
        def call(self, inputs):
            return inputs.a + inputs.b

    spec = Pair.Spec(tf.TensorSpec([None, 2]), tf.TensorSpec([None, 2]))
    x = tf.keras.Input(type_spec=spec)
    model = tf.keras.Model(x, tf.keras.layers.Dense(1)(Sum()(x)))
    data = Pair(np.ones([5, 2], "float32"), np.ones([5, 2], "float32"))
    want = 2 * model.layers[-1].kernel.numpy().sum()
    np.testing.assert_allclose(model.predict(data, batch_size=2), np.full([5, 1], want), rtol=1e-6)
    model.compile("sgd", "mse")
    model.fit(data, np.ones([5, 1]), batch_size=2, verbose=0)
    model.fit(tf.data.Dataset.from_tensor_slices((data, np.ones([5, 1]))).batch(2), verbose=0)


def test_dispatch_for_api():
    @tf.experimental.dispatch_for_api(tf.shape)
    def masked_shape(input: Masked, out_type=tf.int32):
        return tf.shape(input.values, out_type)

    assert tf.shape(masked()).numpy().tolist() == [3]
    assert tf.shape([1, 2]).numpy().tolist() == [2]

    @tf.experimental.dispatch_for_api(tf.concat, {"values": list[Masked]})
    def masked_concat(values, axis, name=None):
        del name
        joined = [tf.concat([getattr(v, n) for v in values], axis) for n in ("values", "mask")]
        return Masked(*joined)

    both = tf.concat([masked(), masked()], 0)
    assert both.values.shape == [6]
    assert tf.concat([[1], [2]], 0).numpy().tolist() == [1, 2]
    tf.experimental.unregister_dispatch_for(masked_concat)
    with pytest.raises((TypeError, ValueError)):
        tf.concat([masked(), masked()], 0)
    tf.experimental.unregister_dispatch_for(masked_shape)
    with pytest.raises(ValueError, match="was not registered"):
        tf.experimental.unregister_dispatch_for(masked_shape)
    with pytest.raises(ValueError, match="does not support dispatch"):
        tf.experimental.dispatch_for_api(lambda x: x)
    with pytest.raises(ValueError, match="does not match API's signature"):
        tf.experimental.dispatch_for_api(tf.shape)(lambda wrong: wrong)
    with pytest.raises(ValueError, match="unknown parameter 'y'"):
        tf.experimental.dispatch_for_api(tf.shape, {"y": Masked})


def test_dispatch_for_elementwise_apis():
    either = typing.Union[Masked, tf.Tensor]

    @tf.experimental.dispatch_for_unary_elementwise_apis(Masked)
    def unary(api_func, x):
        return x.with_values(api_func(x.values))

    @tf.experimental.dispatch_for_binary_elementwise_apis(either, either)
    def binary(api_func, x, y):
        values = [v.values if isinstance(v, Masked) else v for v in (x, y)]
        mask = x.mask if isinstance(x, Masked) else y.mask
        return Masked(api_func(*values), mask)

    @tf.experimental.dispatch_for_binary_elementwise_assert_apis(Masked, Masked)
    def check(api_func, x, y):
        return api_func(x.values, y.values)

    assert tf.math.negative(masked()).values.numpy().tolist() == [-1, -2, -3]
    assert tf.cast(masked(), tf.float32).values.dtype == tf.float32
    assert tf.math.add(masked(), tf.constant(1)).values.numpy().tolist() == [2, 3, 4]
    assert tf.math.maximum(tf.constant(2), masked()).values.numpy().tolist() == [2, 2, 3]
    assert int(tf.math.add(1, 2)) == 3
    tf.debugging.assert_equal(masked(), masked())
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.debugging.assert_less(masked(), masked())
    for handler in (unary, binary, check):
        tf.experimental.unregister_dispatch_for(handler)
    with pytest.raises((TypeError, ValueError)):
        tf.math.negative(masked())


def test_annotations_of_programs_are_no_strings(situ):
    program = """
        import tensorflow as tf, typing

        def make():
            kind = typing.Mapping[str, tf.Tensor]

            class Local(tf.experimental.ExtensionType):
                name: str
                parts: kind

            return Local("x", {"a": 1})

        print(make().parts["a"].numpy())
    """
    done = situ("run", "a.py", files={"a.py": program})
    assert done.out == "1\n", done.err


def test_fields_may_be_variables():
    class Layer(tf.experimental.ExtensionType):
        w: tf.Variable
        bias: tf.Tensor

    v = tf.Variable([1.0, 2.0])
    layer = Layer(v, [3.0, 4.0])
    assert layer.w is v

    @tf.function
    def apply(layer):
        layer.w.assign_add([1.0, 1.0])
        return layer.w + layer.bias

    assert apply(layer).numpy().tolist() == [5.0, 7.0]
    assert apply(layer).numpy().tolist() == [6.0, 8.0]
    other = Layer(tf.Variable([10.0, 20.0]), [0.0, 0.0])
    assert apply(other).numpy().tolist() == [11.0, 21.0]
    assert v.numpy().tolist() == [3.0, 4.0]
    with pytest.raises(TypeError, match="w: expected"):
        Layer(3.0, [0.0])
