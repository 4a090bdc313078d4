/* SPDX-License-Identifier: Apache-2.0
 * world.c: joining a cluster: who is there, on which machine. */
#include "cluster/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fork.h"
#include "cluster/post.h"
#include "device/environment.h"

enum { DEFAULT_TIMEOUT = 300, NAME = 96 };

struct world world_here = {.size = 1, .n_machines = 1};
pthread_mutex_t world_lock = PTHREAD_MUTEX_INITIALIZER;

/* What is known before anybody is met. */
struct invitation {
  int rank, size;
  bool one_machine;
  char name[NAME];
};

static int number_of(const char *variable, int otherwise) {
  const char *text = getenv(variable);
  return text && *text ? atoi(text) : otherwise;
}

/* "RANK/SIZE/NAME" */
static situ_status invited_by_hand(const char *text, struct invitation *out) {
  const int n = sscanf(text, "%d/%d/%90s", &out->rank, &out->size, out->name);
  out->one_machine = true;
  if (n == 3 && out->size > 0 && out->rank >= 0 && out->rank < out->size) return NULL;
  return INVALID("SITU_CLUSTER=%s is not RANK/SIZE/NAME, as in 0/2/job7.", text);
}

static void invited_by_mpirun(struct invitation *out) {
  const char *job = getenv("PMIX_NAMESPACE");
  if (!job) job = getenv("OMPI_MCA_ess_base_jobid");
  out->rank = number_of("OMPI_COMM_WORLD_RANK", 0);
  out->size = number_of("OMPI_COMM_WORLD_SIZE", 1);
  out->one_machine = number_of("OMPI_COMM_WORLD_LOCAL_SIZE", 1) == out->size &&
                     number_of("SITU_CLUSTER_MACHINE_SIZE", out->size) >= out->size;
  snprintf(out->name, NAME, "mpi-%.80s", job ? job : "job");
}

static situ_status read_invitation(const situ_cluster_config *config, struct invitation *out) {
  *out = (struct invitation){.size = 1, .one_machine = true};
  const char *text = getenv("SITU_CLUSTER");
  if (!config && text && *text) return invited_by_hand(text, out);
  if (!config) {
    invited_by_mpirun(out);
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

static void introduce(int rank, situ_member *out) {
  *out = (situ_member){.rank = rank, .pid = (int)getpid()};
  if (gethostname(out->host, sizeof out->host - 1)) snprintf(out->host, sizeof out->host, "?");
  /* Ranks of one machine can be taken for those of several, to try how these do. */
  const int few = number_of("SITU_CLUSTER_MACHINE_SIZE", 0);
  if (!few) return;
  const size_t used = strnlen(out->host, sizeof out->host - 16);
  snprintf(out->host + used, sizeof out->host - used, "#%d", rank / few);
}

/* Numbers the machines in the order of ranks, and the ranks of each. */
static void number_machines(struct world *world) {
  world->n_machines = 0;
  for (int i = 0; i < world->size; i++) {
    situ_member *member = &world->members[i];
    const situ_member *last = NULL;
    for (int k = 0; k < i; k++)
      if (!strcmp(world->members[k].host, member->host)) last = &world->members[k];
    member->machine = last ? last->machine : world->n_machines++;
    member->local_rank = last ? last->local_rank + 1 : 0;
    if (!last) world->leaders[member->machine] = i;
  }
}

static int list_seats(struct world *world) {
  int n = 0;
  for (int i = 0; i < world->size; i++)
    if (world->members[i].machine == world->members[world->rank].machine) world->ranks[n++] = i;
  return n;
}

static situ_status meet(const struct invitation *invitation, struct world *world) {
  situ_member own;
  introduce(invitation->rank, &own);
  if (invitation->one_machine) {
    for (int i = 0; i < world->size; i++) {
      world->members[i] = own;
      world->members[i].rank = i;
    }
    return NULL;
  }
  int rank = 0, size = 0;
  TRY(mpi_start(&rank, &size));
  if (rank != world->rank || size != world->size)
    return INTERNAL("MPI says rank %d of %d, mpirun said %d of %d.", rank, size, world->rank,
                    world->size);
  return mpi_all_gather(&own, sizeof own, world->members);
}

static situ_status share_memory(const struct invitation *invitation, struct world *world) {
  const situ_member *own = &world->members[world->rank];
  const int n_seats = list_seats(world);
  char name[NAME + 16];
  snprintf(name, sizeof name, "%s-%d", invitation->name, own->machine);
  TRY(segment_join(name, own->local_rank, n_seats, world->timeout, &world->segment));
  for (int i = 0; i < n_seats; i++)
    world->members[world->ranks[i]].pid = atomic_load(&world->segment.seats[i].pid);
  world->fast = n_seats <= sysconf(_SC_NPROCESSORS_ONLN);
  return NULL;
}

static void forget(struct world *world) {
  segment_leave(&world->segment);
  free(world->members);
  free(world->leaders);
  free(world->ranks);
  *world = (struct world){.size = 1, .n_machines = 1};
}

static situ_status enter(const struct invitation *invitation, struct world *world) {
  const size_t n = (size_t)invitation->size;
  const char *patience = getenv("SITU_CLUSTER_TIMEOUT");
  *world = (struct world){
      .rank = invitation->rank,
      .size = invitation->size,
      .timeout = patience && atof(patience) > 0 ? atof(patience) : (double)DEFAULT_TIMEOUT,
      .generation = fork_generation(),
      .members = calloc(n, sizeof *world->members),
      .leaders = calloc(n, sizeof *world->leaders),
      .ranks = calloc(n, sizeof *world->ranks)};
  if (!world->members || !world->leaders || !world->ranks) return NO_MEMORY();
  TRY(meet(invitation, world));
  number_machines(world);
  return world->size > 1 ? share_memory(invitation, world) : NULL;
}

situ_status situ_cluster_join(const situ_cluster_config *config) {
  static struct fork_handler fork_handler;
  struct invitation invitation;
  TRY(environment_check());
  TRY(read_invitation(config, &invitation));
  fork_mutex_register(&world_lock, &fork_handler);
  pthread_mutex_lock(&world_lock);
  situ_status status = NULL;
  if (!world_here.joined) {
    status = enter(&invitation, &world_here);
    if (status) forget(&world_here);
    world_here.joined = !status;
  }
  pthread_mutex_unlock(&world_lock);
  return status;
}

void situ_cluster_leave(void) {
  pthread_mutex_lock(&world_lock);
  if (world_here.joined && world_here.generation == fork_generation()) {
    const struct segment_head *head = world_here.segment.head;
    const bool whole = !head || !atomic_load(&head->lost);
    forget(&world_here);
    post_clear();
    if (whole) mpi_stop(); /* else it would wait for the one who is lost */
  }
  pthread_mutex_unlock(&world_lock);
}

bool situ_cluster_joined(void) { return world_here.joined; }

int situ_cluster_rank(void) { return world_here.rank; }

int situ_cluster_size(void) { return world_here.size; }

int situ_cluster_local_rank(void) {
  return world_here.joined ? world_here.members[world_here.rank].local_rank : 0;
}

int situ_cluster_local_size(void) {
  return world_here.segment.head ? world_here.segment.n_seats : 1;
}

situ_status situ_cluster_member(int rank, situ_member *out) {
  if (rank < 0 || rank >= world_here.size)
    return INVALID("There is no rank %d: there are %d.", rank, world_here.size);
  if (world_here.joined)
    *out = world_here.members[rank];
  else
    introduce(0, out);
  return NULL;
}

bool situ_cluster_gone(int rank) {
  const struct world *world = &world_here;
  if (!world->segment.head || rank < 0 || rank >= world->size) return false;
  const situ_member *member = &world->members[rank];
  if (atomic_load(&world->segment.head->lost) == rank + 1) return true;
  if (member->machine != world->members[world->rank].machine) return false;
  const struct seat *seat = &world->segment.seats[member->local_rank];
  return atomic_load(&seat->left) || !segment_alive(&world->segment, member->local_rank);
}
