/* SPDX-License-Identifier: Apache-2.0
 * segment.h: the memory that the ranks of one machine share, and who of them is alive.
 *
 * Ranks of a machine are numbered as seats. Each seat has counters that only its owner writes, room
 * for a small value, and room for pieces of a large one; and there is a pipe from each seat to
 * each.
 */
#ifndef SITU_CLUSTER_SEGMENT_H
#define SITU_CLUSTER_SEGMENT_H

#include <stdalign.h>
#include <stdatomic.h>

#include "base/base.h"

enum {
  SEGMENT_LINE = 64,     /* of a cache: what one rank writes, no other writes on the same line */
  SEGMENT_SMALL = 16384, /* bytes that are exchanged in one go */
  SEGMENT_DEPTH = 4,     /* pieces under way */
  SEGMENT_SEATS = 256,   /* at most, on one machine */
  SEGMENT_HOST = 64,
};

/* Counters only grow; they count pieces (or small values) over all exchanges. */
struct seat {
  alignas(SEGMENT_LINE) _Atomic uint64_t published; /* pieces that others may read */
  alignas(SEGMENT_LINE) _Atomic uint64_t reduced;   /* pieces of others that are read; the own part
                                                       of them is there for others */
  alignas(SEGMENT_LINE) _Atomic uint64_t delivered; /* pieces that came from other machines */
  alignas(SEGMENT_LINE) _Atomic uint64_t collected; /* pieces that are done */
  alignas(SEGMENT_LINE) _Atomic uint64_t small;     /* small values that others may read */
  alignas(SEGMENT_LINE) _Atomic int32_t pid;        /* 0: has not come yet */
  _Atomic bool left;                                /* has taken its leave */
};

/* Bytes on their way from one seat to another. */
struct pipe {
  alignas(SEGMENT_LINE) _Atomic uint64_t written;
  alignas(SEGMENT_LINE) _Atomic uint64_t read;
};

/* What lies at the beginning of the memory. */
struct segment_head {
  uint64_t piece_bytes, pipe_bytes, bytes;
  int32_t n_seats;
  _Atomic int32_t creator; /* its pid; 0: not ready */
  _Atomic int32_t lost;    /* a rank that is dead, + 1; 0: none is known */
};

struct segment {
  struct segment_head *head; /* NULL: nothing is shared */
  struct seat *seats;
  struct pipe *pipes; /* from * n_seats + to */
  char *small, *stages, *results, *rings;
  int n_seats, seat;
  size_t piece, ring;
};

/* Makes (seat 0) or finds the memory of that name, and waits until all seats are taken; `patience`
 * in seconds. */
situ_status segment_join(const char *name, int seat, int n_seats, double patience,
                         struct segment *out) SITU_MUST_USE;

/* Takes leave and gives the memory back. */
void segment_leave(struct segment *segment);

/* Whether the process of a seat runs. */
bool segment_alive(const struct segment *segment, int seat);

/* Where things of a seat lie: a small value, a piece on its way in, a reduced part on its way out,
 * and the bytes of a pipe. */
static inline char *segment_small(const struct segment *s, int seat, uint64_t number) {
  return s->small + ((size_t)seat * 2 + number % 2) * SEGMENT_SMALL;
}
static inline char *segment_stage(const struct segment *s, int seat, uint64_t piece) {
  return s->stages + ((size_t)seat * SEGMENT_DEPTH + piece % SEGMENT_DEPTH) * s->piece;
}
static inline char *segment_result(const struct segment *s, int seat, uint64_t piece) {
  return s->results + ((size_t)seat * SEGMENT_DEPTH + piece % SEGMENT_DEPTH) * s->piece;
}
static inline char *segment_ring(const struct segment *s, int from, int to) {
  return s->rings + (size_t)(from * s->n_seats + to) * s->ring;
}

#endif
