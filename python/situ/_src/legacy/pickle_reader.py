# SPDX-License-Identifier: Apache-2.0
"""pickle_reader.py: reads the data of a pickle without unpickling it: no class is looked up, no
function is called. Objects become Record."""

from __future__ import annotations

import pickletools
from typing import Any


class Record:
    """An object or a function that a pickle refers to by name.

    Attributes:
      name: module and name, as "collections.defaultdict".
      state: its attributes, if it is an object that has some.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.state: Any = None


class _Mark:
    """Where the items of a container begin on the stack."""


# Opcodes that push their argument, or a constant.
_ARGUMENTS = frozenset(
    """INT BININT BININT1 BININT2 LONG LONG1 LONG4 FLOAT BINFLOAT STRING BINSTRING SHORT_BINSTRING
    BINBYTES SHORT_BINBYTES BINBYTES8 UNICODE SHORT_BINUNICODE BINUNICODE BINUNICODE8""".split()
)
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}
_IGNORED = frozenset(("PROTO", "FRAME", "STOP"))
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


class _Reader:
    def __init__(self) -> None:
        self.stack: list = []
        self._memo: dict = {}

    def _items(self) -> list:
        """Pops the items above the last mark, and the mark."""
        at = max(i for i, value in enumerate(self.stack) if isinstance(value, _Mark))
        items = self.stack[at + 1 :]
        del self.stack[at:]
        return items

    def _set_items(self, items: list) -> None:
        target = self.stack[-1]
        if isinstance(target, Record):  # a dict that an object is, as defaultdict
            target.state = target.state if isinstance(target.state, dict) else {}
            target = target.state
        target.update(zip(items[::2], items[1::2]))

    def run(self, name: str, argument: Any) -> None:
        """Executes an opcode."""
        stack = self.stack
        if name in _ARGUMENTS:
            stack.append(argument)
        elif name in _CONSTANTS:
            stack.append(_CONSTANTS[name])
        elif name in _TUPLES:
            items = stack[-_TUPLES[name] :]
            del stack[-_TUPLES[name] :]
            stack.append(tuple(items))
        elif name not in _IGNORED:
            operation = getattr(self, "_" + name.lower(), None)
            if operation is None:
                raise ValueError(f"the opcode {name} is not supported")
            operation(argument)

    def _mark(self, _: Any) -> None:
        self.stack.append(_Mark())

    def _empty_dict(self, _: Any) -> None:
        self.stack.append({})

    def _empty_list(self, _: Any) -> None:
        self.stack.append([])

    def _dict(self, _: Any) -> None:
        items = self._items()
        self.stack.append(dict(zip(items[::2], items[1::2])))

    def _list(self, _: Any) -> None:
        self.stack.append(self._items())

    def _tuple(self, _: Any) -> None:
        self.stack.append(tuple(self._items()))

    def _append(self, _: Any) -> None:
        value = self.stack.pop()
        self.stack[-1].append(value)

    def _appends(self, _: Any) -> None:
        items = self._items()
        self.stack[-1].extend(items)

    def _setitem(self, _: Any) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self._set_items([key, value])

    def _setitems(self, _: Any) -> None:
        self._set_items(self._items())

    def _put(self, index: Any) -> None:
        self._memo[index] = self.stack[-1]

    _binput = _long_binput = _put

    def _memoize(self, _: Any) -> None:
        self._memo[len(self._memo)] = self.stack[-1]

    def _get(self, index: Any) -> None:
        self.stack.append(self._memo[index])

    _binget = _long_binget = _get

    def _global(self, name: str) -> None:
        self.stack.append(Record(name.replace(" ", ".", 1)))

    def _stack_global(self, _: Any) -> None:
        name, module = self.stack.pop(), self.stack.pop()
        self.stack.append(Record(f"{module}.{name}"))

    def _reduce(self, _: Any) -> None:
        """A call: the object that it would make is a Record of the same name."""
        arguments, function = self.stack.pop(), self.stack.pop()
        name = function.name
        if name in ("copy_reg._reconstructor", "copyreg._reconstructor"):
            name = arguments[0].name
        elif name not in ("collections.defaultdict",):
            raise ValueError(f"it asks to call '{name}': no code of a file is run")
        self.stack.append(Record(name))

    def _newobj(self, _: Any) -> None:
        self.stack.pop()  # arguments
        self.stack.append(Record(self.stack.pop().name))

    def _build(self, _: Any) -> None:
        state = self.stack.pop()
        self.stack[-1].state = state


def read(data: bytes) -> Any:
    """Returns the value of a pickle: numbers, strings, lists, tuples, dicts and Record.

    Raises:
      ValueError: the data is damaged, or has something else.
    """
    reader = _Reader()
    try:
        for opcode, argument, _ in pickletools.genops(data):
            reader.run(opcode.name, argument)
        (result,) = reader.stack
    except (LookupError, AttributeError, TypeError, ValueError) as error:
        raise ValueError(f"no pickle of plain data: {error}") from None
    return result
