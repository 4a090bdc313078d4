# SPDX-License-Identifier: Apache-2.0
"""__init__.py: tf.keras: imports its parts, so that their names are known."""
import importlib

from situ._lib import catalogue, saved_model, saved_model_load, tape, text_ops, training

_PARTS = """
    activations backend backend_further callbacks callbacks_more cells compiled constraints context
    conv_lstm data directories hdf5 image_change image_generator image_iterators image_warp images
    initializers input_layer input_spec layer layers_attention layers_conv layers_core
    layers_further layers_image layers_merge layers_norm layers_pool layers_text layers_volume
    loss_classes losses metrics metrics_auc metrics_counts metrics_iou metrics_scores
    mixed_precision model model_visualization multi_gpu names nets nodes normalization op_layer
    program progbar regularizers rnn rnn_loop saving sequences sequential summary tensorboard text
    topology utils weights wrappers legacy
    """.split()
PARTS = [catalogue, saved_model, saved_model_load, tape, text_ops, training,
         *[importlib.import_module(f"situ._lib.keras.{name}") for name in _PARTS]]
