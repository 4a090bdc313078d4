# SPDX-License-Identifier: Apache-2.0
"""catalogue.py: the parts of tf that are made of ops alone."""
from situ._lib import clip_ops, gathering, image_color, image_ops

PARTS = (clip_ops, gathering, image_color, image_ops)
