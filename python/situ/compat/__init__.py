# SPDX-License-Identifier: Apache-2.0
"""__init__.py: situ.compat: v1 has the names of TensorFlow 1, v2 those of TensorFlow 2."""

import importlib as _importlib

import situ as _situ_package
from situ._src.framework import api as _api

v2 = _situ_package


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    if name == "v1":
        return _importlib.import_module("situ.compat.v1")
    if not _api.has("compat." + name, "v2"):
        raise AttributeError(f"module 'situ.compat' has no attribute '{name}'")
    globals()[name] = _api.lookup("compat." + name, "v2")
    return globals()[name]
