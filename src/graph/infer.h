/* SPDX-License-Identifier: Apache-2.0
 * infer.h: what a new node inherits from its inputs. */
#ifndef SITU_GRAPH_INFER_H
#define SITU_GRAPH_INFER_H

#include "graph/build.h"

/* Completes the attributes of a draft and counts its outputs. */
situ_status infer_types(struct situ_graph *graph, struct draft *draft) SITU_MUST_USE;

/* Sets the outputs of a node whose types are inferred. */
situ_status infer_shapes(struct situ_graph *graph, struct node *node) SITU_MUST_USE;

#endif
