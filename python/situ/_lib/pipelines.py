# SPDX-License-Identifier: Apache-2.0
"""pipelines.py: imports the parts of tf.data, so that their names are known."""
from situ._lib import (data, data_chance, data_experimental, data_fold, data_further, data_groups,
                       data_iterators, data_sources, slices)

PARTS = (data, data_chance, data_experimental, data_fold, data_further, data_groups, data_iterators,
         data_sources, slices)
