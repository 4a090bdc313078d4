/* SPDX-License-Identifier: Apache-2.0
 * membership.h: the cluster that this process belongs to. */
#ifndef SITU_CLUSTER_MEMBERSHIP_H
#define SITU_CLUSTER_MEMBERSHIP_H

#include <pthread.h>

#include "cluster/mpi.h"
#include "cluster/segment.h"
#include "situ/cluster.h"

struct membership {
  bool is_joined;
  bool can_spin; /* not more local ranks than processors: spinning is efficient */
  int rank, size, n_machines;
  situ_member *members;                 /* by rank */
  int *leaders;                         /* by machine: rank of its leader (seat 0) */
  int *ranks;                           /* by seat (local rank) of this machine */
  double timeout;                       /* in seconds */
  struct segment segment;               /* shared memory of this machine */
  bool is_loss_sent;                    /* other machines were notified of a lost rank */
  uint64_t n_chunks_exchanged, n_small; /* number of chunks and small arrays exchanged */
  int generation;                       /* fork_generation() when it joined */
};

/* The membership of the process: rank 0 of 1 before joining. */
extern struct membership membership_current;

/* Held during a whole exchange: one exchange at a time. */
extern pthread_mutex_t membership_lock;

#endif
