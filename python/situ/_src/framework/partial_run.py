# SPDX-License-Identifier: Apache-2.0
"""partial_run.py: tf.compat.v1.Session.partial_run: a step of a session in several parts. Each part
runs the operations that its fetches need and earlier parts have not run; values that later parts
may read are fetched with it and fed to them."""

from __future__ import annotations

import itertools

import _situ
from situ._src.framework import errors, nest

_numbers = itertools.count()


def _fail(text):
    raise errors.InvalidArgumentError(None, None, text)


class PartialRun:
    """A step that partial_run_setup has begun."""

    def __init__(self, session, fetches, feeds):
        graph = session.graph
        self._graph = graph
        self._feeds = {graph.as_graph_element(f, allow_operation=False).name for f in feeds}
        self._fetches = {self._element(f).name for f in nest.flatten(fetches)}
        self._values: dict = {}  # name of a tensor -> value, fed or computed so far
        self._fed: set = set()
        self._fetched: set = set()
        self._run: set = set()  # names of operations that have run

    def _element(self, fetch):
        return self._graph.as_graph_element(fetch)

    def feed(self, feed_dict):
        """Adds the feeds of a part."""
        for key, value in (feed_dict or {}).items():
            name = self._graph.as_graph_element(key, allow_operation=False).name
            if name not in self._feeds:
                _fail(f"The feed {name} was not specified in partial_run_setup.")
            if name in self._fed:
                _fail(f"The feed {name} has already been fed.")
            self._fed.add(name)
            self._values[name] = value

    def _needed(self, roots):
        """Returns the operations that must run for roots, in no particular order."""
        found, waiting = {}, list(roots)
        while waiting:
            item = waiting.pop()
            name = item.name
            if name in self._values:
                continue
            if name in self._feeds:
                _fail(
                    f"Fetch needs the feed {name}, which has not been fed in this or an earlier "
                    "part of the run."
                )
            operation = item if isinstance(item, _situ.Operation) else item.op
            if operation.name in found or operation.name in self._run and not operation.outputs:
                continue
            found[operation.name] = operation
            waiting += [*operation.inputs, *operation.control_inputs]
        return found

    def _remaining(self):
        """Returns the operations that later parts may need."""
        known = dict(self._values)
        try:
            self._values.update((name, None) for name in self._feeds)
            left = [self._element(n) for n in self._fetches - self._fetched]
            return self._needed(left)
        finally:
            self._values = known

    def _saved(self, ran):
        """Returns the tensors of operations that ran now that later operations read."""
        later = self._remaining()
        readers = [o for o in later.values() if o.name not in ran and o.name not in self._run]
        tensors = {t.name: t for o in readers for t in o.inputs if t.op.name in ran}
        is_handle = lambda t: t.op.type == "VariableV2" or t.dtype.name in ("resource", "variant")
        return [t for t in tensors.values() if not is_handle(t)]

    def part(self, session, fetches, feed_dict):
        """Runs a part; returns its fetches."""
        for fetch in nest.flatten(fetches):
            name = self._element(fetch).name
            if name not in self._fetches:
                _fail(f"The fetch {name} was not specified in partial_run_setup.")
            if name in self._fetched:
                _fail(f"The fetch {name} has already been fetched.")
        self.feed(feed_dict)
        wanted = [self._element(f) for f in nest.flatten(fetches)]
        ran = self._needed(wanted)
        self._fetched |= {w.name for w in wanted}
        saved = self._saved(ran)
        known = {n: v for n, v in self._values.items()}
        result, values = session.run([fetches, saved], known)
        self._values.update((t.name, v) for t, v in zip(saved, values))
        self._run |= set(ran)
        return result


def setup(session, fetches, feeds=None):
    """Begins a step; returns its handle, a string."""
    if not nest.flatten(fetches):
        _fail("Must specify at least one target to fetch or execute.")
    handle = f"partial_run_{next(_numbers)}"
    session.__dict__.setdefault("_partial_runs", {})[handle] = PartialRun(
        session, fetches, feeds or []
    )
    return handle


def run(session, handle, fetches, feed_dict=None):
    """Runs a part of a step."""
    known = session.__dict__.get("_partial_runs", {})
    if handle not in known:
        _fail("Must run 'setup' before performing partial runs!")
    return known[handle].part(session, fetches, feed_dict)
