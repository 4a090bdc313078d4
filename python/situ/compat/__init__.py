# SPDX-License-Identifier: Apache-2.0
"""__init__.py: situ.compat: v1 is graph style; only importing it makes graphs the default."""
import sys as _sys

import situ as _situ_package
from situ._lib import api as _api
from situ._lib import names as _names

for _name, _thing in _names.BOTH.items():
    if _name.startswith("compat."):
        globals()[_name[7:]] = _thing
v2 = _situ_package


def __getattr__(name):
    if name != "v1":
        raise AttributeError(f"module 'situ.compat' has no attribute '{name}'")
    module = _api.Names("situ.compat.v1_names")
    module.__version__ = _situ_package.__version__
    _api.build(module, _names.V1, module.__name__)
    globals()["v1"] = module
    return module
