# SPDX-License-Identifier: Apache-2.0
"""protos.py: ClusterDef and ServerDef: messages that describe the tasks of a cluster."""

from situ._src.framework.api import export
from situ._src.framework.protos import ConfigProto, Message


class JobDef(Message):
    """The addresses of a job's tasks, by number."""

    FIELDS = {"name": "", "tasks": {}}


@export(v1="train.ClusterDef")
class ClusterDef(Message):
    """The jobs of a cluster."""

    FIELDS = {"job": []}


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
