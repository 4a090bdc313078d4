# SPDX-License-Identifier: Apache-2.0
"""inputs.py: imports the parts of queues, input and control flow, so that their names are known."""
from situ._lib import (control_flow, functional, input_ops, queue_runner, queues, readers,
                       tensor_array, while_loop)

PARTS = (control_flow, functional, input_ops, queue_runner, queues, readers, tensor_array,
         while_loop)
