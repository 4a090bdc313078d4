/* SPDX-License-Identifier: Apache-2.0
 * membership.h: the cluster that this process belongs to. */
#ifndef SITU_CLUSTER_MEMBERSHIP_H
#define SITU_CLUSTER_MEMBERSHIP_H

#include <pthread.h>

#include "cluster/mpi.h"
#include "cluster/segment.h"
#include "situ/cluster.h"

struct membership {
  bool joined;
  bool fast; /* no more ranks on this machine than processors: waiting in a loop is quick */
  int rank, size, n_machines;
  situ_member *members;    /* by rank */
  int *leaders;            /* by machine: the rank of its seat 0 */
  int *ranks;              /* by seat of this machine */
  double timeout;          /* in seconds */
  struct segment segment;  /* of this machine */
  bool told;               /* other machines know of the loss */
  uint64_t pieces, smalls; /* how many were exchanged */
  int generation;          /* of forks */
};

/* The one of the process: 0 of 1 while nothing is joined. */
extern struct membership membership_current;

/* Taken by whoever exchanges something: one exchange at a time, all of it. */
extern pthread_mutex_t membership_lock;

#endif
