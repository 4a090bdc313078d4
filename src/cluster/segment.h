/* SPDX-License-Identifier: Apache-2.0
 * segment.h: shared memory of the ranks of one machine, and detection of dead ranks.
 *
 * Each local rank has a seat: counters that only its owner writes, slots for small arrays, and
 * slots for chunks of large ones. There is a pipe from each seat to each other.
 */
#ifndef SITU_CLUSTER_SEGMENT_H
#define SITU_CLUSTER_SEGMENT_H

#include <stdalign.h>
#include <stdatomic.h>

#include "base/base.h"

enum {
  SEGMENT_LINE = 64,     /* cache line: no two ranks write to the same one */
  SEGMENT_SMALL = 16384, /* maximum bytes of a small array */
  SEGMENT_DEPTH = 4,     /* chunks in flight */
  SEGMENT_SEATS = 256,   /* maximum per machine */
  SEGMENT_HOST = 64,
  SEGMENT_PATH = 160,
};

/* Counters are monotonic; they count chunks (or small arrays) over all exchanges. */
struct seat {
  alignas(SEGMENT_LINE) _Atomic uint64_t published; /* chunks readable by others */
  alignas(SEGMENT_LINE) _Atomic uint64_t
      reduced; /* chunks whose own part is reduced and readable by others */
  alignas(SEGMENT_LINE) _Atomic uint64_t delivered; /* chunks received from other machines */
  alignas(SEGMENT_LINE) _Atomic uint64_t collected; /* chunks completed */
  alignas(SEGMENT_LINE) _Atomic uint64_t small;     /* small arrays readable by others */
  alignas(SEGMENT_LINE) _Atomic int32_t pid;        /* 0: has not joined yet */
  _Atomic bool left;                                /* has left orderly */
};

/* Ring buffer positions of a byte stream from one seat to another. */
struct pipe {
  alignas(SEGMENT_LINE) _Atomic uint64_t written;
  alignas(SEGMENT_LINE) _Atomic uint64_t read;
};

/* Header of the shared memory. */
struct segment_head {
  uint64_t chunk_bytes, pipe_bytes, bytes;
  int32_t n_seats;
  _Atomic int32_t creator; /* pid; 0: not initialized */
  _Atomic int32_t lost;    /* a dead rank + 1; 0: none known */
};

struct segment {
  struct segment_head *head; /* NULL: no shared memory */
  struct seat *seats;
  struct pipe *pipes; /* from * n_seats + to */
  char *small, *stages, *results, *rings;
  int n_seats, seat;
  size_t chunk_bytes, ring;
};

/* Returns the name for shm_open, unique per cluster and user. Other users cannot predict it and
 * create it first, because a secret is part of it: SITU_CLUSTER_KEY, or else that of the user
 * (user_key.h), if the user has a home folder. */
void segment_path(const char *name, char path[SEGMENT_PATH]);

/* Returns the state of a process as /proc shows it ('T': stopped); 'X' if there is none. */
char segment_process_state(int32_t pid);
bool segment_process_runs(int32_t pid);

/* Creates (seat 0) or opens the shared memory of that name, and waits until all seats are taken, at
 * most `timeout` seconds. */
situ_status segment_join(const char *name, int seat, int n_seats, double timeout,
                         struct segment *out) SITU_MUST_USE;

/* Marks the seat as left and unmaps the memory. */
void segment_leave(struct segment *segment);

/* Returns whether the process of a seat is running. */
bool segment_alive(const struct segment *segment, int seat);

/* Addresses: small array, input chunk and reduced part of a seat, and ring buffer of a pipe. */
static inline char *segment_small(const struct segment *s, int seat, uint64_t number) {
  return s->small + ((size_t)seat * 2 + number % 2) * SEGMENT_SMALL;
}
static inline char *segment_stage(const struct segment *s, int seat, uint64_t chunk) {
  return s->stages + ((size_t)seat * SEGMENT_DEPTH + chunk % SEGMENT_DEPTH) * s->chunk_bytes;
}
static inline char *segment_result(const struct segment *s, int seat, uint64_t chunk) {
  return s->results + ((size_t)seat * SEGMENT_DEPTH + chunk % SEGMENT_DEPTH) * s->chunk_bytes;
}
static inline char *segment_ring(const struct segment *s, int from, int to) {
  return s->rings + (size_t)(from * s->n_seats + to) * s->ring;
}

#endif
