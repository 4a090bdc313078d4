/* SPDX-License-Identifier: Apache-2.0
 * send_recv.c: point-to-point transfer of tensors between ranks: through a ring buffer in shared
 * memory, or MPI. Tensors that arrive before they are requested are queued. */
#include "cluster/send_recv.h"

#include <stdlib.h>
#include <string.h>

#include "tensor/tensor.h"

/* Header of a message. */
struct message_header {
  uint64_t name;  /* hash of the name and epoch */
  uint64_t bytes; /* payload size */
  int32_t type;
  situ_shape shape;
};

/* A received tensor that is not requested yet. */
struct pending {
  struct pending *next;
  int from;
  uint64_t name;
  situ_tensor *tensor;
};

static struct pending *pending_tensors; /* in order of arrival */

static _Thread_local uint64_t current_epoch;
static const char error_name[] = "!failed"; /* name of a tensor with an error code and message */

void cluster_set_epoch(uint64_t epoch) { current_epoch = epoch; }

static uint64_t hash(const char *text) {
  uint64_t h = 14695981039346656037u ^ (current_epoch * 0x9e3779b97f4a7c15u);
  for (; *text; text++) h = (h ^ (unsigned char)*text) * 1099511628211u;
  return h;
}

static bool is_local(int rank) {
  const struct membership *membership = &membership_current;
  return membership->members[rank].machine == membership->members[membership->rank].machine;
}

/* ---- Byte streams ---- */

static situ_status ring_write(const struct caller *caller, int to, const char *data, size_t bytes) {
  const struct segment *s = &membership_current.segment;
  const int seat = membership_current.members[to].local_rank;
  struct pipe *pipe = &s->pipes[s->seat * s->n_seats + seat];
  char *ring = segment_ring(s, s->seat, seat);
  uint64_t at = atomic_load(&pipe->written);
  while (bytes) {
    /* wait for at least one free byte */
    if (at + 1 > s->ring) TRY(wait_counter(caller, &pipe->read, at + 1 - s->ring, seat));
    const uint64_t read = atomic_load_explicit(&pipe->read, memory_order_acquire);
    size_t n = s->ring - (size_t)(at - read);
    if (n > bytes) n = bytes;
    if (n > s->ring - at % s->ring) n = s->ring - at % s->ring;
    memcpy(ring + at % s->ring, data, n);
    at += n;
    data += n;
    bytes -= n;
    atomic_store_explicit(&pipe->written, at, memory_order_release);
  }
  return NULL;
}

static situ_status ring_read(const struct caller *caller, int from, char *data, size_t bytes) {
  const struct segment *s = &membership_current.segment;
  const int seat = membership_current.members[from].local_rank;
  struct pipe *pipe = &s->pipes[seat * s->n_seats + s->seat];
  const char *ring = segment_ring(s, seat, s->seat);
  uint64_t at = atomic_load(&pipe->read);
  while (bytes) {
    TRY(wait_counter(caller, &pipe->written, at + 1, seat));
    size_t n = (size_t)(atomic_load_explicit(&pipe->written, memory_order_acquire) - at);
    if (n > bytes) n = bytes;
    if (n > s->ring - at % s->ring) n = s->ring - at % s->ring;
    memcpy(data, ring + at % s->ring, n);
    at += n;
    data += n;
    bytes -= n;
    atomic_store_explicit(&pipe->read, at, memory_order_release);
  }
  return NULL;
}

static situ_status send_bytes(const struct caller *caller, int to, const void *data, size_t bytes) {
  if (!bytes) return NULL;
  if (is_local(to)) return ring_write(caller, to, data, bytes);
  struct mpi_request *request = NULL;
  TRY(mpi_send(data, bytes, to, MPI_TAG_TENSOR, &request));
  return wait_requests(caller, &request, 1, to);
}

static situ_status receive_bytes(const struct caller *caller, int from, void *data, size_t bytes) {
  if (!bytes) return NULL;
  if (is_local(from)) return ring_read(caller, from, data, bytes);
  struct mpi_request *request = NULL;
  TRY(mpi_receive(data, bytes, from, MPI_TAG_TENSOR, &request));
  return wait_requests(caller, &request, 1, from);
}

/* ---- Tensors ---- */

static void enqueue_pending(int from, uint64_t name, situ_tensor *tensor) {
  struct pending *pending = malloc(sizeof *pending);
  if (!pending) {
    situ_tensor_release(tensor);
    return;
  }
  *pending = (struct pending){.from = from, .name = name, .tensor = tensor};
  struct pending **end = &pending_tensors;
  while (*end) end = &(*end)->next;
  *end = pending;
}

static situ_tensor *dequeue_pending(int from, uint64_t name) {
  for (struct pending **at = &pending_tensors; *at; at = &(*at)->next) {
    struct pending *pending = *at;
    if (pending->from != from || pending->name != name) continue;
    situ_tensor *tensor = pending->tensor;
    *at = pending->next;
    free(pending);
    return tensor;
  }
  return NULL;
}

void send_recv_clear(void) {
  while (pending_tensors) {
    struct pending *pending = pending_tensors;
    pending_tensors = pending->next;
    situ_tensor_release(pending->tensor);
    free(pending);
  }
}

static situ_status check_peer(const struct caller *caller, int rank) {
  if (rank >= 0 && rank < membership_current.size) return wait_check(caller);
  return INVALID("%s: there is no rank %d: there are %d.", caller->what, rank,
                 membership_current.size);
}

static situ_status send_to_rank(const struct caller *caller, const situ_tensor *tensor, int to,
                                uint64_t name) {
  const struct message_header message_header = {name, tensor->bytes, (int32_t)tensor->type,
                                                tensor->shape};
  TRY(send_bytes(caller, to, &message_header, sizeof message_header));
  return send_bytes(caller, to, situ_tensor_data(tensor), tensor->bytes);
}

static situ_status send_self(const situ_tensor *tensor, uint64_t name) {
  situ_tensor *copy = NULL;
  TRY(tensor_create_raw(tensor->type, tensor->shape, &copy));
  if (tensor->bytes) memcpy(copy->buffer->host, situ_tensor_data(tensor), tensor->bytes);
  enqueue_pending(membership_current.rank, name, copy);
  return NULL;
}

situ_status cluster_send_tensor(const struct caller *caller, const situ_tensor *tensor, int to,
                                const char *name) {
  TRY(check_peer(caller, to));
  if (tensor->type == SITU_STRING || tensor->type == SITU_RESOURCE)
    return situ_status_create(SITU_UNIMPLEMENTED, "%s: elements of type %s cannot be sent.",
                              caller->what, situ_type_name(tensor->type));
  pthread_mutex_lock(&membership_lock);
  const situ_status status = to == membership_current.rank
                                 ? send_self(tensor, hash(name))
                                 : send_to_rank(caller, tensor, to, hash(name));
  pthread_mutex_unlock(&membership_lock);
  return status;
}

/* Receives the next tensor from a rank, whatever its name. */
static situ_status receive_next(const struct caller *caller, int from, uint64_t *name,
                                situ_tensor **out) {
  struct message_header message_header;
  TRY(receive_bytes(caller, from, &message_header, sizeof message_header));
  situ_tensor *tensor = NULL;
  TRY(tensor_create_raw((situ_type)message_header.type, message_header.shape, &tensor));
  situ_status status = NULL;
  if (tensor->bytes != message_header.bytes)
    status = INTERNAL("%s: rank %d sent an unexpected message.", caller->what, from);
  if (!status) status = receive_bytes(caller, from, tensor->buffer->host, tensor->bytes);
  if (status) {
    situ_tensor_release(tensor);
    return status;
  }
  *name = message_header.name;
  *out = tensor;
  return NULL;
}

static situ_status make_error_status(situ_tensor *tensor) {
  const unsigned char *bytes = situ_tensor_data(tensor);
  const situ_status status =
      situ_status_create((situ_code)bytes[0], "%.*s", (int)tensor->bytes - 1, bytes + 1);
  situ_tensor_release(tensor);
  return status;
}

static bool has_message(int from) {
  if (from == membership_current.rank) return false;
  if (!is_local(from)) return mpi_probe(MPI_TAG_TENSOR, &from);
  const struct segment *s = &membership_current.segment;
  const struct pipe *pipe =
      &s->pipes[membership_current.members[from].local_rank * s->n_seats + s->seat];
  return atomic_load(&pipe->written) > atomic_load(&pipe->read);
}

static situ_status receive(const struct caller *caller, int from, uint64_t requested,
                           situ_tensor **out) {
  *out = dequeue_pending(from, requested);
  if (!*out && from == membership_current.rank)
    return situ_status_create(SITU_FAILED_PRECONDITION,
                              "%s: a rank cannot wait for its own tensor; send it first.",
                              caller->what);
  while (!*out) {
    uint64_t name = 0;
    situ_tensor *tensor = NULL;
    TRY(receive_next(caller, from, &name, &tensor));
    if (name == hash(error_name)) return make_error_status(tensor);
    if (name == requested)
      *out = tensor;
    else
      enqueue_pending(from, name, tensor);
  }
  return NULL;
}

/* Receives without blocking; drops other tensors, which belong to failed runs. */
static situ_status try_receive(const struct caller *caller, int from, uint64_t requested,
                               situ_tensor **out) {
  *out = dequeue_pending(from, requested);
  while (!*out && has_message(from)) {
    uint64_t name = 0;
    situ_tensor *tensor = NULL;
    TRY(receive_next(caller, from, &name, &tensor));
    if (name == requested)
      *out = tensor;
    else
      situ_tensor_release(tensor);
  }
  return NULL;
}

situ_status cluster_receive_tensor(const struct caller *caller, int from, const char *name,
                                   situ_tensor **out) {
  TRY(check_peer(caller, from));
  pthread_mutex_lock(&membership_lock);
  const situ_status status = receive(caller, from, hash(name), out);
  pthread_mutex_unlock(&membership_lock);
  return status;
}

situ_status cluster_try_receive_tensor(const struct caller *caller, int from, const char *name,
                                       situ_tensor **out) {
  TRY(check_peer(caller, from));
  pthread_mutex_lock(&membership_lock);
  const situ_status status = try_receive(caller, from, hash(name), out);
  pthread_mutex_unlock(&membership_lock);
  return status;
}

situ_status cluster_send_error(const struct caller *caller, int to, situ_code code,
                               const char *text) {
  const size_t length = strlen(text);
  situ_tensor *tensor = NULL;
  TRY(tensor_create_raw(SITU_UINT8, SITU_SHAPE((int64_t)length + 1), &tensor));
  unsigned char *bytes = tensor->buffer->host;
  bytes[0] = (unsigned char)code;
  memcpy(bytes + 1, text, length);
  const situ_status status = cluster_send_tensor(caller, tensor, to, error_name);
  situ_tensor_release(tensor);
  return status;
}
