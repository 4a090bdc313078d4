# SPDX-License-Identifier: Apache-2.0
"""catalogue.py: the parts of tf that are made of ops alone, and the layers."""
from situ._lib import (clip_ops, einsum, gathering, image_boxes, image_color, image_more, image_ops,
                       layer_functions, layers, margins, math_more, nn_conv, nn_loss, nn_norm,
                       nn_sampling, nn_transpose, nn_volume, numerics, print_ops, ragged,
                       ragged_ops, random_generator, rearranging, searching, sparse_ops, word_ops)

PARTS = (clip_ops, einsum, gathering, image_boxes, image_color, image_more, image_ops,
         layer_functions, layers, margins, math_more, nn_conv, nn_loss, nn_norm, nn_sampling,
         nn_transpose, nn_volume, numerics, print_ops, ragged, ragged_ops, random_generator,
         rearranging, searching, sparse_ops, word_ops)
