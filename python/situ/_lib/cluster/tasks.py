# SPDX-License-Identifier: Apache-2.0
"""tasks.py: sessions of a cluster: a graph that names other tasks is run by all of them."""
from situ._lib.cluster import partition
from situ._lib.session import InteractiveSession, Session


class Local(Session):
    """Runs the part of a rank."""


def _mapped(function, fetches):
    """The same structure of what a function gives for each leaf; keys may be anything."""
    if isinstance(fetches, dict):
        return type(fetches)((k, _mapped(function, v)) for k, v in fetches.items())
    if isinstance(fetches, tuple) and hasattr(fetches, "_fields"):
        return type(fetches)(*[_mapped(function, v) for v in fetches])
    if isinstance(fetches, (list, tuple)):
        return type(fetches)([_mapped(function, v) for v in fetches])
    return function(fetches)


class _Shared:
    """run, for graphs whose nodes are on several tasks. Every rank calls it alike."""
    _parts, _looked, _active = None, None, False

    def _shares(self):
        """Whether the graph names tasks."""
        if self._looked != self.graph.version:
            self._looked, self._active = self.graph.version, partition.names_tasks(self.graph)
        return self._active

    def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
        if not self._shares():
            return super().run(fetches, feed_dict, options, run_metadata)
        if self._parts is None:
            self._parts = partition.Parts(self.graph,
                                          lambda graph: Local(graph=graph, config=self._config))
        graph = self.graph
        feeds = {graph.as_graph_element(k).name: v for k, v in (feed_dict or {}).items()}
        leaves = []
        _mapped(leaves.append, fetches)
        parts = [getattr(leaf, "_situ_parts_", [leaf]) for leaf in leaves]
        values = iter(self._parts.run([graph.as_graph_element(p).name for some in parts
                                       for p in some], feeds))
        found = []
        for leaf, some in zip(leaves, parts):
            got = [next(values) for _ in some]
            found.append(leaf._situ_value_(got, self) if hasattr(leaf, "_situ_parts_") else got[0])
        results = iter(found)
        return _mapped(lambda _: next(results), fetches)

    def close(self):
        if self._parts is not None:
            self._parts.session.close()
        super().close()


class TaskSession(_Shared, Session):
    """A session of a cluster."""


class InteractiveTaskSession(_Shared, InteractiveSession):
    """The same, that is the default one."""


TASK_SESSIONS = {Session: TaskSession, InteractiveSession: InteractiveTaskSession}
