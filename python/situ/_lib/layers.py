# SPDX-License-Identifier: Apache-2.0
"""layers.py: tf.layers: layers that make their variables through variable scopes."""
import copy
import re

from situ._lib import control_flow, initializers, nn_conv, nn_norm, shapes, variable_scope as scopes
from situ._lib.api import export
from situ._lib.array_ops import convert_to_tensor, op, shape as shape_op
from situ._lib.graph import GraphKeys, get_default_graph, scope as name_scope

ZEROS, ONES = initializers.Zeros, initializers.Ones


def pair(value):
    """A number or two as (rows, columns)."""
    return tuple(int(v) for v in value) if hasattr(value, "__iter__") else (int(value),) * 2


def choose(condition, true, false):
    """One of two functions' results: by a truth value now, or by a tensor when it is known."""
    if isinstance(condition, (bool, int)):
        return true() if condition else false()
    condition = op("Reshape", convert_to_tensor(condition), [])  # it may come without a shape
    return op("SelectV2", condition, true(), false())


def _remember(values, regularizer, key):
    if regularizer is not None and values is not None:
        get_default_graph().add_to_collection(key, regularizer(values))
    return values


class Layer:
    """Something that is called on tensors; its variables are made at the first call."""
    _CALLED = ("_scope", "_vars", "updates")  # what calls leave

    def __init__(self, trainable=True, name=None, dtype=None, _scope=None, _reuse=None,
                 activity_regularizer=None, **words):
        if words:
            raise TypeError(f"Keyword argument not understood: {sorted(words)[0]}")
        self._name, self.trainable, self._reuse = name, trainable, _reuse
        self.dtype, self.built, self._scope = dtype, False, _scope
        self.activity_regularizer, self._vars, self.updates = activity_regularizer, [], []

    def __deepcopy__(self, memo):
        """A layer of the same kind that has not been called yet."""
        made = memo[id(self)] = type(self).__new__(type(self))
        for key, value in self.__dict__.items():
            try:
                made.__dict__[key] = value if key in self._CALLED else copy.deepcopy(value, memo)
            except TypeError:  # what belongs to a graph is shared
                made.__dict__[key] = value
        made._scope, made.built, made._vars, made.updates = None, False, [], []
        return made

    @property
    def name(self):
        return self._name or self._scope.name

    @property
    def scope_name(self):
        return self._scope.name

    @property
    def variables(self):
        return [v for v, _ in self._vars]

    weights = variables

    @property
    def trainable_variables(self):
        return [v for v, trainable in self._vars if trainable]

    trainable_weights = trainable_variables

    def add_weight(self, name, shape, initializer=None, regularizer=None, trainable=True,
                   constraint=None, dtype=None):
        made = scopes.get_variable(name, shape, dtype or self.dtype, initializer, regularizer,
                                   trainable=trainable and self.trainable, constraint=constraint)
        self._vars.append((made, trainable and self.trainable))
        return made

    add_variable = add_weight

    def build(self, shape):
        self.built = True

    def call(self, inputs):
        return inputs

    def default_name(self):
        """Conv2DTranspose is conv2d_transpose."""
        parts = re.sub("(.)([A-Z][a-z0-9]+)", r"\1_\2", type(self).__name__)
        return re.sub("([a-z])([A-Z])", r"\1_\2", parts).lower()

    def __call__(self, inputs, *args, scope=None, **words):
        inputs = convert_to_tensor(inputs)
        if self.dtype is None:
            self.dtype = inputs.dtype.base_dtype
        chosen = self._scope if self._scope is not None else self._name
        default = None if chosen is not None else self.default_name()
        again = self.built and self._scope is not None
        with scopes.variable_scope(chosen, default, reuse=True if again else self._reuse) as here:
            self._scope = here
            if not self.built:
                self.build(shapes.as_shape(inputs.shape))
                self.built = True
            made = self.call(inputs, *args, **words)
            return _remember(made, self.activity_regularizer,
                             GraphKeys.REGULARIZATION_LOSSES)

    apply = __call__


export(v1=("layers.Layer",))(Layer)


class _Weighted(Layer):
    """A layer with a kernel and, unless told otherwise, a bias."""

    def __init__(self, activation=None, use_bias=True, kernel_initializer=None,
                 bias_initializer=ZEROS, kernel_regularizer=None, bias_regularizer=None,
                 kernel_constraint=None, bias_constraint=None, **words):
        super().__init__(**words)
        self.activation, self.use_bias = activation, use_bias
        self.kernel_initializer, self.bias_initializer = kernel_initializer, bias_initializer
        self.kernel_regularizer, self.bias_regularizer = kernel_regularizer, bias_regularizer
        self.kernel_constraint, self.bias_constraint = kernel_constraint, bias_constraint
        self.kernel = self.bias = None

    def make(self, shape, outputs):
        self.kernel = self.add_weight("kernel", shape, self.kernel_initializer,
                                      self.kernel_regularizer, constraint=self.kernel_constraint)
        if self.use_bias:
            self.bias = self.add_weight("bias", [outputs], self.bias_initializer,
                                        self.bias_regularizer, constraint=self.bias_constraint)
        self.built = True

    def finish(self, made, data_format="NHWC"):
        if self.use_bias:
            made = op("BiasAdd", made, self.bias, data_format=data_format)
        return self.activation(made) if self.activation is not None else made


def known(size, what):
    if size is None:
        raise ValueError(f"{what} should be defined. Found `None`.")
    return int(size)


class Dense(_Weighted):
    """activation(inputs times a matrix, plus a bias)."""

    def __init__(self, units, activation=None, use_bias=True, **words):
        super().__init__(activation=activation, use_bias=use_bias, **words)
        self.units = int(units)

    def build(self, shape):
        width = known(shape.as_list()[-1], "The last dimension of the inputs to `Dense`")
        self.make([width, self.units], self.units)

    def call(self, inputs):
        rank = shapes.as_shape(inputs.shape).ndims
        if rank == 2:
            return self.finish(op("MatMul", inputs, self.kernel))
        whole = shapes.as_shape(inputs.shape)
        flat = op("Reshape", inputs, [-1, whole.as_list()[-1]])
        front = whole.as_list()[:-1] + [self.units] if whole.is_fully_defined() else \
            op("ConcatV2", [op("Slice", shape_op(inputs), [0], [rank - 1]),
                            convert_to_tensor([self.units], "int32")], 0)
        return self.finish(op("Reshape", op("MatMul", flat, self.kernel), front))


class _Spatial(_Weighted):
    """A layer with windows on images."""

    def __init__(self, filters, kernel_size, strides=(1, 1), padding="valid",
                 data_format="channels_last", dilation_rate=(1, 1), activation=None, **words):
        super().__init__(activation=activation, **words)
        self.filters, self.kernel_size = int(filters), pair(kernel_size)
        self.strides, self.dilation_rate = pair(strides), pair(dilation_rate)
        self.padding, self.data_format = padding.upper(), nn_conv.layout(data_format)

    def channels(self, shape):
        axis = 1 if self.data_format == "NCHW" else -1
        return known(shape.as_list()[axis], "The channel dimension of the inputs")


class Conv2D(_Spatial):
    """A convolution of images, plus a bias."""

    def build(self, shape):
        self.make([*self.kernel_size, self.channels(shape), self.filters], self.filters)

    def call(self, inputs):
        made = nn_conv.conv2d(inputs, self.kernel, self.strides, self.padding,
                              data_format=self.data_format, dilations=self.dilation_rate)
        return self.finish(made, self.data_format)


class Conv1D(_Weighted):
    """A convolution of rows, plus a bias."""

    def __init__(self, filters, kernel_size, strides=1, padding="valid",
                 data_format="channels_last", dilation_rate=1, activation=None, **words):
        super().__init__(activation=activation, **words)
        self.filters, self.kernel_size = int(filters), pair(kernel_size)[0]
        self.strides, self.dilation_rate = strides, dilation_rate
        self.padding, self.data_format = padding.upper(), data_format

    def build(self, shape):
        width = known(shape.as_list()[1 if self.data_format == "channels_first" else -1],
                       "The channel dimension of the inputs")
        self.make([self.kernel_size, width, self.filters], self.filters)

    def call(self, inputs):
        made = nn_conv.conv1d(inputs, self.kernel, self.strides, self.padding,
                              data_format=self.data_format, dilations=self.dilation_rate)
        if self.data_format != "channels_first":
            return self.finish(made)
        bias = op("Reshape", self.bias, [1, -1, 1]) if self.use_bias else None
        made = made if bias is None else made + bias
        return self.activation(made) if self.activation is not None else made


class Conv2DTranspose(_Spatial):
    """The transpose of a convolution, plus a bias."""

    def build(self, shape):
        self.make([*self.kernel_size, self.filters, self.channels(shape)], self.filters)

    def call(self, inputs):
        planes = self.data_format == "NCHW"
        rows, cols = (2, 3) if planes else (1, 2)
        sizes = shapes.as_shape(inputs.shape).as_list()
        whole = [sizes[0], sizes[rows], sizes[cols]]
        if None in whole:
            have = op("Unpack", shape_op(inputs), num=4)
            whole = [have[0] if whole[0] is None else whole[0],
                     have[rows] if whole[1] is None else whole[1],
                     have[cols] if whole[2] is None else whole[2]]
        for i in range(2):
            more = max(self.kernel_size[i] - self.strides[i], 0) if self.padding == "VALID" else 0
            whole[i + 1] = whole[i + 1] * self.strides[i] + more
        out = [whole[0], self.filters, *whole[1:]] if planes else [*whole, self.filters]
        if not all(isinstance(s, int) for s in out):
            out = op("Pack", [convert_to_tensor(s, "int32") for s in out])
        made = nn_conv.conv2d_transpose(inputs, self.kernel, out, self.strides, self.padding,
                                        self.data_format)
        return self.finish(made, self.data_format)


class _Pooling2D(Layer):
    pool = None

    def __init__(self, pool_size, strides, padding="valid", data_format="channels_last",
                 name=None, **words):
        super().__init__(name=name, **words)
        self.pool_size, self.strides = pair(pool_size), pair(strides)
        self.padding, self.data_format = padding.upper(), nn_conv.layout(data_format)

    def __call__(self, inputs):
        with name_scope(self._name, self.default_name()):
            return type(self).pool(inputs, self.pool_size, self.strides, self.padding,
                                   self.data_format)

    apply = __call__


class MaxPooling2D(_Pooling2D):
    pool = staticmethod(nn_conv.max_pool)


class AveragePooling2D(_Pooling2D):
    pool = staticmethod(nn_conv.avg_pool)


class Flatten(Layer):
    """All dimensions but the first as one."""

    def __call__(self, inputs):
        inputs = convert_to_tensor(inputs)
        with name_scope(self._name, "flatten"):
            return flat(inputs)

    apply = __call__


def flat(inputs):
    sizes = shapes.as_shape(inputs.shape).as_list()
    if None not in sizes[1:]:
        width = 1
        for size in sizes[1:]:
            width *= size
        if sizes[0] is None or width:
            return op("Reshape", inputs, [-1, width])
        return op("Reshape", inputs, [sizes[0], width])
    first = op("StridedSlice", shape_op(inputs), [0], [1], [1], shrink_axis_mask=1)
    return op("Reshape", inputs, op("Pack", [first, convert_to_tensor(-1, "int32")]))


class Dropout(Layer):
    """Some elements made 0 while training."""

    def __init__(self, rate=0.5, noise_shape=None, seed=None, name=None, **words):
        super().__init__(name=name, **words)
        self.rate, self.noise_shape, self.seed = rate, noise_shape, seed

    def __call__(self, inputs, training=False):
        inputs = convert_to_tensor(inputs)
        with name_scope(self._name, "dropout"):
            return control_flow.smart_cond(training, lambda: nn_norm.dropout(
                inputs, rate=self.rate, noise_shape=self.noise_shape, seed=self.seed),
                lambda: op("Identity", inputs))

    apply = __call__
