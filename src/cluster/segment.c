/* SPDX-License-Identifier: Apache-2.0
 * segment.c: POSIX shared memory of the ranks of one machine; see segment.h. */
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

#include "cluster/segment_sweep.h"
#include "cluster/user_key.h"

enum { SMALL_CLUSTER = 16, PAUSE_NS = 200 * 1000 };

static double read_clock(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void sleep_briefly(void) { nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL); }

static uint64_t hash_string(const char *text, uint64_t hash) {
  for (; *text; text++) hash = (hash ^ (unsigned char)*text) * 1099511628211u;
  return (hash ^ hash >> 29) * 0xbf58476d1ce4e5b9u;
}

static uint64_t hash_bytes(const unsigned char *bytes, size_t count, uint64_t hash) {
  for (size_t i = 0; i < count; i++) hash = (hash ^ bytes[i]) * 1099511628211u;
  return (hash ^ hash >> 29) * 0xbf58476d1ce4e5b9u;
}

/* Mixes the secret SITU_CLUSTER_KEY, or else that of the user, into *hash; false if there is
 * none. */
static bool hash_secret(uint64_t *hash) {
  const char *key = getenv("SITU_CLUSTER_KEY");
  unsigned char own[USER_KEY_BYTES];
  if (key && *key)
    *hash = hash_string(key, *hash);
  else if (user_key_read(own))
    *hash = hash_bytes(own, sizeof own, *hash);
  else
    return false;
  return true;
}

void segment_path(const char *name, char path[SEGMENT_PATH]) {
  uint64_t hash = hash_string(name, 1469598103934665603u);
  const int used = snprintf(path, SEGMENT_PATH, "/situ-%u-%.100s", (unsigned)geteuid(), name);
  if (hash_secret(&hash))
    snprintf(path + used, SEGMENT_PATH - (size_t)used, "-%016llx", (unsigned long long)hash);
  for (char *c = path + 1; *c; c++)
    if (*c == '/') *c = '_';
}

/* Computes the layout of the shared memory and its size; with head NULL only the sizes are set. */
static size_t compute_layout(struct segment *s, void *head) {
  const size_t n = (size_t)s->n_seats;
  s->chunk_bytes = n <= SMALL_CLUSTER ? (size_t)256 << 10 : (size_t)64 << 10;
  s->ring = n <= SMALL_CLUSTER ? (size_t)64 << 10 : (size_t)8 << 10;
  char *at = head;
  const size_t seats = round_up(sizeof(struct segment_head), SEGMENT_LINE);
  const size_t pipes = seats + n * sizeof(struct seat);
  const size_t small = round_up(pipes + n * n * sizeof(struct pipe), 4096);
  const size_t stages = small + n * 2 * SEGMENT_SMALL;
  const size_t results = stages + n * SEGMENT_DEPTH * s->chunk_bytes;
  const size_t rings = results + n * SEGMENT_DEPTH * s->chunk_bytes;
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

static situ_status segment_error(const char *path, const char *what) {
  const bool is_denied = errno == EACCES || errno == EPERM || errno == EEXIST;
  return situ_status_create(is_denied ? SITU_PERMISSION_DENIED : SITU_UNAVAILABLE,
                            "Shared memory %s cannot be %s: %s", path, what, strerror(errno));
}

static situ_status map_segment(int file, const char *path, struct segment *s) {
  void *memory = mmap(NULL, compute_layout(s, NULL), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) return segment_error(path, "mapped");
  compute_layout(s, memory);
  return NULL;
}

/* Creates the memory, replacing that of an earlier cluster with the same name. */
static situ_status create_segment(const char *path, struct segment *s) {
  shm_unlink(path);
  segment_sweep();
  const int file = shm_open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
  if (file < 0) return segment_error(path, "created");
  situ_status status = NULL;
  const size_t bytes = compute_layout(s, NULL);
  if (ftruncate(file, (off_t)bytes)) status = segment_error(path, "resized");
  if (!status) status = map_segment(file, path, s);
  close(file);
  if (status) {
    shm_unlink(path);
    return status;
  }
  s->head->bytes = bytes;
  s->head->chunk_bytes = s->chunk_bytes;
  s->head->pipe_bytes = s->ring;
  s->head->n_seats = s->n_seats;
  atomic_store(&s->head->creator, (int32_t)getpid());
  return NULL;
}

char segment_process_state(int32_t pid) {
  if (pid <= 0 || (kill(pid, 0) && errno == ESRCH)) return 'X';
  char path[64], text[256] = "";
  snprintf(path, sizeof path, "/proc/%d/stat", pid); /* a zombie still has a pid */
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return errno == ENOENT ? 'X' : 'R';
  const ssize_t n_read = read(file, text, sizeof text - 1);
  close(file);
  const char *name_end = n_read > 0 ? strrchr(text, ')') : NULL;
  return name_end && name_end[1] ? name_end[2] : 'R';
}

bool segment_process_runs(int32_t pid) {
  const char state = segment_process_state(pid);
  return state != 'Z' && state != 'X';
}

/* Rejects memory that another user owns or can open, since writing to it can compromise this
 * process. */
static situ_status check_owner(const char *path, const struct stat *stat) {
  if (stat->st_uid != geteuid())
    return situ_status_create(
        SITU_PERMISSION_DENIED,
        "Shared memory %s belongs to user %u, not to user %u who runs this process: it is not "
        "used.\nAnother user has made it; SITU_CLUSTER_KEY makes the name unpredictable for "
        "others.",
        path, (unsigned)stat->st_uid, (unsigned)geteuid());
  if (!S_ISREG(stat->st_mode) || stat->st_mode & (S_IRWXG | S_IRWXO))
    return situ_status_create(SITU_PERMISSION_DENIED,
                              "Shared memory %s is open to other users (mode %04o, not 0600): it "
                              "is not used.",
                              path, (unsigned)(stat->st_mode & 07777));
  return NULL;
}

/* Opens the memory; *done if it exists, is initialized and belongs to a live cluster. */
static situ_status attach_segment(const char *path, struct segment *s, bool *done) {
  *done = false;
  const int file = shm_open(path, O_RDWR, 0);
  if (file < 0) return errno == ENOENT ? NULL : segment_error(path, "opened");
  struct stat stat;
  situ_status status = NULL;
  const bool has_stat = !fstat(file, &stat);
  if (has_stat) status = check_owner(path, &stat);
  if (has_stat && !status && (size_t)stat.st_size == compute_layout(s, NULL)) {
    status = map_segment(file, path, s);
    if (!status)
      *done = segment_process_runs(atomic_load(&s->head->creator)) && !s->seats[s->seat].pid;
    if (!status && !*done) munmap(s->head, compute_layout(s, NULL));
    if (!*done) s->head = NULL;
  }
  close(file);
  return status;
}

/* Returns the first free seat; -1 if all are taken. */
static int find_free_seat(const struct segment *s) {
  for (int i = 0; i < s->n_seats; i++)
    if (!atomic_load(&s->seats[i].pid)) return i;
  return -1;
}

static situ_status join_timeout(const struct segment *s, double timeout) {
  const int seat = s->head ? find_free_seat(s) : 0;
  return situ_status_create(SITU_DEADLINE_EXCEEDED,
                            "Local rank %d of %d has not joined the cluster after %g seconds.",
                            seat < 0 ? 0 : seat, s->n_seats, timeout);
}

situ_status segment_join(const char *name, int seat, int n_seats, double timeout,
                         struct segment *out) {
  if (n_seats > SEGMENT_SEATS)
    return INVALID("%d ranks on one machine; at most %d are possible.", n_seats,
                   (int)SEGMENT_SEATS);
  char path[SEGMENT_PATH];
  segment_path(name, path);
  *out = (struct segment){.seat = seat, .n_seats = n_seats};
  const double deadline = read_clock() + timeout;
  bool is_attached = seat == 0;
  situ_status status = is_attached ? create_segment(path, out) : NULL;
  while (!status && !is_attached) {
    status = attach_segment(path, out, &is_attached);
    if (!status && !is_attached && read_clock() > deadline) status = join_timeout(out, timeout);
    if (!is_attached) sleep_briefly();
  }
  if (!status) atomic_store(&out->seats[seat].pid, (int32_t)getpid());
  while (!status && find_free_seat(out) >= 0) {
    if (read_clock() > deadline) status = join_timeout(out, timeout);
    sleep_briefly();
  }
  if (seat == 0 && out->head) shm_unlink(path); /* the memory lives as long as its mappings */
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
  return segment_process_runs(atomic_load(&segment->seats[seat].pid));
}
