/* SPDX-License-Identifier: Apache-2.0
 * transform.c: functions of elements: a graph with a session of its own. */
#include <stdlib.h>
#include <string.h>

#include "data/data.h"

struct situ_transform {
  int references; /* atomic */
  situ_session *session;
  situ_value *inputs, *outputs;
  int n_inputs, n_outputs;
};

situ_transform *situ_transform_retain(situ_transform *transform) {
  if (transform) __atomic_add_fetch(&transform->references, 1, __ATOMIC_RELAXED);
  return transform;
}

void situ_transform_release(situ_transform *transform) {
  if (!transform || __atomic_sub_fetch(&transform->references, 1, __ATOMIC_ACQ_REL) > 0) return;
  situ_session_release(transform->session);
  free(transform->inputs);
  free(transform->outputs);
  free(transform);
}

static situ_value *copy_values(const situ_value *from, int n) {
  situ_value *copy = calloc((size_t)n + 1, sizeof *copy);
  if (copy && n) memcpy(copy, from, sizeof *copy * (size_t)n);
  return copy;
}

situ_status situ_transform_create(situ_graph *graph, const situ_value *inputs, int n_inputs,
                                  const situ_value *outputs, int n_outputs, situ_transform **out) {
  if (!out || n_inputs < 0 || n_outputs < 1 || (n_inputs && !inputs) || !outputs)
    return INVALID("situ_transform_create: a function needs a graph, inputs and outputs.");
  *out = NULL;
  const situ_config config = {.allow_soft_placement = true};
  situ_transform *transform = calloc(1, sizeof *transform);
  if (!transform) return NO_MEMORY();
  transform->references = 1;
  transform->inputs = copy_values(inputs, n_inputs);
  transform->outputs = copy_values(outputs, n_outputs);
  transform->n_inputs = n_inputs;
  transform->n_outputs = n_outputs;
  situ_status status = transform->inputs && transform->outputs ? NULL : NO_MEMORY();
  if (!status) status = situ_session_create(graph, &config, &transform->session);
  if (status)
    situ_transform_release(transform);
  else
    *out = transform;
  return status;
}

int transform_inputs(const situ_transform *transform) { return transform->n_inputs; }
int transform_outputs(const situ_transform *transform) { return transform->n_outputs; }

situ_status transform_call(const struct cursor *cursor, situ_tensor *const *row, int n,
                           situ_tensor **results) {
  enum { FEW = 16 };
  const situ_transform *transform = cursor->dataset->recipe.transform;
  const int before =
      transform->n_inputs - cursor->dataset->recipe.n_params; /* inputs, less params */
  situ_feed few[FEW], *feeds = few;
  if (transform->n_inputs > FEW) feeds = malloc(sizeof *feeds * (size_t)transform->n_inputs);
  if (!feeds) return NO_MEMORY();
  situ_status status = NULL;
  for (int i = 0; i < transform->n_inputs && !status; i++) {
    feeds[i].value = transform->inputs[i];
    feeds[i].tensor = NULL;
    if (i < n)
      feeds[i].tensor = row[i];
    else
      status = cursor_param(cursor, i - before, &feeds[i].tensor);
  }
  if (!status)
    status = situ_session_run(transform->session, feeds, transform->n_inputs, transform->outputs,
                              transform->n_outputs, results);
  if (feeds != few) free(feeds);
  return status;
}
