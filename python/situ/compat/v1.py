# SPDX-License-Identifier: Apache-2.0
"""v1.py: situ in graph style: `import situ.compat.v1 as tf`; graphs become the default."""
import sys as _sys

from situ._lib import api as _api
from situ._lib import style as _style

__version__ = _style.VERSIONS["v1"]
__path__ = []
_style.use("v1")
_api.build(_sys.modules[__name__], _api.V1, __name__)


def __getattr__(name):
    if name == "compat":
        import situ.compat
        return situ.compat
    return _api.find("", name, globals())


def __dir__():
    _api.load_all()
    return list(globals())
