/* SPDX-License-Identifier: Apache-2.0
 * internode.c: collectives between machines: their leaders communicate through MPI. Each reduces
 * one part of a piece over all machines, in their order; so every machine sends and receives
 * less than twice the piece. */
#include <stdlib.h>

#include "cluster/reduce.h"
#include "cluster/collectives.h"

/* An array of all machines. */
struct far {
  const struct caller *caller;
  char *data;
  int64_t count;
  size_t size;
  int n, own;                    /* machines */
  struct mpi_request **requests; /* two per machine */
};

/* For parts of others; kept, because MPI may still write to it after a failure. Guarded by the lock
 * of the world. */
static char *room;
static size_t room_bytes;

static situ_status make_room(size_t bytes) {
  if (bytes <= room_bytes) return NULL;
  char *larger = malloc(bytes);
  if (!larger) return NO_MEMORY();
  free(room);
  room = larger;
  room_bytes = bytes;
  return NULL;
}

static size_t part_begin(const struct far *far, int machine) {
  return (size_t)(far->count * machine / far->n) * far->size;
}

static size_t part_bytes(const struct far *far, int machine) {
  return part_begin(far, machine + 1) - part_begin(far, machine);
}

/* Every machine gets its part of all others, one behind the other. */
static situ_status scatter(const struct far *far, char *parts) {
  const size_t bytes = part_bytes(far, far->own);
  for (int i = 0; i < far->n; i++) {
    if (i == far->own) continue;
    const int rank = membership_current.leaders[i];
    TRY(mpi_receive(parts + (size_t)i * bytes, bytes, rank, MPI_TAG_PART, &far->requests[2 * i]));
    TRY(mpi_send(far->data + part_begin(far, i), part_bytes(far, i), rank, MPI_TAG_PART,
                 &far->requests[2 * i + 1]));
  }
  return wait_requests(far->caller, far->requests, 2 * far->n, -1);
}

static void reduce(const struct far *far, char *parts, situ_type type, situ_reduce_op reduction) {
  const size_t bytes = part_bytes(far, far->own);
  const int64_t n = (int64_t)(bytes / far->size);
  char *own = far->data + part_begin(far, far->own);
  const char *sum = far->own ? parts : own;
  /* The own part is overwritten last, when it has been read. */
  for (int i = 1; i < far->n; i++) {
    const char *from = i == far->own ? own : parts + (size_t)i * bytes;
    char *to = i == far->n - 1 ? own : parts;
    reduce_elements(to, sum, from, n, type, reduction);
    sum = to;
  }
}

static situ_status spread(const struct far *far) {
  const char *own = far->data + part_begin(far, far->own);
  for (int i = 0; i < far->n; i++) {
    if (i == far->own) continue;
    const int rank = membership_current.leaders[i];
    TRY(mpi_receive(far->data + part_begin(far, i), part_bytes(far, i), rank, MPI_TAG_RESULT,
                    &far->requests[2 * i]));
    TRY(mpi_send(own, part_bytes(far, far->own), rank, MPI_TAG_RESULT, &far->requests[2 * i + 1]));
  }
  return wait_requests(far->caller, far->requests, 2 * far->n, -1);
}

situ_status internode_all_reduce(const struct caller *caller, char *data, int64_t count,
                                 situ_type type, situ_reduce_op reduction) {
  struct far far = {.caller = caller,
                    .data = data,
                    .count = count,
                    .size = situ_type_size(type),
                    .n = membership_current.n_machines,
                    .own = membership_current.members[membership_current.rank].machine};
  far.requests = calloc((size_t)far.n * 2, sizeof *far.requests);
  situ_status status = far.requests ? NULL : NO_MEMORY();
  if (!status) status = make_room(part_bytes(&far, far.own) * (size_t)far.n);
  if (!status) status = scatter(&far, room);
  if (!status) {
    reduce(&far, room, type, reduction);
    status = spread(&far);
  }
  for (int i = 0; far.requests && i < 2 * far.n; i++) mpi_drop(&far.requests[i]);
  free(far.requests);
  return status;
}

situ_status internode_broadcast(const struct caller *caller, char *data, size_t bytes, int root) {
  const struct membership *membership = &membership_current;
  const int from = membership->members[root].machine,
            own = membership->members[membership->rank].machine;
  const int n = membership->n_machines;
  if (own != from) {
    struct mpi_request *request = NULL;
    TRY(mpi_receive(data, bytes, membership->leaders[from], MPI_TAG_PIECE, &request));
    return wait_requests(caller, &request, 1, membership->leaders[from]);
  }
  struct mpi_request **requests = calloc((size_t)n, sizeof *requests);
  if (!requests) return NO_MEMORY();
  situ_status status = NULL;
  for (int i = 0; i < n && !status; i++)
    if (i != own)
      status = mpi_send(data, bytes, membership->leaders[i], MPI_TAG_PIECE, &requests[i]);
  if (!status) status = wait_requests(caller, requests, n, -1);
  free(requests);
  return status;
}
