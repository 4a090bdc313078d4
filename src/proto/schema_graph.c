/* SPDX-License-Identifier: Apache-2.0
 * schema_graph.c: the schemas of tensorflow/core/framework/graph.proto and the files that it
 * imports. */
#include "proto/schema.h"

ENUM_TYPE(data_type, "tensorflow.DataType", {"DT_INVALID", 0}, {"DT_FLOAT", 1}, {"DT_DOUBLE", 2},
          {"DT_INT32", 3}, {"DT_UINT8", 4}, {"DT_INT16", 5}, {"DT_INT8", 6}, {"DT_STRING", 7},
          {"DT_COMPLEX64", 8}, {"DT_INT64", 9}, {"DT_BOOL", 10}, {"DT_QINT8", 11},
          {"DT_QUINT8", 12}, {"DT_QINT32", 13}, {"DT_BFLOAT16", 14}, {"DT_QINT16", 15},
          {"DT_QUINT16", 16}, {"DT_UINT16", 17}, {"DT_COMPLEX128", 18}, {"DT_HALF", 19},
          {"DT_RESOURCE", 20}, {"DT_VARIANT", 21}, {"DT_UINT32", 22}, {"DT_UINT64", 23},
          {"DT_FLOAT8_E5M2", 24}, {"DT_FLOAT8_E4M3FN", 25}, {"DT_FLOAT8_E4M3FNUZ", 26},
          {"DT_FLOAT8_E4M3B11FNUZ", 27}, {"DT_FLOAT8_E5M2FNUZ", 28}, {"DT_INT4", 29},
          {"DT_UINT4", 30}, {"DT_INT2", 31}, {"DT_UINT2", 32}, {"DT_FLOAT4_E2M1FN", 33},
          {"DT_FLOAT_REF", 101}, {"DT_DOUBLE_REF", 102}, {"DT_INT32_REF", 103},
          {"DT_UINT8_REF", 104}, {"DT_INT16_REF", 105}, {"DT_INT8_REF", 106},
          {"DT_STRING_REF", 107}, {"DT_COMPLEX64_REF", 108}, {"DT_INT64_REF", 109},
          {"DT_BOOL_REF", 110}, {"DT_QINT8_REF", 111}, {"DT_QUINT8_REF", 112},
          {"DT_QINT32_REF", 113}, {"DT_BFLOAT16_REF", 114}, {"DT_QINT16_REF", 115},
          {"DT_QUINT16_REF", 116}, {"DT_UINT16_REF", 117}, {"DT_COMPLEX128_REF", 118},
          {"DT_HALF_REF", 119}, {"DT_RESOURCE_REF", 120}, {"DT_VARIANT_REF", 121},
          {"DT_UINT32_REF", 122}, {"DT_UINT64_REF", 123}, {"DT_FLOAT8_E5M2_REF", 124},
          {"DT_FLOAT8_E4M3FN_REF", 125}, {"DT_FLOAT8_E4M3FNUZ_REF", 126},
          {"DT_FLOAT8_E4M3B11FNUZ_REF", 127}, {"DT_FLOAT8_E5M2FNUZ_REF", 128}, {"DT_INT4_REF", 129},
          {"DT_UINT4_REF", 130}, {"DT_INT2_REF", 131}, {"DT_UINT2_REF", 132},
          {"DT_FLOAT4_E2M1FN_REF", 133})

ENUM_TYPE(full_type_id, "tensorflow.FullTypeId", {"TFT_UNSET", 0}, {"TFT_VAR", 1}, {"TFT_ANY", 2},
          {"TFT_PRODUCT", 3}, {"TFT_NAMED", 4}, {"TFT_FOR_EACH", 20}, {"TFT_CALLABLE", 100},
          {"TFT_TENSOR", 1000}, {"TFT_ARRAY", 1001}, {"TFT_OPTIONAL", 1002}, {"TFT_LITERAL", 1003},
          {"TFT_ENCODED", 1004}, {"TFT_SHAPE_TENSOR", 1005}, {"TFT_BOOL", 200}, {"TFT_UINT8", 201},
          {"TFT_UINT16", 202}, {"TFT_UINT32", 203}, {"TFT_UINT64", 204}, {"TFT_INT8", 205},
          {"TFT_INT16", 206}, {"TFT_INT32", 207}, {"TFT_INT64", 208}, {"TFT_HALF", 209},
          {"TFT_FLOAT", 210}, {"TFT_DOUBLE", 211}, {"TFT_BFLOAT16", 215}, {"TFT_COMPLEX64", 212},
          {"TFT_COMPLEX128", 213}, {"TFT_STRING", 214}, {"TFT_DATASET", 10102},
          {"TFT_RAGGED", 10103}, {"TFT_ITERATOR", 10104}, {"TFT_MUTEX_LOCK", 10202},
          {"TFT_LEGACY_VARIANT", 10203})

MESSAGE_TYPE(tensor_shape_proto_dim, "tensorflow.TensorShapeProto.Dim", FIELD(1, size, INT64),
             FIELD(2, name, STRING))

MESSAGE_TYPE(tensor_shape_proto, "tensorflow.TensorShapeProto",
             MESSAGES(2, dim, tensor_shape_proto_dim), FIELD(3, unknown_rank, BOOL))

MESSAGE_TYPE(resource_handle_proto_dtype_and_shape, "tensorflow.ResourceHandleProto.DtypeAndShape",
             ENUM(1, dtype, data_type), MESSAGE(2, shape, tensor_shape_proto))

MESSAGE_TYPE(resource_handle_proto, "tensorflow.ResourceHandleProto", FIELD(1, device, STRING),
             FIELD(2, container, STRING), FIELD(3, name, STRING), FIELD(4, hash_code, UINT64),
             FIELD(5, maybe_type_name, STRING),
             MESSAGES(6, dtypes_and_shapes, resource_handle_proto_dtype_and_shape))

MESSAGE_TYPE(variant_tensor_data_proto, "tensorflow.VariantTensorDataProto",
             FIELD(1, type_name, STRING), FIELD(2, metadata, BYTES),
             MESSAGES(3, tensors, tensor_proto))

MESSAGE_TYPE(tensor_proto, "tensorflow.TensorProto", ENUM(1, dtype, data_type),
             MESSAGE(2, tensor_shape, tensor_shape_proto), FIELD(3, version_number, INT32),
             FIELD(4, tensor_content, BYTES), REPEATED(5, float_val, FLOAT),
             REPEATED(6, double_val, DOUBLE), REPEATED(7, int_val, INT32),
             REPEATED(8, string_val, BYTES), REPEATED(9, scomplex_val, FLOAT),
             REPEATED(10, int64_val, INT64), REPEATED(11, bool_val, BOOL),
             REPEATED(12, dcomplex_val, DOUBLE), REPEATED(13, half_val, INT32),
             MESSAGES(14, resource_handle_val, resource_handle_proto),
             MESSAGES(15, variant_val, variant_tensor_data_proto), REPEATED(16, uint32_val, UINT32),
             REPEATED(17, uint64_val, UINT64), FIELD(18, float8_val, BYTES))

MAP_ENTRY(name_attr_list_attr_entry, "tensorflow.NameAttrList.AttrEntry", FIELD(1, key, STRING),
          MESSAGE(2, value, attr_value))

MESSAGE_TYPE(name_attr_list, "tensorflow.NameAttrList", FIELD(1, name, STRING),
             MAP(2, attr, name_attr_list_attr_entry))

MESSAGE_TYPE(attr_value_list_value, "tensorflow.AttrValue.ListValue", REPEATED(2, s, BYTES),
             REPEATED(3, i, INT64), REPEATED(4, f, FLOAT), REPEATED(5, b, BOOL),
             ENUMS(6, type, data_type), MESSAGES(7, shape, tensor_shape_proto),
             MESSAGES(8, tensor, tensor_proto), MESSAGES(9, func, name_attr_list))

MESSAGE_TYPE(attr_value, "tensorflow.AttrValue",
             ONEOF_MESSAGE(value, 1, list, attr_value_list_value), ONEOF_FIELD(value, 2, s, BYTES),
             ONEOF_FIELD(value, 3, i, INT64), ONEOF_FIELD(value, 4, f, FLOAT),
             ONEOF_FIELD(value, 5, b, BOOL), ONEOF_ENUM(value, 6, type, data_type),
             ONEOF_MESSAGE(value, 7, shape, tensor_shape_proto),
             ONEOF_MESSAGE(value, 8, tensor, tensor_proto),
             ONEOF_FIELD(value, 9, placeholder, STRING),
             ONEOF_MESSAGE(value, 10, func, name_attr_list))

MAP_ENTRY(node_def_attr_entry, "tensorflow.NodeDef.AttrEntry", FIELD(1, key, STRING),
          MESSAGE(2, value, attr_value))

MESSAGE_TYPE(node_def_experimental_debug_info, "tensorflow.NodeDef.ExperimentalDebugInfo",
             REPEATED(1, original_node_names, STRING), REPEATED(2, original_func_names, STRING))

MESSAGE_TYPE(full_type_def, "tensorflow.FullTypeDef", ENUM(1, type_id, full_type_id),
             MESSAGES(2, args, full_type_def), ONEOF_FIELD(attr, 3, s, STRING),
             ONEOF_FIELD(attr, 4, i, INT64))

MESSAGE_TYPE(node_def, "tensorflow.NodeDef", FIELD(1, name, STRING), FIELD(2, op, STRING),
             REPEATED(3, input, STRING), FIELD(4, device, STRING),
             MAP(5, attr, node_def_attr_entry),
             MESSAGE(6, experimental_debug_info, node_def_experimental_debug_info),
             MESSAGE(7, experimental_type, full_type_def))

MESSAGE_TYPE(version_def, "tensorflow.VersionDef", FIELD(1, producer, INT32),
             FIELD(2, min_consumer, INT32), REPEATED(3, bad_consumers, INT32))

MESSAGE_TYPE(op_def_arg_def, "tensorflow.OpDef.ArgDef", FIELD(1, name, STRING),
             FIELD(2, description, STRING), ENUM(3, type, data_type), FIELD(4, type_attr, STRING),
             FIELD(5, number_attr, STRING), FIELD(6, type_list_attr, STRING),
             MESSAGES(7, handle_data, resource_handle_proto_dtype_and_shape),
             FIELD(16, is_ref, BOOL), MESSAGE(17, experimental_full_type, full_type_def))

MESSAGE_TYPE(op_def_attr_def, "tensorflow.OpDef.AttrDef", FIELD(1, name, STRING),
             FIELD(2, type, STRING), MESSAGE(3, default_value, attr_value),
             FIELD(4, description, STRING), FIELD(5, has_minimum, BOOL), FIELD(6, minimum, INT64),
             MESSAGE(7, allowed_values, attr_value))

MESSAGE_TYPE(op_deprecation, "tensorflow.OpDeprecation", FIELD(1, version, INT32),
             FIELD(2, explanation, STRING))

MESSAGE_TYPE(op_def, "tensorflow.OpDef", FIELD(1, name, STRING),
             MESSAGES(2, input_arg, op_def_arg_def), MESSAGES(3, output_arg, op_def_arg_def),
             MESSAGES(4, attr, op_def_attr_def), FIELD(5, summary, STRING),
             FIELD(6, description, STRING), MESSAGE(8, deprecation, op_deprecation),
             FIELD(16, is_aggregate, BOOL), FIELD(17, is_stateful, BOOL),
             FIELD(18, is_commutative, BOOL), FIELD(19, allows_uninitialized_input, BOOL),
             REPEATED(20, control_output, STRING), FIELD(21, is_distributed_communication, BOOL))

MAP_ENTRY(function_def_attr_entry, "tensorflow.FunctionDef.AttrEntry", FIELD(1, key, STRING),
          MESSAGE(2, value, attr_value))

MAP_ENTRY(function_def_arg_attrs_attr_entry, "tensorflow.FunctionDef.ArgAttrs.AttrEntry",
          FIELD(1, key, STRING), MESSAGE(2, value, attr_value))

MESSAGE_TYPE(function_def_arg_attrs, "tensorflow.FunctionDef.ArgAttrs",
             MAP(1, attr, function_def_arg_attrs_attr_entry))

MAP_ENTRY(function_def_arg_attr_entry, "tensorflow.FunctionDef.ArgAttrEntry", FIELD(1, key, UINT32),
          MESSAGE(2, value, function_def_arg_attrs))

MAP_ENTRY(function_def_resource_arg_unique_id_entry,
          "tensorflow.FunctionDef.ResourceArgUniqueIdEntry", FIELD(1, key, UINT32),
          FIELD(2, value, UINT32))

MAP_ENTRY(function_def_ret_entry, "tensorflow.FunctionDef.RetEntry", FIELD(1, key, STRING),
          FIELD(2, value, STRING))

MAP_ENTRY(function_def_control_ret_entry, "tensorflow.FunctionDef.ControlRetEntry",
          FIELD(1, key, STRING), FIELD(2, value, STRING))

MESSAGE_TYPE(function_def, "tensorflow.FunctionDef", MESSAGE(1, signature, op_def),
             MESSAGES(3, node_def, node_def), MAP(4, ret, function_def_ret_entry),
             MAP(5, attr, function_def_attr_entry),
             MAP(6, control_ret, function_def_control_ret_entry),
             MAP(7, arg_attr, function_def_arg_attr_entry),
             MAP(8, resource_arg_unique_id, function_def_resource_arg_unique_id_entry))

MESSAGE_TYPE(gradient_def, "tensorflow.GradientDef", FIELD(1, function_name, STRING),
             FIELD(2, gradient_func, STRING))

MESSAGE_TYPE(registered_gradient, "tensorflow.RegisteredGradient", FIELD(1, gradient_func, STRING),
             FIELD(2, registered_op_type, STRING))

MESSAGE_TYPE(function_def_library, "tensorflow.FunctionDefLibrary",
             MESSAGES(1, function, function_def), MESSAGES(2, gradient, gradient_def),
             MESSAGES(3, registered_gradients, registered_gradient))

MESSAGE_TYPE(graph_def, "tensorflow.GraphDef", MESSAGES(1, node, node_def),
             MESSAGE(2, library, function_def_library), FIELD(3, version, INT32),
             MESSAGE(4, versions, version_def))
