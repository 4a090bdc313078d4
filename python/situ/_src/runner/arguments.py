# SPDX-License-Identifier: Apache-2.0
"""arguments.py: warns about options of `situ run` that are placed after the script, where they are
arguments of the script, if the program does not use them.

argparse and flags (tf.app.flags, absl) report which options they accept. A program that reads the
argument from sys.argv itself is assumed to use it. For other parsers (click, getopt, ...) the
source of the program decides: an option whose name does not occur in it cannot be used.
"""

from __future__ import annotations

import argparse
import atexit
import os
import re
import sys

# Patterns in the source of programs that use their arguments: sys.argv, libraries that parse it,
# and calls that pass it to another program.
_ARGV = re.compile(r"(?i)(\b|_)(orig_)?argv(\b|_)")
_PARSERS = re.compile(
    r"(?i)(\b|_)(arg(ument)?_?pars\w*|parse_args|\w*argparse|absl|flags|click|"
    r"typer|fire|docopt|getopt|optparse|hydra|sacred|plac|gin|tyro|tap|draccus|"
    r"defopt|app\.run)(\b|_)"
)
_FORWARDERS = re.compile(r"(?i)(\b|_)(subprocess|popen|system|spawn\w*|exec\w*|runpy)(\b|_)")


class _Option:
    """An option as it was typed, and what the program has done with it."""

    def __init__(self, words):
        self.text, self.word = " ".join(words), words[0]
        self.name = words[0].lstrip("-").partition("=")[0]
        self.is_taken = self.is_left_over = self.is_read = self.is_reported = False


class _RecordedArgv(list):
    """sys.argv; records which options are read from it."""

    options = ()

    def _note(self, words):
        for option in self.options:
            option.is_read = option.is_read or any(w in words for w in option.text.split(" "))

    def __getitem__(self, index):
        found = super().__getitem__(index)
        self._note(found if isinstance(index, slice) else [found])
        return found

    def __iter__(self):
        self._note(list.copy(self))
        return super().__iter__()

    def __contains__(self, word):
        self._note([word])
        return super().__contains__(word)

    def index(self, word, *limits):
        self._note([word])
        return super().index(word, *limits)

    def pop(self, index=-1):
        found = super().pop(index)
        self._note([found])
        return found

    def copy(self):
        return list(iter(self))

    def __reduce__(self):
        return list, (list.copy(self),)


def _split(text):
    """Splits '--gpus 4 --check' into options."""
    options = []
    for word in text.split(" "):
        if word.startswith("--"):
            options.append([word])
        elif options:
            options[-1].append(word)
    return [_Option(words) for words in options]


class Watch:
    """Tracks what the program does with options after the script."""

    def __init__(self, text, program, sources):
        self.options, self.program, self.owner = _split(text), program, os.getpid()
        self.sources = sources

    def _has(self, pattern):
        return any(re.search(pattern, source) for source in self.sources)

    def _mentions(self, option):
        """Returns whether the source has the option's name, with - or _ as separators."""
        return self._has(rf"(?<!\w){re.sub('[-_]', '[-_]', re.escape(option.name))}(?!\w)")

    def start(self):
        """Reports now if the source decides; otherwise watches the parsers and reports at exit."""
        reads = any(self._has(pattern) for pattern in (_ARGV, _PARSERS, _FORWARDERS))
        if not reads and not self.program.startswith("-m "):  # the source of a module is incomplete
            self._report(self.options, "which does not read its arguments")
            return
        sys.argv = _RecordedArgv(sys.argv)
        sys.argv.options = self.options
        self._watch_argparse()
        self._watch_flags()
        atexit.register(self._end)

    def _report(self, options, why="which has no such option"):
        text = " ".join(o.text for o in options if not o.is_reported)
        if text:
            print(
                f"situ run: {text}: after {self.program} this is an argument of the program, "
                f"{why}. For situ: situ run {text} {self.program}",
                file=sys.stderr,
            )
        for option in options:
            option.is_reported = True

    def _note(self, option, is_taken):
        if is_taken:
            option.is_taken = True
            return
        option.is_left_over = True
        if not self._mentions(option):  # the option is reported unless another parser may accept it
            self._report([option])

    def _watch_argparse(self):
        plain, watch = argparse.ArgumentParser.parse_known_args, self

        def parse_known_args(self, args=None, namespace=None):
            given = sys.argv[1:] if args is None else list(args)
            found = plain(self, args, namespace)
            for option in watch.options:
                if option.word in given:
                    watch._note(option, option.word not in found[1])
            return found

        argparse.ArgumentParser.parse_known_args = parse_known_args

    def _watch_flags(self):
        from situ._src.framework.flags import FlagValues

        plain, watch = FlagValues.__call__, self

        def call(self, argv, known_only=False):
            for option in watch.options:
                if option.word in argv:
                    watch._note(option, self._knows(option.name))
            return plain(self, argv, known_only)

        FlagValues.__call__ = call

    def _note_absl(self):
        """Notes the options that absl.flags accepts, if it is installed and used."""
        flags = getattr(sys.modules.get("absl.flags"), "FLAGS", None)
        if getattr(flags, "is_parsed", None) is None or not flags.is_parsed():
            return
        for option in self.options:
            self._note(option, option.name in flags or option.name.replace("-", "_") in flags)

    def _end(self):
        if os.getpid() != self.owner:
            return
        self._note_absl()
        self._report(
            [o for o in self.options if not o.is_taken and (o.is_left_over or self._is_unknown(o))]
        )

    def _is_unknown(self, option):
        if self._mentions(option) or self._has(_FORWARDERS):
            return False
        return not option.is_read or self._has(_PARSERS)
