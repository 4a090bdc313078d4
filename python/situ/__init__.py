# SPDX-License-Identifier: Apache-2.0
"""__init__.py: situ in eager style: `import situ as tf`. Graph style is situ.compat.v1."""

import functools as _functools
import importlib as _importlib

from situ._src.framework import api as _api
from situ._src.framework import style as _style

__version__ = _style.VERSIONS["v2"]
_style.note_import()
_api.build(__name__)


def __getattr__(name):
    if name == "compat":
        return _importlib.import_module("situ.compat")
    if name == "load_ipython_extension":  # %load_ext situ
        from situ._src.runner import ipython_extension

        return _functools.partial(ipython_extension.load, "v2")
    if not name.startswith("__"):
        _style.note_use()
    return _api.find("", name, globals(), "v2", __name__)


def __dir__():
    return sorted({*globals(), "compat", *_api.names_below("", "v2")})
