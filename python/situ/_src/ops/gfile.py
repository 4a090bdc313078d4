# SPDX-License-Identifier: Apache-2.0
"""gfile.py: tf.gfile and tf.io.gfile: files, with TensorFlow's names and errors."""

import functools
import glob as globs
import inspect
import os
import shutil

from situ._src.framework import errors
from situ._src.framework.api import BOTH, V1
from situ._src.framework.keywords import bind


def _name(path):
    path = path.decode() if isinstance(path, bytes) else os.fspath(path)
    return path[7:] if path.startswith("file://") else path


def _file_function(function):
    @functools.wraps(function)
    def call(*args, **words):
        with errors.convert_os_errors():
            return function(*args, **words)

    return call


class GFile:
    """A file: read, write, seek, and line by line. Opened when it is first used."""

    def __init__(self, name, mode="r"):
        if mode not in ("r", "rb", "w", "wb", "a", "ab", "r+", "w+", "a+", "rb+", "wb+", "ab+"):
            raise errors.CLASSES[3](None, None, f"mode is not 'r' or 'w' or 'a': {mode!r}")
        self._name, self._mode, self._file = name, mode, None

    name = property(lambda s: s._name)
    mode = property(lambda s: s._mode)

    def _open(self):
        if self._file is None:
            with errors.convert_os_errors():
                self._file = open(
                    _name(self._name), self._mode, encoding=None if "b" in self._mode else "utf-8"
                )
        return self._file

    def read(self, n=-1):
        self._need("r", "reading")
        return self._open().read(n)

    def write(self, file_content):
        self._need("wa+", "writing")
        with errors.convert_os_errors(_name(self._name)):
            self._open().write(
                file_content
                if isinstance(file_content, str) or "b" in self._mode
                else file_content.decode()
            )

    def _need(self, letters, what):
        if not any(c in self._mode for c in letters + "+"):
            raise errors.CLASSES[7](None, None, f"File isn't open for {what}")

    def readline(self):
        self._need("r", "reading")
        return self._open().readline()

    def readlines(self):
        return list(self)

    def seek(self, offset=None, whence=0, position=None):
        self._open().seek(position if offset is None else offset, whence)

    def tell(self):
        return self._open().tell()

    def seekable(self):
        return True

    def size(self):
        with errors.convert_os_errors():
            return os.path.getsize(_name(self._name))

    def flush(self):
        if self._file is not None:
            with errors.convert_os_errors(_name(self._name)):
                self._file.flush()

    def close(self):
        if self._file is not None:
            file, self._file = self._file, None
            with errors.convert_os_errors(_name(self._name)):
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
    pass


def exists(path):
    return os.path.exists(_name(path))


def isdir(path):
    return os.path.isdir(_name(path))


@_file_function
def makedirs(path):
    os.makedirs(_name(path), exist_ok=True)


@_file_function
def mkdir(path):
    os.mkdir(_name(path))


@_file_function
def remove(path):
    os.remove(_name(path))


@_file_function
def rmtree(path):
    path = _name(path)
    if os.path.isdir(path):
        shutil.rmtree(path)
    else:
        os.remove(path)


@_file_function
def listdir(path):
    return sorted(os.listdir(_name(path)))


@_file_function
def copy(src, dst, overwrite=False):
    if not overwrite and exists(dst):
        raise errors.CLASSES[6](None, None, f"file already exists: {_name(dst)}")
    shutil.copyfile(_name(src), _name(dst))


@_file_function
def rename(src, dst, overwrite=False):
    if not overwrite and exists(dst):
        raise errors.CLASSES[6](None, None, f"file already exists: {_name(dst)}")
    os.replace(_name(src), _name(dst))


def glob(pattern):
    patterns = pattern if isinstance(pattern, (list, tuple)) else [pattern]
    return sorted(f for p in patterns for f in globs.glob(_name(p)))


class FileStatistics:
    """What stat gives."""

    def __init__(self, found):
        self.length, self.mtime_nsec = found.st_size, found.st_mtime_ns
        self.is_directory = os.path.stat.S_ISDIR(found.st_mode)


@_file_function
def stat(path):
    return FileStatistics(os.stat(_name(path)))


def walk(top, topdown=True, onerror=None):
    yield from os.walk(_name(top), topdown, onerror)


def join(path, *paths):
    return os.path.join(path, *paths)


_NEW = {
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


def _old(function, *names):
    """A function with the argument names that TensorFlow 1 has for it."""

    def call(*args, **kwargs):
        return function(*bind(function.__name__, defaults, args, kwargs).values())

    parameters = inspect.signature(function).parameters.values()
    defaults = {n: p.default for n, p in zip(names, parameters)}
    call.__doc__, call.__name__ = function.__doc__, function.__name__
    call.__signature__ = inspect.Signature([p.replace(name=n) for n, p in zip(names, parameters)])
    return call


_OLD = {
    "GFile": GFile,
    "Open": GFile,
    "FastGFile": FastGFile,
    "Exists": _old(exists, "filename"),
    "IsDirectory": _old(isdir, "dirname"),
    "MakeDirs": _old(makedirs, "dirname"),
    "MkDir": _old(mkdir, "dirname"),
    "Remove": _old(remove, "filename"),
    "DeleteRecursively": _old(rmtree, "dirname"),
    "ListDirectory": _old(listdir, "dirname"),
    "Copy": _old(copy, "oldpath", "newpath", "overwrite"),
    "Rename": _old(rename, "oldname", "newname", "overwrite"),
    "Glob": _old(glob, "filename"),
    "Stat": _old(stat, "filename"),
    "Walk": _old(walk, "top", "in_order"),
}


def read_file_to_string(filename, binary_mode=False):
    with GFile(filename, "rb" if binary_mode else "r") as file:
        return file.read()


def write_string_to_file(filename, file_content):
    with GFile(filename, "w") as file:
        file.write(file_content)


_IO = {
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
BOTH.update({"python.lib.io.file_io." + k: v for k, v in _IO.items()})
BOTH.update({"io.gfile." + k: v for k, v in _NEW.items()})
V1.update({"gfile." + k: v for k, v in _OLD.items()})
BOTH.update({"python.platform.gfile." + k: v for k, v in _OLD.items()})
