# SPDX-License-Identifier: Apache-2.0
"""exports.py: public names of tf.experimental.numpy, and the functions of TensorFlow that they are
made of."""

from __future__ import annotations

from situ._src.framework import api
from situ._src.framework.api import export

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, Callable

# The functions of tf in eager style, whatever the style of the program is.
tf = api.Names("situ", "", "v2", "situ")


def numpy_export(name: str) -> Callable:
    """Returns a decorator that exports an object as `situ.experimental.numpy.NAME`."""
    return export(v2="experimental.numpy." + name)


def constants(**values: Any) -> None:
    """Exports values that are not functions."""
    for name, value in values.items():
        numpy_export(name)(value)
