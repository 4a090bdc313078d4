/* SPDX-License-Identifier: Apache-2.0
 * measure.h: what a step of a program costs on one GPU: from a script that is run on a simulated
 * one, or from the plan of a graph. */
#ifndef SITU_CLI_MEASURE_H
#define SITU_CLI_MEASURE_H

#include "command.h"
#include "scaling.h"

/* A training step that was found: counted in an iteration so many times, or not (0). */
struct measured_part {
  double times, runs, kernels, gradients; /* kernels: 0 of eager ones, which share what runs */
  bool is_variant;                        /* trains the same variables as a counted one */
};

enum { MEASURED_PARTS = 16 };

struct measured {
  double seconds; /* of the kernels of a step */
  double flops;
  double kernels, steps; /* how many: calls of a step, steps that were seen */
  double block;          /* bytes: memory of a step */
  double variables;      /* bytes of all variables */
  double gradients;      /* bytes of those that are trained */
  struct measured_part parts[MEASURED_PARTS];
  int n_parts; /* of a script; those that are not counted last */
};

/* Runs a script, whose output goes nowhere, on one simulated GPU. Returns DONE, or prints what is
 * wrong and returns the exit code. */
int measure_script(const struct args *args, const struct scaling_gpu *gpu, double reached,
                   struct measured *out);

/* Plans a run of a graph. */
int measure_graph(const struct args *args, const struct scaling_gpu *gpu, double reached,
                  struct measured *out);

#endif
