# SPDX-License-Identifier: Apache-2.0
"""training.py: imports the parts of training, so that their names are known."""
from situ._lib import (checkpoint, checkpoint_reader, checkpoint_state, coordinator, datasets,
                       decay, device_setter, event_file, example_protos, extras, flags, gfile,
                       global_step, graph_import, graph_util, hooks, logs, losses, metagraph,
                       metrics, metrics_thresholds, mnist, module, monitored_session,
                       moving_averages, nest, optimizer, optimizer_v2, optimizers, optimizers_v2,
                       records, regularizers, saver, saver_hooks, scaffold, schedules,
                       session_run_hook, summary_ops, summary_protos, summary_trace, summary_v2,
                       summary_writer,
                       supervisor, sync_replicas, training_ops, variable_state, warm_start)

PARTS = (checkpoint, checkpoint_reader, checkpoint_state, coordinator, datasets, decay,
         device_setter, event_file, example_protos, extras, flags, gfile, global_step, graph_import,
         graph_util, hooks, logs, losses, metagraph, metrics, metrics_thresholds, mnist, module,
         monitored_session, moving_averages, nest, optimizer, optimizer_v2, optimizers,
         optimizers_v2, records, regularizers, saver, saver_hooks, scaffold, schedules,
         session_run_hook, summary_ops, summary_protos, summary_trace, summary_v2, summary_writer,
         supervisor, sync_replicas, training_ops, variable_state, warm_start)
