# SPDX-License-Identifier: Apache-2.0
"""protos.py: tf.Summary, tf.Event and their parts in protobuf's binary format, as TensorBoard reads
them."""

from __future__ import annotations

from situ._src.framework.api import BOTH, V1
from situ._src.framework.protobuf_wire import Proto
from situ._src.framework.protos import Parts


class HistogramProto(Proto):
    FIELDS = {
        "min": 0.0,
        "max": 0.0,
        "num": 0.0,
        "sum": 0.0,
        "sum_squares": 0.0,
        "bucket_limit": [],
        "bucket": [],
    }
    WIRE = {n: (i + 1, "double") for i, n in enumerate(FIELDS)}


class Image(Proto):
    FIELDS = {"height": 0, "width": 0, "colorspace": 0, "encoded_image_string": b""}
    WIRE = {
        "height": (1, "int"),
        "width": (2, "int"),
        "colorspace": (3, "int"),
        "encoded_image_string": (4, "bytes"),
    }


class Audio(Proto):
    FIELDS = {
        "sample_rate": 0.0,
        "num_channels": 0,
        "length_frames": 0,
        "encoded_audio_string": b"",
        "content_type": "",
    }
    WIRE = {
        "sample_rate": (1, "float"),
        "num_channels": (2, "int"),
        "length_frames": (3, "int"),
        "encoded_audio_string": (4, "bytes"),
        "content_type": (5, "text"),
    }


class PluginData(Proto):
    FIELDS = {"plugin_name": "", "content": b""}
    WIRE = {"plugin_name": (1, "text"), "content": (2, "bytes")}


class SummaryMetadata(Proto):
    PluginData = PluginData
    FIELDS = {
        "plugin_data": PluginData,
        "display_name": "",
        "summary_description": "",
        "data_class": 0,
    }
    WIRE = {
        "plugin_data": (1, PluginData),
        "display_name": (2, "text"),
        "summary_description": (3, "text"),
        "data_class": (4, "int"),
    }


class SummaryDescription(Proto):
    FIELDS = {"type_hint": ""}
    WIRE = {"type_hint": (1, "text")}


class Dim(Proto):
    FIELDS = {"size": 0, "name": ""}
    WIRE = {"size": (1, "int"), "name": (2, "text")}


class Dims(Parts):
    kind = Dim


class TensorShapeProto(Proto):
    FIELDS = {"dim": Dims(), "unknown_rank": False}
    WIRE = {"dim": (2, Dim), "unknown_rank": (3, "bool")}


class TensorProto(Proto):
    FIELDS = {
        "dtype": 0,
        "tensor_shape": TensorShapeProto,
        "tensor_content": b"",
        "float_val": [],
        "double_val": [],
        "int_val": [],
        "string_val": [],
        "int64_val": [],
    }
    WIRE = {
        "dtype": (1, "int"),
        "tensor_shape": (2, TensorShapeProto),
        "tensor_content": (4, "bytes"),
        "float_val": (5, "float"),
        "double_val": (6, "double"),
        "int_val": (7, "int"),
        "string_val": (8, "bytes"),
        "int64_val": (10, "int"),
    }


def tensor_proto(values, dtype, field, shape):
    """A TensorProto of a list of values."""
    made = TensorProto(dtype=dtype, **{field: values})
    for size in shape:
        made.tensor_shape.dim.add(size=size)
    return made


class Value(Proto):
    FIELDS = {
        "tag": "",
        "simple_value": 0.0,
        "image": Image,
        "histo": HistogramProto,
        "audio": Audio,
        "node_name": "",
        "tensor": TensorProto,
        "metadata": SummaryMetadata,
    }
    WIRE = {
        "tag": (1, "text"),
        "simple_value": (2, "float"),
        "image": (4, Image),
        "histo": (5, HistogramProto),
        "audio": (6, Audio),
        "node_name": (7, "text"),
        "tensor": (8, TensorProto),
        "metadata": (9, SummaryMetadata),
    }
    ONEOF = {"value": ("simple_value", "image", "histo", "audio", "tensor")}


class Values(Parts):
    kind = Value


class Summary(Proto):
    """The summary values of a step, with tags."""

    Value, Image, Audio = Value, Image, Audio
    FIELDS = {"value": Values()}
    WIRE = {"value": (1, Value)}


class SessionLog(Proto):
    STATUS_UNSPECIFIED, START, STOP, CHECKPOINT = 0, 1, 2, 3
    FIELDS = {"status": 0, "checkpoint_path": "", "msg": ""}
    WIRE = {"status": (1, "int"), "checkpoint_path": (2, "text"), "msg": (3, "text")}


class TaggedRunMetadata(Proto):
    FIELDS = {"tag": "", "run_metadata": b""}
    WIRE = {"tag": (1, "text"), "run_metadata": (2, "bytes")}


class Event(Proto):
    """A record of an event file."""

    FIELDS = {
        "wall_time": 0.0,
        "step": 0,
        "file_version": "",
        "graph_def": b"",
        "summary": Summary,
        "session_log": SessionLog,
        "tagged_run_metadata": TaggedRunMetadata,
        "meta_graph_def": b"",
    }
    WIRE = {
        "wall_time": (1, "double"),
        "step": (2, "int"),
        "file_version": (3, "text"),
        "graph_def": (4, "bytes"),
        "summary": (5, Summary),
        "session_log": (7, SessionLog),
        "tagged_run_metadata": (8, TaggedRunMetadata),
        "meta_graph_def": (9, "bytes"),
    }
    ONEOF = {
        "what": (
            "file_version",
            "graph_def",
            "summary",
            "session_log",
            "tagged_run_metadata",
            "meta_graph_def",
        )
    }


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
        "core.framework.summary_pb2.Summary": Summary,
        "core.framework.summary_pb2.SummaryMetadata": SummaryMetadata,
        "core.framework.summary_pb2.HistogramProto": HistogramProto,
        "core.util.event_pb2.Event": Event,
        "core.util.event_pb2.SessionLog": SessionLog,
    }
)
BOTH.update({"core.framework.summary_pb2.Summary": Summary, "core.util.event_pb2.Event": Event})
