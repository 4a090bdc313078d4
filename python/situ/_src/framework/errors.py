# SPDX-License-Identifier: Apache-2.0
"""errors.py: the exceptions of tf.errors, by code."""

import contextlib
import errno
import os

import _situ

NAMES = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
]


class OpError(Exception):
    """An op failed; `message`, `op` and `node_def` say which and why."""

    def __init__(self, node_def, op, message, error_code=2):
        super().__init__(message)
        self._node_def, self._op, self._message, self._code = node_def, op, message, error_code

    message = property(lambda s: s._message)
    op = property(lambda s: s._op)
    error_code = property(lambda s: s._code)

    @property
    def node_def(self):
        return self._op.node_def if self._op is not None else self._node_def

    def __str__(self):
        return self._message

    def __reduce__(self):
        return type(self), (None, None, self._message)


def _make(code):
    name = "".join(part.capitalize() for part in NAMES[code].split("_")) + "Error"

    def begin(self, node_def, op, message):
        OpError.__init__(self, node_def, op, message, code)

    return name, type(
        name,
        (OpError,),
        {
            "__init__": begin,
            "__module__": "situ.errors",
            "__doc__": f"The code {NAMES[code]} ({code}).",
        },
    )


class OperatorNotAllowedInGraphError(TypeError):
    """Python asked a tensor that has no value yet for its value."""

    __module__ = "situ.errors"


CLASSES = {code: _make(code)[1] for code in range(1, len(NAMES))}
PUBLIC = {
    "OpError": OpError,
    "OperatorNotAllowedInGraphError": OperatorNotAllowedInGraphError,
    **{c.__name__: c for c in CLASSES.values()},
    **{name: code for code, name in enumerate(NAMES)},
}
globals().update(PUBLIC)
OpError.__module__ = "situ.errors"


def make(code, message, node, graph):
    """The exception of a status of the engine."""
    op = graph._find(node) if graph is not None and node else None
    return CLASSES.get(code, CLASSES[2])(None, op, message)


_CODES = {
    errno.ENOENT: 5,
    errno.EEXIST: 6,
    errno.EACCES: 7,
    errno.EPERM: 7,
    errno.EROFS: 7,
    errno.ENOTDIR: 9,
    errno.EISDIR: 9,
    errno.ENOTEMPTY: 9,
    errno.ENOSPC: 8,
    errno.EDQUOT: 8,
    errno.EFBIG: 8,
}


@contextlib.contextmanager
def of_files(path=None):
    """Errors of the system become TensorFlow's, with the name of the file."""
    try:
        yield
    except OSError as error:
        name = error.filename if path is None else os.fspath(path)
        name = name.decode(errors="replace") if isinstance(name, bytes) else name
        code = _CODES.get(error.errno, 2)
        raise CLASSES[code](None, None, f"{name}; {error.strerror or error}") from None


def wrong_argument(message):
    """The exception of shapes that do not fit, as the style has it: of an op, or of a graph."""
    return CLASSES[3](None, None, message) if _situ.current_graph() is None else ValueError(message)


def exception_type_from_error_code(error_code):
    return CLASSES[error_code]


def error_code_from_exception_type(cls):
    return next(code for code, c in CLASSES.items() if c is cls)


_situ.hook("error", make)
_situ.hook("folder", os.path.abspath(__file__ + "/../../..") + os.sep)
