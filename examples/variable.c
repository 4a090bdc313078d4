/* SPDX-License-Identifier: Apache-2.0
 * variable.c: variables: a variable on the GPU lives as long as its session.
 *
 * A variable has no value until it is initialized. Operations that update it are placed on its
 * device automatically. A second session has its own copy of the variable. */
#include <situ/situ.h>

static situ_status print(situ_session *session, situ_value value) {
  situ_tensor *result = NULL;
  situ_status s = situ_session_eval(session, value, &result);
  if (!s) s = situ_tensor_print(result, stdout);
  situ_tensor_release(result);
  return s;
}

int main(void) {
  const float zeros[] = {0, 0}, steps[] = {1, 10};
  situ_graph *graph = situ_graph_create();
  situ_device_push(graph, "/gpu:0");
  const situ_value total = situ_variable_v2(graph, SITU_SHAPE(2), SITU_FLOAT);
  situ_device_pop(graph);
  const situ_value zero = situ_constant(graph, "zero", SITU_FLOAT, SITU_SHAPE(2), zeros);
  const situ_value step = situ_constant(graph, "step", SITU_FLOAT, SITU_SHAPE(2), steps);
  const situ_value begin = situ_assign(graph, total, zero);
  const situ_value add = situ_assign_add(graph, total, step);

  const situ_config config = {.log_device_placement = true};
  situ_session *session = NULL;
  situ_status s = situ_session_create(graph, &config, &session);
  if (!s) situ_status_report(print(session, total), stdout);
  if (!s) s = print(session, begin);
  for (int i = 0; !s && i < 3; i++) s = print(session, add);

  situ_session_release(session);
  situ_graph_release(graph);
  return situ_status_report(s, stderr);
}
