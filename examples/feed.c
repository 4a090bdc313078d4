/* SPDX-License-Identifier: Apache-2.0
 * feed.c: feeds: one graph, batches of different sizes.
 *
 * The first dimension of the placeholder is unknown. The first run with each size compiles a
 * program, which later runs of that size reuse. A tensor that does not match the placeholder is an
 * error, and the session stays usable. */
#include <situ/situ.h>

static situ_status run(situ_session *session, situ_value x, situ_value y, situ_shape shape) {
  const float data[] = {1, 2, 3, 4, 5, 6};
  situ_tensor *batch = NULL, *result = NULL;
  situ_status s = situ_tensor_create(SITU_FLOAT, shape, data, &batch);
  if (!s) s = situ_session_run(session, &(situ_feed){x, batch}, 1, &y, 1, &result);
  if (!s) s = situ_tensor_print(result, stdout);
  situ_tensor_release(result);
  situ_tensor_release(batch);
  return s;
}

int main(void) {
  const float weights[] = {1, 0, 0, 1, 1, 1};
  situ_graph *graph = situ_graph_create();
  const situ_value x = situ_placeholder(graph, "x", SITU_FLOAT, SITU_SHAPE(SITU_ANY, 3));
  const situ_value w = situ_constant(graph, "w", SITU_FLOAT, SITU_SHAPE(3, 2), weights);
  const situ_value y = situ_matmul(graph, x, w);

  situ_session *session = NULL;
  situ_status s = situ_session_create(graph, NULL, &session);
  if (!s) s = run(session, x, y, SITU_SHAPE(1, 3));
  if (!s) s = run(session, x, y, SITU_SHAPE(2, 3));
  if (!s) situ_status_report(run(session, x, y, SITU_SHAPE(3, 2)), stdout);
  if (!s) s = run(session, x, y, SITU_SHAPE(1, 3));

  situ_session_release(session);
  situ_graph_release(graph);
  return situ_status_report(s, stderr);
}
