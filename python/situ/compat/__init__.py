# SPDX-License-Identifier: Apache-2.0
"""__init__.py: situ.compat: v1 is graph style; only importing it makes graphs the default."""
import situ as _situ_package
from situ._lib import api as _api

v2 = _situ_package


def _make_v1():
    module = _api.Names("situ.compat.v1_names")
    module.__version__ = _situ_package.__version__
    _api.build(module, _api.V1, module.__name__)
    return module


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    if name != "v1":
        _api.load_all()
    if name != "v1" and "compat." + name not in _api.BOTH:
        raise AttributeError(f"module 'situ.compat' has no attribute '{name}'")
    globals()[name] = _make_v1() if name == "v1" else _api.BOTH["compat." + name]
    return globals()[name]
