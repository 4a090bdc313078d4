/* SPDX-License-Identifier: Apache-2.0
 * static_values.h: static values of small integer tensors while a graph is built: sizes and what
 * is computed from them, so that tf.reshape(x, [tf.shape(x)[0], 784]) is known to have 784
 * columns. */
#ifndef SITU_GRAPH_STATIC_VALUES_H
#define SITU_GRAPH_STATIC_VALUES_H

#include "graph/graph.h"

/* Finds out what is known of the outputs of a call whose shapes are inferred: sets out[i].known
 * where it is anything. */
situ_status static_values_find(struct situ_graph *graph, struct call *call) SITU_MUST_USE;

#endif
