/* SPDX-License-Identifier: Apache-2.0
 * log.c: placement logging: what is printed, and when.
 *
 * With log_device_placement a session prints the devices when it is created, and a line per node
 * when the graph is placed: in the first run, and again after nodes were added. The lines go to
 * standard output, in order with the output of the program. SITU_DEVICE_NAMES=legacy prints /gpu:0
 * instead of /device:GPU:0. */
#include <situ/situ.h>

static situ_status run(situ_session *session, situ_value value, const char *heading) {
  situ_tensor *result = NULL;
  puts(heading);
  situ_status s = situ_session_eval(session, value, &result);
  if (!s) s = situ_tensor_print(result, stdout);
  situ_tensor_release(result);
  return s;
}

int main(void) {
  const float data[] = {1, 2, 3, 4, 5, 6};
  situ_graph *graph = situ_graph_create();
  const situ_value a = situ_constant(graph, "a", SITU_FLOAT, SITU_SHAPE(2, 3), data);
  const situ_value b = situ_constant(graph, "b", SITU_FLOAT, SITU_SHAPE(3, 2), data);
  const situ_value product = situ_matmul(graph, a, b);

  situ_session *session = NULL;
  puts("-- a session begins");
  situ_status s =
      situ_session_create(graph, &(situ_config){.log_device_placement = true}, &session);
  if (!s) s = run(session, product, "-- the first run");
  if (!s) s = run(session, product, "-- the second run");
  const situ_value negative = situ_negative(graph, product);
  if (!s) s = run(session, negative, "-- the graph has grown");

  situ_session_release(session);
  situ_graph_release(graph);
  return situ_status_report(s, stderr);
}
