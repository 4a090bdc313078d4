/* SPDX-License-Identifier: Apache-2.0
 * send_recv.h: point-to-point transfer of tensors between ranks. */
#ifndef SITU_CLUSTER_SEND_RECV_H
#define SITU_CLUSTER_SEND_RECV_H

#include "cluster/wait.h"

/* Sends a tensor in host memory; waits where the receiver is slow. Both name it alike; tensors of
 * one name come in the order in which they were sent. */
situ_status cluster_send_tensor(const struct caller *caller, const situ_tensor *tensor, int to,
                                const char *name) SITU_MUST_USE;

/* Waits for a tensor of that name. */
situ_status cluster_receive_tensor(const struct caller *caller, int from, const char *name,
                                   situ_tensor **out) SITU_MUST_USE;

/* Names of this thread's tensors count within an epoch: what was sent in another is not received.
 * 0 is the one to begin with. */
void cluster_set_epoch(uint64_t epoch);

/* Makes a rank that waits for anything of this epoch from this one fail. */
situ_status cluster_send_error(const struct caller *caller, int to, situ_code code,
                               const char *text) SITU_MUST_USE;

/* As cluster_receive_tensor where a tensor of that name has come; else *out is NULL. */
situ_status cluster_try_receive_tensor(const struct caller *caller, int from, const char *name,
                                       situ_tensor **out) SITU_MUST_USE;

/* Throws away what came and nobody wanted. */
void send_recv_clear(void);

#endif
