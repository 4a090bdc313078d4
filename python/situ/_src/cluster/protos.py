# SPDX-License-Identifier: Apache-2.0
"""protos.py: the messages ClusterDef, JobDef and ServerDef."""

from situ._src.framework.api import V1
from situ._src.framework.message_classes import message_class

JobDef = message_class("tensorflow.JobDef")
V1["train.ClusterDef"] = ClusterDef = message_class("tensorflow.ClusterDef")
V1["train.ServerDef"] = ServerDef = message_class("tensorflow.ServerDef")
V1["train.JobDef"] = JobDef
