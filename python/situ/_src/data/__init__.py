# SPDX-License-Identifier: Apache-2.0
"""__init__.py: tf.data. Transformations are methods of Dataset that these modules add."""

from situ._src.data import dataset  # isort: skip
from situ._src.data import experimental, grouping, iterators, sampling, save_load, scan_reduce

PARTS = (dataset, experimental, grouping, iterators, sampling, save_load, scan_reduce)
