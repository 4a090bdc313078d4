/* SPDX-License-Identifier: Apache-2.0
 * scaling.h: predicts the time of a data-parallel training step on many GPUs and machines.
 * docs/explanation/scaling-model.md describes the model. */
#ifndef SITU_CLI_SCALING_H
#define SITU_CLI_SCALING_H

#include <stdbool.h>
#include <stdint.h>

/* A GPU, from its data sheet. */
struct scaling_gpu {
  const char *name, *model;
  double flops, bandwidth; /* peak FLOP/s and bytes/s */
  double memory;           /* bytes */
};

/* A link between GPUs of a machine, or between machines. */
struct scaling_link {
  const char *name, *model;
  double bandwidth; /* bytes per second in one direction, of a GPU or a machine */
  double latency;   /* seconds per message */
};

/* Find a GPU or link by name; a link may also be BYTES or BYTES/LATENCY_IN_US (12.5e9/5). Return
 * false if there is none. */
bool scaling_find_gpu(const char *name, struct scaling_gpu *out);
bool scaling_find_link(const char *name, struct scaling_link *out);

/* A training step on one GPU. */
struct scaling_step {
  double compute;   /* seconds */
  double gradients; /* bytes of the all-reduce */
  double backward;  /* fraction of the time in which gradients become available */
};

struct scaling_cluster {
  int gpus, nodes;
  struct scaling_link intranode, internode;
  double efficiency; /* fraction of the link bandwidth that is achieved */
  double bucket;     /* bytes per all-reduce */
  bool overlap;      /* of communication with the backward pass */
};

enum scaling_algorithm { SCALING_RING, SCALING_TREE, SCALING_HIERARCHICAL, SCALING_ALGORITHMS };
extern const char *const scaling_names[SCALING_ALGORITHMS];

/* The prediction for a step. */
struct scaling_result {
  double step;          /* seconds */
  double communication; /* seconds in which links are busy */
  double exposed;       /* seconds of communication without computation */
  double efficiency;    /* relative to a single GPU with the same work */
};
struct scaling_result scaling_predict(const struct scaling_cluster *cluster,
                                      const struct scaling_step *step,
                                      enum scaling_algorithm algorithm);

/* Returns the seconds of a kernel call: launch overhead plus the longer of compute and memory time.
 * */
double scaling_kernel(const struct scaling_gpu *gpu, double reached, double flops, double bytes);

#endif
