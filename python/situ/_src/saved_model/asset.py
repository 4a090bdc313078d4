# SPDX-License-Identifier: Apache-2.0
"""asset.py: tf.saved_model.Asset: a file that belongs to a saved model."""

from __future__ import annotations

import filecmp
import weakref

from situ._src.framework.api import export
from situ._src.framework.scopes import init_scope
from situ._src.ops.array_ops import convert_to_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ASSETS = "assets"  # the folder of the files in a saved model
asset_paths: weakref.WeakValueDictionary = weakref.WeakValueDictionary()  # id of a path -> Asset


@export("saved_model.Asset")
class Asset:
    """A file that is copied when the object that holds it is saved. In the loaded object and its
    functions the path is that of the copy.

    Args:
      path: the path of the file, or a tensor with it.
    """

    def __init__(self, path: Any):
        with init_scope():
            self._path = convert_to_tensor(path, "string", name="asset_path")
        asset_paths[id(self._path)] = self

    @property
    def asset_path(self) -> Any:
        """The path of the file, a string tensor."""
        return self._path


def same_file(a: str, b: str) -> bool:
    """Returns whether two paths have the same contents."""
    return a == b or filecmp.cmp(a, b, shallow=False)
