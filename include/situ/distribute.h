/* SPDX-License-Identifier: Apache-2.0
 * distribute.h: sums over devices.
 *
 * A program that runs the same computation on several devices, each with its part of a batch, adds
 * the gradients of all and gives every device the sum:
 *
 *   situ_value gradients[2] = {on_gpu_0, on_gpu_1}, sums[2];
 *   const char *devices[2] = {"/gpu:0", "/gpu:1"};
 *   situ_status s = situ_all_reduce(graph, gradients, 2, devices, 2, SITU_REDUCE_AUTO, sums);
 *
 * The terms are added in the order in which they are given, whatever is ready first: the sum is the
 * same in every run, and bit for bit the same on every device. Only where a program asks for a
 * library of the devices' maker (SITU_REDUCE_BY_LIBRARY) the order is the library's.
 */
#ifndef SITU_DISTRIBUTE_H
#define SITU_DISTRIBUTE_H

#include "situ/eager.h"
#include "situ/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Who adds. */
typedef enum situ_reduction {
  SITU_REDUCE_AUTO,       /* two devices: each for itself; more: small values one, large ones all */
  SITU_REDUCE_TO_ONE,     /* the first device adds, the others get copies */
  SITU_REDUCE_EVERYWHERE, /* every device adds everything */
  SITU_REDUCE_IN_PARTS,   /* device i adds part i, and gives it to the others: each sends and gets
                             2 (n - 1) / n of the bytes, as in a ring, in two steps */
  SITU_REDUCE_BY_LIBRARY  /* NCCL adds where there is one and each device has one of the values, in
                             its own order; else as AUTO */
} situ_reduction;

/* Adds the nodes of a sum to a graph: sums[i] is that on devices[i]. The values have one type and
 * shape; in parts, value i is cut on device i, and the shape must be known. */
SITU_API situ_status situ_all_reduce(situ_graph *graph, const situ_value *values, int n_values,
                                     const char *const *devices, int n_devices, situ_reduction how,
                                     situ_value *sums) SITU_MUST_USE;

/* The same at once: sums[i] is on the device of tensors[i]. Not in parts, and without a library. */
SITU_API situ_status situ_eager_all_reduce(situ_eager *eager, situ_tensor *const *tensors, int n,
                                           situ_reduction how, situ_tensor **sums) SITU_MUST_USE;

/* Whether a back end has a library for sums over its devices (NCCL); it is loaded. */
SITU_API bool situ_reduce_has_library(void);

#ifdef __cplusplus
}
#endif
#endif
