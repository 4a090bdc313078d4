/* SPDX-License-Identifier: Apache-2.0
 * towers.c: several GPUs: the same computation on two GPUs, and the sum on the CPU.
 *
 * Each tower is built in the scope of its device. The devices run concurrently; the two products
 * are copied to the CPU automatically. */
#include <situ/situ.h>

static situ_value tower(situ_graph *graph, const char *device) {
  const float data[] = {1, 2, 3, 4, 5, 6};
  situ_device_push(graph, device);
  const situ_value a = situ_constant(graph, NULL, SITU_FLOAT, SITU_SHAPE(2, 3), data);
  const situ_value b = situ_constant(graph, NULL, SITU_FLOAT, SITU_SHAPE(3, 2), data);
  const situ_value c = situ_matmul(graph, a, b);
  situ_device_pop(graph);
  return c;
}

int main(void) {
  situ_graph *graph = situ_graph_create();
  const situ_value c[] = {tower(graph, "/gpu:2"), tower(graph, "/gpu:3")};
  situ_device_push(graph, "/cpu:0");
  const situ_value sum = situ_add_n(graph, c, 2);
  situ_device_pop(graph);

  situ_session *session = NULL;
  situ_tensor *result = NULL;
  situ_status s =
      situ_session_create(graph, &(situ_config){.log_device_placement = true}, &session);
  if (!s) s = situ_session_eval(session, sum, &result);
  if (!s) s = situ_tensor_print(result, stdout);

  situ_tensor_release(result);
  situ_session_release(session);
  situ_graph_release(graph);
  return situ_status_report(s, stderr);
}
