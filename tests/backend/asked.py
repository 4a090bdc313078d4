# SPDX-License-Identifier: Apache-2.0
"""asked.py: the GPUs that a program of this folder is asked to try."""

import sys

import tensorflow.compat.v1 as tf


def count_gpus():
    """How many there are; ends the program unless these are as many as its command line says."""
    gpus = len(tf.config.experimental.list_physical_devices("GPU"))
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else gpus
    if not gpus or gpus != wanted:
        sys.exit(f"There are {gpus} GPUs.")
    return gpus
