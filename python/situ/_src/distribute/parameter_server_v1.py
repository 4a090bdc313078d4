# SPDX-License-Identifier: Apache-2.0
"""parameter_server_v1.py: ParameterServerStrategy of TensorFlow 1, for graphs and Estimators: each
worker builds its own graph, and variables are on the parameter servers."""

from __future__ import annotations

import contextlib

from situ._src.cluster.resolvers import TFConfigClusterResolver
from situ._src.distribute.strategies import CentralStorageStrategy
from situ._src.framework.api import export
from situ._src.framework.scopes import device
from situ._src.training.device_setter import replica_device_setter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any


@export(
    v1=(
        "distribute.experimental.ParameterServerStrategy",
        "contrib.distribute.ParameterServerStrategy",
    )
)
class ParameterServerStrategyV1(CentralStorageStrategy):
    """Asynchronous training of graphs: operations run on the devices of a worker, variables are on
    parameter servers, which get the updates of all workers. Without a cluster, variables are on the
    CPU, or on the only GPU.

    Args:
      cluster_resolver: names the tasks and that of this process; by default TF_CONFIG.
    """

    trains_between_graphs = True  # an Estimator gives each task a session of its own

    def __init__(self, cluster_resolver: Any = None):
        super().__init__()
        self._resolver = cluster_resolver or TFConfigClusterResolver()
        self._spec = self._resolver.cluster_spec()

    cluster_resolver = property(lambda s: s._resolver)

    def _setter(self):
        """Returns the device function of a worker; None without parameter servers."""
        if "ps" not in self._spec.jobs or self._resolver.task_type is None:
            return None
        return replica_device_setter(
            worker_device=f"/job:{self._resolver.task_type}/task:{self._resolver.task_id}",
            cluster=self._spec,
        )

    @contextlib.contextmanager
    def scope(self) -> Any:
        """Context manager: variables are on parameter servers."""
        setter = self._setter()
        with contextlib.ExitStack() as stack:
            strategy = stack.enter_context(super().scope())
            if setter is not None:
                stack.enter_context(device(setter))
            yield strategy
