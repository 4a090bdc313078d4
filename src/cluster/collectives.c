/* SPDX-License-Identifier: Apache-2.0
 * collectives.c: collective operations: through shared memory inside a machine, in pieces that stay
 * in the cache; the first rank of each machine speaks with the other machines.
 *
 * A piece goes through stages. Each rank publishes its piece; each reduces one part of the piece
 * over all ranks, in the order of ranks, whoever came first; each collects the parts of the others.
 * Counters tell how far a rank is; several pieces are under way. */
#include "cluster/collectives.h"

#include <stdlib.h>
#include <string.h>

#include "cluster/reduce.h"
#include "cluster/copy.h"

/* A reduction under way. */
struct reducing {
  const struct caller *caller;
  const struct segment *segment;
  const char *in;
  char *out;
  int64_t count, step; /* elements: of all, of a piece */
  size_t size;         /* of an element */
  situ_type type;
  situ_reduce_op reduction;
  uint64_t first; /* number of the first piece */
  bool past;      /* the result is larger than caches */
};

enum { STRIP = 8192, PAST = 4 << 20 }; /* bytes: what stays in the nearest cache; what does not */

static void advance(_Atomic uint64_t *counter, uint64_t to) {
  atomic_store_explicit(counter, to, memory_order_release);
}

/* Elements of a piece, and of the part of it that a seat reduces. */
static int64_t piece_count(const struct reducing *r, int64_t k) {
  return min_i64(r->step, r->count - k * r->step);
}

static int64_t part_begin(const struct reducing *r, int64_t k, int seat) {
  return piece_count(r, k) * seat / r->segment->n_seats;
}

/* Waits until a counter of all seats has come that far. */
#define REACH_ALL(caller, segment, counter, goal)                                   \
  do {                                                                              \
    for (int seat_ = 0; seat_ < (segment)->n_seats; seat_++)                        \
      TRY(wait_counter((caller), &(segment)->seats[seat_].counter, (goal), seat_)); \
  } while (0)

/* A place that was used DEPTH pieces ago may be used for piece `number` when counters have passed
 * that piece. */
static uint64_t reuse(uint64_t number) {
  return number + 1 > SEGMENT_DEPTH ? number + 1 - SEGMENT_DEPTH : 0;
}

static situ_status publish(const struct reducing *r, int64_t k) {
  const struct segment *s = r->segment;
  const uint64_t number = r->first + (uint64_t)k;
  REACH_ALL(r->caller, s, reduced, reuse(number));
  if (membership_current.n_machines > 1) REACH_ALL(r->caller, s, collected, reuse(number));
  char *stage = segment_stage(s, s->seat, number);
  const char *in = r->in + (size_t)(k * r->step) * r->size;
  const size_t begin = (size_t)part_begin(r, k, s->seat) * r->size;
  const size_t end = (size_t)part_begin(r, k, s->seat + 1) * r->size;
  copy(stage, in, begin); /* nobody but this rank reads its own part */
  copy(stage + end, in + end, (size_t)piece_count(r, k) * r->size - end);
  advance(&s->seats[s->seat].published, number + 1);
  return NULL;
}

static void copy_out(const struct reducing *r, char *to, const char *from, int64_t count) {
  if (r->past)
    copy_nontemporal(to, from, (size_t)count * r->size);
  else
    copy(to, from, (size_t)count * r->size);
}

/* Elements of the own part of a piece: `begin` counts in the piece, `to` is where they go. */
static void reduce_strip(const struct reducing *r, int64_t k, int64_t begin, int64_t n, char *to) {
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

static situ_status reduce(const struct reducing *r, int64_t k) {
  const struct segment *s = r->segment;
  const uint64_t number = r->first + (uint64_t)k;
  const int64_t begin = part_begin(r, k, s->seat), end = part_begin(r, k, s->seat + 1);
  const int64_t strip = (int64_t)(STRIP / r->size);
  REACH_ALL(r->caller, s, collected, reuse(number));
  REACH_ALL(r->caller, s, published, number + 1);
  char *result = segment_result(s, s->seat, number);
  for (int64_t at = begin; at < end; at += strip)
    reduce_strip(r, k, at, min_i64(strip, end - at), result + (size_t)(at - begin) * r->size);
  advance(&s->seats[s->seat].reduced, number + 1);
  return NULL;
}

/* The leader joins the parts and reduces them with those of other machines; the place of its own
 * piece takes the result. */
static situ_status deliver(const struct reducing *r, int64_t k) {
  const struct segment *s = r->segment;
  const uint64_t number = r->first + (uint64_t)k;
  char *stage = segment_stage(s, 0, number);
  REACH_ALL(r->caller, s, reduced, number + 1);
  for (int i = 0; i < s->n_seats; i++) {
    const int64_t begin = part_begin(r, k, i), n = part_begin(r, k, i + 1) - begin;
    copy(stage + (size_t)begin * r->size, segment_result(s, i, number), (size_t)n * r->size);
  }
  TRY(internode_all_reduce(r->caller, stage, piece_count(r, k), r->type, r->reduction));
  if (r->reduction == SITU_REDUCE_MEAN)
    reduce_divide(stage, piece_count(r, k), r->type, membership_current.size);
  advance(&s->seats[0].delivered, number + 1);
  return NULL;
}

static situ_status collect(const struct reducing *r, int64_t k) {
  const struct segment *s = r->segment;
  const uint64_t number = r->first + (uint64_t)k;
  char *out = r->out + (size_t)(k * r->step) * r->size;
  if (membership_current.n_machines > 1) {
    if (!s->seat) TRY(deliver(r, k));
    TRY(wait_counter(r->caller, &s->seats[0].delivered, number + 1, 0));
    copy_out(r, out, segment_stage(s, 0, number), piece_count(r, k));
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

static situ_status reduce_large(const struct reducing *r, int64_t n_pieces) {
  TRY(publish(r, 0));
  for (int64_t k = 0; k < n_pieces; k++) {
    if (k + 1 < n_pieces) TRY(publish(r, k + 1));
    TRY(reduce(r, k));
    if (k) TRY(collect(r, k - 1));
  }
  return collect(r, n_pieces - 1);
}

/* Everybody reads everything: one meeting. The place is used again after the next meeting, when all
 * have read it. */
static situ_status reduce_small(const struct reducing *r) {
  const struct segment *s = r->segment;
  const uint64_t number = membership_current.smalls++;
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

static situ_status all_reduce(struct reducing *r) {
  TRY(wait_check(r->caller));
  if (membership_current.n_machines == 1 && (size_t)r->count * r->size <= SEGMENT_SMALL)
    return reduce_small(r);
  r->step = (int64_t)(r->segment->piece / r->size);
  r->first = membership_current.pieces;
  r->past = (size_t)r->count * r->size >= PAST;
  const int64_t n_pieces = (r->count + r->step - 1) / r->step;
  membership_current.pieces += (uint64_t)n_pieces;
  return n_pieces ? reduce_large(r, n_pieces) : NULL;
}

situ_status collective_all_reduce(const struct caller *caller, const void *in, void *out,
                                  int64_t count, situ_type type, situ_reduce_op reduction) {
  TRY(reduce_check(type, reduction));
  struct reducing r = {.caller = caller,
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

/* ---- From one to all ---- */

/* The seat from which ranks of this machine read: the root's, or the leader's. */
static int source_seat(int root) {
  const struct membership *membership = &membership_current;
  const bool here =
      membership->members[root].machine == membership->members[membership->rank].machine;
  return here ? membership->members[root].local_rank : 0;
}

static situ_status broadcast_piece(const struct caller *caller, char *data, size_t bytes, int root,
                                   uint64_t number) {
  const struct segment *s = &membership_current.segment;
  struct seat *own = &s->seats[s->seat];
  const int source = source_seat(root);
  char *stage = segment_stage(s, source, number);
  if (s->seat == source) {
    REACH_ALL(caller, s, collected, reuse(number));
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
  const size_t step = membership_current.segment.piece;
  for (size_t at = 0; at < bytes; at += step) {
    const size_t rest = bytes - at;
    TRY(broadcast_piece(caller, data + at, rest < step ? rest : step, root,
                        membership_current.pieces++));
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

/* ---- From all to all ---- */

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
