/* SPDX-License-Identifier: Apache-2.0
 * plan.h: the planner: compiles a placed graph with its feeds and fetches to a program. */
#ifndef SITU_PLAN_PLAN_H
#define SITU_PLAN_PLAN_H

#include "plan/program.h"

/* A feed. The tensor's elements are read only if the program depends on them; NULL if only shapes
 * are known. */
struct plan_feed {
  struct edge edge;
  situ_type type;
  situ_shape shape;
  const situ_tensor *tensor;
  int32_t device; /* of its memory; 0: host */
  int32_t donate; /* 1 + the fetch that may reuse its buffer; 0: none */
};

struct plan_request {
  const struct situ_graph *graph;
  const int32_t *placement; /* device index per node */
  const struct device_list *devices;
  const struct plan_feed *feeds;
  const struct edge *fetches; /* output -1: only run the node */
  int32_t n_feeds, n_fetches;
  bool gradients;      /* find the gradients of variables that the program computes */
  bool check_numerics; /* fail if an op outputs NaN or infinity */
  bool check_feeds;    /* ... or if a placeholder is fed one */
  bool keep_on_device; /* results stay on the devices that compute them; else copy to the host */
  const struct program *previous; /* program of the same step that ran before; NULL: none */
};

/* Compiles a run, or the part of it whose shapes are known. If a shape depends on computed data,
 * *missing is the first such value (node -1: none): the caller runs the program, adds its fetches
 * from n_requested on to the feeds, and compiles the next program with `previous` set. Free the
 * result with plan_free. */
situ_status plan_compile(const struct plan_request *request, struct program **out,
                         struct edge *missing) SITU_MUST_USE;
void plan_free(struct program *program);

/* Returns the host memory of a program and, about, of the tables of a frame. */
static inline uint64_t plan_bytes(const struct program *program) {
  return 2 * (uint64_t)program->arena.total;
}

#endif
