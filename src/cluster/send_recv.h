/* SPDX-License-Identifier: Apache-2.0
 * send_recv.h: point-to-point transfer of tensors between ranks. */
#ifndef SITU_CLUSTER_SEND_RECV_H
#define SITU_CLUSTER_SEND_RECV_H

#include "cluster/wait.h"

/* Sends a tensor in host memory; blocks if the receiver is slow. Sender and receiver use the same
 * name; tensors of one name arrive in order. */
situ_status cluster_send_tensor(const struct caller *caller, const situ_tensor *tensor, int to,
                                const char *name) SITU_MUST_USE;

/* Receives a tensor of that name; blocks. */
situ_status cluster_receive_tensor(const struct caller *caller, int from, const char *name,
                                   situ_tensor **out) SITU_MUST_USE;

/* Sets the epoch of this thread's transfers: tensors sent in another epoch are not received.
 * Initially 0. */
void cluster_set_epoch(uint64_t epoch);

/* Makes receives of rank `to` from this rank fail in this epoch. */
situ_status cluster_send_error(const struct caller *caller, int to, situ_code code,
                               const char *text) SITU_MUST_USE;

/* As cluster_receive_tensor if a tensor of that name has arrived; otherwise *out is NULL. */
situ_status cluster_try_receive_tensor(const struct caller *caller, int from, const char *name,
                                       situ_tensor **out) SITU_MUST_USE;

/* Drops received tensors that were not requested. */
void send_recv_clear(void);

#endif
