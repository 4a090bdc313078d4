# SPDX-License-Identifier: Apache-2.0
"""rnn_cell.py: tf.nn.rnn_cell: recurrent cells with the variable names of TensorFlow 1."""

from __future__ import annotations

import collections
import hashlib
import itertools
import re

from situ._src.framework import nest, nest_paths
from situ._src.framework.api import BOTH, OPS, V1, export
from situ._src.framework.graph import get_default_graph
from situ._src.framework.graph import scope as name_scope
from situ._src.framework.tensor_shape import TensorShape
from situ._src.legacy.base_layer import Layer
from situ._src.ops import init_ops
from situ._src.ops.array_ops import concat, convert_to_tensor, op, split
from situ._src.variables import variable_scope

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import (
        Any,
        DTypeLike,
        ShapeLike,
        TensorLike,
    )


def cells(*names):
    """Decorator that exports names under tf.nn.rnn_cell and tf.contrib.rnn."""
    return export(
        v1=[prefix + name for name in names for prefix in ("nn.rnn_cell.", "contrib.rnn.")]
    )


@cells("LSTMStateTuple")
class LSTMStateTuple(collections.namedtuple("LSTMStateTuple", ("c", "h"))):
    """The state of an LSTM cell: the cell state `c` and the output `h`."""

    __slots__ = ()
    dtype = property(lambda s: s.c.dtype)


def _zeros(batch_size, size, dtype):
    sizes = list(size.as_list()) if isinstance(size, TensorShape) else [int(size)]
    return OPS["Fill"](
        op(
            "Pack",
            [convert_to_tensor(batch_size, "int32")]
            + [convert_to_tensor(s, "int32") for s in sizes],
        )
        if hasattr(batch_size, "dtype")
        else [int(batch_size)] + sizes,
        convert_to_tensor(0, dtype),
    )


@cells("RNNCell")
class RNNCell(Layer):
    """Base class of cells: `cell(inputs, state)` returns (output, next state)."""

    def __init__(self, trainable=True, name=None, dtype=None, reuse=None, **kwargs):
        super().__init__(trainable=trainable, name=name, dtype=dtype, _reuse=reuse, **kwargs)

    state_size = property(lambda s: s._no("state_size"))
    output_size = property(lambda s: s._no("output_size"))

    def _no(self, name):
        raise NotImplementedError(f"{type(self).__name__} has no {name}")

    def default_name(self) -> Any:
        word = re.sub("(.)([A-Z][a-z0-9]+)", r"\1_\2", type(self).__name__)
        return re.sub("([a-z])([A-Z])", r"\1_\2", word).lower()

    def __call__(self, inputs, state, scope=None):
        if scope is None or self._scope is not None:
            return super().__call__(inputs, state)
        with variable_scope.variable_scope(scope) as here:
            self._scope = here
            if not self.built:
                self.dtype = self.dtype or convert_to_tensor(inputs).dtype.base_dtype
                self.build(convert_to_tensor(inputs).shape)
                self.built = True
            return self.call(convert_to_tensor(inputs), state)

    def zero_state(self, batch_size: Any, dtype: DTypeLike) -> Any:
        """Returns a state of zeros."""
        with name_scope(type(self).__name__ + "ZeroState"):
            return nest.map_structure(lambda s: _zeros(batch_size, s, dtype), self.state_size)

    def get_initial_state(
        self, inputs: Any = None, batch_size: Any = None, dtype: DTypeLike = None
    ) -> Any:
        """Returns a state of zeros for a batch, or for the batch size of `inputs`."""
        if inputs is not None:
            batch_size, dtype = OPS["Shape"](inputs)[0], inputs.dtype
        return self.zero_state(batch_size, dtype)


def _depth(shape):
    depth = shape.as_list()[-1]
    if depth is None:
        raise ValueError(f"Expected inputs.shape[-1] to be known, saw shape: {shape}")
    return depth


def _tanh(activation):
    if isinstance(activation, str):
        return lambda x: OPS[activation.capitalize()](x)
    return activation or (lambda x: OPS["Tanh"](x))


def _affine(parts, kernel, bias):
    joined = concat(parts, 1) if len(parts) > 1 else parts[0]
    return OPS["BiasAdd"](OPS["MatMul"](joined, kernel), bias)


@cells("BasicRNNCell")
class BasicRNNCell(RNNCell):
    """output = new_state = activation(W * [input, state] + b)."""

    def __init__(self, num_units, activation=None, reuse=None, name=None, dtype=None, **kwargs):
        super().__init__(name=name, dtype=dtype, reuse=reuse, **kwargs)
        self._units, self._activation = int(num_units), _tanh(activation)

    state_size = output_size = property(lambda s: s._units)

    def build(self, shape: ShapeLike) -> None:
        self._kernel = self.add_weight("kernel", [_depth(shape) + self._units, self._units])
        self._bias = self.add_weight("bias", [self._units], init_ops.Zeros())

    def call(self, inputs, state):
        output = self._activation(_affine([inputs, state], self._kernel, self._bias))
        return output, output


@cells("GRUCell")
class GRUCell(RNNCell):
    """Gated recurrent unit (GRU)."""

    def __init__(
        self,
        num_units,
        activation=None,
        reuse=None,
        kernel_initializer=None,
        bias_initializer=None,
        name=None,
        dtype=None,
        **kwargs,
    ):
        super().__init__(name=name, dtype=dtype, reuse=reuse, **kwargs)
        self._units, self._activation = int(num_units), _tanh(activation)
        self._kernels, self._biases = kernel_initializer, bias_initializer

    state_size = output_size = property(lambda s: s._units)

    def build(self, shape: ShapeLike) -> None:
        rows, n = _depth(shape) + self._units, self._units
        self._gates = (
            self.add_weight("gates/kernel", [rows, 2 * n], self._kernels),
            self.add_weight("gates/bias", [2 * n], self._biases or init_ops.Ones()),
        )
        self._candidate = (
            self.add_weight("candidate/kernel", [rows, n], self._kernels),
            self.add_weight("candidate/bias", [n], self._biases or init_ops.Zeros()),
        )

    def call(self, inputs, state):
        r, u = split(OPS["Sigmoid"](_affine([inputs, state], *self._gates)), 2, 1)
        new = self._activation(_affine([inputs, r * state], *self._candidate))
        state = u * state + (1 - u) * new
        return state, state


@cells("LSTMCell")
class LSTMCell(RNNCell):
    """Long short-term memory (LSTM), with optional peepholes, clipping and projection."""

    def __init__(
        self,
        num_units,
        use_peepholes=False,
        cell_clip=None,
        initializer=None,
        num_proj=None,
        proj_clip=None,
        num_unit_shards=None,
        num_proj_shards=None,
        forget_bias=1.0,
        state_is_tuple=True,
        activation=None,
        reuse=None,
        name=None,
        dtype=None,
        **kwargs,
    ):
        del num_unit_shards, num_proj_shards  # TensorFlow does not read them either
        super().__init__(name=name, dtype=dtype, reuse=reuse, **kwargs)
        self._units, self._peepholes, self._clip = int(num_units), use_peepholes, cell_clip
        self._initializer, self._proj, self._proj_clip = initializer, num_proj, proj_clip
        self._forget, self._tuple = forget_bias, state_is_tuple
        self._activation = _tanh(activation)

    output_size = property(lambda s: s._proj or s._units)

    @property
    def state_size(self) -> Any:
        if self._tuple:
            return LSTMStateTuple(self._units, self.output_size)
        return self._units + self.output_size

    def build(self, shape: ShapeLike) -> None:
        n = self._units
        self._kernel = self.add_weight(
            "kernel", [_depth(shape) + self.output_size, 4 * n], self._initializer
        )
        self._bias = self.add_weight("bias", [4 * n], init_ops.Zeros())
        if self._peepholes:
            self._f, self._i, self._o = [
                self.add_weight(f"w_{k}_diag", [n], self._initializer) for k in "fio"
            ]
        if self._proj:
            self._projection = self.add_weight(
                "projection/kernel", [n, self._proj], self._initializer
            )

    def call(self, inputs, state):
        c, h = state if self._tuple else (state[:, : self._units], state[:, self._units :])
        i, j, f, o = split(_affine([inputs, h], self._kernel, self._bias), 4, 1)
        peep = self._peepholes
        forget = OPS["Sigmoid"](f + self._forget + self._f * c if peep else f + self._forget)
        enter = OPS["Sigmoid"](i + self._i * c if peep else i)
        c = c * forget + enter * self._activation(j)
        if self._clip is not None:
            c = _clip(c, self._clip)
        h = OPS["Sigmoid"](o + self._o * c if peep else o) * self._activation(c)
        if self._proj:
            h = OPS["MatMul"](h, self._projection)
            h = h if self._proj_clip is None else _clip(h, self._proj_clip)
        return h, LSTMStateTuple(c, h) if self._tuple else concat([c, h], 1)


def _clip(x, limit):
    return OPS["Maximum"](
        OPS["Minimum"](x, convert_to_tensor(limit, x.dtype)), convert_to_tensor(-limit, x.dtype)
    )


@cells("BasicLSTMCell")
class BasicLSTMCell(LSTMCell):
    """LSTM without peepholes, clipping and projection."""

    def __init__(
        self,
        num_units,
        forget_bias=1.0,
        state_is_tuple=True,
        activation=None,
        reuse=None,
        name=None,
        dtype=None,
        input_size=None,
        **kwargs,
    ):
        del input_size  # TensorFlow does not read it either
        super().__init__(
            num_units,
            forget_bias=forget_bias,
            state_is_tuple=state_is_tuple,
            activation=activation,
            reuse=reuse,
            name=name,
            dtype=dtype,
            **kwargs,
        )


@export(v1="contrib.rnn.LSTMBlockCell")
class LSTMBlockCell(LSTMCell):
    """LSTM; computes the same values as LSTMCell."""

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        cell_clip: Any = None,
        use_peephole: bool = False,
        dtype: DTypeLike = None,
        reuse: bool | None = None,
        name: str | None = "lstm_cell",
    ):
        super().__init__(
            num_units,
            use_peephole,
            cell_clip if cell_clip and cell_clip > 0 else None,
            forget_bias=forget_bias,
            reuse=reuse,
            name=name,
            dtype=dtype,
        )


@cells("MultiRNNCell")
class MultiRNNCell(RNNCell):
    """Stacked cells: the output of each is the input of the next."""

    def __init__(self, cells, state_is_tuple=True):
        super().__init__()
        if not cells:
            raise ValueError("Must specify at least one cell for MultiRNNCell.")
        if not isinstance(cells, (list, tuple)):
            raise TypeError(f"cells must be a list or tuple, but saw: {cells}.")
        self._cells, self._tuple = list(cells), state_is_tuple

    cells = property(lambda s: s._cells)
    output_size = property(lambda s: s._cells[-1].output_size)

    @property
    def state_size(self) -> Any:
        sizes = tuple(c.state_size for c in self._cells)
        return sizes if self._tuple else sum(sizes)

    @property
    def variables(self) -> Any:
        return [v for c in self._cells for v in c.variables]

    weights = variables
    trainable_variables = trainable_weights = property(
        lambda s: [v for c in s._cells for v in c.trainable_variables]
    )

    def zero_state(self, batch_size: Any, dtype: DTypeLike) -> Any:
        with name_scope(type(self).__name__ + "ZeroState"):
            if self._tuple:
                return tuple(c.zero_state(batch_size, dtype) for c in self._cells)
            return super().zero_state(batch_size, dtype)

    def call(self, inputs, state):
        states, at = [], 0
        for i, cell in enumerate(self._cells):
            size = cell.state_size
            cell_state = state[i] if self._tuple else state[:, at : at + size]
            at += 0 if self._tuple else size
            with variable_scope.variable_scope(f"cell_{i}"):
                inputs, new = cell(inputs, cell_state)
            states.append(new)
        return inputs, tuple(states) if self._tuple else concat(states, 1)


class _Wrapper(RNNCell):
    """Base class of cells that wrap another cell."""

    def __init__(self, cell, reuse=None):
        super().__init__(reuse=reuse)
        self._cell = cell

    wrapped_cell = property(lambda s: s._cell)
    state_size = property(lambda s: s._cell.state_size)
    output_size = property(lambda s: s._cell.output_size)
    variables = weights = property(lambda s: s._cell.variables)
    trainable_variables = trainable_weights = property(lambda s: s._cell.trainable_variables)

    def zero_state(self, batch_size, dtype):
        with name_scope(type(self).__name__ + "ZeroState"):
            return self._cell.zero_state(batch_size, dtype)

    def _inner(self, inputs, state, scope):
        return self._cell(inputs, state) if scope is None else self._cell(inputs, state, scope)


@cells("DropoutWrapper")
class DropoutWrapper(_Wrapper):
    """Applies dropout to the inputs, outputs and states of a cell."""

    def __init__(
        self,
        cell,
        input_keep_prob=1.0,
        output_keep_prob=1.0,
        state_keep_prob=1.0,
        variational_recurrent=False,
        input_size=None,
        dtype=None,
        seed=None,
        dropout_state_filter_visitor=None,
    ):
        super().__init__(cell)
        self._keep = {
            "input": input_keep_prob,
            "output": output_keep_prob,
            "state": state_keep_prob,
        }
        for keep in self._keep.values():
            if isinstance(keep, (int, float)) and not 0 < keep <= 1:
                raise ValueError(f"Parameter keep_prob must be in (0, 1]: {keep}")
        self._seed, self._noise = seed, {}
        self._filter = dropout_state_filter_visitor or _all_but_memory
        if variational_recurrent:
            from situ._src.legacy import contrib_rnn

            if dtype is None:
                raise ValueError("When variational_recurrent=True, dtype must be provided")
            self._noise = contrib_rnn.variational_noise(
                self._keep, input_size, cell.state_size, cell.output_size, self._seed_of, dtype
            )

    def _dropout(self, values, part, chosen=None):
        """Drops elements of the values; `chosen` has False for those that stay."""
        keep, indices = self._keep[part], itertools.count()
        if isinstance(keep, (int, float)) and keep >= 1:
            return values
        chosen = values if chosen is None else chosen
        noises = nest.pack_sequence_as(values, self._noise[part]) if part in self._noise else chosen

        def drop(is_chosen, value, noise):
            index = next(indices)
            if is_chosen is False:
                return value
            if part not in self._noise:
                return _drop(value, keep, self._seed_of(part, index))
            from situ._src.legacy import contrib_rnn

            return contrib_rnn.drop_with(noise, value, keep)

        return nest_paths.map_structure_up_to(chosen, drop, chosen, values, noises)

    def _seed_of(self, part, index):
        if self._seed is None:
            return None
        text = f"{self._seed}{part}_{index}".encode()
        return int(hashlib.md5(text).hexdigest()[:8], 16) & 0x7FFFFFFF

    def __call__(self, inputs, state, scope=None):
        output, state = self._inner(self._dropout(inputs, "input"), state, scope)
        state = self._dropout(
            state, "state", nest_paths.get_traverse_shallow_structure(self._filter, state)
        )
        return self._dropout(output, "output"), state


def _drop(values, keep, seed):
    function = V1.get("nn.dropout") or BOTH["nn.dropout"]
    return function(values, keep_prob=keep, seed=seed)


def _all_but_memory(state):
    """Selects the parts of a state to drop: all but tensor arrays and the cell state of an LSTM."""
    if isinstance(state, LSTMStateTuple):
        return LSTMStateTuple(c=False, h=True)
    return not hasattr(state, "_flow")


@cells("ResidualWrapper")
class ResidualWrapper(_Wrapper):
    """Adds the inputs of a cell to its outputs."""

    def __init__(self, cell, residual_fn=None):
        super().__init__(cell)
        self._residual = residual_fn

    def __call__(self, inputs, state, scope=None):
        outputs, state = self._inner(inputs, state, scope)
        join = self._residual or (lambda a, b: nest.map_structure(lambda x, y: x + y, a, b))
        return join(inputs, outputs), state


@cells("DeviceWrapper")
class DeviceWrapper(_Wrapper):
    """Runs a cell on a device."""

    def __init__(self, cell, device):
        super().__init__(cell)
        self._device = device

    def __call__(self, inputs, state, scope=None):
        with get_default_graph().device(self._device):
            return self._inner(inputs, state, scope)


@export(v1="contrib.rnn.OutputProjectionWrapper")
class OutputProjectionWrapper(_Wrapper):
    """Adds a linear layer to the output of a cell."""

    def __init__(
        self, cell: Any, output_size: int, activation: Any = None, reuse: bool | None = None
    ):
        super().__init__(cell, reuse)
        self._size, self._activation = int(output_size), activation

    output_size = property(lambda s: s._size)

    def call(self, inputs: TensorLike, state: Any) -> Any:  # type: ignore[override]
        output, state = self._cell(inputs, state)
        kernel = variable_scope.get_variable("kernel", [_depth(output.shape), self._size])
        bias = variable_scope.get_variable("bias", [self._size], initializer=init_ops.Zeros())
        output = _affine([output], kernel, bias)
        return self._activation(output) if self._activation else output, state
