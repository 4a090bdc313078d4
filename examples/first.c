/* SPDX-License-Identifier: Apache-2.0
 * first.c: multiplies two matrices and shows where each operation runs.
 *
 * Builds a graph and runs it in a session. Without a device request, operations with a GPU kernel
 * run on the GPU if there is one, else on the CPU. */
#include <situ/situ.h>

int main(void) {
  const float data[] = {1, 2, 3, 4, 5, 6};
  situ_graph *graph = situ_graph_create();
  const situ_value a = situ_constant(graph, "a", SITU_FLOAT, SITU_SHAPE(2, 3), data);
  const situ_value b = situ_constant(graph, "b", SITU_FLOAT, SITU_SHAPE(3, 2), data);
  const situ_value product = situ_matmul(graph, a, b);

  const situ_config config = {.log_device_placement = true};
  situ_session *session = NULL;
  situ_tensor *result = NULL;
  situ_status s = situ_session_create(graph, &config, &session);
  if (!s) s = situ_session_eval(session, product, &result);
  if (!s) s = situ_tensor_print(result, stdout);

  situ_tensor_release(result);
  situ_session_release(session);
  situ_graph_release(graph);
  return situ_status_report(s, stderr);
}
