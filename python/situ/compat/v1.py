# SPDX-License-Identifier: Apache-2.0
"""v1.py: situ in graph style: `import situ.compat.v1 as tf`; graphs become the default."""
import sys as _sys

from situ._lib import api as _api
from situ._lib import names as _names
from situ._lib import style as _style

__version__ = _style.VERSIONS["v1"]
__path__ = []
_style.use("v1")
_api.build(_sys.modules[__name__], _names.V1, __name__)


def __getattr__(name):
    if name == "compat":
        import situ.compat
        return situ.compat
    if name.startswith("__"):
        raise AttributeError(name)
    raise _api.missing("", name, globals())
