# SPDX-License-Identifier: Apache-2.0
"""flags.py: tf.app.flags and tf.app.run: command-line flags, compatible with absl.flags."""

from __future__ import annotations

import inspect
import sys

from situ._src.framework.api import BOTH, V1
from situ._src.framework.keywords import reject_unknown, with_order


class Error(Exception):
    """The base class of flag errors."""


class UnparsedFlagAccessError(Error, AttributeError):
    """A flag is read before flags are parsed."""


class DuplicateFlagError(Error):
    """A flag is defined twice."""


class IllegalFlagValueError(Error):
    """The value of a flag is invalid."""


class UnrecognizedFlagError(Error, AttributeError):
    """A flag is not defined."""


def _parse_bool(text):
    if isinstance(text, (bool, int)):
        return bool(text)
    lowered = text.lower()
    if lowered in ("true", "t", "1", "yes"):
        return True
    if lowered in ("false", "f", "0", "no"):
        return False
    raise ValueError("Non-boolean argument to boolean flag", text)


def _parse_int(text):
    if isinstance(text, bool) or isinstance(text, float) and int(text) != text:
        raise TypeError(f"Expect argument to be a string or int, found {type(text)}")
    if isinstance(text, str):
        base = 16 if text[:2] == "0x" else 8 if text[:2] == "0o" else 10
        return int(text, base)
    return int(text)


def _parse_list(text):
    if isinstance(text, (list, tuple)):
        return list(text)
    return [part.strip() for part in text.split(",")] if text else []


class Flag:
    """A flag: name, parser, default and value."""

    def __init__(self, name, default, help_text, parse, short=None, boolean=False, multi=False):
        self.name, self.help, self.parse, self.short_name = name, help_text, parse, short
        self.boolean, self.multi, self.present, self.required = boolean, multi, 0, False
        self.allow_override, self.allow_overwrite = False, True
        try:
            self.default = None if default is None else self._read(default)
        except OverflowError:  # an infinite integer
            self.default = default
        self.value = self.default

    def _read(self, text):
        if self.multi:
            items = text if isinstance(text, (list, tuple)) else [text]
            return [self._one(i) for i in items]
        return self._one(text)

    def _one(self, text):
        try:
            return self.parse(text)
        except (TypeError, ValueError) as error:
            raise IllegalFlagValueError(
                f"flag --{self.name}={text}: {error.args[0] if error.args else error}"
            ) from None

    def set(self, text):
        if self.present and not self.allow_overwrite:
            raise IllegalFlagValueError(
                f"flag --{self.name}={text}: already defined as {self.value}"
            )
        value = self._read(text)
        self.value = self.value + value if self.multi and self.present else value
        self.present += 1


class FlagValues:
    """The registry of flags. Parses sys.argv when a value is first read."""

    def __init__(self):
        self.__dict__.update(_flags={}, _parsed=False, _checks=[])
        self.__dict__["__flags"] = self._flags  # where absl has them

    def _define(self, flag, override=False):
        old = self._flags.get(flag.name)
        if old is not None and not (override or flag.allow_override or old.allow_override):
            raise DuplicateFlagError(
                f"The flag '{flag.name}' is defined twice. Description from "
                f"first occurrence: {self._flags[flag.name].help}"
            )
        self._flags[flag.name] = flag
        if flag.short_name:
            self._flags[flag.short_name] = flag

    def __call__(self, argv, known_only=False):
        """Parses command-line arguments.

        Args:
          argv: the program name, followed by its arguments.
          known_only: whether to return unknown flags instead of raising an error.

        Returns:
          The arguments that are not flags, the program name first.

        Raises:
          UnrecognizedFlagError: a flag is not defined.
          IllegalFlagValueError: a value is invalid.
        """
        rest, args, unknown = list(argv[:1]), list(argv[1:]), []
        while args:
            arg = args.pop(0)
            if arg == "--":
                rest += args
                break
            if not arg.startswith("-") or arg == "-":
                rest.append(arg)
                continue
            name, equals, text = arg.lstrip("-").partition("=")
            if name in ("help", "helpshort", "helpfull", "h") and name not in self._flags:
                self._show_help()
            if not self._set_flag(name, equals, text, args):
                unknown.append(arg)
        if unknown and not known_only:
            name = unknown[0].lstrip("-").split("=")[0]
            raise UnrecognizedFlagError(f"Unknown command line flag '{name}'")
        self.__dict__["_parsed"] = True
        self._check_required()
        return rest + (unknown if known_only else [])

    def _find(self, name):
        return self._flags.get(name) or self._flags.get(name.replace("-", "_"))

    def _knows(self, name):
        """Returns whether there is a flag --name, or --noname of a boolean flag."""
        off = self._flags.get(name[2:]) if name.startswith("no") else None
        return self._find(name) is not None or off is not None and off.boolean

    def _set_flag(self, name, equals, text, args):
        """Sets a flag; takes its value from `args` if it has no `=`. Returns False if unknown."""
        flag = self._find(name)
        if flag is None:
            off = self._flags.get(name[2:]) if name.startswith("no") else None
            if off is None or not off.boolean:
                return False
            off.set(False)
            return True
        if flag.boolean:
            flag.set(text if equals else True)
            return True
        if not equals:
            if not args:
                raise Error(f"Missing value for flag --{name}")
            text = args.pop(0)
        flag.set(text)
        return True

    def _check_required(self):
        for flag in self._flags.values():
            if flag.required and flag.value is None:
                raise IllegalFlagValueError(
                    f"flag --{flag.name}=None: Flag --{flag.name} must "
                    "have a value other than None."
                )
        for names, check, message in self._checks:
            values = {n: self._flags[n].value for n in names}
            if not check(values[names[0]] if len(names) == 1 else values):
                raise IllegalFlagValueError(f"flag --{names[0]}={values[names[0]]}: {message}")

    def _show_help(self):
        print(sys.modules["__main__"].__doc__ or f"\nUSAGE: {sys.argv[0]} [flags]")
        print(f"flags:\n\n{sys.argv[0]}:")
        for name, flag in sorted(self._flags.items()):
            if name != flag.name:
                continue
            print(f"  --{'[no]' if flag.boolean else ''}{name}: {flag.help or ''}")
            if flag.default is not None:
                shown = str(flag.default).lower() if flag.boolean else repr(flag.default)
                print(f"    (default: {shown})")
        sys.exit(1)

    def _ready(self):
        if not self._parsed:
            self(sys.argv, known_only=True)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if name not in self._flags:
            raise AttributeError(name)
        self._ready()
        return self._flags[name].value

    def __setattr__(self, name, value):
        if name not in self._flags:
            raise UnrecognizedFlagError(f"Unknown command line flag '{name}'")
        self._flags[name].value = value

    def __delattr__(self, name):
        del self._flags[name]

    def __getitem__(self, name):
        return self._flags[name]

    def __contains__(self, name):
        return name in self._flags

    def __iter__(self):
        return iter(sorted(self._flags))

    def __dir__(self):
        return sorted(self._flags)

    def __len__(self):
        return len(self._flags)

    def is_parsed(self) -> bool:
        """Returns whether the command line has been parsed."""
        return self._parsed

    def mark_as_parsed(self):
        """Marks the command line as parsed."""
        self.__dict__["_parsed"] = True

    def unparse_flags(self):
        """Marks the command line as not parsed."""
        self.__dict__["_parsed"] = False

    def flag_values_dict(self) -> dict:
        """Returns the values of all flags by name."""
        self._ready()
        return {name: flag.value for name, flag in self._flags.items()}

    def set_default(self, name, value):
        """Sets the default and the value of a flag."""
        flag = self._flags[name]
        flag.default = flag.value = value

    def _parse_flags(self, args=None):
        self(sys.argv if args is None else args, known_only=True)

    def get_help(self) -> str:
        """Returns the descriptions of all flags."""
        return "\n".join(f"  --{n}: {f.help or ''}" for n, f in sorted(self._flags.items()))


FLAGS = FlagValues()


def _bounded(parse, lower, upper):
    """Returns a parser that checks the range of a number."""
    noun = "integer" if parse is _parse_int else "number"
    if lower is not None and upper is not None:
        expected = f"{'an' if noun == 'integer' else 'a'} {noun} in the range [{lower}, {upper}]"
    elif lower in (0, 1):
        expected = f"a {'positive' if lower else 'non-negative'} {noun}"
    elif upper in (-1, 0):
        expected = f"a {'negative' if upper else 'non-positive'} {noun}"
    else:
        expected = f"{noun} <= {upper}" if lower is None else f"{noun} >= {lower}"

    def read(text):
        value = parse(text)
        if lower is not None and value < lower or upper is not None and value > upper:
            raise ValueError(f"{value} is not {expected}")
        return value

    return read


def _definer(parse, **options):
    def define(
        name=None,
        default=None,
        help=None,
        flag_values=None,
        short_name=None,
        required=False,
        flag_name=None,
        default_value=None,
        docstring=None,
        lower_bound=None,
        upper_bound=None,
        module_name=None,
        allow_overwrite=True,
        allow_override=False,
        allow_hide_cpp=False,
        **kwargs,
    ):
        """Defines a flag.

        Args:
          name: its name.
          default: its value if the command line does not set it.
          help: a sentence for --help.
          flag_values: the flags that it is added to; by default those of the program.
          short_name: a letter.
          required: whether the command line must set it.
          flag_name: old name of `name`.
          default_value: old name of `default`.
          docstring: old name of `help`.
          lower_bound: the least number.
          upper_bound: the greatest number.
          module_name: has no effect.
          allow_overwrite: whether the program may set the value.
          allow_override: whether a later flag may have the name.
          allow_hide_cpp: has no effect.
          **kwargs: rejected.
        """
        reject_unknown(define, kwargs, "DEFINE")
        del module_name  # absl lists flags by module in its help
        del allow_hide_cpp  # there are no flags of C++ programs
        name = flag_name if name is None else name
        default = default_value if default is None else default
        free = lower_bound is None and upper_bound is None
        flag = Flag(
            name,
            default,
            help if help is not None else docstring,
            parse if free else _bounded(parse, lower_bound, upper_bound),
            short_name,
            **options,
        )
        flag.required = required
        flag.allow_override, flag.allow_overwrite = allow_override, allow_overwrite
        (FLAGS if flag_values is None else flag_values)._define(flag)

    return define


def _bounds_first(define):
    """Returns a definer of numbers, whose bounds follow the help."""
    first = ("name", "default", "help", "lower_bound", "upper_bound")
    names = inspect.signature(define).parameters
    return with_order(define, *first, *[n for n in names if n not in (*first, "kwargs")])


def _enum(
    name,
    default,
    enum_values,
    help=None,
    flag_values=None,
    module_name=None,
    required=False,
    short_name=None,
    case_sensitive=True,
):
    del module_name  # absl lists flags by module in its help

    def parse(text):
        for value in enum_values:
            if text == value or not case_sensitive and text.lower() == value.lower():
                return value
        raise ValueError(f"value should be one of <{'|'.join(enum_values)}>")

    flag = Flag(name, default, help, parse, short_name)
    flag.required = required
    (FLAGS if flag_values is None else flag_values)._define(flag)


def mark_flag_as_required(flag_name: str, flag_values=FLAGS):
    """Makes parsing fail if a flag is None.

    Args:
      flag_name: the name of the flag.
      flag_values: the registry.
    """
    flag_values[flag_name].required = True


def mark_flags_as_required(flag_names, flag_values=FLAGS):
    """Makes parsing fail if one of several flags is None.

    Args:
      flag_names: the names of the flags.
      flag_values: the registry.
    """
    for name in flag_names:
        mark_flag_as_required(name, flag_values)


def register_validator(flag_name, checker, message="Flag validation failed", flag_values=FLAGS):
    """Adds a check of a flag's value, run when flags are parsed.

    Args:
      flag_name: the name of the flag.
      checker: returns whether a value is valid.
      message: the text of the error.
      flag_values: the registry.
    """
    flag_values._checks.append(([flag_name], checker, message))


def validator(flag_name, message="Flag validation failed", flag_values=FLAGS):
    """Returns a decorator form of register_validator.

    Args:
      flag_name: the name of the flag.
      message: the text of the error.
      flag_values: the registry.
    """

    def keep(function):
        register_validator(flag_name, function, message, flag_values)
        return function

    return keep


def run(main=None, argv=None):
    """Parses the flags, calls `main` and exits the process.

    Args:
      main: called with the arguments that are not flags; by default `main` of the program.
      argv: the command line; by default sys.argv.
    """
    main = main or sys.modules["__main__"].main
    try:
        rest = FLAGS(sys.argv if argv is None else argv, known_only=True)
        installed = sys.modules.get("absl.flags")  # a program may define its flags there
        if installed is not None and getattr(installed, "FLAGS", FLAGS) is not FLAGS:
            rest = installed.FLAGS(rest, known_only=True)
    except Error as error:
        sys.stderr.write(
            f"FATAL Flags parsing error:\n  {error}\nPass --helpshort or --helpfull "
            "to see help on flags.\n"
        )
        sys.exit(1)
    sys.exit(main(rest))


_NAMES = {
    "FLAGS": FLAGS,
    "FlagValues": FlagValues,
    "Error": Error,
    "DuplicateFlagError": DuplicateFlagError,
    "IllegalFlagValueError": IllegalFlagValueError,
    "UnparsedFlagAccessError": UnparsedFlagAccessError,
    "UnrecognizedFlagError": UnrecognizedFlagError,
    "DEFINE_string": _definer(lambda t: t if isinstance(t, str) else str(t)),
    "DEFINE_integer": _bounds_first(_definer(_parse_int)),
    "DEFINE_float": _bounds_first(_definer(float)),
    "DEFINE_bool": _definer(_parse_bool, boolean=True),
    "DEFINE_boolean": _definer(_parse_bool, boolean=True),
    "DEFINE_list": _definer(_parse_list),
    "DEFINE_spaceseplist": _definer(lambda t: t.split() if isinstance(t, str) else list(t)),
    "DEFINE_multi_string": _definer(str, multi=True),
    "DEFINE_multi_integer": _bounds_first(_definer(_parse_int, multi=True)),
    "DEFINE_multi_float": _bounds_first(_definer(float, multi=True)),
    "DEFINE_enum": _enum,
    "mark_flag_as_required": mark_flag_as_required,
    "mark_flags_as_required": mark_flags_as_required,
    "register_validator": register_validator,
    "validator": validator,
}
for _prefix in ("app.flags.", "flags.", "python.platform.flags."):
    V1.update({_prefix + k: v for k, v in _NAMES.items()})
V1["app.run"] = BOTH["python.platform.app.run"] = run
