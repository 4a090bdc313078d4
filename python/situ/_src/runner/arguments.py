# SPDX-License-Identifier: Apache-2.0
"""arguments.py: points out options of `situ run` that stand behind the script, where they are
the script's, and that nothing in the program takes.

Whether the program takes one is known for certain from argparse and flags (tf.app.flags, absl) when
they parse the command line. A program that takes the word from sys.argv itself, by its index or
with others, is left alone. Other parsers (click, getopt, ...) are judged by the text of the
program: where an option's name does not occur, nothing can look for it.
"""

from __future__ import annotations

import argparse
import atexit
import os
import re
import sys

# What a program that looks at its arguments has somewhere in its text: sys.argv, libraries that
# parse it, and ways to hand it on to another program.
_ARGV = re.compile(r"(?i)(\b|_)(orig_)?argv(\b|_)")
_PARSERS = re.compile(
    r"(?i)(\b|_)(arg(ument)?_?pars\w*|parse_args|\w*argparse|absl|flags|click|"
    r"typer|fire|docopt|getopt|optparse|hydra|sacred|plac|gin|tyro|tap|draccus|"
    r"defopt|app\.run)(\b|_)"
)
_HAND_ON = re.compile(r"(?i)(\b|_)(subprocess|popen|system|spawn\w*|exec\w*|runpy)(\b|_)")


class _Option:
    """An option as it was typed, and what the program did with it so far."""

    def __init__(self, words):
        self.text, self.word = " ".join(words), words[0]
        self.name = words[0].lstrip("-").partition("=")[0]
        self.is_taken = self.is_left_over = self.is_read = self.is_told = False


class _Words(list):
    """sys.argv, with a note of which options were read of it."""

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
    """'--gpus 4 --check' as options."""
    options = []
    for word in text.split(" "):
        if word.startswith("--"):
            options.append([word])
        elif options:
            options[-1].append(word)
    return [_Option(words) for words in options]


class Watch:
    """Watches what becomes of the options behind a program."""

    def __init__(self, text, program, sources):
        self.options, self.program, self.owner = _split(text), program, os.getpid()
        self.sources = sources

    def _has(self, pattern):
        return any(re.search(pattern, source) for source in self.sources)

    def _mentions(self, option):
        """Whether the program's text has the option's name, with - or _ between its words."""
        return self._has(rf"(?<!\w){re.sub('[-_]', '[-_]', re.escape(option.name))}(?!\w)")

    def start(self):
        """Tells now what the text decides; else watches the parsers, and tells the rest at the end
        of the program."""
        reads = any(self._has(pattern) for pattern in (_ARGV, _PARSERS, _HAND_ON))
        if not reads and not self.program.startswith("-m "):  # of a module not all text is known
            self._tell(self.options, "which does not look at its arguments")
            return
        sys.argv = _Words(sys.argv)
        sys.argv.options = self.options
        self._watch_argparse()
        self._watch_flags()
        atexit.register(self._end)

    def _tell(self, options, why="which does not know it"):
        text = " ".join(o.text for o in options if not o.is_told)
        if text:
            print(
                f"situ run: {text}: behind {self.program} this is the program's, {why}. "
                f"For situ: situ run {text} {self.program}",
                file=sys.stderr,
            )
        for option in options:
            option.is_told = True

    def _note(self, option, is_taken):
        if is_taken:
            option.is_taken = True
            return
        option.is_left_over = True
        if not self._mentions(option):  # else another parser may know it
            self._tell([option])

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
        """What absl's own flags know, where that is installed and used."""
        flags = getattr(sys.modules.get("absl.flags"), "FLAGS", None)
        if getattr(flags, "is_parsed", None) is None or not flags.is_parsed():
            return
        for option in self.options:
            self._note(option, option.name in flags or option.name.replace("-", "_") in flags)

    def _end(self):
        if os.getpid() != self.owner:
            return
        self._note_absl()
        self._tell(
            [o for o in self.options if not o.is_taken and (o.is_left_over or self._is_unknown(o))]
        )

    def _is_unknown(self, option):
        if self._mentions(option) or self._has(_HAND_ON):
            return False
        return not option.is_read or self._has(_PARSERS)
