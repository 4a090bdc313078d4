/* SPDX-License-Identifier: Apache-2.0
 * cluster.h: collective and point-to-point communication between processes.
 *
 * Each process started by mpirun calls situ_cluster_join and gets a rank, counted from 0. Ranks of
 * one machine communicate through shared memory, machines through OpenMPI, which is loaded on
 * demand. A process that was not started by mpirun is rank 0 of 1, and all calls work. All ranks
 * must make the same collective calls in the same order. Reductions are deterministic: the result
 * does not depend on timing and is bit-identical on all ranks.
 *
 * No call blocks forever: when a rank dies, the others fail with UNAVAILABLE and an error that
 * names it; when a rank does not arrive within SITU_CLUSTER_TIMEOUT seconds, they fail with
 * DEADLINE_EXCEEDED.
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

/* Describes a cluster that was not started by mpirun. */
typedef struct situ_cluster_config {
  int rank, size;
  const char *name; /* identifies the cluster on this machine; the same on all ranks */
} situ_cluster_config;

/* Joins the cluster started by mpirun (config NULL: read from the environment), or the processes of
 * this machine with the same config->name. Blocks until all ranks have joined. A second call does
 * nothing. */
SITU_API situ_status situ_cluster_join(const situ_cluster_config *config) SITU_MUST_USE;

/* Leaves the cluster: ranks that wait for this one fail. Does nothing before situ_cluster_join. */
SITU_API void situ_cluster_leave(void);

/* Returns whether situ_cluster_join was called. */
SITU_API bool situ_cluster_joined(void);

/* The rank of this process and the number of ranks; 0 and 1 before situ_cluster_join. */
SITU_API int situ_cluster_rank(void);
SITU_API int situ_cluster_size(void);

/* The same among the processes of this machine. */
SITU_API int situ_cluster_local_rank(void);
SITU_API int situ_cluster_local_size(void);

/* A process of the cluster. */
typedef struct situ_member {
  int rank;
  int machine, local_rank; /* both count from 0 */
  int pid;
  char host[64];
} situ_member;

/* Describes the process with a rank. */
SITU_API situ_status situ_cluster_member(int rank, situ_member *out) SITU_MUST_USE;

/* Returns whether a rank is known to have left or died. */
SITU_API bool situ_cluster_has_left(int rank);

/* All-reduce: combines `count` elements of each rank; every rank gets the result. `in` may equal
 * `out`. */
SITU_API situ_status situ_cluster_all_reduce(const void *in, void *out, int64_t count,
                                             situ_type type,
                                             situ_reduce_op reduction) SITU_MUST_USE;

/* Broadcast: copies the bytes of rank `root` to every rank. */
SITU_API situ_status situ_cluster_broadcast(void *data, size_t bytes, int root) SITU_MUST_USE;

/* All-gather: every rank gets the concatenated bytes of all ranks, in memory that the caller frees
 * with free(). sizes[rank] is set to the number of bytes of each rank. */
SITU_API situ_status situ_cluster_all_gather(const void *data, size_t bytes, void **out,
                                             size_t *sizes) SITU_MUST_USE;

/* Returns when all ranks have called it. */
SITU_API situ_status situ_cluster_barrier(void) SITU_MUST_USE;

/* Sends a tensor in host memory to a rank, which receives it by the same name. May block until the
 * receiver is ready. */
SITU_API situ_status situ_cluster_send(const situ_tensor *tensor, int to,
                                       const char *name) SITU_MUST_USE;
SITU_API situ_status situ_cluster_receive(int from, const char *name,
                                          situ_tensor **out) SITU_MUST_USE;

/* Non-blocking situ_cluster_receive: sets *out to NULL if no tensor of that name has arrived. */
SITU_API situ_status situ_cluster_try_receive(int from, const char *name,
                                              situ_tensor **out) SITU_MUST_USE;

/* Makes receives of rank `to` from this rank fail with `code` and `message`. */
SITU_API situ_status situ_cluster_send_error(int to, situ_code code,
                                             const char *message) SITU_MUST_USE;

/* Sets the epoch of the tensors that this thread sends and receives (initially 0). A tensor is
 * only received in the epoch in which it was sent, so that a run never receives tensors left over
 * from a failed one. */
SITU_API void situ_cluster_set_epoch(uint64_t epoch);

/* Adds a copy of a node of another graph with the same name and attributes and new inputs; used to
 * partition a graph by process. Device, control inputs and colocation come from the scopes of
 * `graph`. Tensors and functions are shared: the other graph must outlive `graph`. */
SITU_API situ_value situ_emit_copy(situ_graph *graph, situ_value node, const situ_value *inputs,
                                   int n_inputs);

#ifdef __cplusplus
}
#endif
#endif
