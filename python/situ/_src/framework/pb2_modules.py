# SPDX-License-Identifier: Apache-2.0
"""pb2_modules.py: the modules that protoc makes of TensorFlow's .proto files, such as
tensorflow.core.framework.graph_pb2: message classes and enum values."""

from __future__ import annotations

from situ._src.framework.api import BOTH, V1
from situ._src.framework.message_classes import enum_type, message_class

_CLASSES = {
    "core.example.example_pb2": "Example SequenceExample",
    "core.example.feature_pb2": "BytesList Feature FeatureList FeatureLists Features FloatList "
    "Int64List",
    "core.framework.attr_value_pb2": "AttrValue NameAttrList",
    "core.framework.cost_graph_pb2": "CostGraphDef",
    "core.framework.device_attributes_pb2": "DeviceAttributes DeviceLocality",
    "core.framework.function_pb2": "FunctionDef FunctionDefLibrary GradientDef",
    "core.framework.graph_pb2": "GraphDef",
    "core.framework.node_def_pb2": "NodeDef",
    "core.framework.op_def_pb2": "OpDef OpList",
    "core.framework.resource_handle_pb2": "ResourceHandleProto",
    "core.framework.step_stats_pb2": "DeviceStepStats MemoryStats NodeExecStats NodeOutput "
    "StepStats",
    "core.framework.summary_pb2": "HistogramProto Summary SummaryDescription SummaryMetadata",
    "core.framework.tensor_pb2": "TensorProto VariantTensorDataProto",
    "core.framework.tensor_shape_pb2": "TensorShapeProto",
    "core.framework.tensor_slice_pb2": "TensorSliceProto",
    "core.framework.variable_pb2": "SaveSliceInfoDef VariableDef",
    "core.framework.versions_pb2": "VersionDef",
    "core.protobuf.cluster_pb2": "ClusterDef JobDef",
    "core.protobuf.config_pb2": "ConfigProto GPUOptions GraphOptions OptimizerOptions RunMetadata "
    "RunOptions ThreadPoolOptionProto",
    "core.protobuf.queue_runner_pb2": "QueueRunnerDef",
    "core.protobuf.meta_graph_pb2": "AssetFileDef CollectionDef MetaGraphDef SignatureDef "
    "TensorInfo",
    "core.protobuf.rewriter_config_pb2": "AutoParallelOptions RewriterConfig",
    "core.protobuf.saved_model_pb2": "SavedModel",
    "core.protobuf.saver_pb2": "SaverDef",
    "core.protobuf.tensor_bundle_pb2": "BundleEntryProto BundleHeaderProto",
    "core.protobuf.tensorflow_server_pb2": "ServerDef",
    "core.util.event_pb2": "Event LogMessage SessionLog TaggedRunMetadata",
    "python.training.checkpoint_state_pb2": "CheckpointState",
}

for _module, _names in _CLASSES.items():
    for _name in _names.split():
        BOTH[f"{_module}.{_name}"] = message_class("tensorflow." + _name)
for _name in ("AttrValue", "NameAttrList", "LogMessage"):
    V1[_name] = message_class("tensorflow." + _name)
V1["train.SaverDef"] = message_class("tensorflow.SaverDef")

_types = enum_type("tensorflow.DataType")
BOTH["core.framework.types_pb2.DataType"] = _types
BOTH.update({"core.framework.types_pb2." + name: value for name, value in _types.items()})
