# SPDX-License-Identifier: Apache-2.0
"""protos.py: the messages ClusterDef and ServerDef."""

from situ._src.framework.api import export
from situ._src.framework.protos import ConfigProto, Message


class JobDef(Message):
    """The addresses of the tasks of a job, by index."""

    FIELDS = {"name": "", "tasks": {}}


@export(v1="train.ClusterDef")
class ClusterDef(Message):
    """The jobs of a cluster."""

    FIELDS: dict = {"job": []}


@export(v1="train.ServerDef")
class ServerDef(Message):
    """A task of a cluster and its options."""

    FIELDS = {
        "cluster": ClusterDef,
        "job_name": "",
        "task_index": 0,
        "default_session_config": ConfigProto,
        "protocol": "",
        "port": 0,
    }
