/* SPDX-License-Identifier: Apache-2.0
 * gradient.h: gradients of a graph.
 *
 *   situ_value dw;
 *   situ_status s = situ_gradients(graph, &loss, 1, &w, 1, NULL, NULL, &dw);
 *
 * adds the nodes that compute how the sum of all elements of `loss` changes with each element of
 * `w`. They are nodes like all others: run, placed, saved, differentiated again.
 */
#ifndef SITU_GRADIENT_H
#define SITU_GRADIENT_H

#include "situ/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Gives the gradients of the inputs of a node, from those that arrive at its outputs (an invalid
 * value: nothing arrives). `dxs` are invalid at first; those that stay so are not passed on. */
typedef situ_status (*situ_gradient_function)(void *context, situ_value node, const situ_value *dys,
                                              int n_dys, situ_value *dxs, int n_dxs);

/* A node whose gradient overrides that of its op. The gradients may be those of other values than
 * the node's inputs: of `inputs`, which are older than the node; NULL: its own. */
typedef struct situ_gradient_override {
  situ_value node;
  const situ_value *inputs;
  int n_inputs;
  situ_gradient_function function;
  void *context;
} situ_gradient_override;

/* A gradient of which only some rows are not 0, as that of what Gather took rows from: values[i] is
 * row indices[i] of a tensor in the shape `dense_shape`; rows that are named twice are added. All
 * of the tensor is UnsortedSegmentSum(values, indices, dense_shape[0]). */
typedef struct situ_indexed_slices {
  situ_value values, indices, dense_shape;
} situ_indexed_slices;

/* All zero is the default. */
typedef struct situ_gradient_options {
  const char *scope;     /* of the names of the nodes; NULL: "gradients" */
  bool no_colocation;    /* place nodes by the device scope of the call, not with the nodes whose
                            gradients they compute */
  bool gate_gradients;   /* use no gradient of an input of a node before those of all its inputs are
                            there */
  bool zero_unconnected; /* zeros, not an invalid value, for what the ys do not depend on */
  const situ_value *stop; /* values to treat as constants */
  int n_stop;
  const situ_gradient_override *overrides;
  int n_overrides;
  situ_indexed_slices *slices; /* NULL: every gradient is one tensor. Else as many as xs: a gradient
                                  that is made of rows alone is put here, and invalid among
                                  xs_gradients; where it is not, the slices are invalid */
} situ_gradient_options;

/* Registers values of a graph as the gradient of a variable: one value, or the values and indices
 * of slices. `situ simulate` finds the training step of a program by these; variables of one name
 * count once. */
SITU_API void situ_gradient_register(situ_graph *graph, const char *variable,
                                     const situ_value *parts, int n_parts);

/* Adds the gradients of the sum of all ys to the graph: xs_gradients[i] is that for xs[i], of its
 * type and shape, and invalid where no y depends on it. grad_ys (or NULL: ones) are the gradients
 * that arrive at the ys; an invalid one stands for ones. Fails, and names it, on the way through a
 * node whose op has no gradient. */
SITU_API situ_status situ_gradients(situ_graph *graph, const situ_value *ys, int n_ys,
                                    const situ_value *xs, int n_xs, const situ_value *grad_ys,
                                    const situ_gradient_options *options,
                                    situ_value *xs_gradients) SITU_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
