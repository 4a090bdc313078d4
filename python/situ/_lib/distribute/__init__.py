# SPDX-License-Identifier: Apache-2.0
"""__init__.py: tf.distribute: imports its parts, so that their names are known."""
from situ._lib.cluster import servers
from situ._lib.distribute import (context, input, reduction, run, strategies, strategy, threads,
                                  values, workers)

PARTS = (context, input, reduction, run, servers, strategies, strategy, threads, values, workers)
