# SPDX-License-Identifier: Apache-2.0
"""stand_ins.py: replacements for packages that TensorFlow programs import and that are not
installed: six, absl, keras, google.protobuf, horovod (situ.mpi), and IPython.display in notebooks.
Installed packages take precedence."""

from __future__ import annotations

import builtins
import functools
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import io
import operator
import sys
import types

from situ._src.framework import api, style
from situ._src.runner import ipython_shell, packages

# Modules and attributes of six.moves.
_MODULES = {
    "urllib": "urllib",
    "queue": "queue",
    "cPickle": "pickle",
    "configparser": "configparser",
    "builtins": "builtins",
    "copyreg": "copyreg",
    "http_client": "http.client",
    "html_parser": "html.parser",
    "reprlib": "reprlib",
    "socketserver": "socketserver",
    "_thread": "_thread",
    "tkinter": "tkinter",
}
_NAMES = {
    "xrange": ("builtins", "range"),
    "range": ("builtins", "range"),
    "zip": ("builtins", "zip"),
    "map": ("builtins", "map"),
    "filter": ("builtins", "filter"),
    "input": ("builtins", "input"),
    "reduce": ("functools", "reduce"),
    "intern": ("sys", "intern"),
    "getcwd": ("os", "getcwd"),
    "StringIO": ("io", "StringIO"),
    "cStringIO": ("io", "StringIO"),
    "zip_longest": ("itertools", "zip_longest"),
    "filterfalse": ("itertools", "filterfalse"),
    "UserDict": ("collections", "UserDict"),
    "UserList": ("collections", "UserList"),
    "UserString": ("collections", "UserString"),
    "shlex_quote": ("shlex", "quote"),
    "reload_module": ("importlib", "reload"),
}
_PROTOBUF = ("text_format", "json_format", "message", "descriptor")
_HOROVOD = {
    "": "",
    "tensorflow": "situ.mpi",
    "keras": "situ._src.cluster.keras",
    "keras.callbacks": "situ._src.cluster.keras_callbacks",
    "tensorflow.keras": "situ._src.cluster.keras",
    "tensorflow.keras.callbacks": "situ._src.cluster.keras_callbacks",
}
_BELOW = ("urllib.request", "urllib.parse", "urllib.error", "urllib.response")


def _with_metaclass(meta, *bases):
    return meta("temporary_class", bases or (object,), {})


def _add_metaclass(meta):
    def make(kind):
        names = {k: v for k, v in vars(kind).items() if k not in ("__dict__", "__weakref__")}
        return meta(kind.__name__, kind.__bases__, names)

    return make


def _text(value, encoding="utf-8", errors="strict"):
    return value.decode(encoding, errors) if isinstance(value, bytes) else value


def _binary(value, encoding="utf-8", errors="strict"):
    return value.encode(encoding, errors) if isinstance(value, str) else value


def _raise(kind, value=None, trace=None):
    raise (kind() if value is None else value).with_traceback(trace)


def _raise_from(value, cause):
    raise value from cause


def _six():
    names = dict(
        PY2=False,
        PY3=True,
        PY34=True,
        MAXSIZE=sys.maxsize,
        __version__="1.16.0",
        __path__=[],
        string_types=(str,),
        integer_types=(int,),
        class_types=(type,),
        text_type=str,
        binary_type=bytes,
        StringIO=io.StringIO,
        BytesIO=io.BytesIO,
        unichr=chr,
        next=next,
        int2byte=lambda i: bytes((i,)),
        byte2int=operator.itemgetter(0),
        indexbytes=operator.getitem,
        iterbytes=iter,
        b=lambda s: s.encode("latin-1"),
        u=lambda s: s,
        wraps=functools.wraps,
        callable=callable,
        print_=print,
        ensure_str=_text,
        ensure_text=_text,
        ensure_binary=_binary,
        reraise=_raise,
        raise_from=_raise_from,
        with_metaclass=_with_metaclass,
        add_metaclass=_add_metaclass,
        python_2_unicode_compatible=lambda kind: kind,
        get_function_code=operator.attrgetter("__code__"),
        get_method_self=operator.attrgetter("__self__"),
    )
    for word in ("keys", "values", "items"):
        names["iter" + word] = lambda d, w=word: iter(getattr(d, w)())
        names["view" + word] = operator.methodcaller(word)
    return names


def _move(name):
    """Returns an attribute of six.moves."""
    if name in _MODULES:
        return importlib.import_module("six.moves." + name)
    if name not in _NAMES:
        raise AttributeError(f"six.moves has no {name}")
    module, word = _NAMES[name]
    return getattr(importlib.import_module(module), word)


def _absl(name):
    """Returns absl.app, absl.flags or absl.logging, implemented by tf.compat.v1."""
    v1 = importlib.import_module("tensorflow.compat.v1")
    return getattr(v1, name)


class _Keras(types.ModuleType):
    """A module of `import keras`: Keras 3, and for older programs the names of tf.keras that
    Keras 3 no longer has."""

    def __init__(self, name):
        super().__init__(name)
        self._below = name.partition(".")[2]
        self.__path__: list[str] = []
        if not self._below:
            self.__version__ = importlib.import_module("situ.keras3").__version__

    @staticmethod
    def is_module(below):
        """Returns whether Keras 3 has a module of this name below keras."""
        return not style.is_graph() and (not below or api.is_module("keras3." + below, "v2"))

    def _modules(self):
        for root in ("situ.keras3", "tensorflow.keras"):
            try:
                yield importlib.import_module(f"{root}.{self._below}" if self._below else root)
            except ModuleNotFoundError:
                continue

    def __getattr__(self, name):
        if name.startswith("__") and name != "__all__":
            raise AttributeError(name)
        error = None
        for module in self._modules():
            try:
                found = getattr(module, name)
            except AttributeError as one:
                error = error or one
                continue
            if isinstance(found, types.ModuleType):
                found = importlib.import_module(f"{self.__name__}.{name}")
            self.__dict__[name] = found
            return found
        raise error or AttributeError(f"module '{self.__name__}' has no attribute '{name}'")

    def __dir__(self):
        return sorted({*self.__dict__, *[n for m in self._modules() for n in dir(m)]})


class _BeforeNamespaces(importlib.abc.MetaPathFinder):
    """Finds the packages of another finder before folders of the same name without __init__.py."""

    NAMES = ("six", "absl", "horovod", "keras")

    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, fullname, path=None, target=None):
        if fullname not in self.NAMES:
            return None
        found = importlib.machinery.PathFinder.find_spec(fullname)
        return self.finder.find_spec(fullname) if found and packages.is_namespace(found) else None


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """The last import hook: finds six, six.moves.urllib, absl.flags, keras, ..."""

    def find_spec(self, fullname, path=None, target=None):
        top, _, below = fullname.partition(".")
        if top == "keras":
            known = _Keras.is_module(below) or importlib.util.find_spec("tensorflow." + fullname)
            return known and importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        known = {
            "six": ("", "moves", *("moves." + n for n in (*_MODULES, *_BELOW))),
            "absl": ("", "app", "flags", "logging"),
            "horovod": tuple(_HOROVOD),
            "IPython": ("", "display") if hasattr(builtins, "get_ipython") else (),
            "google": ("", "protobuf", *("protobuf." + n for n in _PROTOBUF)),
        }
        if below not in known.get(top, ()):
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec):
        top, _, below = spec.name.partition(".")
        self.kept = None
        if top == "keras":
            if not style.is_graph():
                return _Keras(spec.name)
            module = importlib.import_module("tensorflow." + spec.name)
        elif top == "absl" and below:
            module = _absl(below)
        elif top == "horovod" and below:
            module = importlib.import_module(_HOROVOD[below])
        elif below.startswith("moves."):
            module = importlib.import_module(_MODULES.get(below[6:], below[6:]))
            if below == "moves.urllib":
                for name in _BELOW:
                    importlib.import_module(name)
        else:
            return types.ModuleType(spec.name)
        self.kept = getattr(module, "__spec__", None)
        return module

    def exec_module(self, module):
        if isinstance(module, _Keras):
            return
        if self.kept is not None:
            module.__spec__ = self.kept
        elif module.__name__ == "six":
            module.__dict__.update(_six())
        elif module.__name__.startswith("IPython"):
            module.__dict__.update(ipython_shell.MODULES[module.__name__])
        elif module.__name__.startswith("google.protobuf."):
            from situ._src.runner import protobuf

            module.__dict__.update(protobuf.MODULES[module.__name__.rpartition(".")[2]])
        elif module.__name__ == "six.moves":
            module.__path__, module.__getattr__ = [], _move


def _below(package):
    """Makes submodules available as attributes, as if tensorflow had imported them."""

    def find(name):
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return importlib.import_module(f"{package.__name__}.{name}")
        except ModuleNotFoundError:
            raise AttributeError(f"module '{package.__name__}' has no attribute '{name}'") from None

    package.__getattr__ = find


def install() -> None:
    """Installs the import hooks."""
    finder = _Finder()
    sys.meta_path.insert(0, _BeforeNamespaces(finder))
    sys.meta_path.append(finder)
    _below(importlib.import_module("urllib"))
