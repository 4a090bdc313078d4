# SPDX-License-Identifier: Apache-2.0
"""rnn_loop.py: runs the step function of a recurrent layer over a sequence.

Short sequences are unrolled. Long ones run in a While loop over chunks of steps that are unrolled
in its body: the size of the graph does not depend on the length, and an iteration has enough work
to hide the overhead of the loop. The remainder runs before the loop and determines the output
shape."""

from situ._src.framework import nest
from situ._src.ops.array_ops import convert_to_tensor, op, transpose
from situ._src.ops.tensor_array_ops import TensorArray
from situ._src.ops.while_loop import while_loop

MOST_UNROLLED, CHUNK = 24, 16


def chosen(mask, new, old):
    """Selects `new` where the mask is True, `old` elsewhere."""
    while mask.shape.rank < new.shape.rank:
        mask = op("ExpandDims", mask, -1)
    return op("SelectV2", mask, new, old)


def _parts(tensor, count, axis=0):
    result = op("Unpack", tensor, num=count, axis=axis)
    return list(result) if isinstance(result, (list, tuple)) else [result]


def _swapped(tensor):
    """Swaps the batch and time dimensions."""
    return transpose(tensor, [1, 0, *range(2, tensor.shape.rank)])


class Steps:
    """Runs step(x, states) -> (output, states) over sequences with a mask."""

    def __init__(self, step, zero_masked):
        self._step, self._zero_masked = step, zero_masked

    def one(self, x, states, kept, last):
        """Runs a step; where the mask is False, keeps the states and repeats the last output."""
        output, new = self._step(x, states)
        if kept is None:
            return output, new
        before = op("ZerosLike", output) if last is None or self._zero_masked else last
        flat = [chosen(kept, a, b) for a, b in zip(nest.flatten(new), nest.flatten(states))]
        return chosen(kept, output, before), nest.pack_sequence_as(new, flat)

    def some(self, parts, masks, states, last=None):
        """Runs steps one by one; returns the outputs and the last states."""
        outputs = []
        for i, x in enumerate(parts):
            last, states = self.one(x, states, None if masks is None else masks[i], last)
            outputs.append(last)
        return outputs, states

    def unrolled(self, inputs, mask, states, steps, backwards, all_outputs):
        """Runs all steps of [batch, time, ...] unrolled.

        Returns the last output, all outputs (None unless all_outputs) and the states.
        """
        parts = _parts(inputs, steps, 1)
        masks = None if mask is None else _parts(mask, steps, 1)
        if backwards:
            parts, masks = parts[::-1], masks and masks[::-1]
        outputs, states = self.some(parts, masks, states)
        return outputs[-1], op("Pack", outputs, axis=1) if all_outputs else None, states

    def looped(self, inputs, mask, states, steps, backwards, all_outputs):
        """Runs all steps in a loop; `steps` is None if it is unknown. Returns what unrolled
        returns.
        """
        chunk = CHUNK if steps is not None else 1
        first = (steps - 1) % chunk + 1 if steps is not None else 1
        rows = [_swapped(t) for t in ([inputs] if mask is None else [inputs, mask])]
        rows = [op("ReverseV2", t, [0]) for t in rows] if backwards else rows
        heads = [_parts(t[:first], first) for t in rows]
        outputs, states = self.some(heads[0], heads[1] if mask is not None else None, states)
        count = (
            convert_to_tensor((steps - first) // chunk)
            if steps is not None
            else op("Shape", rows[0])[0] - 1
        )
        chunks = [_chunks(t[first:], count, chunk) for t in rows]
        series = (
            TensorArray(
                outputs[-1].dtype,
                count + int(steps is None),
                element_shape=[chunk, *outputs[-1].shape.as_list()],
            )
            if all_outputs
            else None
        )
        head = op("Pack", outputs, axis=0) if all_outputs else None
        if all_outputs and steps is None:  # so that the array is never empty
            series, head = series.write(0, head), None
        last, series, states = self._loop(
            chunks, count, chunk, outputs[-1], states, series, int(head is None)
        )
        if not all_outputs:
            return last, None, states
        whole = op("Reshape", series.stack(), _with_steps([-1], last, 0))
        whole = _swapped(whole if head is None else op("ConcatV2", [head, whole], 0))
        whole.set_shape([last.shape.as_list()[0], steps, *last.shape.as_list()[1:]])
        return last, whole, states

    def _loop(self, chunks, count, chunk, last, states, series, behind):
        """Runs the chunks; outputs are written to `series`, if any, from index `behind` on."""
        series = [] if series is None else [series]
        start = [convert_to_tensor(t) for t in nest.flatten(states)]

        def body(i, last, *values):
            now = nest.pack_sequence_as(states, list(values[len(series) :]))
            pieces = [_parts(c.read(i), chunk) for c in chunks]
            outputs, new = self.some(pieces[0], pieces[1] if len(pieces) > 1 else None, now, last)
            new = nest.flatten(new)
            for value, old in zip([outputs[-1], *new], [last, *start]):
                value.set_shape(old.shape)
            kept = [s.write(i + behind, op("Pack", outputs, axis=0)) for s in values[: len(series)]]
            return [i + 1, outputs[-1], *kept, *new]

        done = while_loop(
            lambda i, *_: op("Less", i, count), body, [convert_to_tensor(0), last, *series, *start]
        )
        at = 2 + len(series)
        return done[1], done[2] if series else None, nest.pack_sequence_as(states, list(done[at:]))


def _with_steps(steps, tensor, skip):
    """Returns the shape `[*steps, *sizes of tensor after its first skip dimensions]`."""
    sizes = tensor.shape.as_list()[skip:]
    if None not in sizes:
        return [*steps, *sizes]
    tail = op("Slice", op("Shape", tensor), [skip], [-1])
    return op("ConcatV2", [convert_to_tensor(steps, "int32"), tail], 0)


def _chunks(rows, count, chunk):
    """Splits [time, ...] into a TensorArray of [chunk, ...]."""
    sizes = rows.shape.as_list()[1:]
    cut = op("Reshape", rows, _with_steps([-1, chunk], rows, 1))
    cut.set_shape([None, chunk, *sizes])
    return TensorArray(
        rows.dtype, count, clear_after_read=False, element_shape=[chunk, *sizes]
    ).unstack(cut)
