# SPDX-License-Identifier: Apache-2.0
"""raw_ops.py: tf.raw_ops: ops with several outputs return a namedtuple, as in TensorFlow."""

from __future__ import annotations

import collections
import functools

TYPE_CHECKING = False  # typing is not imported at run time: it costs start-up time
if TYPE_CHECKING:
    from typing import Any

_TAPE = "tape"  # an output of If and While for gradients, which TensorFlow's ops do not have


class RawOp:
    """An op as a function that returns its outputs as a namedtuple with a field per output."""

    def __init__(self, op: Any):
        self.__wrapped__ = op
        self.__doc__ = op.__doc__
        self.fields = [port["name"] for port in op.outputs if port["name"] != _TAPE]
        is_tuple = len(self.fields) > 1
        self._result = (
            collections.namedtuple(op.definition["name"], self.fields) if is_tuple else None
        )
        # of each output: the attribute with its number of tensors, or None for one tensor
        self._counts = [p["count"] or p["type"] if p["list"] else None for p in op.outputs]

    def __call__(self, *args, **kwargs):
        result = self.__wrapped__(*args, **kwargs)
        if not isinstance(result, list):  # an operation without outputs
            return result
        parts = self._parts(result, args, kwargs)
        return self._result(*parts) if self._result else parts[0]

    def __getattr__(self, name):
        return getattr(self.__wrapped__, name)

    def __repr__(self):
        return repr(self.__wrapped__)

    def _count(self, attr, args, kwargs):
        """Returns the number of tensors that an attribute says, or None if inputs say it."""
        for i, (name, own, _) in enumerate(self.__wrapped__.parameters):
            if own == attr:
                value = args[i] if i < len(args) else kwargs.get(name, kwargs.get(own, []))
                return value if isinstance(value, int) else len(value)
        return None

    def _parts(self, result, args, kwargs):
        """Returns a tensor or a list of tensors per output. One list has what the others leave."""
        counts = [1 if a is None else self._count(a, args, kwargs) for a in self._counts]
        rest = len(result) - sum(count for count in counts if count is not None)
        parts, at = [], 0
        for attr, count in zip(self._counts, counts):
            count = rest if count is None else count
            parts.append(result[at] if attr is None else result[at : at + count])
            at += count
        return parts[: len(self.fields)]


@functools.cache
def raw_op(op: Any) -> Any:
    """Returns the function of an op in tf.raw_ops."""
    return RawOp(op) if len(op.outputs) > 1 else op
