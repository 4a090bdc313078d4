/* SPDX-License-Identifier: Apache-2.0
 * measure.h: what a step of a program costs on one GPU: from a script that is run on a simulated
 * one, or from the plan of a graph. */
#ifndef SITU_CLI_MEASURE_H
#define SITU_CLI_MEASURE_H

#include "command.h"
#include "scaling.h"

struct measured {
  double seconds; /* of the kernels of a step */
  double flops;
  double kernels, steps; /* how many: calls of a step, steps that were seen */
  double block;          /* bytes: memory of a step */
  double variables;      /* bytes of all variables */
  double gradients;      /* bytes of those that are trained */
};

/* Runs a script, whose output goes nowhere, on one simulated GPU. Returns DONE, or prints what is
 * wrong and returns the exit code. */
int measure_script(const struct args *args, const struct scaling_gpu *gpu, double reached,
                   struct measured *out);

/* Plans a run of a graph. */
int measure_graph(const struct args *args, const struct scaling_gpu *gpu, double reached,
                  struct measured *out);

#endif
