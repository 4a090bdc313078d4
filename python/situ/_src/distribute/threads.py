# SPDX-License-Identifier: Apache-2.0
"""threads.py: runs replicas that use merge_call or all_reduce in threads, one at a time, so that
Python code of a step runs in a fixed order."""

import threading

import _situ
from situ._src.distribute.values import at, chosen, group_results
from situ._src.framework import device_spec
from situ._src.framework.graph import get_default_graph
from situ._src.framework.scopes import device
from situ._src.keras.context import call
from situ._src.variables import variable
from situ._src.variables.eager_variable import place

_local_copy = threading.local()
_UNEQUAL = "Some replicas made a different number of replica_context().merge_call() calls."


class _Cancelled(BaseException):
    """Raised in a replica when another one has failed."""


def current():
    """Returns the replica that this thread runs, or None."""
    return getattr(_local_copy, "worker", None)


class _Scopes:
    """Saves and restores the graph scopes of a replica while another one runs."""

    def __init__(self, graph):
        self.graph = graph
        if graph is not None:
            self.devices, self.controls = len(graph._devices), len(graph._controls)
            self.names = graph._scope

    def leave(self):
        graph = self.graph
        if graph is None:
            return None
        kept = graph._devices[self.devices :], graph._controls[self.controls :], graph._scope
        for level in kept[0]:
            graph._pop_device()
            graph._functions -= callable(level)
        for _ in kept[1]:
            graph._pop_control()
        del graph._devices[self.devices :], graph._controls[self.controls :]
        graph._scope = self.names
        return kept

    def enter(self, kept):
        graph = self.graph
        if graph is None:
            return

        for level in kept[0]:
            is_function = callable(level)
            graph._devices.append(level)
            graph._functions += is_function
            graph._push_device(
                "" if is_function else None if level is None else device_spec.to_engine_name(level)
            )
        for level in kept[1]:
            graph._controls.append(level)
            graph._push_control(level)
        graph._scope = kept[2]


class _Worker:
    """One replica: runs until it synchronizes with the others or ends."""

    def __init__(self, run, index, fn, args, scopes):
        self.run, self.index, self.fn, self.args, self.scopes = run, index, fn, args, scopes
        self.done = self.started = self.cancelled = False
        self.result = self.error = self.request = self.answer = None
        self.turn, self.paused = threading.Semaphore(0), threading.Semaphore(0)
        self.where, self.keras = _situ.current_device(), _keras_state()
        self.tapes, self.strategies = _situ.tape_stack(), variable.strategies()
        outer = get_default_graph()
        self.variable_scope = outer._variable_scope, outer._scope_counts
        self.name_scope = outer._scope
        self.thread = threading.Thread(target=self._body, daemon=True)

    def go(self):
        """Runs the replica until it pauses or ends."""
        if not self.started:
            self.started = True
            self.thread.start()
        else:
            self.turn.release()
        self.paused.acquire()

    def _body(self):
        _local_copy.worker = self
        graph = _situ.swap_graph(self.scopes.graph)
        _situ.swap_device(self.where)
        outer = get_default_graph()
        outer._variable_scope, outer._scope_counts = self.variable_scope
        outer._scope = self.name_scope
        _situ.tape_inherit(self.tapes)
        variable.swap_strategies(self.strategies)
        _set_keras_state(self.keras)
        try:
            with at(self.index, "replica", self.run), device(self.run.strategy.devices[self.index]):
                self.result = self.fn(*self.args)
        except _Cancelled:
            self.cancelled = True
        except BaseException as error:  # raised again in the caller
            self.error = error
        finally:
            _situ.tape_inherit([])
            _situ.swap_graph(graph)
            self.done = True
            self.paused.release()

    def is_outside_branches(self):
        """Returns whether operations go to the graph in which the replicas run, so that those of
        all replicas can be joined: not in a branch or loop."""
        return _situ.current_graph() is self.scopes.graph

    def merge(self, fn, args, kwargs):
        """Waits until all replicas have arrived and fn was called for them."""
        own = self.run.pause()
        kept, state = self.scopes.leave(), (place.index, place.mode, place.run)
        place.index = place.mode = place.run = None
        self.request = fn, args, kwargs
        self.paused.release()
        self.turn.acquire()
        place.index, place.mode, place.run = state
        self.scopes.enter(kept)
        self.run.resume(own)
        if self.cancelled:
            raise _Cancelled
        answer, self.answer = self.answer, None
        return answer


def _keras_state():
    return call.names, call.training, call.depth, call.share


def _set_keras_state(state):
    names, call.training, call.depth, call.share = state
    call.names = list(names)


def _end(workers):
    """Cancels waiting replicas."""
    for worker in workers:
        if worker.started and not worker.done:
            worker.cancelled = True
            worker.go()


def call_all(run, fn, parts):
    """Calls fn for each replica and returns the results."""
    scopes = _Scopes(_situ.current_graph())
    workers = [_Worker(run, i, fn, args, scopes) for i, args in enumerate(parts)]
    while True:
        for worker in workers:
            worker.go()
            if worker.error is not None:
                _end(workers)
                raise worker.error
        if all(w.done for w in workers):
            return [w.result for w in workers]
        if any(w.done for w in workers):
            _end(workers)
            raise RuntimeError(_UNEQUAL)
        merged = workers[0].request[0]
        args = group_results([w.request[1] for w in workers])
        kwargs = group_results([w.request[2] for w in workers])
        try:
            result = merged(run.strategy, *args, **kwargs)
        except BaseException:
            _end(workers)
            raise
        for i, worker in enumerate(workers):
            worker.answer = chosen(i, result)
