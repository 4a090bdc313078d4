# SPDX-License-Identifier: Apache-2.0
"""default_session.py: the stack of default sessions of each thread."""

from __future__ import annotations

import threading

_local = threading.local()


def stack():
    if not hasattr(_local, "stack"):
        _local.stack = []
    return _local.stack


def current():
    return stack()[-1] if stack() else None
