/* SPDX-License-Identifier: Apache-2.0
 * internode.c: collectives between machines, whose leaders communicate through MPI. Reduce-scatter
 * followed by all-gather: each machine reduces one part in machine order, so that it sends and
 * receives less than twice the data. */
#include <stdlib.h>

#include "cluster/reduce.h"
#include "cluster/collectives.h"

/* An all-reduce over the machines. */
struct state {
  const struct caller *caller;
  char *data;
  int64_t count;
  size_t size;
  int n, own;                    /* machines */
  struct mpi_request **requests; /* two per machine */
};

/* Receive buffer; never freed, because MPI may still write to it after a failure. Guarded by
 * membership_lock. */
static char *receive_buffer;
static size_t receive_buffer_bytes;

static situ_status reserve_buffer(size_t bytes) {
  if (bytes <= receive_buffer_bytes) return NULL;
  char *grown = malloc(bytes);
  if (!grown) return NO_MEMORY();
  free(receive_buffer);
  receive_buffer = grown;
  receive_buffer_bytes = bytes;
  return NULL;
}

static size_t part_begin(const struct state *state, int machine) {
  return (size_t)(state->count * machine / state->n) * state->size;
}

static size_t part_bytes(const struct state *state, int machine) {
  return part_begin(state, machine + 1) - part_begin(state, machine);
}

/* Every machine receives its part from all others, consecutively. */
static situ_status scatter(const struct state *state, char *parts) {
  const size_t bytes = part_bytes(state, state->own);
  for (int i = 0; i < state->n; i++) {
    if (i == state->own) continue;
    const int rank = membership_current.leaders[i];
    TRY(mpi_receive(parts + (size_t)i * bytes, bytes, rank, MPI_TAG_PART, &state->requests[2 * i]));
    TRY(mpi_send(state->data + part_begin(state, i), part_bytes(state, i), rank, MPI_TAG_PART,
                 &state->requests[2 * i + 1]));
  }
  return wait_requests(state->caller, state->requests, 2 * state->n, -1);
}

static void reduce_parts(const struct state *state, char *parts, situ_type type,
                         situ_reduce_op reduction) {
  const size_t bytes = part_bytes(state, state->own);
  const int64_t n = (int64_t)(bytes / state->size);
  char *own = state->data + part_begin(state, state->own);
  const char *sum = state->own ? parts : own;
  /* The own part is written last, after it has been read. */
  for (int i = 1; i < state->n; i++) {
    const char *from = i == state->own ? own : parts + (size_t)i * bytes;
    char *to = i == state->n - 1 ? own : parts;
    reduce_elements(to, sum, from, n, type, reduction);
    sum = to;
  }
}

static situ_status gather(const struct state *state) {
  const char *own = state->data + part_begin(state, state->own);
  for (int i = 0; i < state->n; i++) {
    if (i == state->own) continue;
    const int rank = membership_current.leaders[i];
    TRY(mpi_receive(state->data + part_begin(state, i), part_bytes(state, i), rank, MPI_TAG_RESULT,
                    &state->requests[2 * i]));
    TRY(mpi_send(own, part_bytes(state, state->own), rank, MPI_TAG_RESULT,
                 &state->requests[2 * i + 1]));
  }
  return wait_requests(state->caller, state->requests, 2 * state->n, -1);
}

situ_status internode_all_reduce(const struct caller *caller, char *data, int64_t count,
                                 situ_type type, situ_reduce_op reduction) {
  struct state state = {.caller = caller,
                        .data = data,
                        .count = count,
                        .size = situ_type_size(type),
                        .n = membership_current.n_machines,
                        .own = membership_current.members[membership_current.rank].machine};
  state.requests = calloc((size_t)state.n * 2, sizeof *state.requests);
  situ_status status = state.requests ? NULL : NO_MEMORY();
  if (!status) status = reserve_buffer(part_bytes(&state, state.own) * (size_t)state.n);
  if (!status) status = scatter(&state, receive_buffer);
  if (!status) {
    reduce_parts(&state, receive_buffer, type, reduction);
    status = gather(&state);
  }
  for (int i = 0; state.requests && i < 2 * state.n; i++) mpi_drop(&state.requests[i]);
  free(state.requests);
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
