# SPDX-License-Identifier: Apache-2.0
"""modern.py: parts of eager style that few programs use, looked through before tf.contrib."""
from situ._lib import type_names

PARTS = (type_names,)
