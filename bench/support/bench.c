/* SPDX-License-Identifier: Apache-2.0
 * bench.c: see bench.h. */
#include "bench.h"

#include <dirent.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_BURSTS = 400, MAX_SIDES = 8, LEAST_ROUNDS = 5, LEAST_CLEAN = 3 };

static const double burst_seconds = 0.005;
static const double margin = 0.1;

static struct {
  bool quick;
  const char *only;
} options;

void bench_start(int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "--quick")) options.quick = true;
    if (!strcmp(argv[i], "--only") && i + 1 < argc) options.only = argv[++i];
  }
  setvbuf(stdout, NULL, _IOLBF, 0);
}

bool bench_quick(void) { return options.quick; }

bool bench_wants(const char *name) {
  return !options.only || strstr(name, options.only) || !fnmatch(options.only, name, 0);
}

double bench_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double read_wait(const char *path) {
  FILE *file = fopen(path, "r");
  if (!file) return 0;
  unsigned long long running, waiting;
  const bool read = fscanf(file, "%llu %llu", &running, &waiting) == 2;
  fclose(file);
  return read ? 1e-9 * (double)waiting : 0;
}

/* Seconds that threads have waited for a core so far: the calling one, or all of this process. */
static double waited(bool alone) {
  if (alone) return read_wait("/proc/thread-self/schedstat");
  double seconds = 0;
  DIR *tasks = opendir("/proc/self/task");
  if (!tasks) return 0;
  for (struct dirent *task = readdir(tasks); task; task = readdir(tasks)) {
    char path[64];
    if (task->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "/proc/self/task/%.20s/schedstat", task->d_name);
    seconds += read_wait(path);
  }
  closedir(tasks);
  return seconds;
}

/* A burst of one side. */
struct burst {
  double seconds; /* per call */
  double waited;  /* part of the time that threads waited for a core */
};

static bool is_single(const struct bench_side *side) { return side->before || side->after; }

static double call_once(struct bench_side *side) {
  if (side->before) side->before(side->context);
  const double begin = bench_now();
  side->run(side->context);
  const double seconds = bench_now() - begin;
  if (side->after) side->after(side->context);
  return seconds;
}

/* How many calls make a burst. */
static int64_t calls_of(struct bench_side *side) {
  if (is_single(side)) return 1;
  double best = 1e9;
  for (int i = 0; i < 5; i++) best = fmin(best, call_once(side));
  int64_t calls = (int64_t)fmax(1, burst_seconds / fmax(best, 1e-9));
  if (calls < 1000) return calls;
  const double begin = bench_now();
  for (int64_t i = 0; i < calls / 8; i++) side->run(side->context);
  const double each = (bench_now() - begin) / (double)(calls / 8);
  return (int64_t)fmax(1, burst_seconds / fmax(each, 1e-9));
}

static struct burst run_burst(struct bench_side *side, int64_t calls) {
  if (!is_single(side)) side->run(side->context); /* wakes threads, warms caches */
  if (side->before) side->before(side->context);
  const double begin = bench_now(); /* outside, so that no more is waited than has passed */
  const double waited_before = waited(side->alone);
  for (int64_t i = 0; i < calls; i++) side->run(side->context);
  const double waiting = waited(side->alone) - waited_before;
  const double seconds = bench_now() - begin;
  if (side->after) side->after(side->context);
  const double counted = side->alone ? seconds - waiting : seconds;
  return (struct burst){counted / (double)calls, waiting / seconds};
}

static int by_seconds(const void *a, const void *b) {
  const double x = ((const struct burst *)a)->seconds, y = ((const struct burst *)b)->seconds;
  return (x > y) - (x < y);
}

static void summarize(struct bench_side *side, struct burst *bursts, int count) {
  qsort(bursts, (size_t)count, sizeof *bursts, by_seconds);
  side->best = bursts[0].seconds;
  side->median = bursts[count / 2].seconds;
}

/* What was measured in all rounds. */
struct record {
  struct burst bursts[MAX_SIDES][MAX_BURSTS];
  int rounds;
};

/* Keeps the rounds in which nobody waited, if there are enough of them; returns whether there are.
 */
static bool keep_clean(struct record *record, int count, const bool *clean, int n_clean) {
  if (n_clean < LEAST_CLEAN) return false;
  int kept = 0;
  for (int r = 0; r < record->rounds; r++) {
    if (!clean[r]) continue;
    for (int s = 0; s < count; s++) record->bursts[s][kept] = record->bursts[s][r];
    kept++;
  }
  record->rounds = kept;
  return true;
}

bool bench_alternate(struct bench_side *sides, int count) {
  static struct record record;
  static bool clean[MAX_BURSTS];
  int64_t calls[MAX_SIDES];
  const int wanted = options.quick ? 7 : 25;
  const double limit = options.quick ? 1.0 : 6.0;
  for (int s = 0; s < count; s++) calls[s] = calls_of(&sides[s]);
  const double begin = bench_now();
  int n_clean = 0;
  for (record.rounds = 0; n_clean < wanted && record.rounds < MAX_BURSTS; record.rounds++) {
    if (record.rounds >= LEAST_ROUNDS && bench_now() - begin > limit) break;
    bool *all = &clean[record.rounds];
    *all = true;
    for (int k = 0; k < count; k++) {
      const int s = (record.rounds + k) % count; /* nobody is always the first */
      struct burst *burst = &record.bursts[s][record.rounds];
      *burst = run_burst(&sides[s], calls[s]);
      *all &= burst->waited <= 0.03;
    }
    n_clean += *all;
  }
  bool quiet = keep_clean(&record, count, clean, n_clean);
  for (int s = 0; s < count; s++) summarize(&sides[s], record.bursts[s], record.rounds);
  for (int s = 0, alone = 0; s < count; s++) quiet |= (alone += sides[s].alone) == count;
  return quiet;
}

static void print_text(const char *key, const char *text) {
  if (!text) {
    printf("\"%s\": null, ", key);
    return;
  }
  printf("\"%s\": \"", key);
  for (; *text; text++) {
    if (*text == '"' || *text == '\\')
      printf("\\%c", *text);
    else if ((unsigned char)*text < ' ')
      printf(" ");
    else
      putchar(*text);
  }
  printf("\", ");
}

void bench_report(const struct bench_row *row) {
  const double ratio = row->against ? row->value / row->yardstick : 0;
  const bool holds =
      row->at_least ? ratio >= row->target * (1 - margin) : ratio <= row->target * (1 + margin);
  printf("{");
  print_text("name", row->name);
  print_text("what", row->what);
  print_text("unit", row->unit);
  print_text("against", row->against);
  print_text("note", row->note);
  if (row->against)
    printf("\"yardstick\": %.6g, \"ratio\": %.6g, ", row->yardstick, ratio);
  else
    printf("\"yardstick\": null, \"ratio\": null, ");
  if (row->against && row->target > 0)
    printf("\"target\": %.6g, \"at_least\": %s, \"holds\": %s, ", row->target,
           row->at_least ? "true" : "false", holds ? "true" : "false");
  else
    printf("\"target\": null, \"at_least\": false, \"holds\": null, ");
  printf("\"busy\": %s, \"value\": %.6g}\n", row->busy ? "true" : "false", row->value);
}

void bench_skip(const char *name, const char *what, const char *why) {
  printf("{");
  print_text("name", name);
  print_text("what", what);
  print_text("skipped", why);
  printf("\"value\": null}\n");
}

void bench_check(situ_status status) {
  if (!status) return;
  fflush(stdout);
  exit(situ_status_report(status, stderr));
}

void bench_expect(bool right, const char *what) {
  if (right) return;
  fflush(stdout);
  fprintf(stderr, "wrong result: %s\n", what);
  exit(1);
}
