/* SPDX-License-Identifier: Apache-2.0
 * cluster.c: implements the public send and receive functions of situ/cluster.h. */
#include "situ/cluster.h"

#include "cluster/collectives.h"
#include "cluster/send_recv.h"
#include "schema/compute.h"

static situ_status ask(void *what) { return compute_interrupted(what); }

#define CALLER(text) (&(struct caller){.what = (text), .ask = ask, .context = (text)})

situ_status situ_cluster_all_reduce(const void *in, void *out, int64_t count, situ_type type,
                                    situ_reduce_op reduction) {
  return collective_all_reduce(CALLER("AllReduce"), in, out, count, type, reduction);
}

situ_status situ_cluster_broadcast(void *data, size_t bytes, int root) {
  return collective_broadcast(CALLER("Broadcast"), data, bytes, root);
}

situ_status situ_cluster_all_gather(const void *data, size_t bytes, void **out, size_t *sizes) {
  return collective_all_gather(CALLER("AllGather"), data, bytes, out, sizes);
}

situ_status situ_cluster_barrier(void) { return collective_barrier(CALLER("Barrier")); }

situ_status situ_cluster_send(const situ_tensor *tensor, int to, const char *name) {
  return cluster_send_tensor(CALLER("Send"), tensor, to, name);
}

situ_status situ_cluster_receive(int from, const char *name, situ_tensor **out) {
  *out = NULL;
  return cluster_receive_tensor(CALLER("Receive"), from, name, out);
}

situ_status situ_cluster_try_receive(int from, const char *name, situ_tensor **out) {
  *out = NULL;
  return cluster_try_receive_tensor(CALLER("Receive"), from, name, out);
}

situ_status situ_cluster_send_error(int to, situ_code code, const char *text) {
  return cluster_send_error(CALLER("Send"), to, code, text);
}

void situ_cluster_set_epoch(uint64_t epoch) { cluster_set_epoch(epoch); }
