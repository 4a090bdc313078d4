/* SPDX-License-Identifier: Apache-2.0
 * scaling.h: how long a step of data-parallel training takes on many GPUs of many machines: a model
 * on a virtual clock. docs/explanation/scaling-model.md says what it assumes. */
#ifndef SITU_CLI_SCALING_H
#define SITU_CLI_SCALING_H

#include <stdbool.h>
#include <stdint.h>

/* A GPU: what its data sheet says, and which part of that programs reach. */
struct scaling_gpu {
  const char *name, *model;
  double flops, bandwidth; /* per second: operations, bytes */
  double memory;           /* bytes */
};

/* A link between GPUs of a machine, or between machines. */
struct scaling_link {
  const char *name, *model;
  double bandwidth; /* bytes per second, one way, of a GPU or of a machine */
  double latency;   /* seconds, of a message */
};

/* The GPU or link of that name; a link may be NAME or BYTES or BYTES/LATENCY_IN_US (as 12.5e9/5).
 * False where there is none. */
bool scaling_find_gpu(const char *name, struct scaling_gpu *out);
bool scaling_find_link(const char *name, struct scaling_link *out);

/* Names and what they stand for, until false. */
bool scaling_gpu_at(int i, struct scaling_gpu *out);
bool scaling_link_at(int i, struct scaling_link *out);

/* What one GPU does in a step. */
struct scaling_step {
  double compute;   /* seconds */
  double gradients; /* bytes that are reduced over all GPUs */
  double backward;  /* the part of the time in which gradients appear */
};

struct scaling_cluster {
  int gpus, nodes;
  struct scaling_link near, far;
  double efficiency; /* of links: the part of their bandwidth that is reached */
  double bucket;     /* bytes: gradients are reduced in portions of this size */
  bool overlap;      /* while the backward pass still runs */
};

enum scaling_algorithm { SCALING_RING, SCALING_TREE, SCALING_HIERARCHICAL, SCALING_ALGORITHMS };
extern const char *const scaling_names[SCALING_ALGORITHMS];

/* Seconds of an all-reduce of so many bytes. */
double scaling_all_reduce(const struct scaling_cluster *cluster, enum scaling_algorithm algorithm,
                          double bytes);

/* What is predicted of a step. */
struct scaling_result {
  double step;          /* seconds */
  double communication; /* seconds in which links are busy */
  double exposed;       /* seconds of these in which nothing is computed */
  double efficiency;    /* against one GPU that does its share alone */
};
struct scaling_result scaling_predict(const struct scaling_cluster *cluster,
                                      const struct scaling_step *step,
                                      enum scaling_algorithm algorithm);

/* Seconds that calls of kernels take, each the longer of computing and of memory, and a launch. */
double scaling_kernel(const struct scaling_gpu *gpu, double reached, double flops, double bytes);

#endif
