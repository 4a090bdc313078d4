# SPDX-License-Identifier: Apache-2.0
"""gfile.py: tf.io.gfile and tf.gfile: file system functions with TensorFlow's names and errors."""

from __future__ import annotations

import functools
import glob as globs
import inspect
import os
import shutil
from typing import Any, Union

from situ._src.framework import errors
from situ._src.framework.api import BOTH, V1
from situ._src.framework.keywords import bind

Path = Union[str, bytes, "os.PathLike[str]"]


def local_path(path):
    """Returns a path as a string, without the prefix "file://"."""
    path = path.decode() if isinstance(path, bytes) else os.fspath(path)
    return path[7:] if path.startswith("file://") else path


def _file_function(function):
    """Converts OSError of a function to TensorFlow's errors."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        with errors.convert_os_errors():
            return function(*args, **kwargs)

    return call


class GFile:
    """A file object that opens the file on first use."""

    def __init__(self, name, mode="r"):
        if mode not in ("r", "rb", "w", "wb", "a", "ab", "r+", "w+", "a+", "rb+", "wb+", "ab+"):
            raise errors.InvalidArgumentError(
                None, None, f"mode is not 'r' or 'w' or 'a': {mode!r}"
            )
        self._name, self._mode, self._file = name, mode, None

    name = property(lambda s: s._name)
    mode = property(lambda s: s._mode)

    def _open(self):
        if self._file is None:
            with errors.convert_os_errors():
                self._file = open(
                    local_path(self._name),
                    self._mode,
                    encoding=None if "b" in self._mode else "utf-8",
                )
        return self._file

    def read(self, n=-1):
        """Reads `n` bytes or characters, or all."""
        self._need("r", "reading")
        return self._open().read(n)

    def write(self, file_content):
        """Appends a string or bytes."""
        self._need("wa+", "writing")
        with errors.convert_os_errors(local_path(self._name)):
            self._open().write(
                file_content
                if isinstance(file_content, str) or "b" in self._mode
                else file_content.decode()
            )

    def _need(self, letters, what):
        """Raises PermissionDeniedError unless the file is open for this."""
        if not any(c in self._mode for c in letters + "+"):
            raise errors.PermissionDeniedError(None, None, f"File isn't open for {what}")

    def readline(self):
        """Reads the next line."""
        self._need("r", "reading")
        return self._open().readline()

    def readlines(self):
        """Returns all lines."""
        return list(self)

    def seek(self, offset=None, whence=0, position=None):
        """Sets the position."""
        self._open().seek(position if offset is None else offset, whence)

    def tell(self):
        """Returns the position."""
        return self._open().tell()

    def seekable(self):
        return True

    def size(self):
        """Returns the size of the file in bytes."""
        with errors.convert_os_errors():
            return os.path.getsize(local_path(self._name))

    def flush(self):
        """Writes buffered data to the file."""
        if self._file is not None:
            with errors.convert_os_errors(local_path(self._name)):
                self._file.flush()

    def close(self):
        """Closes the file."""
        if self._file is not None:
            file, self._file = self._file, None
            with errors.convert_os_errors(local_path(self._name)):
                file.close()

    Close, Size = close, size

    def __iter__(self):
        self._need("r", "reading")
        return iter(self._open())

    def __next__(self):
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    def __enter__(self):
        if "w" in self._mode or "a" in self._mode:
            self._open()
        return self

    def __exit__(self, *error):
        self.close()

    def __del__(self):
        self.close()


class FastGFile(GFile):
    """The same as GFile."""


def exists(path: Path) -> bool:
    """Returns whether a path exists.

    Args:
      path: The path.
    """
    return os.path.exists(local_path(path))


def isdir(path: Path) -> bool:
    """Returns whether a path is a directory.

    Args:
      path: The path.
    """
    return os.path.isdir(local_path(path))


@_file_function
def makedirs(path: Path) -> None:
    """Creates a directory and its parents; does nothing if it exists.

    Args:
      path: The path.
    """
    os.makedirs(local_path(path), exist_ok=True)


@_file_function
def mkdir(path: Path) -> None:
    """Creates a directory.

    Args:
      path: The path.
    """
    os.mkdir(local_path(path))


@_file_function
def remove(path: Path) -> None:
    """Deletes a file.

    Args:
      path: The path.
    """
    os.remove(local_path(path))


@_file_function
def rmtree(path: Path) -> None:
    """Deletes a directory and everything in it.

    Args:
      path: The path.
    """
    path = local_path(path)
    if os.path.isdir(path):
        shutil.rmtree(path)
    else:
        os.remove(path)


@_file_function
def listdir(path: Path) -> list[str]:
    """Returns the sorted names of the entries of a directory.

    Args:
      path: The path.
    """
    return sorted(os.listdir(local_path(path)))


@_file_function
def copy(src: Path, dst: Path, overwrite: bool = False) -> None:
    """Copies a file; AlreadyExistsError if the target exists and `overwrite` is false.

    Args:
      src: The source.
      dst: The target.
      overwrite: Whether to replace an existing target.
    """
    if not overwrite and exists(dst):
        raise errors.AlreadyExistsError(None, None, f"file already exists: {local_path(dst)}")
    shutil.copyfile(local_path(src), local_path(dst))


@_file_function
def rename(src: Path, dst: Path, overwrite: bool = False) -> None:
    """Renames a file or directory; AlreadyExistsError if the target exists and `overwrite` is
    false.

    Args:
      src: The source.
      dst: The target.
      overwrite: Whether to replace an existing target.
    """
    if not overwrite and exists(dst):
        raise errors.AlreadyExistsError(None, None, f"file already exists: {local_path(dst)}")
    os.replace(local_path(src), local_path(dst))


def glob(pattern: Any):
    """Returns the sorted paths that match a pattern or a list of patterns.

    Args:
      pattern: A pattern, or a list of patterns.
    """
    patterns = pattern if isinstance(pattern, (list, tuple)) else [pattern]
    return sorted(f for p in patterns for f in globs.glob(local_path(p)))


class FileStatistics:
    """The length, modification time and kind of a file."""

    def __init__(self, status):
        self.length, self.mtime_nsec = status.st_size, status.st_mtime_ns
        self.is_directory = os.path.stat.S_ISDIR(status.st_mode)


@_file_function
def stat(path: Path):
    """Returns the FileStatistics of a path.

    Args:
      path: The path.
    """
    return FileStatistics(os.stat(local_path(path)))


def walk(top: Path, topdown: bool = True, onerror: Any = None):
    """Yields (directory, subdirectories, files) of a directory tree.

    Args:
      top: The directory.
      topdown: Whether a directory comes before its subdirectories.
      onerror: A function that is called with errors (optional).
    """
    yield from os.walk(local_path(top), topdown, onerror)


def join(path: Any, *paths: Any):
    """Joins parts of a path.

    Args:
      path: The path.
      *paths: Further parts.
    """
    return os.path.join(path, *paths)


_FUNCTIONS = {
    "GFile": GFile,
    "exists": exists,
    "isdir": isdir,
    "makedirs": makedirs,
    "mkdir": mkdir,
    "remove": remove,
    "rmtree": rmtree,
    "listdir": listdir,
    "copy": copy,
    "rename": rename,
    "glob": glob,
    "stat": stat,
    "walk": walk,
    "join": join,
}


def _with_v1_arguments(function, *names):
    """Returns a function with the argument names of TensorFlow 1."""

    def call(*args, **kwargs):
        return function(*bind(function.__name__, defaults, args, kwargs).values())

    parameters = inspect.signature(function).parameters.values()
    defaults = {n: p.default for n, p in zip(names, parameters)}
    call.__doc__, call.__name__ = function.__doc__, function.__name__
    call.__signature__ = inspect.Signature([p.replace(name=n) for n, p in zip(names, parameters)])
    return call


_V1_FUNCTIONS = {
    "GFile": GFile,
    "Open": GFile,
    "FastGFile": FastGFile,
    "Exists": _with_v1_arguments(exists, "filename"),
    "IsDirectory": _with_v1_arguments(isdir, "dirname"),
    "MakeDirs": _with_v1_arguments(makedirs, "dirname"),
    "MkDir": _with_v1_arguments(mkdir, "dirname"),
    "Remove": _with_v1_arguments(remove, "filename"),
    "DeleteRecursively": _with_v1_arguments(rmtree, "dirname"),
    "ListDirectory": _with_v1_arguments(listdir, "dirname"),
    "Copy": _with_v1_arguments(copy, "oldpath", "newpath", "overwrite"),
    "Rename": _with_v1_arguments(rename, "oldname", "newname", "overwrite"),
    "Glob": _with_v1_arguments(glob, "filename"),
    "Stat": _with_v1_arguments(stat, "filename"),
    "Walk": _with_v1_arguments(walk, "top", "in_order"),
}


def read_file_to_string(filename: Path, binary_mode: bool = False):
    """Returns the contents of a file.

    Args:
      filename: The path.
      binary_mode: Whether to return bytes.
    """
    with GFile(filename, "rb" if binary_mode else "r") as file:
        return file.read()


def write_string_to_file(filename: Path, file_content: str | bytes) -> None:
    """Writes a string to a file, replacing its contents.

    Args:
      filename: The path.
      file_content: The new contents.
    """
    with GFile(filename, "w") as file:
        file.write(file_content)


_FILE_IO = {
    "FileIO": GFile,
    "file_exists": exists,
    "is_directory": isdir,
    "create_dir": mkdir,
    "recursive_create_dir": makedirs,
    "delete_file": remove,
    "delete_recursively": rmtree,
    "list_directory": listdir,
    "copy": copy,
    "rename": rename,
    "get_matching_files": glob,
    "stat": stat,
    "walk": walk,
    "read_file_to_string": read_file_to_string,
    "write_string_to_file": write_string_to_file,
}
BOTH.update({"python.lib.io.file_io." + k: v for k, v in _FILE_IO.items()})
BOTH.update({"io.gfile." + k: v for k, v in _FUNCTIONS.items()})
V1.update({"gfile." + k: v for k, v in _V1_FUNCTIONS.items()})
BOTH.update({"python.platform.gfile." + k: v for k, v in _V1_FUNCTIONS.items()})
