/* SPDX-License-Identifier: Apache-2.0
 * measure.h: measures the cost of a training step on one GPU, by running a script on a simulated
 * GPU or by planning a graph. */
#ifndef SITU_CLI_MEASURE_H
#define SITU_CLI_MEASURE_H

#include "command.h"
#include "scaling.h"

/* A training step of a script. */
struct measured_part {
  double times, runs, kernels, gradients; /* times: runs per iteration, 0: not counted; kernels: 0
                                             for eager steps, which share programs */
  bool is_variant;                        /* trains the same variables as a counted step */
};

enum { MEASURED_PARTS = 16 };

struct measured {
  double seconds; /* of the kernels of a step */
  double flops;
  double kernels, steps; /* kernel calls per step; number of steps observed */
  double block;          /* memory of a step in bytes */
  double variables;      /* bytes of all variables */
  double gradients;      /* bytes of the gradients of trained variables */
  struct measured_part parts[MEASURED_PARTS];
  int n_parts; /* of a script; uncounted ones last */
};

/* Runs a script on one simulated GPU, with stdout discarded. Returns SUCCESS, or prints an error
 * and returns the exit code. */
int measure_script(const struct args *args, const struct scaling_gpu *gpu, double reached,
                   struct measured *out);

/* Plans a run of a graph. */
int measure_graph(const struct args *args, const struct scaling_gpu *gpu, double reached,
                  struct measured *out);

#endif
