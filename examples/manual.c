/* SPDX-License-Identifier: Apache-2.0
 * manual.c: manual placement: the constants on the CPU, the product on the default device.
 *
 * Nodes built between situ_device_push and situ_device_pop request that device. The product has no
 * request and runs on the GPU if there is one; the constants are then copied automatically. */
#include <situ/situ.h>

int main(void) {
  const float data[] = {1, 2, 3, 4, 5, 6};
  situ_graph *graph = situ_graph_create();
  situ_device_push(graph, "/cpu:0");
  const situ_value a = situ_constant(graph, "a", SITU_FLOAT, SITU_SHAPE(2, 3), data);
  const situ_value b = situ_constant(graph, "b", SITU_FLOAT, SITU_SHAPE(3, 2), data);
  situ_device_pop(graph);
  const situ_value c = situ_matmul(graph, a, b);

  situ_session *session = NULL;
  situ_tensor *result = NULL;
  situ_status s =
      situ_session_create(graph, &(situ_config){.log_device_placement = true}, &session);
  if (!s) s = situ_session_eval(session, c, &result);
  if (!s) s = situ_tensor_print(result, stdout);

  situ_tensor_release(result);
  situ_session_release(session);
  situ_graph_release(graph);
  return situ_status_report(s, stderr);
}
