/* SPDX-License-Identifier: Apache-2.0
 * scaling.c: see scaling.h. */
#include "scaling.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Data sheet peaks: single precision, with tensor cores where programs use them by default. */
static const struct scaling_gpu gpus[] = {
    {"k80", "Tesla K80 (one of two)", 4.1e12, 240e9, 12e9},
    {"p100", "Tesla P100", 10.6e12, 732e9, 16e9},
    {"v100", "Tesla V100", 15.7e12, 900e9, 32e9},
    {"a100", "A100, TF32", 156e12, 2039e9, 80e9},
    {"h100", "H100, TF32", 494e12, 3350e9, 80e9},
};

/* Bandwidth in one direction, per GPU within a machine, and of all adapters of a machine. */
static const struct scaling_link links[] = {
    {"pcie", "PCI Express 3.0 x16", 15.75e9, 5e-6},
    {"nvlink", "NVLink 2, six links (V100)", 150e9, 3e-6},
    {"nvlink1", "NVLink 1, four links (P100)", 80e9, 3e-6},
    {"nvlink3", "NVLink 3 (A100)", 300e9, 3e-6},
    {"nvlink4", "NVLink 4 (H100)", 450e9, 3e-6},
    {"eth10", "10 Gbit/s Ethernet", 1.25e9, 30e-6},
    {"eth25", "25 Gbit/s Ethernet", 3.125e9, 20e-6},
    {"eth50", "50 Gbit/s Ethernet", 6.25e9, 20e-6},
    {"eth100", "100 Gbit/s Ethernet", 12.5e9, 15e-6},
    {"fdr", "InfiniBand FDR, 56 Gbit/s", 6.8e9, 3e-6},
    {"ib", "InfiniBand EDR, 100 Gbit/s", 12.5e9, 3e-6},
    {"ib2", "two InfiniBand EDR, 200 Gbit/s", 25e9, 3e-6},
    {"ib4", "four InfiniBand EDR, 400 Gbit/s", 50e9, 3e-6},
    {"ib8", "eight InfiniBand HDR, 1600 Gbit/s", 200e9, 3e-6},
};

const char *const scaling_names[SCALING_ALGORITHMS] = {"ring", "tree", "hierarchical"};
static const double launch_seconds = 5e-6; /* launch overhead per kernel */

bool scaling_find_gpu(const char *name, struct scaling_gpu *out) {
  for (size_t i = 0; i < sizeof gpus / sizeof *gpus; i++) {
    *out = gpus[i];
    if (!strcasecmp(out->name, name)) return true;
  }
  return false;
}

bool scaling_find_link(const char *name, struct scaling_link *out) {
  for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
    *out = links[i];
    if (!strcasecmp(out->name, name)) return true;
  }
  char *end = NULL;
  *out = (struct scaling_link){.name = name, .model = "as given", .latency = 5e-6};
  out->bandwidth = strtod(name, &end);
  if (end != name && *end == '/') out->latency = strtod(end + 1, &end) * 1e-6;
  return end != name && !*end && out->bandwidth > 0 && out->latency >= 0;
}

static double min_of(double a, double b) { return a < b ? a : b; }
static double max_of(double a, double b) { return a > b ? a : b; }

/* Ring all-reduce over all GPUs: each sends 2 (n - 1) / n of the bytes. */
static double ring(double n, double bytes, double bandwidth, double latency) {
  return n < 2 ? 0 : 2 * (n - 1) / n * bytes / bandwidth + 2 * (n - 1) * latency;
}

/* Pipelined reduction to a root and broadcast, over a binary tree. */
static double tree(double n, double bytes, double bandwidth, double latency) {
  return n < 2 ? 0 : 2 * bytes / bandwidth + 2 * ceil(log2(n)) * latency;
}

/* Returns the seconds of an all-reduce. */
static double predict_all_reduce(const struct scaling_cluster *cluster,
                                 enum scaling_algorithm algorithm, double bytes) {
  const double g = cluster->gpus, m = cluster->nodes, n = g * m;
  const double intranode = cluster->intranode.bandwidth * cluster->efficiency;
  const double internode = cluster->internode.bandwidth * cluster->efficiency;
  const double all = m > 1 ? g > 1 ? min_of(intranode, internode) : internode : intranode;
  const double latency = m > 1 ? cluster->internode.latency : cluster->intranode.latency;
  if (algorithm == SCALING_RING) return ring(n, bytes, all, latency);
  if (algorithm == SCALING_TREE) return tree(n, bytes, all, latency);
  /* Reduce-scatter within a machine; all-reduce between machines, over all adapters of a machine at
   * once; all-gather within a machine. */
  const double inside =
      g < 2 ? 0 : 2 * ((g - 1) / g * bytes / intranode + (g - 1) * cluster->intranode.latency);
  return inside + min_of(ring(m, bytes, internode, latency), tree(m, bytes, internode, latency));
}

/* Gradients become available at a constant rate during the backward pass. A bucket is reduced when
 * it is complete and the previous one is done. */
struct scaling_result scaling_predict(const struct scaling_cluster *cluster,
                                      const struct scaling_step *step,
                                      enum scaling_algorithm algorithm) {
  const double begin = step->compute * (1 - step->backward);
  double clock = 0, busy = 0;
  for (double done = 0; done < step->gradients;) {
    const double bytes = min_of(cluster->bucket, step->gradients - done);
    done += bytes;
    const double ready = cluster->overlap
                             ? begin + step->compute * step->backward * done / step->gradients
                             : step->compute;
    const double seconds = predict_all_reduce(cluster, algorithm, bytes);
    busy += seconds;
    clock = max_of(clock, ready) + seconds;
  }
  struct scaling_result result = {.step = max_of(clock, step->compute), .communication = busy};
  result.exposed = result.step - step->compute;
  result.efficiency = result.step > 0 ? step->compute / result.step : 1;
  return result;
}

double scaling_kernel(const struct scaling_gpu *gpu, double reached, double flops, double bytes) {
  return launch_seconds +
         max_of(flops / (gpu->flops * reached), bytes / (gpu->bandwidth * max_of(reached, 0.7)));
}
