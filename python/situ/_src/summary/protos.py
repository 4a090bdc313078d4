# SPDX-License-Identifier: Apache-2.0
"""protos.py: tf.Summary, tf.Event and their parts, as TensorBoard reads them."""

from __future__ import annotations

from situ._src.framework.api import V1
from situ._src.framework.message_classes import message_class

HistogramProto = message_class("tensorflow.HistogramProto")
SummaryMetadata = message_class("tensorflow.SummaryMetadata")
TensorProto = message_class("tensorflow.TensorProto")
Summary = message_class("tensorflow.Summary")
SummaryDescription = message_class("tensorflow.SummaryDescription")
SessionLog = message_class("tensorflow.SessionLog")
Event = message_class("tensorflow.Event")


def tensor_proto(values, dtype, field, shape):
    """A TensorProto of a list of values."""
    made = TensorProto(dtype=dtype, **{field: values})
    for size in shape:
        made.tensor_shape.dim.add(size=size)
    return made


V1.update(
    {
        "Summary": Summary,
        "Event": Event,
        "HistogramProto": HistogramProto,
        "SummaryMetadata": SummaryMetadata,
        "SessionLog": SessionLog,
        "summary.Summary": Summary,
        "summary.Event": Event,
        "summary.SessionLog": SessionLog,
        "summary.SummaryDescription": SummaryDescription,
    }
)
