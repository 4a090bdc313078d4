/* SPDX-License-Identifier: Apache-2.0
 * save.c: writes a graph to standard output, as a GraphDef in text form or (argv[1] is "json") as
 * JSON.
 *
 * What it writes is what `situ explain` and `situ plan` read:
 *
 *   build/examples/save | build/situ explain - --gpus 4
 *
 * situ_emit is the general form of situ_matmul and the like: it takes the op and a name for the
 * node as texts. */
#include <string.h>

#include <situ/situ.h>

static situ_value tower(situ_graph *graph, const char *device, situ_value x) {
  const float weights[] = {1, 2, 3, 4, 5, 6};
  situ_device_push(graph, device);
  const situ_value w = situ_constant(graph, "w", SITU_FLOAT, SITU_SHAPE(3, 2), weights);
  const situ_value y = situ_emit(graph, "MatMul", "y", (situ_value[]){x, w}, 2, NULL, 0);
  situ_device_pop(graph);
  return y;
}

int main(int argc, char **argv) {
  situ_graph *graph = situ_graph_create();
  const situ_value x = situ_placeholder(graph, "x", SITU_FLOAT, SITU_SHAPE(SITU_ANY, 3));
  const situ_value y[] = {tower(graph, "/gpu:2", x), tower(graph, "/gpu:3", x)};
  situ_device_push(graph, "/cpu:0");
  situ_emit(graph, "AddN", "sum", y, 2, NULL, 0);
  situ_device_pop(graph);
  situ_status s = situ_graph_status(graph);
  if (!s) s = situ_graph_save(graph, argc > 1 && !strcmp(argv[1], "json"), stdout);
  situ_graph_release(graph);
  return situ_status_report(s, stderr);
}
