/* SPDX-License-Identifier: Apache-2.0
 * gradient.c: fits a line to points with gradients of a graph, and of eager calls. */
#include <situ/situ.h>

/* The mean of the squares of what w * x + b misses y by, and how it changes with w and b. */
static situ_status add_loss(situ_graph *graph, situ_value wb[2], situ_value out[3]) {
  const float x[] = {0, 1, 2, 3}, y[] = {1, 3, 5, 7};
  const int32_t axis = 0;
  const situ_value xs = situ_constant(graph, "x", SITU_FLOAT, SITU_SHAPE(4), x);
  const situ_value ys = situ_constant(graph, "y", SITU_FLOAT, SITU_SHAPE(4), y);
  const situ_value all = situ_constant(graph, "axis", SITU_INT32, SITU_SCALAR, &axis);
  const situ_value line = situ_add(graph, situ_multiply(graph, wb[0], xs), wb[1]);
  const situ_value miss = situ_squared_difference(graph, line, ys);
  out[0] = situ_reduce_mean(graph, miss, all);
  return situ_gradients(graph, &out[0], 1, wb, 2, NULL, NULL, out + 1);
}

/* Steps against the gradients; values are fed, so the graph is compiled once. */
static situ_status fit(situ_session *session, const situ_value wb[2], const situ_value out[3]) {
  float at[2] = {0, 0};
  situ_status s = NULL;
  for (int step = 0; step <= 60 && !s; step++) {
    situ_tensor *results[3] = {NULL}, *fed[2] = {NULL};
    for (int i = 0; i < 2 && !s; i++)
      s = situ_tensor_create(SITU_FLOAT, SITU_SCALAR, &at[i], &fed[i]);
    const situ_feed feeds[] = {{wb[0], fed[0]}, {wb[1], fed[1]}};
    if (!s) s = situ_session_run(session, feeds, 2, out, 3, results);
    if (!s && step % 20 == 0)
      printf("step %2d: w = %.3f, b = %.3f, loss = %.4f\n", step, (double)at[0], (double)at[1],
             (double)*(const float *)situ_tensor_data(results[0]));
    for (int i = 0; i < 2 && !s; i++)
      at[i] -= 0.1f * *(const float *)situ_tensor_data(results[1 + i]);
    for (int i = 0; i < 3; i++) situ_tensor_release(results[i]);
    for (int i = 0; i < 2; i++) situ_tensor_release(fed[i]);
  }
  return s;
}

/* The same question to a tape: how x * x changes with x. */
static situ_status ask_tape(situ_eager *eager) {
  const float three = 3;
  situ_tape *tape = NULL;
  situ_tensor *x = NULL, *y = NULL, *dx = NULL;
  situ_op square = {0};
  int count = 0;
  situ_status s = situ_ops_find("Square", &square);
  if (!s) s = situ_tape_create(eager, &tape);
  if (!s) s = situ_tensor_create(SITU_FLOAT, SITU_SCALAR, &three, &x);
  if (!s) s = situ_tape_watch(tape, x);
  const situ_call call = {.op = square.number, .inputs = &x, .n_inputs = 1};
  if (!s) s = situ_eager_run(eager, &call, &y, 1, &count);
  if (!s) s = situ_tape_record(tape, &call, &y, 1);
  if (!s) s = situ_tape_gradient(tape, &y, 1, &x, 1, NULL, NULL, 0, &dx);
  if (!s) s = situ_tensor_print(dx, stdout);
  situ_tensor_release(dx);
  situ_tensor_release(y);
  situ_tensor_release(x);
  situ_tape_release(tape);
  return s;
}

int main(void) {
  situ_graph *graph = situ_graph_create();
  situ_value wb[2] = {situ_placeholder(graph, "w", SITU_FLOAT, SITU_SCALAR),
                      situ_placeholder(graph, "b", SITU_FLOAT, SITU_SCALAR)};
  situ_value out[3];
  situ_session *session = NULL;
  situ_eager *eager = NULL;
  situ_status s = add_loss(graph, wb, out);
  if (!s) s = situ_session_create(graph, NULL, &session);
  if (!s) s = fit(session, wb, out);
  if (!s) s = situ_eager_create(NULL, &eager);
  if (!s) s = ask_tape(eager);
  situ_eager_release(eager);
  situ_session_release(session);
  situ_graph_release(graph);
  return situ_status_report(s, stderr);
}
