# SPDX-License-Identifier: Apache-2.0
"""v1.py: the names of TensorFlow 1: `import situ.compat.v1 as tf`. Where that is the first import
of situ, graphs become the default (see style.py)."""

import functools as _functools

from situ import compat as _compat
from situ._src.framework import api as _api
from situ._src.framework import style as _style

__path__: list = []
_style.import_v1()
__version__ = _style.VERSIONS["v1" if _style.is_graph_program() else "v2"]
_api.build(__name__)


def __getattr__(name):
    if name == "compat":
        return _compat
    if name == "load_ipython_extension":  # %load_ext situ.compat.v1
        from situ._src.runner import ipython_extension

        return _functools.partial(ipython_extension.load, "v1")
    return _api.find("", name, globals(), "v1", __name__)


def __dir__():
    return sorted({*globals(), "compat", *_api.names_below("", "v1")})
