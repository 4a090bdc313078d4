/* SPDX-License-Identifier: Apache-2.0
 * distribute.h: all-reduce over devices.
 *
 * A program that runs the same computation on several devices, each with its part of a batch, adds
 * the gradients of all and gives every device the sum:
 *
 *   situ_value gradients[2] = {on_gpu_0, on_gpu_1}, sums[2];
 *   const char *devices[2] = {"/gpu:0", "/gpu:1"};
 *   situ_status s = situ_all_reduce(graph, gradients, 2, devices, 2, SITU_ALL_REDUCE_AUTO, sums);
 *
 * The terms are added in the order in which they are given, whatever is ready first: the sum is the
 * same in every run, and bit for bit the same on every device. Only where a program asks for a
 * library of the devices' maker (SITU_ALL_REDUCE_BY_LIBRARY) the order is the library's.
 */
#ifndef SITU_DISTRIBUTE_H
#define SITU_DISTRIBUTE_H

#include "situ/eager.h"
#include "situ/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which device computes the sums. */
typedef enum situ_all_reduce_algorithm {
  SITU_ALL_REDUCE_AUTO, /* two devices: each for itself; more: small values one, large ones all */
  SITU_ALL_REDUCE_ON_FIRST,       /* the first device adds, the others get copies */
  SITU_ALL_REDUCE_ON_EACH,        /* every device adds everything */
  SITU_ALL_REDUCE_SCATTER_GATHER, /* device i adds part i, and gives it to the others: each sends
                                     and gets 2 (n - 1) / n of the bytes, as in a ring, in two
                                     steps */
  SITU_ALL_REDUCE_BY_LIBRARY /* NCCL adds where there is one and each device has one of the values,
                                in its own order; else as AUTO */
} situ_all_reduce_algorithm;

/* Adds the nodes of an all-reduce to a graph: sums[i] is the sum on devices[i]. The values have one
 * type and shape; SCATTER_GATHER splits value i on device i, and needs a known shape. */
SITU_API situ_status situ_all_reduce(situ_graph *graph, const situ_value *values, int n_values,
                                     const char *const *devices, int n_devices,
                                     situ_all_reduce_algorithm how, situ_value *sums) SITU_MUST_USE;

/* The same eagerly: sums[i] is on the device of tensors[i]. SCATTER_GATHER and BY_LIBRARY are not
 * available. */
SITU_API situ_status situ_eager_all_reduce(situ_eager *eager, situ_tensor *const *tensors, int n,
                                           situ_all_reduce_algorithm how,
                                           situ_tensor **sums) SITU_MUST_USE;

/* Whether a back end has a collective library (NCCL), which is loaded. */
SITU_API bool situ_all_reduce_has_library(void);

#ifdef __cplusplus
}
#endif
#endif
