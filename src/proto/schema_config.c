/* SPDX-License-Identifier: Apache-2.0
 * schema_config.c: the schemas of ConfigProto, RunOptions, ClusterDef and ServerDef. */
#include "proto/schema.h"

ENUM_TYPE(optimizer_options_level, "tensorflow.OptimizerOptions.Level", {"L1", 0}, {"L0", -1})

ENUM_TYPE(optimizer_options_global_jit_level, "tensorflow.OptimizerOptions.GlobalJitLevel",
          {"DEFAULT", 0}, {"OFF", -1}, {"ON_1", 1}, {"ON_2", 2})

ENUM_TYPE(rewriter_config_cpu_layout, "tensorflow.RewriterConfig.CpuLayout",
          {"NO_CONVERSION_ON_CPU", 0}, {"NCHW_TO_NHWC", 1}, {"NHWC_TO_NCHW", 2})

ENUM_TYPE(rewriter_config_toggle, "tensorflow.RewriterConfig.Toggle", {"DEFAULT", 0}, {"ON", 1},
          {"OFF", 2}, {"AGGRESSIVE", 3}, {"EXPERIMENTAL_MLIR", 4}, {"EXPERIMENTAL_BOTH", 5})

ENUM_TYPE(rewriter_config_num_iterations_type, "tensorflow.RewriterConfig.NumIterationsType",
          {"DEFAULT_NUM_ITERS", 0}, {"ONE", 1}, {"TWO", 2})

ENUM_TYPE(rewriter_config_mem_opt_type, "tensorflow.RewriterConfig.MemOptType",
          {"DEFAULT_MEM_OPT", 0}, {"NO_MEM_OPT", 1}, {"MANUAL", 2}, {"SWAPPING_HEURISTICS", 4},
          {"RECOMPUTATION_HEURISTICS", 5}, {"SCHEDULING_HEURISTICS", 6}, {"HEURISTICS", 3})

ENUM_TYPE(config_proto_experimental_mlir_bridge_rollout,
          "tensorflow.ConfigProto.Experimental.MlirBridgeRollout",
          {"MLIR_BRIDGE_ROLLOUT_UNSPECIFIED", 0}, {"MLIR_BRIDGE_ROLLOUT_ENABLED", 1},
          {"MLIR_BRIDGE_ROLLOUT_DISABLED", 2})

ENUM_TYPE(run_options_trace_level, "tensorflow.RunOptions.TraceLevel", {"NO_TRACE", 0},
          {"SOFTWARE_TRACE", 1}, {"HARDWARE_TRACE", 2}, {"FULL_TRACE", 3})

MAP_ENTRY(config_proto_device_count_entry, "tensorflow.ConfigProto.DeviceCountEntry",
          FIELD(1, key, STRING), FIELD(2, value, INT32))

MESSAGE_TYPE(thread_pool_option_proto, "tensorflow.ThreadPoolOptionProto",
             FIELD(1, num_threads, INT32), FIELD(2, global_name, STRING))

MESSAGE_TYPE(gpu_options_experimental_virtual_devices,
             "tensorflow.GPUOptions.Experimental.VirtualDevices",
             REPEATED(1, memory_limit_mb, FLOAT), REPEATED(2, priority, INT32),
             REPEATED(3, device_ordinal, INT32))

MESSAGE_TYPE(gpu_options_experimental_stream_merge_options,
             "tensorflow.GPUOptions.Experimental.StreamMergeOptions",
             FIELD(1, merge_host_to_device_stream, BOOL),
             FIELD(2, merge_device_to_host_stream, BOOL),
             FIELD(3, merge_device_to_device_stream, BOOL))

MESSAGE_TYPE(
    gpu_options_experimental, "tensorflow.GPUOptions.Experimental",
    MESSAGES(1, virtual_devices, gpu_options_experimental_virtual_devices),
    FIELD(2, use_unified_memory, BOOL), FIELD(3, num_dev_to_dev_copy_streams, INT32),
    FIELD(4, collective_ring_order, STRING), FIELD(5, timestamped_allocator, BOOL),
    FIELD(7, kernel_tracker_max_interval, INT32), FIELD(8, kernel_tracker_max_bytes, INT32),
    FIELD(9, kernel_tracker_max_pending, INT32), FIELD(10, internal_fragmentation_fraction, DOUBLE),
    FIELD(11, use_cuda_malloc_async, BOOL), FIELD(12, disallow_retry_on_allocation_failure, BOOL),
    FIELD(13, gpu_host_mem_limit_in_mb, FLOAT), FIELD(14, gpu_host_mem_disallow_growth, BOOL),
    FIELD(15, num_virtual_devices_per_gpu, INT32), FIELD(16, gpu_system_memory_size_in_mb, INT32),
    FIELD(17, populate_pjrt_gpu_client_creation_info, BOOL), FIELD(18, node_id, INT32),
    MESSAGE(19, stream_merge_options, gpu_options_experimental_stream_merge_options))

MESSAGE_TYPE(gpu_options, "tensorflow.GPUOptions",
             FIELD(1, per_process_gpu_memory_fraction, DOUBLE), FIELD(2, allocator_type, STRING),
             FIELD(3, deferred_deletion_bytes, INT64), FIELD(4, allow_growth, BOOL),
             FIELD(5, visible_device_list, STRING), FIELD(6, polling_active_delay_usecs, INT32),
             FIELD(7, polling_inactive_delay_msecs, INT32), FIELD(8, force_gpu_compatible, BOOL),
             MESSAGE(9, experimental, gpu_options_experimental))

MESSAGE_TYPE(optimizer_options, "tensorflow.OptimizerOptions",
             FIELD(1, do_common_subexpression_elimination, BOOL),
             FIELD(2, do_constant_folding, BOOL), ENUM(3, opt_level, optimizer_options_level),
             FIELD(4, do_function_inlining, BOOL),
             ENUM(5, global_jit_level, optimizer_options_global_jit_level),
             FIELD(6, max_folded_constant_in_bytes, INT64), FIELD(7, cpu_global_jit, BOOL))

MESSAGE_TYPE(auto_parallel_options, "tensorflow.AutoParallelOptions", FIELD(1, enable, BOOL),
             FIELD(2, num_replicas, INT32))

MESSAGE_TYPE(scoped_allocator_options, "tensorflow.ScopedAllocatorOptions",
             REPEATED(1, enable_op, STRING))

MAP_ENTRY(rewriter_config_custom_graph_optimizer_parameter_map_entry,
          "tensorflow.RewriterConfig.CustomGraphOptimizer.ParameterMapEntry", FIELD(1, key, STRING),
          MESSAGE(2, value, attr_value))

MESSAGE_TYPE(rewriter_config_custom_graph_optimizer,
             "tensorflow.RewriterConfig.CustomGraphOptimizer", FIELD(1, name, STRING),
             MAP(2, parameter_map, rewriter_config_custom_graph_optimizer_parameter_map_entry))

MESSAGE_TYPE(
    rewriter_config, "tensorflow.RewriterConfig", ENUM(1, layout_optimizer, rewriter_config_toggle),
    FIELD(2, disable_model_pruning, BOOL), ENUM(3, constant_folding, rewriter_config_toggle),
    ENUM(4, memory_optimization, rewriter_config_mem_opt_type),
    MESSAGE(5, auto_parallel, auto_parallel_options),
    FIELD(6, memory_optimizer_target_node_name_scope, STRING),
    ENUM(7, arithmetic_optimization, rewriter_config_toggle),
    ENUM(8, dependency_optimization, rewriter_config_toggle),
    ENUM(9, loop_optimization, rewriter_config_toggle),
    ENUM(10, function_optimization, rewriter_config_toggle),
    ENUM(11, debug_stripper, rewriter_config_toggle),
    ENUM(12, meta_optimizer_iterations, rewriter_config_num_iterations_type),
    ENUM(13, shape_optimization, rewriter_config_toggle),
    ENUM(14, remapping, rewriter_config_toggle),
    ENUM(15, scoped_allocator_optimization, rewriter_config_toggle),
    MESSAGE(16, scoped_allocator_opts, scoped_allocator_options), FIELD(17, min_graph_nodes, INT32),
    ENUM(18, pin_to_host_optimization, rewriter_config_toggle),
    FIELD(19, disable_meta_optimizer, BOOL), FIELD(20, meta_optimizer_timeout_ms, INT64),
    FIELD(21, fail_on_optimizer_errors, BOOL),
    ENUM(22, implementation_selector, rewriter_config_toggle),
    ENUM(23, auto_mixed_precision, rewriter_config_toggle),
    ENUM(24, common_subgraph_elimination, rewriter_config_toggle),
    ENUM(25, auto_mixed_precision_mkl, rewriter_config_toggle),
    FIELD(26, experimental_disable_compressed_tensor_optimization, BOOL),
    FIELD(27, experimental_disable_folding_quantization_emulation, BOOL),
    ENUM(28, use_plugin_optimizers, rewriter_config_toggle),
    ENUM(29, auto_mixed_precision_cpu, rewriter_config_toggle),
    ENUM(30, experimental_conditional_code_motion, rewriter_config_toggle),
    ENUM(31, auto_mixed_precision_onednn_bfloat16, rewriter_config_toggle),
    FIELD(32, disable_tfg_optimizer, BOOL),
    ENUM(50, cpu_layout_conversion, rewriter_config_cpu_layout), REPEATED(100, optimizers, STRING),
    MESSAGES(200, custom_optimizers, rewriter_config_custom_graph_optimizer))

MESSAGE_TYPE(graph_options, "tensorflow.GraphOptions", FIELD(2, enable_recv_scheduling, BOOL),
             MESSAGE(3, optimizer_options, optimizer_options), FIELD(4, build_cost_model, INT64),
             FIELD(5, infer_shapes, BOOL), FIELD(6, place_pruned_graph, BOOL),
             FIELD(7, enable_bfloat16_sendrecv, BOOL), FIELD(8, timeline_step, INT32),
             FIELD(9, build_cost_model_after, INT64), MESSAGE(10, rewrite_options, rewriter_config))

MESSAGE_TYPE(rpc_options, "tensorflow.RPCOptions", FIELD(1, use_rpc_for_inprocess_master, BOOL),
             FIELD(2, compression_algorithm, STRING), FIELD(3, compression_level, INT32),
             FIELD(4, cache_rpc_response, BOOL), FIELD(5, disable_session_connection_sharing, BOOL),
             FIELD(6, num_channels_per_target, INT32))

MAP_ENTRY(job_def_tasks_entry, "tensorflow.JobDef.TasksEntry", FIELD(1, key, INT32),
          FIELD(2, value, STRING))

MESSAGE_TYPE(job_def, "tensorflow.JobDef", FIELD(1, name, STRING),
             MAP(2, tasks, job_def_tasks_entry))

MESSAGE_TYPE(cluster_def, "tensorflow.ClusterDef", MESSAGES(1, job, job_def))

MESSAGE_TYPE(
    config_proto_experimental, "tensorflow.ConfigProto.Experimental",
    FIELD(1, collective_group_leader, STRING), FIELD(3, executor_type, STRING),
    FIELD(4, recv_buf_max_chunk, INT32), FIELD(5, use_numa_affinity, BOOL),
    FIELD(6, collective_deterministic_sequential_execution, BOOL), FIELD(7, collective_nccl, BOOL),
    FIELD(8, share_session_state_in_clusterspec_propagation, BOOL),
    FIELD(9, disable_thread_spinning, BOOL), FIELD(10, share_cluster_devices_in_session, BOOL),
    FIELD(12, optimize_for_static_graph, BOOL), FIELD(13, enable_mlir_bridge, BOOL),
    FIELD(14, disable_output_partition_graphs, BOOL), FIELD(15, xla_fusion_autotuner_thresh, INT64),
    FIELD(16, enable_mlir_graph_optimization, BOOL),
    ENUM(17, mlir_bridge_rollout, config_proto_experimental_mlir_bridge_rollout),
    FIELD(18, use_tfrt, BOOL), FIELD(21, disable_functional_ops_lowering, BOOL),
    FIELD(22, xla_prefer_single_graph_cluster, BOOL),
    FIELD(24, disable_optimize_for_static_graph, BOOL),
    FIELD(26, disable_eager_executor_streaming_enqueue, BOOL), FIELD(27, enable_multi_host, BOOL),
    FIELD(28, backend_server_port, INT32), FIELD(29, target_tpu, BOOL), FIELD(30, target_gpu, BOOL),
    FIELD(31, stream_merge_threshold, INT32), FIELD(32, tfrt_use_ifrt, BOOL),
    FIELD(33, finalize_function_library_runtime, BOOL), FIELD(34, finalize_resource_manager, BOOL),
    FIELD(35, tf2xla_dump_dir, STRING), FIELD(36, online_cost_analysis, BOOL),
    FIELD(1000, sim_gpus, STRING))

MESSAGE_TYPE(config_proto, "tensorflow.ConfigProto",
             MAP(1, device_count, config_proto_device_count_entry),
             FIELD(2, intra_op_parallelism_threads, INT32), FIELD(3, placement_period, INT32),
             REPEATED(4, device_filters, STRING), FIELD(5, inter_op_parallelism_threads, INT32),
             MESSAGE(6, gpu_options, gpu_options), FIELD(7, allow_soft_placement, BOOL),
             FIELD(8, log_device_placement, BOOL), FIELD(9, use_per_session_threads, BOOL),
             MESSAGE(10, graph_options, graph_options), FIELD(11, operation_timeout_in_ms, INT64),
             MESSAGES(12, session_inter_op_thread_pool, thread_pool_option_proto),
             MESSAGE(13, rpc_options, rpc_options), MESSAGE(14, cluster_def, cluster_def),
             FIELD(15, isolate_session_state, BOOL),
             MESSAGE(16, experimental, config_proto_experimental),
             FIELD(17, share_cluster_devices_in_session, BOOL),
             MESSAGE(18, pluggable_device_options, gpu_options), FIELD(1000, sim_gpus, STRING))

MESSAGE_TYPE(run_options_experimental_run_handler_pool_options,
             "tensorflow.RunOptions.Experimental.RunHandlerPoolOptions", FIELD(1, priority, INT64))

MESSAGE_TYPE(run_options_experimental, "tensorflow.RunOptions.Experimental",
             FIELD(1, collective_graph_key, INT64), FIELD(2, use_run_handler_pool, BOOL),
             MESSAGE(3, run_handler_pool_options,
                     run_options_experimental_run_handler_pool_options))

MESSAGE_TYPE(run_options, "tensorflow.RunOptions", ENUM(1, trace_level, run_options_trace_level),
             FIELD(2, timeout_in_ms, INT64), FIELD(3, inter_op_thread_pool, INT32),
             FIELD(5, output_partition_graphs, BOOL),
             FIELD(7, report_tensor_allocations_upon_oom, BOOL),
             MESSAGE(8, experimental, run_options_experimental))

MESSAGE_TYPE(server_def, "tensorflow.ServerDef", MESSAGE(1, cluster, cluster_def),
             FIELD(2, job_name, STRING), FIELD(3, task_index, INT32),
             MESSAGE(4, default_session_config, config_proto), FIELD(5, protocol, STRING),
             FIELD(6, port, INT32), FIELD(8, replica, INT32))

MESSAGE_TYPE(interconnect_link, "tensorflow.InterconnectLink", FIELD(1, device_id, INT32),
             FIELD(2, type, STRING), FIELD(3, strength, INT32))

MESSAGE_TYPE(local_links, "tensorflow.LocalLinks", MESSAGES(1, link, interconnect_link))

MESSAGE_TYPE(device_locality, "tensorflow.DeviceLocality", FIELD(1, bus_id, INT32),
             FIELD(2, numa_node, INT32), MESSAGE(3, links, local_links))

MESSAGE_TYPE(device_attributes, "tensorflow.DeviceAttributes", FIELD(1, name, STRING),
             FIELD(2, device_type, STRING), FIELD(4, memory_limit, INT64),
             MESSAGE(5, locality, device_locality), FIELD(6, incarnation, FIXED64),
             FIELD(7, physical_device_desc, STRING), FIELD(8, xla_global_id, INT64))
