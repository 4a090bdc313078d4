# SPDX-License-Identifier: Apache-2.0
"""training.py: imports the parts of training, so that their names are known."""
from situ._lib import (decay, global_step, moving_averages, optimizer, optimizers, schedules)

PARTS = (decay, global_step, moving_averages, optimizer, optimizers, schedules)
