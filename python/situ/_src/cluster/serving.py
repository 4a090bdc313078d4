# SPDX-License-Identifier: Apache-2.0
"""serving.py: parameter servers: tasks of job "ps" that wait in Server.join() and run their
part of what the others run. Variables belong to names: graphs of several workers share them.

A server runs one request at a time. Who needs several servers takes them in the order of their
ranks, so that nobody waits in a circle."""

import contextlib
import pickle
import time

import numpy

import _situ
from situ._src.cluster import processes
from situ._src.framework import errors


def server_ranks():
    """The ranks of parameter servers; without them everybody runs everything together."""
    return [r for r, (job, _) in enumerate(processes.tasks()) if job == "ps"]


class Asked:
    """What a run asks of servers."""

    def __init__(self, cut, label):
        self._label, self._told = label, set()
        used = cut.used()
        self._servers = [r for r in server_ranks() if r in used and r != processes.rank()]
        self._text = pickle.dumps(cut)

    @contextlib.contextmanager
    def run(self, feeds):
        """Has the servers run their parts meanwhile. An error of one ends the run everywhere."""
        if not self._servers:
            yield
            return
        _epochs[0] += 1
        epoch = processes.rank() << 40 | _epochs[0]
        try:
            for rank in self._servers:
                self._ask(rank, epoch, feeds)
            yield
            for rank in self._servers:
                _situ.cluster_receive(rank, "end")
        except BaseException as error:
            for rank in self._servers:
                _fail(rank, error)
            raise
        finally:
            _situ.cluster_epoch(0)

    def _ask(self, rank, epoch, feeds):
        text = b"" if rank in self._told else self._text
        _situ.cluster_epoch(0)
        _situ.cluster_send(pickle.dumps((self._label, epoch, text, _few(feeds))), rank, "ask")
        _situ.cluster_epoch(epoch)
        _situ.cluster_receive(rank, "begin")
        self._told.add(rank)


_epochs = [0]


def _fail(rank, error):
    """A rank that waits for this one in this run hears why it waits in vain."""
    try:
        _situ.cluster_fail(
            rank,
            getattr(error, "error_code", 2) or 2,
            getattr(error, "message", None) or str(error),
        )
    except errors.OpError:
        pass  # it is not there any more


def _few(feeds):
    """What is fed, as arrays: servers may need it, too."""
    return {
        name: numpy.asarray(value.numpy() if hasattr(value, "numpy") else value)
        for name, value in feeds.items()
    }


class Servant:
    """A parameter server while it serves."""

    def __init__(self):
        self._store, self._runs = _situ.store_create(), {}

    def _compile(self, label, text):
        from situ._src.cluster import partition, ranks
        from situ._src.cluster.tasks import Local

        part = partition.Part(pickle.loads(text), processes.rank(), ranks.RankEdges(label))
        part.session = Local(part.graph, ranks.store_options(self._store))
        self._runs[label] = part

    def serve(self, client, request):
        """Runs what a rank asks for; what goes wrong is its to deal with."""
        label, epoch, text, feeds = pickle.loads(request)
        _situ.cluster_epoch(epoch)
        try:
            _situ.cluster_send(b"1", client, "begin")
            if text:
                self._compile(label, text)
            part = self._runs[label]
            part.session.run(
                [part.operations, part.messages], {part.fed[n]: feeds[n] for n in part.fed}
            )
            _situ.cluster_send(b"1", client, "end")
        except Exception as error:
            _fail(client, error)
        finally:
            _situ.cluster_epoch(0)


def farewell():
    """Tells the servers that this rank asks for nothing more: they may be on other machines, and
    do not see it end."""
    if processes.rank() in server_ranks():
        return
    for rank in server_ranks():
        try:
            _situ.cluster_epoch(0)
            _situ.cluster_send(b"", rank, "ask")
        except errors.OpError:
            pass  # it is not there any more


def serve():
    """Serves until all who are no servers have gone."""
    servant = Servant()
    clients = [r for r in range(processes.size()) if r not in server_ranks()]
    while True:
        asked = [(r, _situ.cluster_poll(r, "ask")) for r in clients if not _situ.cluster_gone(r)]
        for rank, request in asked:
            if request:
                servant.serve(rank, request)
            elif request is not None:
                clients.remove(rank)
        if not asked:
            return
        if all(request is None for _, request in asked):
            time.sleep(0.002)
