/* SPDX-License-Identifier: Apache-2.0
 * collectives.c: collective operations through shared memory within a machine, in chunks that fit
 * into the cache; the first rank of each machine communicates with the other machines.
 *
 * A chunk passes through stages. Each rank publishes its data; each reduces one part of the chunk
 * over all ranks in rank order, which makes results deterministic; each collects the parts of the
 * others. Counters record the progress of each rank, so that several chunks are in flight. */
#include "cluster/collectives.h"

#include <stdlib.h>
#include <string.h>

#include "cluster/reduce.h"
#include "cluster/copy.h"

/* An all-reduce in progress. */
struct reduction_state {
  const struct caller *caller;
  const struct segment *segment;
  const char *in;
  char *out;
  int64_t count, step; /* elements in total and per chunk */
  size_t size;         /* element size in bytes */
  situ_type type;
  situ_reduce_op reduction;
  uint64_t first;      /* number of the first chunk */
  bool is_nontemporal; /* the result exceeds the caches */
};

enum {
  STRIP_BYTES = 8192,
  NONTEMPORAL_BYTES = 4 << 20
}; /* bytes: fits into the L1 cache; exceeds the caches */

static void advance(_Atomic uint64_t *counter, uint64_t to) {
  atomic_store_explicit(counter, to, memory_order_release);
}

/* Elements of a chunk, and the start of the part that a local rank reduces. */
static int64_t chunk_count(const struct reduction_state *r, int64_t k) {
  return min_i64(r->step, r->count - k * r->step);
}

static int64_t part_begin(const struct reduction_state *r, int64_t k, int seat) {
  return chunk_count(r, k) * seat / r->segment->n_seats;
}

/* Waits until a counter of all local ranks has reached a value. */
#define WAIT_ALL(caller, segment, counter, goal)                                    \
  do {                                                                              \
    for (int seat_ = 0; seat_ < (segment)->n_seats; seat_++)                        \
      TRY(wait_counter((caller), &(segment)->seats[seat_].counter, (goal), seat_)); \
  } while (0)

/* A slot last used SEGMENT_DEPTH chunks ago is free for chunk `number` when the counters have
 * passed that chunk. */
static uint64_t reusable_count(uint64_t number) {
  return number + 1 > SEGMENT_DEPTH ? number + 1 - SEGMENT_DEPTH : 0;
}

static situ_status publish_chunk(const struct reduction_state *r, int64_t k) {
  const struct segment *s = r->segment;
  const uint64_t number = r->first + (uint64_t)k;
  WAIT_ALL(r->caller, s, reduced, reusable_count(number));
  if (membership_current.n_machines > 1) WAIT_ALL(r->caller, s, collected, reusable_count(number));
  char *stage = segment_stage(s, s->seat, number);
  const char *in = r->in + (size_t)(k * r->step) * r->size;
  const size_t begin = (size_t)part_begin(r, k, s->seat) * r->size;
  const size_t end = (size_t)part_begin(r, k, s->seat + 1) * r->size;
  copy(stage, in, begin); /* only this rank reads its own part */
  copy(stage + end, in + end, (size_t)chunk_count(r, k) * r->size - end);
  advance(&s->seats[s->seat].published, number + 1);
  return NULL;
}

static void copy_out(const struct reduction_state *r, char *to, const char *from, int64_t count) {
  if (r->is_nontemporal)
    copy_nontemporal(to, from, (size_t)count * r->size);
  else
    copy(to, from, (size_t)count * r->size);
}

/* Reduces elements of the own part; `begin` is relative to the chunk, `to` the destination. */
static void reduce_strip(const struct reduction_state *r, int64_t k, int64_t begin, int64_t n,
                         char *to) {
  const struct segment *s = r->segment;
  const char *sum = NULL;
  for (int i = 0; i < s->n_seats; i++) {
    const char *from = i == s->seat ? r->in + (size_t)(k * r->step) * r->size
                                    : segment_stage(s, i, r->first + (uint64_t)k);
    from += (size_t)begin * r->size;
    if (sum) reduce_elements(to, sum, from, n, r->type, r->reduction);
    sum = sum ? to : from;
  }
  if (sum && sum != to) copy(to, sum, (size_t)n * r->size);
  if (membership_current.n_machines > 1) return;
  if (r->reduction == SITU_REDUCE_MEAN) reduce_divide(to, n, r->type, membership_current.size);
  copy_out(r, r->out + (size_t)(k * r->step + begin) * r->size, to, n);
}

static situ_status reduce_chunk(const struct reduction_state *r, int64_t k) {
  const struct segment *s = r->segment;
  const uint64_t number = r->first + (uint64_t)k;
  const int64_t begin = part_begin(r, k, s->seat), end = part_begin(r, k, s->seat + 1);
  const int64_t strip = (int64_t)(STRIP_BYTES / r->size);
  WAIT_ALL(r->caller, s, collected, reusable_count(number));
  WAIT_ALL(r->caller, s, published, number + 1);
  char *result = segment_result(s, s->seat, number);
  for (int64_t at = begin; at < end; at += strip)
    reduce_strip(r, k, at, min_i64(strip, end - at), result + (size_t)(at - begin) * r->size);
  advance(&s->seats[s->seat].reduced, number + 1);
  return NULL;
}

/* Leader: gathers the parts, reduces them with those of other machines, and stores the result in
 * its own slot. */
static situ_status reduce_internode(const struct reduction_state *r, int64_t k) {
  const struct segment *s = r->segment;
  const uint64_t number = r->first + (uint64_t)k;
  char *stage = segment_stage(s, 0, number);
  WAIT_ALL(r->caller, s, reduced, number + 1);
  for (int i = 0; i < s->n_seats; i++) {
    const int64_t begin = part_begin(r, k, i), n = part_begin(r, k, i + 1) - begin;
    copy(stage + (size_t)begin * r->size, segment_result(s, i, number), (size_t)n * r->size);
  }
  TRY(internode_all_reduce(r->caller, stage, chunk_count(r, k), r->type, r->reduction));
  if (r->reduction == SITU_REDUCE_MEAN)
    reduce_divide(stage, chunk_count(r, k), r->type, membership_current.size);
  advance(&s->seats[0].delivered, number + 1);
  return NULL;
}

static situ_status collect_chunk(const struct reduction_state *r, int64_t k) {
  const struct segment *s = r->segment;
  const uint64_t number = r->first + (uint64_t)k;
  char *out = r->out + (size_t)(k * r->step) * r->size;
  if (membership_current.n_machines > 1) {
    if (!s->seat) TRY(reduce_internode(r, k));
    TRY(wait_counter(r->caller, &s->seats[0].delivered, number + 1, 0));
    copy_out(r, out, segment_stage(s, 0, number), chunk_count(r, k));
  }
  for (int i = 0; i < s->n_seats && membership_current.n_machines == 1; i++) {
    if (i == s->seat) continue;
    TRY(wait_counter(r->caller, &s->seats[i].reduced, number + 1, i));
    const int64_t begin = part_begin(r, k, i), n = part_begin(r, k, i + 1) - begin;
    copy_out(r, out + (size_t)begin * r->size, segment_result(s, i, number), n);
  }
  advance(&s->seats[s->seat].collected, number + 1);
  return NULL;
}

static situ_status reduce_large(const struct reduction_state *r, int64_t n_chunks) {
  TRY(publish_chunk(r, 0));
  for (int64_t k = 0; k < n_chunks; k++) {
    if (k + 1 < n_chunks) TRY(publish_chunk(r, k + 1));
    TRY(reduce_chunk(r, k));
    if (k) TRY(collect_chunk(r, k - 1));
  }
  return collect_chunk(r, n_chunks - 1);
}

/* Small arrays: every rank reads the arrays of all others, with one synchronization. A slot is
 * reused after the next one, when all ranks have read it. */
static situ_status reduce_small(const struct reduction_state *r) {
  const struct segment *s = r->segment;
  const uint64_t number = membership_current.n_small++;
  const size_t bytes = (size_t)r->count * r->size;
  memcpy(segment_small(s, s->seat, number), r->in, bytes);
  advance(&s->seats[s->seat].small, number + 1);
  const char *sum = NULL;
  for (int i = 0; i < s->n_seats; i++) {
    TRY(wait_counter(r->caller, &s->seats[i].small, number + 1, i));
    const char *from = segment_small(s, i, number);
    if (sum) reduce_elements(r->out, sum, from, r->count, r->type, r->reduction);
    sum = sum ? r->out : from;
  }
  if (sum && sum != r->out) memcpy(r->out, sum, bytes);
  if (r->reduction == SITU_REDUCE_MEAN)
    reduce_divide(r->out, r->count, r->type, membership_current.size);
  return NULL;
}

static situ_status all_reduce(struct reduction_state *r) {
  TRY(wait_check(r->caller));
  if (membership_current.n_machines == 1 && (size_t)r->count * r->size <= SEGMENT_SMALL)
    return reduce_small(r);
  r->step = (int64_t)(r->segment->chunk_bytes / r->size);
  r->first = membership_current.n_chunks_exchanged;
  r->is_nontemporal = (size_t)r->count * r->size >= NONTEMPORAL_BYTES;
  const int64_t n_chunks = (r->count + r->step - 1) / r->step;
  membership_current.n_chunks_exchanged += (uint64_t)n_chunks;
  return n_chunks ? reduce_large(r, n_chunks) : NULL;
}

situ_status collective_all_reduce(const struct caller *caller, const void *in, void *out,
                                  int64_t count, situ_type type, situ_reduce_op reduction) {
  TRY(reduce_check(type, reduction));
  struct reduction_state r = {.caller = caller,
                              .segment = &membership_current.segment,
                              .in = in,
                              .out = out,
                              .count = count,
                              .size = situ_type_size(type),
                              .type = type,
                              .reduction = reduction};
  if (membership_current.size == 1) {
    if (in != out && count) copy(out, in, (size_t)count * r.size);
    return NULL;
  }
  pthread_mutex_lock(&membership_lock);
  const situ_status status = all_reduce(&r);
  pthread_mutex_unlock(&membership_lock);
  return status;
}

/* ---- Broadcast ---- */

/* Returns the local rank from which ranks of this machine read: the root, or the leader. */
static int get_source_seat(int root) {
  const struct membership *membership = &membership_current;
  const bool is_local =
      membership->members[root].machine == membership->members[membership->rank].machine;
  return is_local ? membership->members[root].local_rank : 0;
}

static situ_status broadcast_chunk(const struct caller *caller, char *data, size_t bytes, int root,
                                   uint64_t number) {
  const struct segment *s = &membership_current.segment;
  struct seat *own = &s->seats[s->seat];
  const int source = get_source_seat(root);
  char *stage = segment_stage(s, source, number);
  if (s->seat == source) {
    WAIT_ALL(caller, s, collected, reusable_count(number));
    if (membership_current.rank == root) copy(stage, data, bytes);
    if (membership_current.rank != root) TRY(internode_broadcast(caller, stage, bytes, root));
    advance(&own->published, number + 1);
  }
  TRY(wait_counter(caller, &s->seats[source].published, number + 1, source));
  const bool sends = !s->seat && membership_current.n_machines > 1 &&
                     membership_current.members[root].machine ==
                         membership_current.members[membership_current.rank].machine;
  if (sends) TRY(internode_broadcast(caller, stage, bytes, root));
  if (membership_current.rank != root) copy(data, stage, bytes);
  advance(&own->published, number + 1);
  advance(&own->reduced, number + 1);
  advance(&own->delivered, number + 1);
  advance(&own->collected, number + 1);
  return NULL;
}

static situ_status broadcast(const struct caller *caller, char *data, size_t bytes, int root) {
  TRY(wait_check(caller));
  const size_t step = membership_current.segment.chunk_bytes;
  for (size_t at = 0; at < bytes; at += step) {
    const size_t rest = bytes - at;
    TRY(broadcast_chunk(caller, data + at, rest < step ? rest : step, root,
                        membership_current.n_chunks_exchanged++));
  }
  return NULL;
}

situ_status collective_broadcast(const struct caller *caller, void *data, size_t bytes, int root) {
  if (root < 0 || root >= membership_current.size)
    return INVALID("%s: there is no rank %d: there are %d.", caller->what, root,
                   membership_current.size);
  if (membership_current.size == 1) return NULL;
  pthread_mutex_lock(&membership_lock);
  const situ_status status = broadcast(caller, data, bytes, root);
  pthread_mutex_unlock(&membership_lock);
  return status;
}

/* ---- All-gather and barrier ---- */

situ_status collective_all_gather(const struct caller *caller, const void *data, size_t bytes,
                                  void **out, size_t *sizes) {
  const int n = membership_current.size;
  int64_t *counts = calloc((size_t)n, sizeof *counts);
  if (!counts) return NO_MEMORY();
  counts[membership_current.rank] = (int64_t)bytes;
  situ_status status =
      collective_all_reduce(caller, counts, counts, n, SITU_INT64, SITU_REDUCE_SUM);
  size_t total = 0, at = 0;
  for (int i = 0; i < n && !status; i++) total += sizes[i] = (size_t)counts[i];
  char *all = status ? NULL : malloc(total + 1);
  if (!status && !all) status = NO_MEMORY();
  for (int i = 0; i < n && !status; at += sizes[i++]) {
    if (i == membership_current.rank && bytes) memcpy(all + at, data, bytes);
    status = collective_broadcast(caller, all + at, sizes[i], i);
  }
  free(counts);
  if (status) free(all);
  *out = status ? NULL : all;
  return status;
}

situ_status collective_barrier(const struct caller *caller) {
  int32_t one = 1;
  return collective_all_reduce(caller, &one, &one, 1, SITU_INT32, SITU_REDUCE_MAX);
}
