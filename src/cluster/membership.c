/* SPDX-License-Identifier: Apache-2.0
 * membership.c: joins a cluster: determines the ranks, their machines and local ranks. */
#include "cluster/membership.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fork.h"
#include "cluster/send_recv.h"
#include "device/environment.h"

enum { DEFAULT_TIMEOUT = 300, NAME = 96 };

struct membership membership_current = {.size = 1, .n_machines = 1};
pthread_mutex_t membership_lock = PTHREAD_MUTEX_INITIALIZER;

/* Identity of this rank before it communicates. */
struct identity {
  int rank, size;
  bool one_machine;
  char name[NAME];
};

static int get_env_int(const char *variable, int default_value) {
  const char *text = getenv(variable);
  return text && *text ? atoi(text) : default_value;
}

/* "RANK/SIZE/NAME" */
static situ_status parse_situ_cluster(const char *text, struct identity *out) {
  const int n = sscanf(text, "%d/%d/%90s", &out->rank, &out->size, out->name);
  out->one_machine = true;
  if (n == 3 && out->size > 0 && out->rank >= 0 && out->rank < out->size) return NULL;
  return INVALID("SITU_CLUSTER=%s is not RANK/SIZE/NAME, as in 0/2/job7.", text);
}

static void read_mpirun_environment(struct identity *out) {
  const char *job = getenv("PMIX_NAMESPACE");
  if (!job) job = getenv("OMPI_MCA_ess_base_jobid");
  out->rank = get_env_int("OMPI_COMM_WORLD_RANK", 0);
  out->size = get_env_int("OMPI_COMM_WORLD_SIZE", 1);
  out->one_machine = get_env_int("OMPI_COMM_WORLD_LOCAL_SIZE", 1) == out->size &&
                     get_env_int("SITU_CLUSTER_MACHINE_SIZE", out->size) >= out->size;
  snprintf(out->name, NAME, "mpi-%.80s", job ? job : "job");
}

static situ_status read_identity(const situ_cluster_config *config, struct identity *out) {
  *out = (struct identity){.size = 1, .one_machine = true};
  const char *text = getenv("SITU_CLUSTER");
  if (!config && text && *text) return parse_situ_cluster(text, out);
  if (!config) {
    read_mpirun_environment(out);
    return NULL;
  }
  if (config->size < 1 || config->rank < 0 || config->rank >= config->size || !config->name)
    return INVALID("A cluster needs a name, and a rank %d that is less than its size %d.",
                   config->rank, config->size);
  out->rank = config->rank;
  out->size = config->size;
  snprintf(out->name, NAME, "%.90s", config->name);
  return NULL;
}

static void describe_self(int rank, situ_member *out) {
  *out = (situ_member){.rank = rank, .pid = (int)getpid()};
  if (gethostname(out->host, sizeof out->host - 1)) snprintf(out->host, sizeof out->host, "?");
  /* For tests: treats the ranks of one machine as several machines. */
  const int machine_size = get_env_int("SITU_CLUSTER_MACHINE_SIZE", 0);
  if (!machine_size) return;
  const size_t used = strnlen(out->host, sizeof out->host - 16);
  snprintf(out->host + used, sizeof out->host - used, "#%d", rank / machine_size);
}

/* Numbers the machines in rank order, and the local ranks of each. */
static void number_machines(struct membership *membership) {
  membership->n_machines = 0;
  for (int i = 0; i < membership->size; i++) {
    situ_member *member = &membership->members[i];
    const situ_member *last = NULL;
    for (int k = 0; k < i; k++)
      if (!strcmp(membership->members[k].host, member->host)) last = &membership->members[k];
    member->machine = last ? last->machine : membership->n_machines++;
    member->local_rank = last ? last->local_rank + 1 : 0;
    if (!last) membership->leaders[member->machine] = i;
  }
}

static int list_local_ranks(struct membership *membership) {
  int n = 0;
  for (int i = 0; i < membership->size; i++)
    if (membership->members[i].machine == membership->members[membership->rank].machine)
      membership->ranks[n++] = i;
  return n;
}

static situ_status exchange_members(const struct identity *identity,
                                    struct membership *membership) {
  situ_member own;
  describe_self(identity->rank, &own);
  if (identity->one_machine) {
    for (int i = 0; i < membership->size; i++) {
      membership->members[i] = own;
      membership->members[i].rank = i;
    }
    return NULL;
  }
  int rank = 0, size = 0;
  TRY(mpi_start(&rank, &size));
  if (rank != membership->rank || size != membership->size)
    return INTERNAL("MPI says rank %d of %d, mpirun said %d of %d.", rank, size, membership->rank,
                    membership->size);
  return mpi_all_gather(&own, sizeof own, membership->members);
}

static situ_status join_segment(const struct identity *identity, struct membership *membership) {
  const situ_member *own = &membership->members[membership->rank];
  const int n_seats = list_local_ranks(membership);
  char name[NAME + 16];
  snprintf(name, sizeof name, "%s-%d", identity->name, own->machine);
  TRY(segment_join(name, own->local_rank, n_seats, membership->timeout, &membership->segment));
  for (int i = 0; i < n_seats; i++)
    membership->members[membership->ranks[i]].pid = atomic_load(&membership->segment.seats[i].pid);
  membership->can_spin = n_seats <= sysconf(_SC_NPROCESSORS_ONLN);
  return NULL;
}

static void reset_membership(struct membership *membership) {
  segment_leave(&membership->segment);
  free(membership->members);
  free(membership->leaders);
  free(membership->ranks);
  *membership = (struct membership){.size = 1, .n_machines = 1};
}

static situ_status join_cluster(const struct identity *identity, struct membership *membership) {
  const size_t n = (size_t)identity->size;
  const char *timeout = getenv("SITU_CLUSTER_TIMEOUT");
  *membership = (struct membership){
      .rank = identity->rank,
      .size = identity->size,
      .timeout = timeout && atof(timeout) > 0 ? atof(timeout) : (double)DEFAULT_TIMEOUT,
      .generation = fork_generation(),
      .members = calloc(n, sizeof *membership->members),
      .leaders = calloc(n, sizeof *membership->leaders),
      .ranks = calloc(n, sizeof *membership->ranks)};
  if (!membership->members || !membership->leaders || !membership->ranks) return NO_MEMORY();
  TRY(exchange_members(identity, membership));
  number_machines(membership);
  return membership->size > 1 ? join_segment(identity, membership) : NULL;
}

situ_status situ_cluster_join(const situ_cluster_config *config) {
  static struct fork_handler fork_handler;
  struct identity identity;
  TRY(environment_check());
  TRY(read_identity(config, &identity));
  fork_mutex_register(&membership_lock, &fork_handler);
  pthread_mutex_lock(&membership_lock);
  situ_status status = NULL;
  if (!membership_current.is_joined) {
    status = join_cluster(&identity, &membership_current);
    if (status) reset_membership(&membership_current);
    membership_current.is_joined = !status;
  }
  pthread_mutex_unlock(&membership_lock);
  return status;
}

void situ_cluster_leave(void) {
  pthread_mutex_lock(&membership_lock);
  if (membership_current.is_joined && membership_current.generation == fork_generation()) {
    const struct segment_head *head = membership_current.segment.head;
    const bool is_complete = !head || !atomic_load(&head->lost);
    reset_membership(&membership_current);
    send_recv_clear();
    if (is_complete) mpi_stop(); /* otherwise MPI_Finalize would wait for the lost rank */
  }
  pthread_mutex_unlock(&membership_lock);
}

bool situ_cluster_joined(void) { return membership_current.is_joined; }

int situ_cluster_rank(void) { return membership_current.rank; }

int situ_cluster_size(void) { return membership_current.size; }

int situ_cluster_local_rank(void) {
  return membership_current.is_joined
             ? membership_current.members[membership_current.rank].local_rank
             : 0;
}

int situ_cluster_local_size(void) {
  return membership_current.segment.head ? membership_current.segment.n_seats : 1;
}

situ_status situ_cluster_member(int rank, situ_member *out) {
  if (rank < 0 || rank >= membership_current.size)
    return INVALID("There is no rank %d: there are %d.", rank, membership_current.size);
  if (membership_current.is_joined)
    *out = membership_current.members[rank];
  else
    describe_self(0, out);
  return NULL;
}

bool situ_cluster_has_left(int rank) {
  const struct membership *membership = &membership_current;
  if (!membership->segment.head || rank < 0 || rank >= membership->size) return false;
  const situ_member *member = &membership->members[rank];
  if (atomic_load(&membership->segment.head->lost) == rank + 1) return true;
  if (member->machine != membership->members[membership->rank].machine) return false;
  const struct seat *seat = &membership->segment.seats[member->local_rank];
  return atomic_load(&seat->left) || !segment_alive(&membership->segment, member->local_rank);
}
