# SPDX-License-Identifier: Apache-2.0
"""rnn.py: tf.nn.dynamic_rnn, static_rnn, raw_rnn and bidirectional variants; sequence losses."""

from __future__ import annotations

from situ._src.framework import nest
from situ._src.framework.api import OPS, export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import scope as name_scope
from situ._src.framework.tensor_shape import TensorShape
from situ._src.ops.array_ops import concat, convert_to_tensor, op
from situ._src.ops.tensor_array_ops import TensorArray
from situ._src.ops.unique_sort_ops import reverse_sequence
from situ._src.ops.while_loop import while_loop
from situ._src.variables import variable_scope

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import (
        Any,
        Callable,
        DTypeLike,
        Tensor,
    )


def _swap(x):
    """Swaps the batch and time dimensions."""
    rank = x.shape.ndims
    if rank is None:
        raise ValueError("The rank of the inputs of an RNN must be known.")
    return OPS["Transpose"](x, [1, 0] + list(range(2, rank)))


def _first_state(cell, batch, initial_state, dtype):
    if initial_state is not None:
        return initial_state
    if dtype is None:
        raise ValueError("If there is no initial_state, you must give a dtype.")
    if getattr(cell, "get_initial_state", None) is not None:
        return cell.get_initial_state(batch_size=batch, dtype=as_dtype(dtype))
    return cell.zero_state(batch, as_dtype(dtype))


def _select(done, old, new):
    """Returns rows of `old` where a sequence has ended, else of `new`."""
    if new.shape.ndims == 0:
        return new
    result = OPS["Select"](done, old, new)
    result.set_shape(new.shape)
    return result


def _step(cell, time, lengths, x, state, zeros):
    """Runs one step of a cell; sequences that have ended return zeros and keep their state."""
    output, new = cell(x, state)
    nest.assert_same_structure(state, new, check_types=False)
    if lengths is None:
        return output, new
    done = OPS["GreaterEqual"](time, lengths)
    output = nest.map_structure(lambda o: _select(done, zeros(o), o), output)
    kept = [_select(done, a, b) for a, b in zip(nest.flatten(state), nest.flatten(new))]
    return output, nest.pack_sequence_as(new, kept)


def _lengths(sequence_length):
    if sequence_length is None:
        return None
    lengths = convert_to_tensor(sequence_length)
    if lengths.dtype.name != "int32":
        lengths = OPS["Cast"](lengths, DstT=as_dtype("int32"))
    if lengths.shape.ndims not in (None, 1):
        raise ValueError(
            f"sequence_length must be a vector of length batch_size, but saw shape: {lengths.shape}"
        )
    return OPS["Identity"](lengths, name="sequence_length")


def _sizes(cell):
    return nest.flatten(cell.output_size)


def _output_shape(size):
    """Returns the static shape of an output of a cell."""
    return TensorShape([None]).concatenate(size if isinstance(size, TensorShape) else [size])


def _loop(cell, inputs, state, lengths, dtype):
    """Runs a cell over time-major inputs; returns time-major outputs and the final state."""
    flat = nest.flatten(inputs)
    steps = flat[0].shape.as_list()[0]
    batch = flat[0].shape.as_list()[1]
    count = OPS["Shape"](flat[0])[0] if steps is None else convert_to_tensor(steps, "int32")
    rows = [
        TensorArray(
            f.dtype, count, clear_after_read=False, tensor_array_name=f"dynamic_rnn/input_{i}"
        ).unstack(f)
        for i, f in enumerate(flat)
    ]
    outs = [
        TensorArray(
            dtype,
            count,
            element_shape=[batch] + _output_shape(s).as_list()[1:],
            tensor_array_name=f"dynamic_rnn/output_{i}",
        )
        for i, s in enumerate(_sizes(cell))
    ]
    first = [convert_to_tensor(s) for s in nest.flatten(state)]
    n = len(outs)

    def body(time, *values):
        x = nest.pack_sequence_as(inputs, [r.read(time) for r in rows])
        now = nest.pack_sequence_as(state, list(values[n:]))
        output, new = _step(cell, time, lengths, x, now, lambda o: OPS["ZerosLike"](o))
        news = nest.flatten(new)
        for old, value in zip(first, news):
            if value.shape.ndims is None or not value.shape.is_fully_defined():
                value.set_shape(old.shape)
        return [time + 1] + [a.write(time, o) for a, o in zip(values, nest.flatten(output))] + news

    shapes = [None] * (1 + n) + [f.shape for f in first]
    shapes[0] = TensorShape([])
    done = while_loop(
        lambda time, *_: OPS["Less"](time, count),
        body,
        [convert_to_tensor(0, "int32")] + outs + first,
        shape_invariants=shapes,
        return_same_structure=True,
    )
    results = [a.stack() for a in done[1 : 1 + n]]
    for result in results:
        result.set_shape([steps, batch] + [None] * (result.shape.ndims - 2))
    return (
        nest.pack_sequence_as(cell.output_size, results),
        nest.pack_sequence_as(state, list(done[1 + n :])),
    )


@export(v1="nn.dynamic_rnn")
def dynamic_rnn(
    cell: Any,
    inputs: Any,
    sequence_length: Any = None,
    initial_state: Any = None,
    dtype: DTypeLike = None,
    parallel_iterations: Any = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: Any = None,
) -> Any:
    """Runs an RNN cell over sequences in a loop.

    Args:
      cell: An RNNCell.
      inputs: A tensor [batch, steps, ...], or a nested structure of them.
      sequence_length: The length of each sequence; outputs after it are zero.
      initial_state: The initial state; zeros of `dtype` by default.
      dtype: The type of the state and output.
      parallel_iterations: Ignored.
      swap_memory: Ignored.
      time_major: Whether inputs and outputs are [steps, batch, ...].
      scope: The variable scope, "rnn" by default.

    Returns:
      A pair (outputs, final state).

    Raises:
      ValueError: If neither `initial_state` nor `dtype` is given.
    """
    del parallel_iterations, swap_memory  # hints for speed and memory
    with variable_scope.variable_scope(scope if scope is not None else "rnn"):
        flat = [convert_to_tensor(x) for x in nest.flatten(inputs)]
        if not time_major:
            flat = [_swap(x) for x in flat]
        lengths = _lengths(sequence_length)
        batch = flat[0].shape.as_list()[1]
        batch = OPS["Shape"](flat[0])[1] if batch is None else batch
        state = _first_state(cell, batch, initial_state, dtype)
        kind = nest.flatten(state)[0].dtype.base_dtype if dtype is None else as_dtype(dtype)
        outputs, state = _loop(cell, nest.pack_sequence_as(inputs, flat), state, lengths, kind)
        if not time_major:
            outputs = nest.map_structure(_swap, outputs)
        return outputs, state


def _reversed(x, lengths, time, batch):
    """Reverses the steps of each sequence."""
    if lengths is None:
        return OPS["ReverseV2"](x, [time])
    return reverse_sequence(x, lengths, time, batch)


@export(v1="nn.bidirectional_dynamic_rnn")
def bidirectional_dynamic_rnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: Any,
    sequence_length: Any = None,
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: DTypeLike = None,
    parallel_iterations: Any = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: Any = None,
) -> Any:
    """Runs two cells over sequences, forwards and backwards: ((outputs_fw, outputs_bw), (state_fw,
    state_bw)). `parallel_iterations` and `swap_memory` are ignored.

    Args:
      cell_fw: The RNN cell of the forward direction.
      cell_bw: The RNN cell of the backward direction.
      inputs: The inputs of the steps.
      sequence_length: The length of each sequence, a vector; by default all steps.
      initial_state_fw: The initial state of the forward cell; by default zeros.
      initial_state_bw: The initial state of the backward cell; by default zeros.
      dtype: The type of the initial state, if it is not given.
      parallel_iterations: Has no effect.
      swap_memory: Has no effect.
      time_major: Whether inputs and outputs are [steps, batch, ...] instead of [batch, steps, ...].
      scope: A variable scope, or its name.
    """
    del parallel_iterations, swap_memory  # hints for speed and memory
    time, batch = (0, 1) if time_major else (1, 0)
    with variable_scope.variable_scope(scope if scope is not None else "bidirectional_rnn"):
        with variable_scope.variable_scope("fw") as var_scope:
            outputs_fw, state_fw = dynamic_rnn(
                cell_fw,
                inputs,
                sequence_length,
                initial_state_fw,
                dtype,
                time_major=time_major,
                scope=var_scope,
            )
        with variable_scope.variable_scope("bw") as var_scope:
            reversed_inputs = nest.map_structure(
                lambda x: _reversed(convert_to_tensor(x), sequence_length, time, batch), inputs
            )
            outputs_bw, state_bw = dynamic_rnn(
                cell_bw,
                reversed_inputs,
                sequence_length,
                initial_state_bw,
                dtype,
                time_major=time_major,
                scope=var_scope,
            )
    outputs_bw = nest.map_structure(
        lambda x: _reversed(x, sequence_length, time, batch), outputs_bw
    )
    return (outputs_fw, outputs_bw), (state_fw, state_bw)


@export(v1="contrib.rnn.stack_bidirectional_dynamic_rnn")
def stack_bidirectional_dynamic_rnn(
    cells_fw: Any,
    cells_bw: Any,
    inputs: Any,
    initial_states_fw: Any = None,
    initial_states_bw: Any = None,
    dtype: DTypeLike = None,
    sequence_length: Any = None,
    parallel_iterations: Any = None,
    time_major: bool = False,
    scope: Any = None,
    swap_memory: bool = False,
) -> Any:
    """Runs layers of bidirectional RNNs: (outputs, forward states, backward states).

    Args:
      cells_fw: The RNN cells of the forward direction, one per layer.
      cells_bw: The RNN cells of the backward direction, one per layer.
      inputs: The inputs of the steps.
      initial_states_fw: The initial states of the forward cells; by default zeros.
      initial_states_bw: The initial states of the backward cells; by default zeros.
      dtype: The type of the initial state, if it is not given.
      sequence_length: The length of each sequence, a vector; by default all steps.
      parallel_iterations: Has no effect.
      time_major: Whether inputs and outputs are [steps, batch, ...] instead of [batch, steps, ...].
      scope: A variable scope, or its name.
      swap_memory: Has no effect.
    """
    del parallel_iterations, swap_memory  # hints for speed and memory
    states_fw, states_bw = [], []
    with variable_scope.variable_scope(scope if scope is not None else "stack_bidirectional_rnn"):
        for i, (fw, bw) in enumerate(zip(cells_fw, cells_bw)):
            with variable_scope.variable_scope(f"cell_{i}"):
                outputs, (state_fw, state_bw) = bidirectional_dynamic_rnn(
                    fw,
                    bw,
                    inputs,
                    sequence_length,
                    initial_states_fw[i] if initial_states_fw else None,
                    initial_states_bw[i] if initial_states_bw else None,
                    dtype,
                    time_major=time_major,
                )
                inputs = concat(outputs, 2)
            states_fw.append(state_fw)
            states_bw.append(state_bw)
    return inputs, tuple(states_fw), tuple(states_bw)


@export(v1=("nn.static_rnn", "contrib.rnn.static_rnn", "nn.rnn"))
def static_rnn(
    cell: Any,
    inputs: Any,
    initial_state: Any = None,
    dtype: DTypeLike = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> Any:
    """Runs an RNN cell over a list of inputs, unrolled: (list of outputs, final state).

    Args:
      cell: An RNN cell.
      inputs: The inputs of the steps.
      initial_state: The initial state; by default zeros.
      dtype: The type of the initial state, if it is not given.
      sequence_length: The length of each sequence, a vector; by default all steps.
      scope: A variable scope, or its name.
    """
    if not isinstance(inputs, (list, tuple)):
        raise TypeError("inputs must be a sequence")
    if not inputs:
        raise ValueError("inputs must not be empty")
    outputs = []
    with variable_scope.variable_scope(scope if scope is not None else "rnn") as here:
        steps = [nest.map_structure(convert_to_tensor, x) for x in inputs]
        first = nest.flatten(steps[0])[0]
        batch = first.shape.as_list()[0]
        batch = OPS["Shape"](first)[0] if batch is None else batch
        state = _first_state(cell, batch, initial_state, dtype)
        lengths = _lengths(sequence_length)
        for time, x in enumerate(steps):
            if time:
                here.reuse_variables()
            output, state = _step(
                cell,
                convert_to_tensor(time, "int32") if lengths is not None else time,
                lengths,
                x,
                state,
                lambda o: OPS["ZerosLike"](o),
            )
            outputs.append(output)
    return outputs, state


@export(
    v1=(
        "nn.static_bidirectional_rnn",
        "contrib.rnn.static_bidirectional_rnn",
        "nn.bidirectional_rnn",
    )
)
def static_bidirectional_rnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: Any,
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: DTypeLike = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> Any:
    """Runs two cells over a list of inputs, unrolled: (list of concatenated outputs, state_fw,
    state_bw).

    Args:
      cell_fw: The RNN cell of the forward direction.
      cell_bw: The RNN cell of the backward direction.
      inputs: The inputs of the steps.
      initial_state_fw: The initial state of the forward cell; by default zeros.
      initial_state_bw: The initial state of the backward cell; by default zeros.
      dtype: The type of the initial state, if it is not given.
      sequence_length: The length of each sequence, a vector; by default all steps.
      scope: A variable scope, or its name.
    """
    with variable_scope.variable_scope(scope if scope is not None else "bidirectional_rnn"):
        with variable_scope.variable_scope("fw") as var_scope:
            outputs_fw, state_fw = static_rnn(
                cell_fw, inputs, initial_state_fw, dtype, sequence_length, var_scope
            )
        with variable_scope.variable_scope("bw") as var_scope:
            outputs_bw, state_bw = static_rnn(
                cell_bw,
                _reverse_steps(inputs, sequence_length),
                initial_state_bw,
                dtype,
                sequence_length,
                var_scope,
            )
    outputs_bw = _reverse_steps(outputs_bw, sequence_length)
    return [concat([a, b], 1) for a, b in zip(outputs_fw, outputs_bw)], state_fw, state_bw


def _reverse_steps(steps, lengths):
    if lengths is None:
        return list(reversed(steps))
    whole = reverse_sequence(op("Pack", list(steps)), lengths, 0, 1)
    return list(OPS["Unpack"](whole, num=len(steps)))


@export(v1="contrib.legacy_seq2seq.sequence_loss_by_example")
def sequence_loss_by_example(
    logits: Any,
    targets: Any,
    weights: Any,
    average_across_timesteps: bool = True,
    softmax_loss_function: Any = None,
    name: str | None = None,
) -> Tensor:
    """Computes the weighted cross-entropy of lists of steps for each example.

    Args:
      logits: The logits.
      targets: The class indices.
      weights: The weight of each step.
      average_across_timesteps: Whether to divide by the total weight of the steps.
      softmax_loss_function: A function of labels and logits; by default the sparse cross-entropy.
      name: A name for the operation (optional).
    """
    with name_scope(name, "sequence_loss_by_example"):
        losses = []
        for logit, target, weight in zip(logits, targets, weights):
            target = OPS["Reshape"](convert_to_tensor(target), [-1])
            loss = (
                softmax_loss_function(labels=target, logits=logit)
                if softmax_loss_function
                else OPS["SparseSoftmaxCrossEntropyWithLogits"](logit, target)[0]
            )
            losses.append(loss * weight)
        total = op("AddN", losses)
        if average_across_timesteps:
            total = total / (op("AddN", [convert_to_tensor(w) for w in weights]) + 1e-12)
        return total


@export(v1="contrib.seq2seq.sequence_loss")
def sequence_loss(
    logits: Any,
    targets: Any,
    weights: Any,
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    softmax_loss_function: Any = None,
    name: str | None = None,
) -> Tensor:
    """Computes the weighted cross-entropy of sequences [batch, steps, classes].

    Args:
      logits: The logits.
      targets: The class indices.
      weights: The weight of each step.
      average_across_timesteps: Whether to divide by the total weight of the steps.
      average_across_batch: Whether to divide by the batch size.
      softmax_loss_function: A function of labels and logits; by default the sparse cross-entropy.
      name: A name for the operation (optional).
    """
    with name_scope(name, "sequence_loss"):
        classes = OPS["Shape"](logits)[2]
        flat = OPS["Reshape"](logits, op("Pack", [convert_to_tensor(-1), classes]))
        target = OPS["Reshape"](convert_to_tensor(targets), [-1])
        loss = (
            softmax_loss_function(labels=target, logits=flat)
            if softmax_loss_function
            else OPS["SparseSoftmaxCrossEntropyWithLogits"](flat, target)[0]
        )
        loss = loss * OPS["Reshape"](weights, [-1])
        if average_across_timesteps and average_across_batch:
            return op("Sum", loss, [0]) / (op("Sum", weights, [0, 1]) + 1e-12)
        loss = OPS["Reshape"](loss, OPS["Shape"](logits)[0:2])
        axis = [0] if average_across_batch else [1]
        if not average_across_batch and not average_across_timesteps:
            return loss
        return op("Sum", loss, axis) / (op("Sum", weights, axis) + 1e-12)


@export(v1="nn.raw_rnn")
def raw_rnn(
    cell: Any,
    loop_fn: Callable,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    scope: Any = None,
) -> Any:
    """Runs an RNN cell in a loop that `loop_fn` controls: (TensorArray of outputs, final state,
    final loop
    state).

    Args:
      cell: An RNN cell.
      loop_fn: A function of (time, output, state, loop state) that returns the inputs of the next
        step.
      parallel_iterations: Has no effect.
      swap_memory: Has no effect.
      scope: A variable scope, or its name.
    """
    del parallel_iterations, swap_memory  # hints for speed and memory
    with variable_scope.variable_scope(scope if scope is not None else "rnn"):
        time = convert_to_tensor(0)
        finished, inputs, state, emit, loop_state = loop_fn(time, None, None, None)
        emit = cell.output_size if emit is None else emit
        kinds = [
            e.dtype if hasattr(e, "dtype") else nest.flatten(state)[0].dtype.base_dtype
            for e in nest.flatten(emit)
        ]
        make: Any = TensorArray  # its metaclass chooses the class
        arrays = [make(k, 0, dynamic_size=True) for k in kinds]
        carried = convert_to_tensor(0) if loop_state is None else loop_state
        first = [time, finished, inputs, arrays, state, carried]

        def body(time, finished, inputs, arrays, state, carried):
            output, new = cell(inputs, state)
            after = time + 1
            done, next_inputs, next_state, out, next_loop_state = loop_fn(
                after, output, new, None if loop_state is None else carried
            )
            next_state = new if next_state is None else next_state
            out = output if out is None else out

            def keep(old, value):
                if hasattr(value, "_flow") or value.shape.ndims in (0, None):
                    return value
                return OPS["Select"](finished, old, value)

            kept = [keep(OPS["ZerosLike"](e), e) for e in nest.flatten(out)]
            states = nest.pack_sequence_as(
                state, [keep(a, b) for a, b in zip(nest.flatten(state), nest.flatten(next_state))]
            )
            return [
                after,
                OPS["LogicalOr"](done, finished),
                next_inputs,
                [a.write(time, e) for a, e in zip(arrays, kept)],
                states,
                carried if loop_state is None else next_loop_state,
            ]

        result = while_loop(
            lambda t, done, *_: OPS["LogicalNot"](OPS["All"](done, [0])),
            body,
            first,
            return_same_structure=True,
        )
        arrays = result[3]
        is_nested = isinstance(emit, (list, tuple, dict))
        outputs = nest.pack_sequence_as(emit, arrays) if is_nested else arrays[0]
        return outputs, result[4], None if loop_state is None else result[5]
