# SPDX-License-Identifier: Apache-2.0
"""inputs.py: imports the parts of queues and input, so that their names are known."""
from situ._lib import input_ops, queue_runner, queues, readers

PARTS = (input_ops, queue_runner, queues, readers)
