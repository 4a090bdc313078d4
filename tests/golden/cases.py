# SPDX-License-Identifier: Apache-2.0
"""cases.py: what TensorFlow and situ are compared on: GRAPH and EAGER, pairs of a name and a
function of tf that gives tensors."""
from cases_array import ARRAY_EAGER, ARRAY_GRAPH
from cases_gradient import GRADIENT_GRAPH
from cases_image import IMAGE_EAGER, IMAGE_GRAPH
from cases_math import MATH_EAGER, MATH_GRAPH
from cases_random import RANDOM_EAGER, RANDOM_GRAPH
from cases_sequence import SEQUENCE


def named(style, **families):
    return [(f"{style}.{family}.{name}", build)
            for family, cases in families.items() for name, build in cases.items()]


GRAPH = named("graph", random=RANDOM_GRAPH, array=ARRAY_GRAPH, image=IMAGE_GRAPH,
              math=MATH_GRAPH, gradient=GRADIENT_GRAPH, sequence=SEQUENCE)
EAGER = named("eager", random=RANDOM_EAGER, array=ARRAY_EAGER, image=IMAGE_EAGER,
              math=MATH_EAGER, sequence=SEQUENCE)
