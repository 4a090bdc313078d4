# SPDX-License-Identifier: Apache-2.0
"""replicas.py: trains an estimator on several devices (RunConfig.train_distribute)."""

from situ._src.framework.protos import ConfigProto
from situ._src.framework.scopes import device
from situ._src.ops.array_ops import group, op
from situ._src.training.device_setter import replica_device_setter


def device_function(config, training):
    """Returns the device function of a graph: that of the RunConfig; for a training task of a
    cluster with parameter servers, one that puts variables on these."""
    if config.device_fn is not None or not (training and config.master and config.num_ps_replicas):
        return config.device_fn
    return replica_device_setter(
        ps_tasks=config.num_ps_replicas,
        worker_device=f"/job:{config.task_type}/task:{config.task_id}",
        cluster=config.cluster_spec,
    )


def session_config(config):
    """Returns the ConfigProto; with several replicas it allows soft placement by default. A task
    of a cluster needs only the parameter servers and itself."""
    given, strategy = config.session_config, config.train_distribute
    if given is None and config.master:
        own = f"/job:{config.task_type}/task:{config.task_id}"
        return ConfigProto(allow_soft_placement=True, device_filters=["/job:ps", own])
    if given is None and getattr(strategy, "num_replicas_in_sync", 1) > 1:
        return ConfigProto(allow_soft_placement=True)
    return given


def build(strategy, model, parts):
    """Builds the model once per device, each with its own batch, and merges the specs.

    The loss is the mean, the train_op runs all steps; the rest is that of the first replica.
    """
    specs = strategy.build_towers(model, parts, mean=True)
    with device(strategy.devices[0]):
        loss = op("AddN", [s.loss for s in specs]) * (1.0 / len(specs))
    steps = list(dict.fromkeys(getattr(s.train_op, "op", s.train_op) for s in specs))
    return specs[0]._replace(loss=loss, train_op=group(*steps))
