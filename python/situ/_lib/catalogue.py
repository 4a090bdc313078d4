# SPDX-License-Identifier: Apache-2.0
"""catalogue.py: the parts of tf that are made of ops alone, and the layers."""
from situ._lib import (clip_ops, gathering, image_boxes, image_color, image_more, image_ops,
                       layer_functions, layers, nn_conv, nn_loss, nn_norm, nn_sampling, nn_volume,
                       numerics, print_ops, ragged, random_generator, rearranging, searching,
                       sparse_ops, word_ops)

PARTS = (clip_ops, gathering, image_boxes, image_color, image_more, image_ops, layer_functions,
         layers, nn_conv, nn_loss, nn_norm, nn_sampling, nn_volume, numerics, print_ops, ragged,
         random_generator, rearranging, searching, sparse_ops, word_ops)
