# SPDX-License-Identifier: Apache-2.0
"""inputs.py: imports the parts of queues, input, control flow and recurrent networks, so that their
names are known."""
from situ._lib import (asserts, control_flow, functional, input_ops, lookup, lookup_more,
                       parsing_ops, queue_runner, queues, readers, rnn, rnn_cell, tensor_array,
                       tensor_protos, while_loop)

PARTS = (asserts, control_flow, functional, input_ops, lookup, lookup_more, parsing_ops,
         queue_runner, queues, readers, rnn, rnn_cell, tensor_array, tensor_protos, while_loop)
