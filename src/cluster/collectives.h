/* SPDX-License-Identifier: Apache-2.0
 * collectives.h: collective operations over all ranks. Every rank calls the same functions in
 * the same order. */
#ifndef SITU_CLUSTER_COLLECTIVES_H
#define SITU_CLUSTER_COLLECTIVES_H

#include "cluster/wait.h"

/* As the functions of situ/cluster.h; `caller` is named in errors. */
situ_status collective_all_reduce(const struct caller *caller, const void *in, void *out,
                                  int64_t count, situ_type type,
                                  situ_reduce_op reduction) SITU_MUST_USE;
situ_status collective_broadcast(const struct caller *caller, void *data, size_t bytes,
                                 int root) SITU_MUST_USE;
situ_status collective_all_gather(const struct caller *caller, const void *data, size_t bytes,
                                  void **out, size_t *sizes) SITU_MUST_USE;
situ_status collective_barrier(const struct caller *caller) SITU_MUST_USE;

/* Reduces arrays of the leaders of all machines. Called by leaders with the lock; see internode.c.
 */
situ_status internode_all_reduce(const struct caller *caller, char *data, int64_t count,
                                 situ_type type, situ_reduce_op reduction) SITU_MUST_USE;

/* Broadcasts a chunk from the machine of rank `root` to all others. Called by leaders with the
 * lock; `data` is the source on the root's machine, the destination elsewhere. */
situ_status internode_broadcast(const struct caller *caller, char *data, size_t bytes,
                                int root) SITU_MUST_USE;

#endif
