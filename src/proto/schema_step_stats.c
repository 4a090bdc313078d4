/* SPDX-License-Identifier: Apache-2.0
 * schema_step_stats.c: the schemas of RunMetadata, StepStats and the profiles of tf.profiler. */
#include "proto/schema.h"

MESSAGE_TYPE(allocation_record, "tensorflow.AllocationRecord", FIELD(1, alloc_micros, INT64),
             FIELD(2, alloc_bytes, INT64))

MESSAGE_TYPE(allocator_memory_used, "tensorflow.AllocatorMemoryUsed",
             FIELD(1, allocator_name, STRING), FIELD(2, total_bytes, INT64),
             FIELD(3, peak_bytes, INT64), FIELD(4, live_bytes, INT64),
             FIELD(5, allocator_bytes_in_use, INT64),
             MESSAGES(6, allocation_records, allocation_record))

MESSAGE_TYPE(allocation_description, "tensorflow.AllocationDescription",
             FIELD(1, requested_bytes, INT64), FIELD(2, allocated_bytes, INT64),
             FIELD(3, allocator_name, STRING), FIELD(4, allocation_id, INT64),
             FIELD(5, has_single_reference, BOOL), FIELD(6, ptr, UINT64))

MESSAGE_TYPE(tensor_description, "tensorflow.TensorDescription", ENUM(1, dtype, data_type),
             MESSAGE(2, shape, tensor_shape_proto),
             MESSAGE(4, allocation_description, allocation_description))

MESSAGE_TYPE(node_output, "tensorflow.NodeOutput", FIELD(1, slot, INT32),
             MESSAGE(3, tensor_description, tensor_description))

MESSAGE_TYPE(memory_stats, "tensorflow.MemoryStats", FIELD(1, temp_memory_size, INT64),
             FIELD(2, device_temp_memory_size, INT64), FIELD(3, persistent_memory_size, INT64),
             FIELD(4, device_persistent_memory_size, INT64),
             REPEATED(5, persistent_tensor_alloc_ids, INT64),
             REPEATED(6, device_persistent_tensor_alloc_ids, INT64))

MESSAGE_TYPE(node_exec_stats, "tensorflow.NodeExecStats", FIELD(1, node_name, STRING),
             FIELD(2, all_start_micros, INT64), FIELD(3, op_start_rel_micros, INT64),
             FIELD(4, op_end_rel_micros, INT64), FIELD(5, all_end_rel_micros, INT64),
             MESSAGES(6, memory, allocator_memory_used), MESSAGES(7, output, node_output),
             FIELD(8, timeline_label, STRING), FIELD(9, scheduled_micros, INT64),
             FIELD(10, thread_id, UINT32), MESSAGES(11, referenced_tensor, allocation_description),
             MESSAGE(12, memory_stats, memory_stats), FIELD(13, all_start_nanos, INT64),
             FIELD(14, op_start_rel_nanos, INT64), FIELD(15, op_end_rel_nanos, INT64),
             FIELD(16, all_end_rel_nanos, INT64), FIELD(17, scheduled_nanos, INT64))

MAP_ENTRY(device_step_stats_thread_names_entry, "tensorflow.DeviceStepStats.ThreadNamesEntry",
          FIELD(1, key, UINT32), FIELD(2, value, STRING))

MESSAGE_TYPE(device_step_stats, "tensorflow.DeviceStepStats", FIELD(1, device, STRING),
             MESSAGES(2, node_stats, node_exec_stats),
             MAP(3, thread_names, device_step_stats_thread_names_entry))

MESSAGE_TYPE(step_stats, "tensorflow.StepStats", MESSAGES(1, dev_stats, device_step_stats))

MESSAGE_TYPE(cost_graph_def_node_input_info, "tensorflow.CostGraphDef.Node.InputInfo",
             FIELD(1, preceding_node, INT32), FIELD(2, preceding_port, INT32))

MESSAGE_TYPE(cost_graph_def_node_output_info, "tensorflow.CostGraphDef.Node.OutputInfo",
             FIELD(1, size, INT64), FIELD(2, alias_input_port, INT64),
             MESSAGE(3, shape, tensor_shape_proto), ENUM(4, dtype, data_type))

MESSAGE_TYPE(cost_graph_def_node, "tensorflow.CostGraphDef.Node", FIELD(1, name, STRING),
             FIELD(2, device, STRING), FIELD(3, id, INT32),
             MESSAGES(4, input_info, cost_graph_def_node_input_info),
             MESSAGES(5, output_info, cost_graph_def_node_output_info),
             FIELD(6, temporary_memory_size, INT64), FIELD(7, is_final, BOOL),
             REPEATED(8, control_input, INT32), FIELD(9, compute_cost, INT64),
             FIELD(10, host_temp_memory_size, INT64), FIELD(11, device_temp_memory_size, INT64),
             FIELD(12, persistent_memory_size, INT64), FIELD(14, compute_time, INT64),
             FIELD(15, memory_time, INT64), FIELD(16, device_persistent_memory_size, INT64),
             FIELD(17, inaccurate, BOOL))

MESSAGE_TYPE(cost_graph_def_aggregated_cost, "tensorflow.CostGraphDef.AggregatedCost",
             FIELD(1, cost, FLOAT), FIELD(2, dimension, STRING))

MESSAGE_TYPE(cost_graph_def, "tensorflow.CostGraphDef", MESSAGES(1, node, cost_graph_def_node),
             MESSAGES(2, cost, cost_graph_def_aggregated_cost))

MESSAGE_TYPE(run_metadata_function_graphs, "tensorflow.RunMetadata.FunctionGraphs",
             MESSAGES(1, partition_graphs, graph_def),
             MESSAGE(2, pre_optimization_graph, graph_def),
             MESSAGE(3, post_optimization_graph, graph_def))

MESSAGE_TYPE(run_metadata, "tensorflow.RunMetadata", MESSAGE(1, step_stats, step_stats),
             MESSAGE(2, cost_graph, cost_graph_def), MESSAGES(3, partition_graphs, graph_def),
             MESSAGES(4, function_graphs, run_metadata_function_graphs))

MESSAGE_TYPE(tfprof_tf_prof_tensor_proto, "tensorflow.tfprof.TFProfTensorProto",
             ENUM(1, dtype, data_type), REPEATED(2, value_double, DOUBLE),
             REPEATED(3, value_int64, INT64), REPEATED(4, value_str, STRING))

MAP_ENTRY(tfprof_graph_node_proto_input_shapes_entry,
          "tensorflow.tfprof.GraphNodeProto.InputShapesEntry", FIELD(1, key, INT32),
          MESSAGE(2, value, tensor_shape_proto))

MESSAGE_TYPE(tfprof_graph_node_proto, "tensorflow.tfprof.GraphNodeProto", FIELD(1, name, STRING),
             FIELD(2, exec_micros, INT64), FIELD(3, requested_bytes, INT64),
             FIELD(4, parameters, INT64), FIELD(6, total_exec_micros, INT64),
             FIELD(7, total_requested_bytes, INT64), FIELD(8, total_parameters, INT64),
             REPEATED(10, devices, STRING), MESSAGES(11, shapes, tensor_shape_proto),
             MESSAGES(12, children, tfprof_graph_node_proto), FIELD(13, float_ops, INT64),
             FIELD(14, total_float_ops, INT64),
             MESSAGE(15, tensor_value, tfprof_tf_prof_tensor_proto),
             MAP(16, input_shapes, tfprof_graph_node_proto_input_shapes_entry),
             FIELD(17, accelerator_exec_micros, INT64), FIELD(18, cpu_exec_micros, INT64),
             FIELD(19, total_accelerator_exec_micros, INT64),
             FIELD(20, total_cpu_exec_micros, INT64), FIELD(21, run_count, INT64),
             FIELD(22, total_run_count, INT64), FIELD(23, total_definition_count, INT64),
             FIELD(24, peak_bytes, INT64), FIELD(25, residual_bytes, INT64),
             FIELD(26, output_bytes, INT64), FIELD(27, total_peak_bytes, INT64),
             FIELD(28, total_residual_bytes, INT64), FIELD(29, total_output_bytes, INT64))

MESSAGE_TYPE(tfprof_multi_graph_node_proto, "tensorflow.tfprof.MultiGraphNodeProto",
             FIELD(1, name, STRING), FIELD(2, exec_micros, INT64), FIELD(3, requested_bytes, INT64),
             FIELD(4, parameters, INT64), FIELD(5, float_ops, INT64),
             FIELD(6, total_exec_micros, INT64), FIELD(7, total_requested_bytes, INT64),
             FIELD(8, total_parameters, INT64), FIELD(9, total_float_ops, INT64),
             MESSAGES(10, graph_nodes, tfprof_graph_node_proto),
             MESSAGES(11, children, tfprof_multi_graph_node_proto),
             FIELD(12, accelerator_exec_micros, INT64), FIELD(13, cpu_exec_micros, INT64),
             FIELD(14, total_accelerator_exec_micros, INT64),
             FIELD(15, total_cpu_exec_micros, INT64), FIELD(16, peak_bytes, INT64),
             FIELD(17, residual_bytes, INT64), FIELD(18, output_bytes, INT64),
             FIELD(19, total_peak_bytes, INT64), FIELD(20, total_residual_bytes, INT64),
             FIELD(21, total_output_bytes, INT64))

MESSAGE_TYPE(tfprof_code_def_trace, "tensorflow.tfprof.CodeDef.Trace", FIELD(2, lineno, INT32),
             FIELD(5, func_start_line, INT32), FIELD(6, file_id, INT64),
             FIELD(7, function_id, INT64), FIELD(8, line_id, INT64))

MESSAGE_TYPE(tfprof_code_def, "tensorflow.tfprof.CodeDef",
             MESSAGES(1, traces, tfprof_code_def_trace))

MESSAGE_TYPE(tfprof_op_log_entry, "tensorflow.tfprof.OpLogEntry", FIELD(1, name, STRING),
             FIELD(2, float_ops, INT64), REPEATED(3, types, STRING),
             MESSAGE(4, code_def, tfprof_code_def))

MAP_ENTRY(tfprof_op_log_proto_id_to_string_entry, "tensorflow.tfprof.OpLogProto.IdToStringEntry",
          FIELD(1, key, INT64), FIELD(2, value, STRING))

MESSAGE_TYPE(tfprof_op_log_proto, "tensorflow.tfprof.OpLogProto",
             MESSAGES(1, log_entries, tfprof_op_log_entry),
             MAP(2, id_to_string, tfprof_op_log_proto_id_to_string_entry))

MESSAGE_TYPE(tfprof_advice_proto_checker, "tensorflow.tfprof.AdviceProto.Checker",
             REPEATED(2, reports, STRING))

MAP_ENTRY(tfprof_advice_proto_checkers_entry, "tensorflow.tfprof.AdviceProto.CheckersEntry",
          FIELD(1, key, STRING), MESSAGE(2, value, tfprof_advice_proto_checker))

MESSAGE_TYPE(tfprof_advice_proto, "tensorflow.tfprof.AdviceProto",
             MAP(1, checkers, tfprof_advice_proto_checkers_entry))
