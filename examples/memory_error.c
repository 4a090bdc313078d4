/* SPDX-License-Identifier: Apache-2.0
 * memory_error.c: out of memory: the error reports the request, the owners of the memory, and what
 * to change.
 *
 * The GPU is limited to 64 MiB. A matrix of 64 MiB and its double do not fit and fail. The session
 * stays usable: the same graph runs with smaller matrices. */
#include <situ/situ.h>

/* Runs y for a matrix x of n by n zeros. */
static situ_status run(situ_session *session, situ_value x, situ_value y, int n) {
  situ_tensor *matrix = NULL, *result = NULL;
  situ_status s = situ_tensor_create(SITU_FLOAT, SITU_SHAPE(n, n), NULL, &matrix);
  if (!s) s = situ_session_run(session, &(situ_feed){x, matrix}, 1, &y, 1, &result);
  if (!s) printf("%d by %d: computed\n", n, n);
  situ_tensor_release(result);
  situ_tensor_release(matrix);
  return s;
}

int main(void) {
  const situ_config config = {.devices.memory.limit_bytes = 64 << 20};
  const int32_t rows = 0;
  situ_graph *graph = situ_graph_create();
  situ_device_push(graph, "/gpu:0");
  const situ_value x = situ_placeholder(graph, "x", SITU_FLOAT, SITU_SHAPE(SITU_ANY, SITU_ANY));
  const situ_value axis = situ_constant(graph, "axis", SITU_INT32, SITU_SCALAR, &rows);
  const situ_value y = situ_concat(graph, (situ_value[]){x, x}, 2, axis);
  situ_device_pop(graph);

  situ_session *session = NULL;
  situ_status s = situ_session_create(graph, &config, &session);
  if (!s) s = run(session, x, y, 256);
  if (!s) {
    const situ_status failure = run(session, x, y, 4096);
    printf("4096 by 4096: %s\n", situ_code_name(situ_status_code(failure)));
    situ_status_report(failure, stdout);
    s = run(session, x, y, 256);
  }

  situ_session_release(session);
  situ_graph_release(graph);
  return situ_status_report(s, stderr);
}
