/* SPDX-License-Identifier: Apache-2.0
 * cluster.c: all-reduce between two processes of this machine, against OpenMPI's MPI_Allreduce.
 *
 * Starts itself again under mpirun. Both ways take turns in the same two processes; a burst begins
 * when both are there, and the best one counts. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "situ/cluster.h"
#include "support/bench.h"

enum { LARGE = 25 * 1000 * 1000 / 4, SMALL = 4096 / 4 };

/* What is taken of OpenMPI. */
struct peer {
  int (*init)(int *, char ***);
  int (*finalize)(void);
  int (*all_reduce)(const void *, void *, int, void *, void *, void *);
  int (*barrier)(void *);
  void *world, *number, *sum;
};

static bool find(void *library, const char *name, void *to) {
  *(void **)to = library ? dlsym(library, name) : NULL;
  return *(void **)to != NULL;
}

static bool load(struct peer *out) {
  void *library = dlopen("libmpi.so.40", RTLD_NOW | RTLD_GLOBAL);
  if (!library) library = dlopen("libmpi.so", RTLD_NOW | RTLD_GLOBAL);
  return find(library, "MPI_Init", &out->init) && find(library, "MPI_Finalize", &out->finalize) &&
         find(library, "MPI_Allreduce", &out->all_reduce) &&
         find(library, "MPI_Barrier", &out->barrier) &&
         find(library, "ompi_mpi_comm_world", &out->world) &&
         find(library, "ompi_mpi_float", &out->number) &&
         find(library, "ompi_mpi_op_sum", &out->sum);
}

struct sums {
  const struct peer *peer;
  float *in, *out;
  int count, calls;
};

/* Seconds per call of a burst, on the slower rank. */
static double burst(const struct sums *sums, bool ours) {
  sums->peer->barrier(sums->peer->world);
  const double begin = bench_now();
  for (int i = 0; i < sums->calls; i++) {
    if (ours)
      bench_check(
          situ_cluster_all_reduce(sums->in, sums->out, sums->count, SITU_FLOAT, SITU_REDUCE_SUM));
    else
      sums->peer->all_reduce(sums->in, sums->out, sums->count, sums->peer->number, sums->peer->sum,
                             sums->peer->world);
  }
  double seconds = (bench_now() - begin) / sums->calls;
  bench_check(situ_cluster_all_reduce(&seconds, &seconds, 1, SITU_DOUBLE, SITU_REDUCE_MAX));
  return seconds;
}

static void compare(const struct sums *sums, const char *name, const char *what, double scale,
                    const char *unit, double target) {
  const int bursts = bench_quick() ? 10 : 60;
  double best[2] = {1e9, 1e9};
  for (int i = 0; i < bursts; i++)
    for (int ours = 0; ours < 2; ours++) {
      const double seconds = burst(sums, ours);
      if (seconds < best[ours]) best[ours] = seconds;
    }
  for (int i = 0; i < sums->count; i++) bench_expect(sums->out[i] == 3, "a sum");
  if (situ_cluster_rank() || !bench_wants(name)) return;
  bench_report(&(struct bench_row){.name = name,
                                   .what = what,
                                   .value = best[1] * scale,
                                   .unit = unit,
                                   .against = "MPI_Allreduce",
                                   .yardstick = best[0] * scale,
                                   .target = target});
}

static void measure(struct peer *peer) {
  peer->init(NULL, NULL);
  bench_check(situ_cluster_join(NULL));
  struct sums sums = {.peer = peer, .count = LARGE, .calls = 1};
  sums.in = malloc(sizeof *sums.in * LARGE);
  sums.out = malloc(sizeof *sums.out * LARGE);
  bench_expect(sums.in && sums.out, "memory");
  for (int i = 0; i < LARGE; i++) sums.in[i] = 1 + (float)situ_cluster_rank();
  compare(&sums, "cluster.reduce_25m", "all-reduce of 25 MB between two processes", 1e3, "ms", 0.5);
  sums.count = SMALL;
  sums.calls = 2000;
  compare(&sums, "cluster.reduce_4k", "all-reduce of 4 KB between two processes", 1e6, "us", 1);
  situ_cluster_leave();
  peer->finalize();
}

/* The same program as two ranks; returns only where there is no mpirun. */
static void start_again(int argc, char **argv) {
  enum { MOST = 32 };
  char *words[MOST] = {"mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "2"};
  int n = 5;
  for (int i = 0; i < argc && n < MOST - 1; i++) words[n++] = argv[i];
  execvp(words[0], words);
}

int main(int argc, char **argv) {
  struct peer peer;
  bench_start(argc, argv);
  if (!bench_wants("cluster.reduce_25m") && !bench_wants("cluster.reduce_4k")) return 0;
  const bool inside = getenv("OMPI_COMM_WORLD_SIZE") != NULL;
  if (!inside) start_again(argc, argv);
  if (inside && load(&peer))
    measure(&peer);
  else
    bench_skip("cluster.reduce_25m", "all-reduce between two processes", "OpenMPI is not there");
  return 0;
}
