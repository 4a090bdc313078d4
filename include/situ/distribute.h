/* SPDX-License-Identifier: Apache-2.0
 * distribute.h: all-reduce over the devices of a process.
 *
 * A data-parallel program computes gradients of a part of the batch on each device, and adds them
 * on all devices:
 *
 *   situ_value gradients[2] = {on_gpu_0, on_gpu_1}, sums[2];
 *   const char *devices[2] = {"/gpu:0", "/gpu:1"};
 *   situ_status s = situ_all_reduce(graph, gradients, 2, devices, 2, SITU_ALL_REDUCE_AUTO, sums);
 *
 * Values are added in the order in which they are passed, so that the sum is bit-identical in every
 * run and on every device. Only SITU_ALL_REDUCE_BY_LIBRARY uses the order of the vendor's library.
 */
#ifndef SITU_DISTRIBUTE_H
#define SITU_DISTRIBUTE_H

#include "situ/eager.h"
#include "situ/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The all-reduce algorithm. */
typedef enum situ_all_reduce_algorithm {
  SITU_ALL_REDUCE_AUTO,           /* two devices: ON_EACH; more: ON_FIRST for small values, else
                                     SCATTER_GATHER */
  SITU_ALL_REDUCE_ON_FIRST,       /* the first device adds and copies the sum to the others */
  SITU_ALL_REDUCE_ON_EACH,        /* every device adds all values */
  SITU_ALL_REDUCE_SCATTER_GATHER, /* reduce-scatter and all-gather: device i adds slice i and copies
                                     it to the others. As in a ring, each sends and receives
                                     2 (n - 1) / n of the bytes, but in two steps */
  SITU_ALL_REDUCE_BY_LIBRARY      /* NCCL, if available and each device has one of the values; else
                                     AUTO */
} situ_all_reduce_algorithm;

/* Adds the nodes of an all-reduce to a graph: sums[i] is the sum on devices[i]. All values have the
 * same type and shape. SCATTER_GATHER splits value i on device i and needs a known shape. */
SITU_API situ_status situ_all_reduce(situ_graph *graph, const situ_value *values, int n_values,
                                     const char *const *devices, int n_devices,
                                     situ_all_reduce_algorithm how, situ_value *sums) SITU_MUST_USE;

/* Runs an all-reduce eagerly: sums[i] is on the device of tensors[i]. SCATTER_GATHER and BY_LIBRARY
 * are not supported. */
SITU_API situ_status situ_eager_all_reduce(situ_eager *eager, situ_tensor *const *tensors, int n,
                                           situ_all_reduce_algorithm how,
                                           situ_tensor **sums) SITU_MUST_USE;

/* Returns whether a back end has a collective library (NCCL); loads it. */
SITU_API bool situ_all_reduce_has_library(void);

#ifdef __cplusplus
}
#endif
#endif
