# SPDX-License-Identifier: Apache-2.0
"""errors.py: tf.errors: one exception class per status code, and the conversion of engine statuses
and operating system errors to them."""

from __future__ import annotations

import contextlib
import errno
import os

import _situ

TYPE_CHECKING = False  # typing is not imported at run time: it costs start-up time
if TYPE_CHECKING:
    from collections.abc import Iterator

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
    """The base class of the exceptions that operations and sessions raise.

    Args:
      node_def: the NodeDef of the operation that failed, or None.
      op: the tf.Operation that failed, or None if it is not known.
      message: describes the error.
      error_code: a code of tf.errors.
    """

    def __init__(self, node_def, op, message: str, error_code: int = 2):
        super().__init__(message)
        self._node_def, self._op, self._message, self._code = node_def, op, message, error_code

    @property
    def message(self) -> str:
        """The error message."""
        return self._message

    @property
    def op(self):
        """The operation that failed, or None if it is not known."""
        return self._op

    @property
    def error_code(self) -> int:
        """The status code, one of the constants of tf.errors."""
        return self._code

    @property
    def node_def(self):
        """The NodeDef of the operation that failed, or None."""
        return self._op.node_def if self._op is not None else self._node_def

    def __str__(self):
        return self._message

    def __reduce__(self):
        return type(self), (None, None, self._message)


class _StatusError(OpError):
    """An OpError whose class determines its code."""

    _CODE = 2

    def __init__(self, node_def, op, message: str):
        super().__init__(node_def, op, message, self._CODE)


class CancelledError(_StatusError):
    """The operation was cancelled, for example because its session or queue was closed."""

    _CODE = 1


class UnknownError(_StatusError):
    """The cause of the failure is not known to fit another class."""

    _CODE = 2


class InvalidArgumentError(_StatusError):
    """An argument has an invalid value, shape or type."""

    _CODE = 3


class DeadlineExceededError(_StatusError):
    """The operation did not finish within its time limit."""

    _CODE = 4


class NotFoundError(_StatusError):
    """A file, variable, table key or other named object does not exist."""

    _CODE = 5


class AlreadyExistsError(_StatusError):
    """The object to be created exists already."""

    _CODE = 6


class PermissionDeniedError(_StatusError):
    """The process has no permission for the operation, for example to read a file."""

    _CODE = 7


class ResourceExhaustedError(_StatusError):
    """A resource is used up: memory of a device, or space of a file system."""

    _CODE = 8


class FailedPreconditionError(_StatusError):
    """The system is not in the required state, for example a variable is not initialized."""

    _CODE = 9


class AbortedError(_StatusError):
    """The operation was aborted and may succeed when it is run again."""

    _CODE = 10


class OutOfRangeError(_StatusError):
    """The end of a dataset, queue or file was reached."""

    _CODE = 11


class UnimplementedError(_StatusError):
    """The operation is not implemented for these arguments, types or devices."""

    _CODE = 12


class InternalError(_StatusError):
    """An invariant of the runtime does not hold."""

    _CODE = 13


class UnavailableError(_StatusError):
    """A service or device cannot be reached now; the operation may be tried again."""

    _CODE = 14


class DataLossError(_StatusError):
    """Data is corrupt or incomplete, for example a truncated file."""

    _CODE = 15


class UnauthenticatedError(_StatusError):
    """The request has no valid credentials."""

    _CODE = 16


class OperatorNotAllowedInGraphError(TypeError):
    """A Python operator, such as `if` or `in`, needs the value of a tensor in a graph."""


CLASSES = {error._CODE: error for error in _StatusError.__subclasses__()}
PUBLIC = {
    "OpError": OpError,
    "OperatorNotAllowedInGraphError": OperatorNotAllowedInGraphError,
    **{error.__name__: error for error in CLASSES.values()},
    **{name: code for code, name in enumerate(NAMES)},
}
for _class in (OpError, OperatorNotAllowedInGraphError, *CLASSES.values()):
    _class.__module__ = "situ.errors"


def from_status(code: int, message: str, node: str | None, graph) -> OpError:
    """Returns the exception for a status of the engine."""
    op = _find(graph, node) if graph is not None and node else None
    if op is not None and op.graph is not graph:
        return CLASSES.get(code, UnknownError)(None, None, message + _defined_at(op))
    return CLASSES.get(code, UnknownError)(None, op, message + _defined_at(op))


def _find(graph, node):
    """Returns the operation of that name in a graph or in the functions that it calls."""
    found = graph._find(node)
    for inner in () if found is not None else graph.__dict__.get("_branch_graphs", ()):
        found = found or _find(inner, node)
    return found


def _defined_at(op) -> str:
    """Returns lines that say where the program created an operation; "" if that is unknown."""
    frames = op._origin if op is not None else ()
    if not frames:
        return ""
    import linecache

    lines = [f"\nNode '{op.name}' was defined at (most recent call last):"]
    for file, line, function in frames:
        lines.append(f'  File "{file}", line {line}, in {function}')
        source = linecache.getline(file, line).strip()
        lines += ["    " + source] if source else []
    return "\n".join(lines)


_ERRNO_CLASSES = {
    errno.ENOENT: NotFoundError,
    errno.EEXIST: AlreadyExistsError,
    errno.EACCES: PermissionDeniedError,
    errno.EPERM: PermissionDeniedError,
    errno.EROFS: PermissionDeniedError,
    errno.ENOTDIR: FailedPreconditionError,
    errno.EISDIR: FailedPreconditionError,
    errno.ENOTEMPTY: FailedPreconditionError,
    errno.ENOSPC: ResourceExhaustedError,
    errno.EDQUOT: ResourceExhaustedError,
    errno.EFBIG: ResourceExhaustedError,
}


@contextlib.contextmanager
def convert_os_errors(path=None) -> Iterator[None]:
    """Converts OSError raised in the block to an exception of tf.errors that names the file."""
    try:
        yield
    except OSError as error:
        name = error.filename if path is None else os.fspath(path)
        name = name.decode(errors="replace") if isinstance(name, bytes) else name
        error_class = _ERRNO_CLASSES.get(error.errno or 0, UnknownError)
        raise error_class(None, None, f"{name}; {error.strerror or error}") from None


@contextlib.contextmanager
def as_os_errors() -> Iterator[None]:
    """Converts errors about files raised in the block to OSError, for functions that are not of
    TensorFlow's file API."""
    try:
        yield
    except NotFoundError as error:
        raise FileNotFoundError(errno.ENOENT, error.message) from None
    except PermissionDeniedError as error:
        raise PermissionError(errno.EACCES, error.message) from None
    except (UnknownError, FailedPreconditionError, ResourceExhaustedError) as error:
        raise OSError(error.message) from None


@contextlib.contextmanager
def convert_malformed(path) -> Iterator[None]:
    """Converts errors of the block about contents that a file must not have (a missing key, a wrong
    type) to DataLossError."""
    try:
        yield
    except (LookupError, AttributeError, TypeError, ValueError, RecursionError) as error:
        text = f"{os.fspath(path)}: damaged: {type(error).__name__}: {error}"
        raise DataLossError(None, None, text) from error


def invalid_argument(message: str) -> Exception:
    """Returns the exception for an invalid argument: InvalidArgumentError eagerly, ValueError while
    a graph is built."""
    if _situ.current_graph() is None:
        return InvalidArgumentError(None, None, message)
    return ValueError(message)


def exception_type_from_error_code(error_code: int) -> type[OpError]:
    """Returns the exception class of a status code.

    Args:
      error_code: a code of tf.errors, such as `tf.errors.NOT_FOUND`.

    Returns:
      The subclass of tf.errors.OpError.

    Raises:
      KeyError: no class has this code.
    """
    return CLASSES[error_code]


def error_code_from_exception_type(cls: type[OpError]) -> int:
    """Returns the status code of an exception class.

    Args:
      cls: a subclass of tf.errors.OpError.

    Returns:
      The code, one of the constants of tf.errors.
    """
    return next(code for code, error in CLASSES.items() if error is cls)


_situ.hook("error", from_status)
_situ.hook("folder", os.path.abspath(__file__ + "/../../..") + os.sep)
