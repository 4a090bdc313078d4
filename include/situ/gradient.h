/* SPDX-License-Identifier: Apache-2.0
 * gradient.h: adds gradient nodes to a graph (reverse-mode differentiation).
 *
 *   situ_value dw;
 *   situ_status s = situ_gradients(graph, &loss, 1, &w, 1, NULL, NULL, &dw);
 *
 * adds the nodes that compute the derivative of the sum of `loss` with respect to each element of
 * `w`. They are ordinary nodes: they can be run, placed, saved and differentiated again.
 */
#ifndef SITU_GRADIENT_H
#define SITU_GRADIENT_H

#include "situ/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Computes the gradients `dxs` of the inputs of a node from the gradients `dys` of its outputs
 * (invalid value: no gradient). `dxs` are invalid initially; those left invalid propagate no
 * gradient. */
typedef situ_status (*situ_gradient_function)(void *context, situ_value node, const situ_value *dys,
                                              int n_dys, situ_value *dxs, int n_dxs);

/* Overrides the gradient of a node. `inputs` are the values whose gradients `function` computes;
 * they must be older than the node. NULL: the inputs of the node. */
typedef struct situ_gradient_override {
  situ_value node;
  const situ_value *inputs;
  int n_inputs;
  situ_gradient_function function;
  void *context;
} situ_gradient_override;

/* A sparse gradient, such as that of the params of Gather (tf.IndexedSlices): values[i] is the
 * slice indices[i] of a tensor of shape `dense_shape`; slices with equal indices are added. The
 * dense tensor is UnsortedSegmentSum(values, indices, dense_shape[0]). */
typedef struct situ_indexed_slices {
  situ_value values, indices, dense_shape;
} situ_indexed_slices;

/* Options of situ_gradients; zero members are defaults. */
typedef struct situ_gradient_options {
  const char *scope;      /* the name scope of the nodes; NULL: "gradients" */
  bool no_colocation;     /* place nodes by the current device scope instead of colocating them with
                             the nodes that they differentiate */
  bool gate_gradients;    /* compute the gradients of all inputs of a node before any is used */
  bool zero_unconnected;  /* zeros instead of an invalid value where no y depends on an x */
  const situ_value *stop; /* values to treat as constants */
  int n_stop;
  const situ_gradient_override *overrides;
  int n_overrides;
  situ_indexed_slices *slices; /* NULL: all gradients are dense. Else n_xs elements: a sparse
                                  gradient is stored here, and is invalid in xs_gradients; for a
                                  dense gradient the slices are invalid */
} situ_gradient_options;

/* Registers values as the gradient of a variable: one value, or the values and indices of slices.
 * `situ simulate` identifies training steps by these. Variables with equal names count once. */
SITU_API void situ_gradient_register(situ_graph *graph, const char *variable,
                                     const situ_value *values, int n_values);

/* Adds the gradients of the sum of all ys to the graph. xs_gradients[i] has the type and shape of
 * xs[i], and is invalid where no y depends on it. grad_ys are the incoming gradients of the ys;
 * NULL or an invalid value stands for ones. An op without gradient on the path is an error that
 * names its node. */
SITU_API situ_status situ_gradients(situ_graph *graph, const situ_value *ys, int n_ys,
                                    const situ_value *xs, int n_xs, const situ_value *grad_ys,
                                    const situ_gradient_options *options,
                                    situ_value *xs_gradients) SITU_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
