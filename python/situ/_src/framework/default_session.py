# SPDX-License-Identifier: Apache-2.0
"""default_session.py: the stack of default sessions, one per thread."""

from __future__ import annotations

import threading

_local = threading.local()


def stack() -> list:
    """Returns the stack of default sessions of the current thread."""
    if not hasattr(_local, "stack"):
        _local.stack = []
    return _local.stack


def pop(session) -> None:
    """Removes the innermost default session.

    Raises:
      AssertionError: it is another one.
    """
    if stack()[-1:] != [session]:
        raise AssertionError(f"Nesting violated for default stack of {type(session)} objects")
    stack().pop()


def current():
    """Returns the default session of the current thread, or None."""
    return stack()[-1] if stack() else None


def for_eval(session):
    """Returns a session, or the default session if it is None.

    Raises:
      ValueError: both are None.
    """
    session = session or current()
    if session is None:
        raise ValueError(
            "Cannot evaluate tensor using `eval()`: No default session is registered. Use `with "
            "sess.as_default()` or pass an explicit session to `eval(session=sess)`"
        )
    return session
