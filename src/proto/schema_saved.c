/* SPDX-License-Identifier: Apache-2.0
 * schema_saved.c: the schemas of MetaGraphDef, SavedModel, SaverDef, CheckpointState and the index
 * of checkpoints. */
#include "proto/schema.h"

ENUM_TYPE(saver_def_checkpoint_format_version, "tensorflow.SaverDef.CheckpointFormatVersion",
          {"LEGACY", 0}, {"V1", 1}, {"V2", 2})

ENUM_TYPE(variable_synchronization, "tensorflow.VariableSynchronization",
          {"VARIABLE_SYNCHRONIZATION_AUTO", 0}, {"VARIABLE_SYNCHRONIZATION_NONE", 1},
          {"VARIABLE_SYNCHRONIZATION_ON_WRITE", 2}, {"VARIABLE_SYNCHRONIZATION_ON_READ", 3})

ENUM_TYPE(variable_aggregation, "tensorflow.VariableAggregation", {"VARIABLE_AGGREGATION_NONE", 0},
          {"VARIABLE_AGGREGATION_SUM", 1}, {"VARIABLE_AGGREGATION_MEAN", 2},
          {"VARIABLE_AGGREGATION_ONLY_FIRST_REPLICA", 3})

ENUM_TYPE(bundle_header_proto_endianness, "tensorflow.BundleHeaderProto.Endianness", {"LITTLE", 0},
          {"BIG", 1})

ENUM_TYPE(error_code, "tensorflow.error.Code", {"OK", 0}, {"CANCELLED", 1}, {"UNKNOWN", 2},
          {"INVALID_ARGUMENT", 3}, {"DEADLINE_EXCEEDED", 4}, {"NOT_FOUND", 5},
          {"ALREADY_EXISTS", 6}, {"PERMISSION_DENIED", 7}, {"RESOURCE_EXHAUSTED", 8},
          {"FAILED_PRECONDITION", 9}, {"ABORTED", 10}, {"OUT_OF_RANGE", 11}, {"UNIMPLEMENTED", 12},
          {"INTERNAL", 13}, {"UNAVAILABLE", 14}, {"DATA_LOSS", 15}, {"UNAUTHENTICATED", 16})

MESSAGE_TYPE(op_list, "tensorflow.OpList", MESSAGES(1, op, op_def))

MESSAGE_TYPE(any, "google.protobuf.Any", FIELD(1, type_url, STRING), FIELD(2, value, BYTES))

MAP_ENTRY(meta_graph_def_meta_info_def_function_aliases_entry,
          "tensorflow.MetaGraphDef.MetaInfoDef.FunctionAliasesEntry", FIELD(1, key, STRING),
          FIELD(2, value, STRING))

MESSAGE_TYPE(meta_graph_def_meta_info_def, "tensorflow.MetaGraphDef.MetaInfoDef",
             FIELD(1, meta_graph_version, STRING), MESSAGE(2, stripped_op_list, op_list),
             MESSAGE(3, any_info, any), REPEATED(4, tags, STRING),
             FIELD(5, tensorflow_version, STRING), FIELD(6, tensorflow_git_version, STRING),
             FIELD(7, stripped_default_attrs, BOOL),
             MAP(8, function_aliases, meta_graph_def_meta_info_def_function_aliases_entry))

MESSAGE_TYPE(saver_def, "tensorflow.SaverDef", FIELD(1, filename_tensor_name, STRING),
             FIELD(2, save_tensor_name, STRING), FIELD(3, restore_op_name, STRING),
             FIELD(4, max_to_keep, INT32), FIELD(5, sharded, BOOL),
             FIELD(6, keep_checkpoint_every_n_hours, FLOAT),
             ENUM(7, version, saver_def_checkpoint_format_version))

MESSAGE_TYPE(collection_def_node_list, "tensorflow.CollectionDef.NodeList",
             REPEATED(1, value, STRING))

MESSAGE_TYPE(collection_def_bytes_list, "tensorflow.CollectionDef.BytesList",
             REPEATED(1, value, BYTES))

MESSAGE_TYPE(collection_def_int64_list, "tensorflow.CollectionDef.Int64List",
             REPEATED(1, value, INT64))

MESSAGE_TYPE(collection_def_float_list, "tensorflow.CollectionDef.FloatList",
             REPEATED(1, value, FLOAT))

MESSAGE_TYPE(collection_def_any_list, "tensorflow.CollectionDef.AnyList", MESSAGES(1, value, any))

MESSAGE_TYPE(collection_def, "tensorflow.CollectionDef",
             ONEOF_MESSAGE(kind, 1, node_list, collection_def_node_list),
             ONEOF_MESSAGE(kind, 2, bytes_list, collection_def_bytes_list),
             ONEOF_MESSAGE(kind, 3, int64_list, collection_def_int64_list),
             ONEOF_MESSAGE(kind, 4, float_list, collection_def_float_list),
             ONEOF_MESSAGE(kind, 5, any_list, collection_def_any_list))

MAP_ENTRY(meta_graph_def_collection_def_entry, "tensorflow.MetaGraphDef.CollectionDefEntry",
          FIELD(1, key, STRING), MESSAGE(2, value, collection_def))

MESSAGE_TYPE(tensor_info_coo_sparse, "tensorflow.TensorInfo.CooSparse",
             FIELD(1, values_tensor_name, STRING), FIELD(2, indices_tensor_name, STRING),
             FIELD(3, dense_shape_tensor_name, STRING))

MESSAGE_TYPE(tensor_info, "tensorflow.TensorInfo", ONEOF_FIELD(encoding, 1, name, STRING),
             ENUM(2, dtype, data_type), MESSAGE(3, tensor_shape, tensor_shape_proto),
             ONEOF_MESSAGE(encoding, 4, coo_sparse, tensor_info_coo_sparse))

MAP_ENTRY(signature_def_inputs_entry, "tensorflow.SignatureDef.InputsEntry", FIELD(1, key, STRING),
          MESSAGE(2, value, tensor_info))

MAP_ENTRY(signature_def_outputs_entry, "tensorflow.SignatureDef.OutputsEntry",
          FIELD(1, key, STRING), MESSAGE(2, value, tensor_info))

MAP_ENTRY(signature_def_defaults_entry, "tensorflow.SignatureDef.DefaultsEntry",
          FIELD(1, key, STRING), MESSAGE(2, value, tensor_proto))

MESSAGE_TYPE(signature_def, "tensorflow.SignatureDef", MAP(1, inputs, signature_def_inputs_entry),
             MAP(2, outputs, signature_def_outputs_entry), FIELD(3, method_name, STRING),
             MAP(4, defaults, signature_def_defaults_entry))

MAP_ENTRY(meta_graph_def_signature_def_entry, "tensorflow.MetaGraphDef.SignatureDefEntry",
          FIELD(1, key, STRING), MESSAGE(2, value, signature_def))

MESSAGE_TYPE(asset_file_def, "tensorflow.AssetFileDef", MESSAGE(1, tensor_info, tensor_info),
             FIELD(2, filename, STRING))

MESSAGE_TYPE(meta_graph_def, "tensorflow.MetaGraphDef",
             MESSAGE(1, meta_info_def, meta_graph_def_meta_info_def),
             MESSAGE(2, graph_def, graph_def), MESSAGE(3, saver_def, saver_def),
             MAP(4, collection_def, meta_graph_def_collection_def_entry),
             MAP(5, signature_def, meta_graph_def_signature_def_entry),
             MESSAGES(6, asset_file_def, asset_file_def))

MESSAGE_TYPE(saved_model, "tensorflow.SavedModel", FIELD(1, saved_model_schema_version, INT64),
             MESSAGES(2, meta_graphs, meta_graph_def))

MESSAGE_TYPE(save_slice_info_def, "tensorflow.SaveSliceInfoDef", FIELD(1, full_name, STRING),
             REPEATED(2, full_shape, INT64), REPEATED(3, var_offset, INT64),
             REPEATED(4, var_shape, INT64))

MESSAGE_TYPE(variable_def, "tensorflow.VariableDef", FIELD(1, variable_name, STRING),
             FIELD(2, initializer_name, STRING), FIELD(3, snapshot_name, STRING),
             MESSAGE(4, save_slice_info_def, save_slice_info_def), FIELD(5, is_resource, BOOL),
             FIELD(6, initial_value_name, STRING), FIELD(7, trainable, BOOL),
             ENUM(8, synchronization, variable_synchronization),
             ENUM(9, aggregation, variable_aggregation))

MESSAGE_TYPE(queue_runner_def, "tensorflow.QueueRunnerDef", FIELD(1, queue_name, STRING),
             REPEATED(2, enqueue_op_name, STRING), FIELD(3, close_op_name, STRING),
             FIELD(4, cancel_op_name, STRING), ENUMS(5, queue_closed_exception_types, error_code))

MESSAGE_TYPE(bundle_header_proto, "tensorflow.BundleHeaderProto", FIELD(1, num_shards, INT32),
             ENUM(2, endianness, bundle_header_proto_endianness), MESSAGE(3, version, version_def))

MESSAGE_TYPE(tensor_slice_proto_extent, "tensorflow.TensorSliceProto.Extent",
             FIELD(1, start, INT64), ONEOF_FIELD(has_length_hack, 2, length, INT64))

MESSAGE_TYPE(tensor_slice_proto, "tensorflow.TensorSliceProto",
             MESSAGES(1, extent, tensor_slice_proto_extent))

MESSAGE_TYPE(bundle_entry_proto, "tensorflow.BundleEntryProto", ENUM(1, dtype, data_type),
             MESSAGE(2, shape, tensor_shape_proto), FIELD(3, shard_id, INT32),
             FIELD(4, offset, INT64), FIELD(5, size, INT64), FIELD(6, crc32c, FIXED32),
             MESSAGES(7, slices, tensor_slice_proto))

MESSAGE_TYPE(checkpoint_state, "tensorflow.CheckpointState",
             FIELD(1, model_checkpoint_path, STRING),
             REPEATED(2, all_model_checkpoint_paths, STRING),
             REPEATED(3, all_model_checkpoint_timestamps, DOUBLE),
             FIELD(4, last_preserved_timestamp, DOUBLE))
