# SPDX-License-Identifier: Apache-2.0
"""layers_further.py: layers that programs use now and then."""
import math

import numpy

from situ._lib import feature_layers, shapes
from situ._lib.array_ops import cast, constant, convert_to_tensor, op, shape as shape_op
from situ._lib.feature_column import Embedding, combined, rows_of
from situ._lib.keras import context, initializers
from situ._lib.keras.cells import LSTMCell
from situ._lib.initializers import TruncatedNormal
from situ._lib.keras.input_spec import InputSpec
from situ._lib.keras.layer import Layer
from situ._lib.keras.layers_conv import DepthwiseConv2D, SeparableConv2D, many
from situ._lib.keras.layers_core import named
from situ._lib.keras.layers_norm import Scaled
from situ._lib.keras.layers_pool import repeated
from situ._lib.keras.names import shown


@named("Identity")
class Identity(Layer):
    """What it is given."""

    def call(self, inputs):
        return op("Identity", inputs)


@named("AlphaDropout")
class AlphaDropout(Layer):
    """Dropout that keeps mean and variance of what comes out of selu."""

    def __init__(self, rate, noise_shape=None, seed=None, **words):
        super().__init__(**words)
        self.rate, self.noise_shape, self.seed, self.supports_masking = rate, noise_shape, seed, \
            True

    def call(self, inputs, training=None):
        if not training or not 0 < self.rate < 1:
            return op("Identity", inputs)
        low = -1.7580993408473766
        shape = self.noise_shape or shape_op(inputs)
        kept = cast(op("GreaterEqual", context.function("random.uniform")(shape, seed=self.seed),
                       constant(float(self.rate))), inputs.dtype)
        a = ((1 - self.rate) * (1 + self.rate * low ** 2)) ** -0.5
        return a * (inputs * kept + low * (1.0 - kept)) - a * low * self.rate

    def get_config(self):
        return {**super().get_config(), "rate": self.rate, "noise_shape": self.noise_shape,
                "seed": self.seed}


@named("GroupNormalization")
class GroupNormalization(Scaled):
    """Mean 0 and variance 1 of groups of channels of each example."""

    def __init__(self, groups=32, axis=-1, *args, **words):
        super().__init__(axis, *args, **words)
        self.groups = groups

    def build(self, input_shape):
        width = shapes.as_shape(input_shape).as_list()[self.axis]
        self.groups = width if self.groups == -1 else self.groups
        if width % self.groups:
            raise ValueError(f"Number of groups ({self.groups}) must be a multiple of the number "
                             f"of channels ({width}).")
        self.make([width])
        self.built = True

    def call(self, inputs):
        rank = inputs.shape.rank
        axis = self.axis % rank
        order = [*[i for i in range(rank) if i != axis], axis]
        x = inputs if axis == rank - 1 else op("Transpose", inputs, order)
        shape, width = shape_op(x), x.shape.as_list()[-1]
        parts = op("Reshape", x, [shape[0], -1, self.groups, width // self.groups])
        mean = op("Mean", parts, [1, 3], keep_dims=True)
        variance = op("Mean", op("SquaredDifference", parts, mean), [1, 3], keep_dims=True)
        made = op("Reshape", (parts - mean) * op("Rsqrt", variance + self.epsilon), shape)
        made = made if self.gamma is None else made * self.gamma
        made = made if self.beta is None else made + self.beta
        if axis != rank - 1:
            made = op("Transpose", made, [order.index(i) for i in range(rank)])
        made.set_shape(inputs.shape) if hasattr(made, "set_shape") else None
        return made

    def get_config(self):
        return {**super().get_config(), "groups": self.groups}


@named("UpSampling3D")
class UpSampling3D(Layer):
    """Each element of a volume several times."""

    def __init__(self, size=(2, 2, 2), data_format=None, **words):
        super().__init__(**words)
        self.size = many(size, 3, "size")
        self.data_format = data_format or context.setting("format")

    def call(self, inputs):
        start = 2 if self.data_format == "channels_first" else 1
        for i, times in enumerate(self.size):
            inputs = repeated(inputs, start + i, times)
        return inputs

    def get_config(self):
        return {**super().get_config(), "size": self.size, "data_format": self.data_format}


class _OfRows:
    """A layer of images that is used on rows: they are images of one line."""

    @property
    def depthwise_kernel(self):
        return op("ExpandDims", self._kernels["depthwise_kernel"], 0)

    @property
    def pointwise_kernel(self):
        return op("ExpandDims", self._kernels["pointwise_kernel"], 0)

    @depthwise_kernel.setter
    def depthwise_kernel(self, weight):
        self.__dict__.setdefault("_kernels", {})["depthwise_kernel"] = weight

    @pointwise_kernel.setter
    def pointwise_kernel(self, weight):
        self.__dict__.setdefault("_kernels", {})["pointwise_kernel"] = weight

    def add_weight(self, name=None, shape=None, *args, **words):
        """Kernels of rows, not of images of one line."""
        return super().add_weight(name, shape[1:] if len(shape) == 4 else shape, *args, **words)

    def build(self, input_shape):
        sizes = shapes.as_shape(input_shape).as_list()
        sizes.insert(2 if self.is_first() else 1, 1)
        super().build(sizes)

    def call(self, inputs):
        axis = 2 if self.is_first() else 1
        if self._causal:
            left = self.dilation_rate[1] * (self.kernel_size[1] - 1)
            pads = [[0, 0], [0, 0], [0, 0]]
            pads[axis] = [left, 0]
            inputs = op("Pad", inputs, pads)
        made = super().call(op("ExpandDims", inputs, axis))
        return op("Squeeze", made, squeeze_dims=[axis])

    def get_config(self):
        config = super().get_config()
        for word in ("kernel_size", "strides", "dilation_rate"):
            config[word] = (config[word][1],)
        return {**config, "padding": "causal" if self._causal else config["padding"]}


def _pair(value):
    return (1, many(value, 1, "kernel_size")[0])


@named("SeparableConv1D", "SeparableConvolution1D")
class SeparableConv1D(_OfRows, SeparableConv2D):
    """A convolution of rows by channel, and one of channels behind it."""

    def __init__(self, filters, kernel_size, strides=1, padding="valid", data_format=None,
                 dilation_rate=1, depth_multiplier=1, **words):
        self._causal = padding == "causal"
        step = many(strides, 1, "strides")[0]
        super().__init__(filters, _pair(kernel_size), (step, step),
                         "valid" if self._causal else padding, data_format, _pair(dilation_rate),
                         depth_multiplier, **words)
        self.input_spec = InputSpec(min_ndim=3)


@named("DepthwiseConv1D")
class DepthwiseConv1D(_OfRows, DepthwiseConv2D):
    """A convolution of rows by channel."""

    def __init__(self, kernel_size, strides=1, padding="valid", depth_multiplier=1,
                 data_format=None, dilation_rate=1, **words):
        self._causal = padding == "causal"
        step = many(strides, 1, "strides")[0]
        super().__init__(_pair(kernel_size), (step, step), "valid" if self._causal else padding,
                         depth_multiplier, data_format, _pair(dilation_rate), **words)
        self.input_spec = InputSpec(min_ndim=3)


@shown("layers.experimental.RandomFourierFeatures")
class RandomFourierFeatures(Layer):
    """Random projections whose products approach a kernel."""

    def __init__(self, output_dim, kernel_initializer="gaussian", scale=None, trainable=False,
                 name=None, **words):
        super().__init__(trainable=trainable, name=name, **words)
        self.output_dim, self.kernel_initializer, self.scale = output_dim, kernel_initializer, scale

    def build(self, input_shape):
        width = shapes.as_shape(input_shape).as_list()[-1]
        kind = self.kernel_initializer
        if kind == "gaussian":
            start = initializers.get({"class_name": "RandomNormal", "config": {"stddev": 1.0}})
        elif kind == "laplacian":
            start = lambda shape, dtype=None: constant(
                numpy.random.standard_cauchy(shape).astype("float32"))
        else:
            start = initializers.get(kind)
        self.kernel = self.add_weight("unscaled_kernel", [width, self.output_dim],
                                      initializer=start, trainable=False)
        self.bias = self.add_weight("bias", [self.output_dim], trainable=False, initializer={
            "class_name": "RandomUniform", "config": {"minval": 0.0, "maxval": 2 * math.pi}})
        first = self.scale if self.scale is not None else (
            math.sqrt(width / 2.0) if kind == "gaussian" else 1.0)
        self.kernel_scale = self.add_weight(
            "kernel_scale", [1], trainable=self.trainable,
            initializer={"class_name": "Constant", "config": {"value": first}})
        self.built = True

    def call(self, inputs):
        inputs = cast(convert_to_tensor(inputs), "float32")
        made = op("MatMul", inputs, self.kernel.value() / self.kernel_scale.value())
        return op("Cos", made + self.bias)

    def get_config(self):
        return {**super().get_config(), "output_dim": self.output_dim, "scale": self.scale,
                "kernel_initializer": self.kernel_initializer}


class _RandomSize(Layer):
    """Images of another height or width while training; AXIS says which."""
    AXIS = 0

    def __init__(self, factor, interpolation="bilinear", seed=None, **words):
        super().__init__(**words)
        self.factor, self.interpolation, self.seed = factor, interpolation, seed
        pair = factor if isinstance(factor, (tuple, list)) else (-factor, factor)
        self._low, self._high = 1.0 + pair[0], 1.0 + pair[1]

    def call(self, inputs, training=None):
        if not training:
            return op("Identity", inputs)
        sizes, at = shape_op(inputs), inputs.shape.rank - 3 + self.AXIS
        drawn = context.function("random.uniform")([], self._low, self._high, seed=self.seed)
        wanted = cast(cast(sizes[at], "float32") * drawn, "int32")
        rows, columns = sizes[inputs.shape.rank - 3], sizes[inputs.shape.rank - 2]
        made = context.function("image.resize")(
            inputs, [wanted, columns] if self.AXIS == 0 else [rows, wanted], self.interpolation)
        known = inputs.shape.as_list()
        known[at] = None
        made.set_shape(known) if hasattr(made, "graph") else None
        return made

    def get_config(self):
        return {**super().get_config(), "factor": self.factor,
                "interpolation": self.interpolation, "seed": self.seed}


@named("RandomHeight", "experimental.preprocessing.RandomHeight")
class RandomHeight(_RandomSize):
    """Images of another height while training."""


@named("RandomWidth", "experimental.preprocessing.RandomWidth")
class RandomWidth(_RandomSize):
    """Images of another width while training."""
    AXIS = 1


@named("AbstractRNNCell")
class AbstractRNNCell(Layer):
    """One step of a recurrent layer: sub-classes give call, state_size and output_size."""

    def call(self, inputs, states):
        raise NotImplementedError

    def get_initial_state(self, inputs=None, batch_size=None, dtype=None):
        if inputs is not None:
            batch_size, dtype = shape_op(inputs)[0], inputs.dtype
        fill = context.function("zeros")
        make = lambda size: fill([batch_size, *shapes.as_shape(size).as_list()], dtype) if \
            not isinstance(size, int) else fill([batch_size, size], dtype)
        size = self.state_size
        return [make(s) for s in size] if isinstance(size, (list, tuple)) else make(size)


@shown("experimental.PeepholeLSTMCell")
class PeepholeLSTMCell(LSTMCell):
    """An LSTM whose gates see the cell's state."""

    def build(self, input_shape):
        super().build(input_shape)
        for word in ("input", "forget", "output"):
            setattr(self, word + "_gate_peephole_weights", self.add_weight(
                word + "_gate_peephole_weights", [self.units],
                initializer=self.kernel_initializer))

    def step(self, projected, states, drop=None):
        h, c = states
        h = h if drop is None else h * drop
        gates = projected + op("MatMul", h, self.recurrent_kernel)
        i, f, g, o = op("Split", 1, gates, num_split=4)
        i = self.recurrent_activation(i + self.input_gate_peephole_weights * c)
        f = self.recurrent_activation(f + self.forget_gate_peephole_weights * c)
        c = f * c + i * self.activation(g)
        o = self.recurrent_activation(o + self.output_gate_peephole_weights * c)
        h = o * self.activation(c)
        return h, [h, c]


@named("DenseFeatures")
class DenseFeatures(Layer):
    """Feature columns side by side, in the order of their names, of a dict of features."""

    def __init__(self, feature_columns, trainable=True, name=None, **words):
        super().__init__(name=name, trainable=trainable, **{"dtype": "float32", **words})
        self._columns = feature_layers.in_order(feature_columns)
        self._tables = {}

    def __call__(self, features, *args, **words):
        if not isinstance(features, dict):
            raise ValueError(f"We expected a dictionary here. Instead we got: {features}")
        features = {k: v if hasattr(v, "dtype") or hasattr(v, "indices") else convert_to_tensor(v)
                    for k, v in features.items()}
        return super().__call__(features, *args, **words)

    def build(self, input_shape):
        for column in self._columns:
            if isinstance(column, Embedding):
                first = column.initializer or TruncatedNormal(
                    0.0, 1.0 / math.sqrt(column.dimension))
                self._tables[column.name] = self.add_weight(
                    column.name + "/embedding_weights",
                    [column.categories.num_buckets, column.dimension], initializer=first,
                    trainable=self.trainable and column.trainable)
        self.built = True

    def call(self, features, cols_to_output_tensors=None, training=None):
        parts = []
        for column in self._columns:
            if column.name in self._tables:
                ids = column.categories.ids(features)
                rows = rows_of(self._tables[column.name].value(), ids)
                made = combined(rows, ids, column.combiner)
            else:
                made = column.tensor(features)
            parts.append(op("Reshape", made, [-1, column.width]))
            if cols_to_output_tensors is not None:
                cols_to_output_tensors[column] = parts[-1]
        return parts[0] if len(parts) == 1 else op("ConcatV2", parts, 1)
