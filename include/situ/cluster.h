/* SPDX-License-Identifier: Apache-2.0
 * cluster.h: several processes that compute together, on one machine or on many.
 *
 * Processes that mpirun starts know each other: each calls situ_cluster_join, and has a rank, a
 * number from 0. Inside a machine they exchange through shared memory, between machines through
 * OpenMPI, which is loaded when it is needed; a process that nobody started so is rank 0 of 1, and
 * everything works. Every rank must make the same collective calls in the same order. What a
 * reduction gives does not depend on timing, and is the same on every rank to the bit.
 *
 * No call blocks for ever: when a rank dies, the others fail with UNAVAILABLE, and the text names
 * it; when one does not come in time (SITU_CLUSTER_TIMEOUT, in seconds), with DEADLINE_EXCEEDED.
 */
#ifndef SITU_CLUSTER_H
#define SITU_CLUSTER_H

#include "situ/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How a reduction combines the values of the ranks. */
typedef enum situ_reduce_op {
  SITU_REDUCE_SUM,
  SITU_REDUCE_MEAN,
  SITU_REDUCE_MIN,
  SITU_REDUCE_MAX,
  SITU_REDUCE_PRODUCT
} situ_reduce_op;

/* A cluster that mpirun did not start. */
typedef struct situ_cluster_config {
  int rank, size;
  const char *name; /* the same on all ranks of a cluster, and no other cluster's */
} situ_cluster_config;

/* Joins the ranks that mpirun started (config NULL: the environment says which), or processes of
 * this machine that agree on a name. Waits until all are there. A second call does nothing. */
SITU_API situ_status situ_cluster_join(const situ_cluster_config *config) SITU_MUST_USE;

/* Leaves it: others that wait for this rank fail. Does nothing where nothing was joined. */
SITU_API void situ_cluster_leave(void);

/* Whether situ_cluster_join was called. */
SITU_API bool situ_cluster_joined(void);

/* This process among all: 0 <= rank < size; 0 of 1 where nothing was joined. */
SITU_API int situ_cluster_rank(void);
SITU_API int situ_cluster_size(void);

/* The same among those of this machine. */
SITU_API int situ_cluster_local_rank(void);
SITU_API int situ_cluster_local_size(void);

/* A process of the cluster. */
typedef struct situ_member {
  int rank;
  int machine, local_rank; /* both count from 0 */
  int pid;
  char host[64];
} situ_member;

/* The process with a rank. */
SITU_API situ_status situ_cluster_member(int rank, situ_member *out) SITU_MUST_USE;

/* Whether a rank is known to have left or died. */
SITU_API bool situ_cluster_has_left(int rank);

/* Reduces `count` elements of all ranks; every rank gets the result. `in` may be `out`. */
SITU_API situ_status situ_cluster_all_reduce(const void *in, void *out, int64_t count,
                                             situ_type type,
                                             situ_reduce_op reduction) SITU_MUST_USE;

/* Every rank gets the bytes of rank `root`. */
SITU_API situ_status situ_cluster_broadcast(void *data, size_t bytes, int root) SITU_MUST_USE;

/* Every rank gets the bytes of all, one rank's behind the other's, in memory that the caller gives
 * to free(); sizes[rank] says how many each has. */
SITU_API situ_status situ_cluster_all_gather(const void *data, size_t bytes, void **out,
                                             size_t *sizes) SITU_MUST_USE;

/* Returns when all ranks have called it. */
SITU_API situ_status situ_cluster_barrier(void) SITU_MUST_USE;

/* Sends a tensor in host memory to a rank, which receives it under the same name. May wait until it
 * does. */
SITU_API situ_status situ_cluster_send(const situ_tensor *tensor, int to,
                                       const char *name) SITU_MUST_USE;
SITU_API situ_status situ_cluster_receive(int from, const char *name,
                                          situ_tensor **out) SITU_MUST_USE;

/* As situ_cluster_receive where a tensor of that name has come; else *out is NULL. */
SITU_API situ_status situ_cluster_try_receive(int from, const char *name,
                                              situ_tensor **out) SITU_MUST_USE;

/* Makes a rank that waits for a tensor from this rank fail. */
SITU_API situ_status situ_cluster_send_error(int to, situ_code code,
                                             const char *text) SITU_MUST_USE;

/* Names of tensors that this thread sends and receives count within an epoch, a number on which
 * both sides agree: what a failed run has sent is never taken for another's. 0 is the one to begin
 * with.
 */
SITU_API void situ_cluster_set_epoch(uint64_t epoch);

/* Adds a copy of a node of another graph, with the same name and attributes and other inputs, for a
 * graph that holds the part of one process. Device, control inputs and colocation are those of the
 * scopes of `graph`. Tensors and functions are shared: the other graph must live as long. */
SITU_API situ_value situ_emit_copy(situ_graph *graph, situ_value node, const situ_value *inputs,
                                   int n_inputs);

#ifdef __cplusplus
}
#endif
#endif
