/* SPDX-License-Identifier: Apache-2.0
 * static_values.h: static values of small integer and bool tensors at graph construction, such as
 * sizes and values computed from them: tf.reshape(x, [tf.shape(x)[0], 784]) has the static shape
 * [?, 784]. */
#ifndef SITU_GRAPH_STATIC_VALUES_H
#define SITU_GRAPH_STATIC_VALUES_H

#include "graph/graph.h"

/* Sets out[i].known of a call whose shapes are inferred, as far as elements are known. */
situ_status static_values_find(struct situ_graph *graph, struct call *call) SITU_MUST_USE;

#endif
