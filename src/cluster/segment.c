/* SPDX-License-Identifier: Apache-2.0
 * segment.c: see segment.h. */
#include "cluster/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PATH = 160, FEW_SEATS = 16, PAUSE_NS = 200 * 1000 };

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void pause_shortly(void) { nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL); }

static uint64_t hash_of(const char *text, uint64_t hash) {
  for (; *text; text++) hash = (hash ^ (unsigned char)*text) * 1099511628211u;
  return (hash ^ hash >> 29) * 0xbf58476d1ce4e5b9u;
}

/* A name for shm_open: one cluster of one user. With a secret that the launcher hands over nobody
 * else can foresee it, and take it first. */
static const char *path_of(const char *name, char path[PATH]) {
  const char *key = getenv("SITU_CLUSTER_KEY");
  const int used = snprintf(path, PATH, "/situ-%u-%.100s", (unsigned)geteuid(), name);
  if (key && *key)
    snprintf(path + used, PATH - (size_t)used, "-%016llx",
             (unsigned long long)hash_of(key, hash_of(name, 1469598103934665603u)));
  for (char *c = path + 1; *c; c++)
    if (*c == '/') *c = '_';
  return path;
}

/* How the memory is divided; with head NULL only the sizes are told. */
static size_t divide(struct segment *s, void *head) {
  const size_t n = (size_t)s->n_seats;
  s->piece = n <= FEW_SEATS ? (size_t)256 << 10 : (size_t)64 << 10;
  s->ring = n <= FEW_SEATS ? (size_t)64 << 10 : (size_t)8 << 10;
  char *at = head;
  const size_t seats = round_up(sizeof(struct segment_head), SEGMENT_LINE);
  const size_t pipes = seats + n * sizeof(struct seat);
  const size_t small = round_up(pipes + n * n * sizeof(struct pipe), 4096);
  const size_t stages = small + n * 2 * SEGMENT_SMALL;
  const size_t results = stages + n * SEGMENT_DEPTH * s->piece;
  const size_t rings = results + n * SEGMENT_DEPTH * s->piece;
  if (head) {
    s->head = head;
    s->seats = (struct seat *)(void *)(at + seats);
    s->pipes = (struct pipe *)(void *)(at + pipes);
    s->small = at + small;
    s->stages = at + stages;
    s->results = at + results;
    s->rings = at + rings;
  }
  return rings + n * n * s->ring;
}

static situ_status no_segment(const char *path, const char *what) {
  const bool foreign = errno == EACCES || errno == EPERM || errno == EEXIST;
  return situ_status_create(foreign ? SITU_PERMISSION_DENIED : SITU_UNAVAILABLE,
                            "Shared memory %s cannot be %s: %s", path, what, strerror(errno));
}

static situ_status map(int file, const char *path, struct segment *s) {
  void *memory = mmap(NULL, divide(s, NULL), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) return no_segment(path, "mapped");
  divide(s, memory);
  return NULL;
}

/* What an earlier cluster of that name has left is thrown away. */
static situ_status create(const char *path, struct segment *s) {
  shm_unlink(path);
  const int file = shm_open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
  if (file < 0) return no_segment(path, "made");
  situ_status status = NULL;
  const size_t bytes = divide(s, NULL);
  if (ftruncate(file, (off_t)bytes)) status = no_segment(path, "made so large");
  if (!status) status = map(file, path, s);
  close(file);
  if (status) {
    shm_unlink(path);
    return status;
  }
  s->head->bytes = bytes;
  s->head->piece_bytes = s->piece;
  s->head->pipe_bytes = s->ring;
  s->head->n_seats = s->n_seats;
  atomic_store(&s->head->creator, (int32_t)getpid());
  return NULL;
}

static bool runs(int32_t pid) {
  if (pid <= 0 || (kill(pid, 0) && errno == ESRCH)) return false;
  char path[64], text[256] = "";
  snprintf(path, sizeof path, "/proc/%d/stat", pid); /* nobody may have asked for its exit code */
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return errno != ENOENT;
  const ssize_t got = read(file, text, sizeof text - 1);
  close(file);
  const char *name_end = got > 0 ? strrchr(text, ')') : NULL;
  return !name_end || (name_end[1] && name_end[2] != 'Z' && name_end[2] != 'X');
}

/* Whoever can write to the memory can make this process do things: it must be of the same user, and
 * nobody else's to open. */
static situ_status check_owner(const char *path, const struct stat *stat) {
  if (stat->st_uid != geteuid())
    return situ_status_create(
        SITU_PERMISSION_DENIED,
        "Shared memory %s belongs to user %u, not to user %u who runs this process: it is not "
        "used.\nAnother user has made it; SITU_CLUSTER_KEY gives the ranks a name that others "
        "cannot foresee.",
        path, (unsigned)stat->st_uid, (unsigned)geteuid());
  if (!S_ISREG(stat->st_mode) || stat->st_mode & (S_IRWXG | S_IRWXO))
    return situ_status_create(SITU_PERMISSION_DENIED,
                              "Shared memory %s is open to other users (mode %04o, not 0600): it "
                              "is not used.",
                              path, (unsigned)(stat->st_mode & 07777));
  return NULL;
}

/* Whether the memory of that name is there, complete, and of a cluster that lives. */
static situ_status attach(const char *path, struct segment *s, bool *done) {
  *done = false;
  const int file = shm_open(path, O_RDWR, 0);
  if (file < 0) return errno == ENOENT ? NULL : no_segment(path, "opened");
  struct stat stat;
  situ_status status = NULL;
  const bool known = !fstat(file, &stat);
  if (known) status = check_owner(path, &stat);
  if (known && !status && (size_t)stat.st_size == divide(s, NULL)) {
    status = map(file, path, s);
    if (!status) *done = runs(atomic_load(&s->head->creator)) && !s->seats[s->seat].pid;
    if (!status && !*done) munmap(s->head, divide(s, NULL));
    if (!*done) s->head = NULL;
  }
  close(file);
  return status;
}

/* The first seat that is not taken; -1: all are. */
static int missing(const struct segment *s) {
  for (int i = 0; i < s->n_seats; i++)
    if (!atomic_load(&s->seats[i].pid)) return i;
  return -1;
}

static situ_status late(const struct segment *s, double patience) {
  const int seat = s->head ? missing(s) : 0;
  return situ_status_create(SITU_DEADLINE_EXCEEDED,
                            "Local rank %d of %d has not joined the cluster after %g seconds.",
                            seat < 0 ? 0 : seat, s->n_seats, patience);
}

situ_status segment_join(const char *name, int seat, int n_seats, double patience,
                         struct segment *out) {
  if (n_seats > SEGMENT_SEATS)
    return INVALID("%d ranks on one machine; at most %d are possible.", n_seats,
                   (int)SEGMENT_SEATS);
  char path[PATH];
  path_of(name, path);
  *out = (struct segment){.seat = seat, .n_seats = n_seats};
  const double until = now() + patience;
  bool there = seat == 0;
  situ_status status = there ? create(path, out) : NULL;
  while (!status && !there) {
    status = attach(path, out, &there);
    if (!status && !there && now() > until) status = late(out, patience);
    if (!there) pause_shortly();
  }
  if (!status) atomic_store(&out->seats[seat].pid, (int32_t)getpid());
  while (!status && missing(out) >= 0) {
    if (now() > until) status = late(out, patience);
    pause_shortly();
  }
  if (seat == 0 && out->head) shm_unlink(path); /* it lives as long as those who have it */
  if (status) segment_leave(out);
  return status;
}

void segment_leave(struct segment *segment) {
  if (!segment->head) return;
  atomic_store(&segment->seats[segment->seat].left, true);
  munmap(segment->head, segment->head->bytes);
  *segment = (struct segment){0};
}

bool segment_alive(const struct segment *segment, int seat) {
  return runs(atomic_load(&segment->seats[seat].pid));
}
