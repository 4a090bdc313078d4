# SPDX-License-Identifier: Apache-2.0
"""cases.py: what TensorFlow and situ are compared on: GRAPH and EAGER, pairs of a name and a
function of tf that gives tensors."""
from cases_random import RANDOM_EAGER, RANDOM_GRAPH

GRAPH = [("graph." + name, build) for name, build in RANDOM_GRAPH.items()]
EAGER = [("eager." + name, build) for name, build in RANDOM_EAGER.items()]
