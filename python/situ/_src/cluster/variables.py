# SPDX-License-Identifier: Apache-2.0
"""variables.py: broadcasts variables from one rank to all."""

import _situ
from situ._src.cluster.messages import spread
from situ._src.framework.graph import get_default_graph
from situ._src.framework.keywords import unsupported
from situ._src.ops.array_ops import convert_to_tensor, group
from situ._src.training.session_run_hook import SessionRunHook
from situ._src.variables.variable import global_variables


def broadcast_variables(variables, root_rank=0, process_set=None, inplace=False):
    """Broadcasts variables from a rank.

    Args:
      variables: The variables.
      root_rank: The rank whose values all get.
      process_set: Must be None: all ranks take part.
      inplace: Has no effect: variables are assigned in any case.

    Returns:
      An operation in graph mode; None in eager mode, where it is done.

    Raises:
      NotImplementedError: there is a process_set.
    """
    unsupported("hvd.broadcast_variables", process_set=(process_set, None))
    del inplace  # variables are assigned in any case
    variables = list(variables)
    values = spread([convert_to_tensor(v) for v in variables], root_rank)
    done = [v.assign(value) for v, value in zip(variables, values)]
    if _situ.executing_eagerly():
        return None
    return group(*[d.op if hasattr(d, "op") else d for d in done])


def broadcast_global_variables(root_rank=0):
    """Broadcasts all variables of the graph from a rank."""
    if _situ.executing_eagerly():
        raise RuntimeError(
            "hvd.broadcast_global_variables() does not support eager execution. "
            "Please use `hvd.broadcast_variables(<model/optimizer variables>)` "
            "instead."
        )
    return broadcast_variables(global_variables(), root_rank)


class BroadcastGlobalVariablesHook(SessionRunHook):
    """Broadcasts all variables after a monitored session is initialized, including those restored
    from a checkpoint that only one rank has; device has no effect."""

    def __init__(self, root_rank=0, device=""):
        del device  # ranks exchange tensors through the memory of the CPU
        self.root_rank, self._op, self._graph = root_rank, None, None

    def begin(self):
        if self._op is None or self._graph is not get_default_graph():
            self._op, self._graph = broadcast_global_variables(self.root_rank), get_default_graph()

    def after_create_session(self, session, coord):
        session.run(self._op)
