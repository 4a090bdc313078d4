# SPDX-License-Identifier: Apache-2.0
"""__init__.py: tf.keras: imports its parts, so that their names are known."""
from situ._lib import (catalogue, tape, training as basics)
from situ._lib.keras import (activations, backend, callbacks, callbacks_more, cells, compiled,
                             constraints, context, data, initializers, input_layer, layer,
                             layers_conv, layers_core, layers_merge, layers_norm, layers_pool,
                             loss_classes, losses, metrics, metrics_counts, model, names, nodes,
                             op_layer, program, progbar, regularizers, rnn, saving, sequential,
                             summary, topology, training, utils, weights, wrappers)

PARTS = (activations, backend, basics, callbacks, callbacks_more, catalogue, cells, compiled,
         constraints, context, data, initializers, input_layer, layer, layers_conv, layers_core,
         layers_merge, layers_norm, layers_pool, loss_classes, losses, metrics, metrics_counts,
         model, names, nodes, op_layer, program, progbar, regularizers, rnn, saving, sequential,
         summary, tape, topology, training, utils, weights, wrappers)
