# SPDX-License-Identifier: Apache-2.0
"""saveables.py: SaveableObject: objects besides variables that a tf.compat.v1.train.Saver saves,
with their own tensors and restore operation."""

from __future__ import annotations

from situ._src.framework.api import BOTH
from situ._src.ops.array_ops import convert_to_tensor, reshape

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from typing import Any

_VALUE_KEY = "VARIABLE_VALUE"


class SaveSpec:
    """A tensor of a SaveableObject.

    Args:
      tensor: the tensor, or a function that returns it.
      slice_spec: the slice of the saved tensor that it is; "" for the whole.
      name: its name in checkpoints.
      dtype: its type; by default that of `tensor`.
      device: its device; by default that of `tensor`.

    Raises:
      ValueError: `tensor` is a function, and the type or device is missing.
    """

    def __init__(self, tensor, slice_spec, name, dtype=None, device=None):
        if callable(tensor) and (dtype is None or device is None):
            raise ValueError(
                "When passing a callable `tensor` to a SaveSpec, an explicit "
                "dtype and device must be provided."
            )
        self._tensor, self.slice_spec, self.name = tensor, slice_spec, name
        self.dtype = dtype if dtype is not None else tensor.dtype
        self.device = device if device is not None else getattr(tensor, "device", "")

    @property
    def tensor(self):
        """The tensor."""
        return self._tensor() if callable(self._tensor) else self._tensor


class SaveableObject:
    """An object with tensors to save.

    Args:
      op: the operation or variable that it belongs to.
      specs: a list of SaveSpec.
      name: its name in checkpoints.
    """

    def __init__(self, op, specs, name):
        self.op, self.specs, self.name = op, specs, name

    @property
    def optional_restore(self):
        """Whether it may be missing in a checkpoint."""
        return False

    @property
    def device(self):
        """The device of the tensors."""
        return self.specs[0].device

    def restore(self, restored_tensors, restored_shapes):
        """Restores the object.

        Args:
          restored_tensors: the tensors of a checkpoint.
          restored_shapes: the shapes to give them, or None.

        Returns:
          An operation that restores the state.
        """
        raise ValueError("Calling an abstract method.")


class VariableSaveable(SaveableObject):
    """A variable to save.

    Args:
      var: the variable.
      slice_spec: the slice of the saved tensor that it is; "" for the whole.
      name: its name in checkpoints.
    """

    def __init__(self, var, slice_spec, name):
        self._variable = var
        read = var.read_value if hasattr(var, "read_value") else lambda: convert_to_tensor(var)
        spec = SaveSpec(read, slice_spec, name, var.dtype.base_dtype, getattr(var, "device", ""))
        self.handle_op = getattr(var, "handle", None)
        super().__init__(var, [spec], name)

    def restore(self, restored_tensors, restored_shapes):
        """Assigns the tensor of a checkpoint."""
        (tensor,) = restored_tensors
        if restored_shapes is not None:
            tensor = reshape(tensor, restored_shapes[0])
        return self._variable.assign(tensor)


class BaseSaverBuilder:
    """The classes of objects to save."""

    SaveSpec = SaveSpec
    SaveableObject = SaveableObject
    VariableSaveable = VariableSaveable
    ResourceVariableSaveable = VariableSaveable

    def __init__(self, write_version=2):
        self._write_version = write_version


for _module in ("python.training.saver.", "python.training.saving.saveable_object."):
    BOTH[_module + "SaveSpec"] = SaveSpec
    BOTH[_module + "SaveableObject"] = SaveableObject
BOTH["python.training.saver.BaseSaverBuilder"] = BaseSaverBuilder
BOTH["python.training.saver.BulkSaverBuilder"] = BaseSaverBuilder
BOTH["python.trackable.base.VARIABLE_VALUE_KEY"] = _VALUE_KEY
BOTH["python.training.tracking.base.VARIABLE_VALUE_KEY"] = _VALUE_KEY


def _expanded(name: str | None, item: Any) -> list[tuple[str | None, Any]]:
    """Returns (name, variable or SaveableObject) of an object with
    _gather_saveables_for_checkpoint."""
    made = []
    for key, factory in item._gather_saveables_for_checkpoint().items():
        full = name if key == _VALUE_KEY or name is None else f"{name}_{key}"
        if not callable(factory):
            made.append((full, factory))
        else:
            made.append((full, factory() if full is None else factory(name=full)))
    return made


def is_trackable(item: Any) -> bool:
    """Returns whether an object that is not a variable defines what to save of it."""
    from situ._src.variables.variable import Variable

    return hasattr(item, "_gather_saveables_for_checkpoint") and not isinstance(item, Variable)


def split(items: Any) -> tuple[Any, dict[str, Any]]:
    """Returns variables, in a list or by name as `items` is, and SaveableObjects by name.

    Raises:
      ValueError: two SaveableObjects have the same name, or one has two names.
    """
    named = isinstance(items, dict)
    pairs: list = list(items.items()) if named else [(None, item) for item in items]
    flat: list = []
    for name, item in pairs:
        flat += _expanded(name, item) if is_trackable(item) else [(name, item)]
    found: dict[str, Any] = {}
    rest = [(name, item) for name, item in flat if not isinstance(item, SaveableObject)]
    for name, item in flat:
        if isinstance(item, SaveableObject):
            full = item.name if name is None else name
            if any(known is item for known in found.values()):
                raise ValueError(f"The same saveable will be restored with two names: {full}")
            if full in found:
                raise ValueError(f"At least two variables have the same name: {full}")
            found[full] = item
    return (dict(rest) if named else [item for _, item in rest]), found
