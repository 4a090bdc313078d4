# SPDX-License-Identifier: Apache-2.0
"""save_slice_info.py: tf.Variable.SaveSliceInfo: which slice of a partitioned variable a variable
holds."""

from __future__ import annotations

from situ._src.framework.graph_scopes import prepend_name_scope, strip_name_scope
from situ._src.framework.message_classes import message_class


def _numbers(values):
    return None if values is None else [int(n) for n in values]


def _parse(number, what):
    if not number.lstrip("-").isdigit():
        raise ValueError(f"Spec string {what}. Found '{number}', which is not an integer.")
    return int(number)


class SaveSliceInfo:
    """The slice of a tensor that a variable holds.

    Args:
      full_name: the name of the whole tensor.
      full_shape: its shape.
      var_offset: the offset of the slice.
      var_shape: the shape of the slice.
      save_slice_info_def: a message that has all of them instead.
      import_scope: a prefix for the name in the message.
    """

    def __init__(
        self,
        full_name=None,
        full_shape=None,
        var_offset=None,
        var_shape=None,
        save_slice_info_def=None,
        import_scope=None,
    ):
        known = save_slice_info_def
        if known is not None:
            full_name = prepend_name_scope(known.full_name, import_scope)
            full_shape, var_offset = known.full_shape, known.var_offset
            var_shape = known.var_shape
        self.full_name = full_name
        self.full_shape, self.var_offset = _numbers(full_shape), _numbers(var_offset)
        self.var_shape = _numbers(var_shape)

    @classmethod
    def from_spec(cls, spec: str) -> SaveSliceInfo:
        """Returns the slice that a string describes, without the name of the tensor.

        Args:
          spec: A string such as the property `spec`: "4 3 5 0,4:1,1:3,2".

        Raises:
          ValueError: The string has another format.
        """
        if not spec:
            return cls()
        shape, space, slices = spec.rpartition(" ")
        if not space:
            raise ValueError("Spec string must contain space-separated full_shape info.")
        full_shape = [_parse(n, "full_shape must be a sequence of integers") for n in shape.split()]
        offsets, sizes = [], []
        for piece in slices.split(":"):
            offset, comma, size = piece.partition(",")
            if not comma or "," in size:
                raise ValueError(
                    "Spec string must contain comma-separated pairs of offsets and shapes."
                )
            offsets.append(_parse(offset, "var_offset must be an integer"))
            sizes.append(_parse(size, "var_shape must be an integer"))
        return cls(full_shape=full_shape, var_offset=offsets, var_shape=sizes)

    @property
    def spec(self):
        """The shape of the whole tensor, then offset and size along each axis, as a string."""
        pieces = ":".join(f"{o},{n}" for o, n in zip(self.var_offset, self.var_shape))
        return " ".join(str(n) for n in self.full_shape) + " " + pieces

    def place(self):
        """Returns the slice as an index of the whole tensor."""
        return tuple(slice(o, o + n) for o, n in zip(self.var_offset, self.var_shape))

    def of_slot(self, name):
        """Returns the same slice of an optimizer slot."""
        return SaveSliceInfo(
            f"{self.full_name}/{name}", self.full_shape, self.var_offset, self.var_shape
        )

    def to_proto(self, export_scope=None):
        """Returns a SaveSliceInfoDef, or None if the tensor is not in the scope."""
        if export_scope and not self.full_name.startswith(export_scope):
            return None
        return message_class("tensorflow.SaveSliceInfoDef")(
            full_name=strip_name_scope(self.full_name, export_scope),
            full_shape=self.full_shape,
            var_offset=self.var_offset,
            var_shape=self.var_shape,
        )
