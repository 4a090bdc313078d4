# SPDX-License-Identifier: Apache-2.0
"""ranks.py: graphs over the ranks of a cluster (mpirun): every rank holds the whole graph and
runs its own part.

Every rank must run the same fetches in the same order."""

import numpy

import _situ
from situ._src.cluster import partition, processes, wire_format
from situ._src.cluster.messages import receive, send
from situ._src.framework.device_spec import DeviceSpec
from situ._src.framework.dtypes import as_dtype
from situ._src.ops.script_ops import py_func


def rank_of(device):
    """Returns the rank of the task in a device name, or None."""
    tasks = [tuple(t) for t in processes.tasks()]
    task = partition.task_of(device, tasks[processes.rank()], tasks)
    return None if task is None else tasks.index(task)


class RankEdges:
    """Transfers edges of a partitioned graph as messages between ranks; `label` names the run."""

    def __init__(self, label):
        self._label = label

    @staticmethod
    def device(name):
        """Returns the name of a device without its task."""
        spec = DeviceSpec.from_string(name or "")
        return DeviceSpec(device_type=spec.device_type, device_index=spec.device_index).to_string()

    def send(self, tensor, text, to):
        if tensor.dtype.name == "string":  # ranks send numbers
            tensor = py_func(_packed, [tensor], as_dtype("uint8"))
        return send(tensor, to, f"{self._label}/{text}/{to}")

    def receive(self, p, text, me, dtype, shape):
        name = f"{self._label}/{text}/{me}"
        if dtype != "string":
            return receive(p, name, dtype, shape)
        result = py_func(_unpacked, [receive(p, name, "uint8", [None])], as_dtype("string"))
        result.set_shape(shape)
        return result


def _packed(array):
    return numpy.frombuffer(
        b"".join(wire_format.encode((wire_format.as_array(array),))), numpy.uint8
    )


def _unpacked(array):
    return wire_format.decode(array.tobytes())[0]


class RankParts:
    """Runs the part of a graph that belongs to this rank, compiled once per fetches and feeds."""

    def __init__(self, whole, make_session):
        self._whole, self._make, self._runs, self._store = (
            whole,
            make_session,
            {},
            _situ.store_create(),
        )
        self._source, self._version = None, None

    def _compile(self, fetches, feeds):
        me = processes.rank()
        if self._version != self._whole.version:
            self._version = self._whole.version
            self._source = partition.source_of(self._whole, 0, rank_of)
        cut = partition.Cut(
            self._source,
            lambda rank: rank,
            list(range(processes.size())),
            fetches,
            feeds,
        )
        part = partition.Part(cut, me, RankEdges(f"run_{len(self._runs)}"), self._whole)
        part.session = self._make(part.graph, store_options(self._store))
        return part

    def run(self, fetches, feeds, timeout_ms):
        """Runs values and nodes by name, with feeds by name; returns a list of results."""
        key = tuple(fetches), tuple(sorted(feeds))
        if key not in self._runs:
            self._runs[key] = self._compile(fetches, feeds)
        part = self._runs[key]
        fetched = [v for v in part.values if v is not None]
        results = iter(
            part.session._run_with_options(
                [fetched, part.messages],
                {part.fed[n]: v for n, v in feeds.items()},
                timeout_ms,
                None,
            )[0]
        )
        return [None if v is None else next(results) for v in part.values]

    def close(self):
        for part in self._runs.values():
            part.session.close()


def store_options(store):
    """Returns the arguments of sessions of this rank that share variables."""
    job, index = processes.tasks()[processes.rank()]
    return {"store": store, "task": f"/job:{job}/task:{index}", "scope": "rank"}
