/* SPDX-License-Identifier: Apache-2.0
 * missing.c: a device that does not exist: the run fails and names the node.
 *
 * argv[1] is the requested device. The first line of the error is TensorFlow's; the rest lists the
 * available devices and how to fix it. The code of a status identifies the kind of error; the
 * session and the process stay usable. */
#include <situ/situ.h>

int main(int argc, char **argv) {
  const float data[] = {1, 2, 3, 4, 5, 6};
  situ_graph *graph = situ_graph_create();
  situ_device_push(graph, argc > 1 ? argv[1] : "/gpu:2");
  const situ_value a = situ_constant(graph, "a", SITU_FLOAT, SITU_SHAPE(2, 3), data);
  const situ_value b = situ_constant(graph, "b", SITU_FLOAT, SITU_SHAPE(3, 2), data);
  const situ_value c = situ_matmul(graph, a, b);
  situ_device_pop(graph);

  situ_session *session = NULL;
  situ_tensor *result = NULL;
  situ_status s = situ_session_create(graph, NULL, &session);
  if (!s) s = situ_session_eval(session, c, &result);
  if (situ_status_code(s) == SITU_INVALID_ARGUMENT && situ_status_node(s))
    printf("node '%s' cannot be placed\n", situ_status_node(s));

  situ_tensor_release(result);
  situ_session_release(session);
  situ_graph_release(graph);
  return situ_status_report(s, stderr);
}
