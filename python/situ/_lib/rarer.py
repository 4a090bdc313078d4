# SPDX-License-Identifier: Apache-2.0
"""rarer.py: what fewest programs use, mostly of TensorFlow 1; it builds on tf.contrib."""
from situ._lib import (contrib_experiment, contrib_gpu, contrib_training, crf, ctc_ops,
                       decompose_ops, graph_tools, image_crops, legacy_attention, metrics_classes,
                       metrics_top_k, partitions, profiles, rnn_more, saved_model_v1,
                       sequence_parsing, slim_inception, slim_nets, small_array, small_math,
                       switch_ops)

PARTS = (contrib_experiment, contrib_gpu, contrib_training, crf, ctc_ops, decompose_ops,
         graph_tools, image_crops, legacy_attention, metrics_classes, metrics_top_k, partitions,
         profiles, rnn_more, saved_model_v1, sequence_parsing, slim_inception, slim_nets,
         small_array, small_math, switch_ops)
