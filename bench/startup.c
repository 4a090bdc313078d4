/* SPDX-License-Identifier: Apache-2.0
 * startup.c: what it takes to begin: loading libsitu.so, listing devices, the first matmul; memory
 * and size.
 *
 * Usage: startup [--quick] [--only PATTERN] LIBRARY. The library is loaded while running, in a new
 * process each time.
 */
#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/bench.h"

/* The functions that a first program calls, found by name. */
#define CALLS(X)        \
  X(situ_devices_count) \
  X(situ_graph_create)  \
  X(situ_placeholder)   \
  X(situ_tensor_create) X(situ_emit) X(situ_session_create) X(situ_session_run) X(situ_tensor_data)

struct calls {
#define FIELD(name) __typeof__(name) *name;
  CALLS(FIELD)
#undef FIELD
};

/* Seconds since the process began, and what it holds at the end. */
struct times {
  double load, list, matmul;
  double resident; /* bytes */
};

static bool load(const char *path, struct calls *calls) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    return false;
  }
  bool complete = true;
#define FIND(name)                                        \
  *(void **)(void *)&calls->name = dlsym(library, #name); \
  complete &= calls->name != NULL;
  CALLS(FIND)
#undef FIND
  return complete;
}

/* Every status must be NULL; a first program that fails gives no times. */
static bool multiply(const struct calls *c) {
  static const float ones[4] = {1, 1, 1, 1};
  situ_graph *graph = c->situ_graph_create();
  situ_feed feed = {.value = c->situ_placeholder(graph, NULL, SITU_FLOAT, SITU_SHAPE(2, 2))};
  const situ_value inputs[] = {feed.value, feed.value};
  const situ_value product = c->situ_emit(graph, "MatMul", NULL, inputs, 2, NULL, 0);
  situ_session *session = NULL;
  situ_tensor *result = NULL;
  if (c->situ_tensor_create(SITU_FLOAT, SITU_SHAPE(2, 2), ones, &feed.tensor)) return false;
  if (c->situ_session_create(graph, NULL, &session)) return false;
  if (c->situ_session_run(session, &feed, 1, &product, 1, &result)) return false;
  return *(const float *)c->situ_tensor_data(result) == 2;
}

static bool first_program(const char *path, struct times *out) {
  struct calls calls;
  int count = 0;
  const double begin = bench_now();
  if (!load(path, &calls)) return false;
  out->load = bench_now() - begin;
  if (calls.situ_devices_count(&count) || count < 1) return false;
  out->list = bench_now() - begin;
  if (!multiply(&calls)) return false;
  out->matmul = bench_now() - begin;
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  out->resident = (double)usage.ru_maxrss * 1024;
  return true;
}

/* Runs the first program in a new process. */
static bool begin_anew(const char *path, struct times *out) {
  int ends[2];
  if (pipe(ends)) return false;
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    struct times times;
    const bool good = first_program(path, &times);
    if (good && write(ends[1], &times, sizeof times) != sizeof times) _exit(1);
    _exit(!good);
  }
  close(ends[1]);
  const bool good = child > 0 && read(ends[0], out, sizeof *out) == sizeof *out;
  close(ends[0]);
  if (child > 0) waitpid(child, NULL, 0);
  return good;
}

static double least(double a, double b) { return a < b ? a : b; }

static void report(const char *name, const char *what, double value, const char *unit,
                   const char *against, double limit) {
  if (!bench_wants(name)) return;
  bench_report(&(struct bench_row){.name = name,
                                   .what = what,
                                   .value = value,
                                   .unit = unit,
                                   .against = against,
                                   .yardstick = limit,
                                   .target = against ? 1 : 0});
}

static void report_times(const char *path) {
  struct times best = {1e9, 1e9, 1e9, 1e18};
  for (int i = 0; i < (bench_quick() ? 5 : 20); i++) {
    struct times times;
    bench_expect(begin_anew(path, &times), "the first program");
    best = (struct times){least(best.load, times.load), least(best.list, times.list),
                          least(best.matmul, times.matmul), least(best.resident, times.resident)};
  }
  report("startup.load", "load libsitu.so", best.load * 1e3, "ms", NULL, 0);
  report("startup.devices", "load and list devices", best.list * 1e3, "ms", NULL, 0);
  report("startup.matmul", "load, list, first matmul of 2x2", best.matmul * 1e3, "ms", "limit", 30);
  report("startup.resident", "memory of the process then", best.resident / 1e6, "MB", "limit", 20);
}

/* Bytes of a library that are loaded: what is left of it without lines for the debugger. */
static double loaded_bytes(const char *path) {
  FILE *file = fopen(path, "rb");
  Elf64_Ehdr head;
  double bytes = 0;
  bench_expect(file && fread(&head, sizeof head, 1, file) == 1, path);
  for (int i = 0; i < head.e_phnum; i++) {
    Elf64_Phdr part;
    const long at = (long)head.e_phoff + i * (long)head.e_phentsize;
    bench_expect(!fseek(file, at, SEEK_SET) && fread(&part, sizeof part, 1, file) == 1, path);
    if (part.p_type == PT_LOAD) bytes += (double)part.p_filesz;
  }
  fclose(file);
  return bytes;
}

int main(int argc, char **argv) {
  bench_start(argc, argv);
  const char *path = argv[argc - 1];
  if (bench_wants("startup.load") || bench_wants("startup.devices") ||
      bench_wants("startup.matmul") || bench_wants("startup.resident"))
    report_times(path);
  report("startup.size", "code and data of libsitu.so", loaded_bytes(path) / 1e6, "MB", "limit",
         10);
  return 0;
}
