/* SPDX-License-Identifier: Apache-2.0
 * infer.h: type and shape inference for a new node. */
#ifndef SITU_GRAPH_INFER_H
#define SITU_GRAPH_INFER_H

#include "graph/build.h"

/* Infers the missing attributes of a draft and the number of its outputs. */
situ_status infer_types(struct situ_graph *graph, struct draft *draft) SITU_MUST_USE;

/* Infers the outputs (type, shape, static value) of a node; infer_types must have run. */
situ_status infer_shapes(struct situ_graph *graph, struct node *node) SITU_MUST_USE;

#endif
