# SPDX-License-Identifier: Apache-2.0
"""further.py: parts of both styles that few programs use, looked through before tf.contrib."""
from situ._lib import (audio, autograph, ctc, facts, image_choice, linalg_further, math_further,
                       profiler, random_seeds, sparse_further, text_unicode)

PARTS = (audio, autograph, ctc, facts, image_choice, linalg_further, math_further, profiler,
         random_seeds, sparse_further, text_unicode)
