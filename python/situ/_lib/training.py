# SPDX-License-Identifier: Apache-2.0
"""training.py: imports the parts of training, so that their names are known."""
from situ._lib import (checkpoint_reader, checkpoint_state, decay, event_file, global_step,
                       graph_import, logs, metagraph, moving_averages, optimizer, optimizers, saver,
                       schedules, summary_ops, summary_protos, summary_v2, summary_writer)

PARTS = (checkpoint_reader, checkpoint_state, decay, event_file, global_step, graph_import, logs,
         metagraph, moving_averages, optimizer, optimizers, saver, schedules, summary_ops,
         summary_protos, summary_v2, summary_writer)
