/* SPDX-License-Identifier: Apache-2.0
 * plan.h: makes a program. */
#ifndef SITU_PLAN_PLAN_H
#define SITU_PLAN_PLAN_H

#include "plan/program.h"

/* A value that is fed. The tensor (may be NULL where only shapes matter) is looked at only if the
 * plan depends on it. */
struct plan_feed {
  struct edge edge;
  situ_type type;
  situ_shape shape;
  const situ_tensor *tensor;
  int32_t device; /* that holds it; 0: the host */
  int32_t donate; /* 1 + the fetch that may be put in its memory; 0: none */
};

struct plan_request {
  const struct situ_graph *graph;
  const int32_t *placement; /* device number per node */
  const struct device_list *devices;
  const struct plan_feed *feeds;
  const struct edge *fetches; /* output -1: only run the node */
  int32_t n_feeds, n_fetches;
  bool gradients; /* find the gradients of variables among what is computed */
  bool checked;   /* what is made is checked for NaN and infinities */
  bool feeds_too; /* and what is fed for placeholders */
  bool keep;      /* results stay on the devices that compute them; else they come to the host */
  const struct program *before; /* the part of the step that ran before; NULL: none */
};

/* Plans a run, or the part of it that can be planned. Where a shape depends on a value that only a
 * run can give, *need says which one (node -1: none): the caller runs the part, adds what it gives
 * beyond the fetches to the feeds, and asks for the next one. Frees with plan_free. */
situ_status plan_make(const struct plan_request *request, struct program **out,
                      struct edge *need) SITU_MUST_USE;
void plan_free(struct program *program);

#endif
