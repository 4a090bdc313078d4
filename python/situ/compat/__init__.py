# SPDX-License-Identifier: Apache-2.0
"""__init__.py: situ.compat: v1 has the names of TensorFlow 1, v2 those of TensorFlow 2."""
import importlib as _importlib

import situ as _situ_package
from situ._lib import api as _api

v2 = _situ_package


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    if name == "v1":
        return _importlib.import_module("situ.compat.v1")
    _api.load_all()
    if "compat." + name not in _api.BOTH:
        raise AttributeError(f"module 'situ.compat' has no attribute '{name}'")
    globals()[name] = _api.BOTH["compat." + name]
    return globals()[name]
