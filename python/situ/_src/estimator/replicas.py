# SPDX-License-Identifier: Apache-2.0
"""replicas.py: trains an estimator on several devices (RunConfig.train_distribute)."""

from situ._src.framework.protos import ConfigProto
from situ._src.framework.scopes import device
from situ._src.ops.array_ops import group, op


def session_config(config):
    """Returns the ConfigProto; with several replicas it allows soft placement by default."""
    given, strategy = config.session_config, config.train_distribute
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
