/* SPDX-License-Identifier: Apache-2.0
 * simulated.c: configures two different simulated GPUs, with a virtual clock and a fault.
 *
 * The first has 1 TFLOP/s and a 10 GB/s link; its virtual clock shows how long the product would
 * take. The second is lost after its second kernel: the run fails and names the node, while the
 * first GPU stays usable. */
#include <situ/situ.h>

static situ_value square(situ_graph *graph, situ_value x, const char *device) {
  situ_device_push(graph, device);
  const situ_value y = situ_matmul(graph, x, x);
  situ_device_pop(graph);
  return y;
}

static situ_status run(situ_session *session, situ_value x, situ_value y) {
  situ_tensor *matrix = NULL, *result = NULL;
  situ_status s = situ_tensor_create(SITU_FLOAT, SITU_SHAPE(500, 500), NULL, &matrix);
  if (!s) s = situ_session_run(session, &(situ_feed){x, matrix}, 1, &y, 1, &result);
  situ_tensor_release(result);
  situ_tensor_release(matrix);
  return s;
}

int main(void) {
  const situ_config config = {.devices.sim_gpus =
                                  "Fast=4GiB;flops=1T;bandwidth=200G;link=10G,"
                                  "Weak=4GiB;lost_after=2"};
  situ_graph *graph = situ_graph_create();
  const situ_value x = situ_placeholder(graph, "x", SITU_FLOAT, SITU_SHAPE(500, 500));
  const situ_value fast = square(graph, x, "/gpu:0"), weak = square(graph, x, "/gpu:1");
  situ_session *session = NULL;
  situ_memory_info info;
  int gpu = 0;
  situ_status s = situ_session_create(graph, &config, &session);
  if (!s) s = run(session, x, fast);
  if (!s) s = situ_devices_find("/gpu:0", &gpu);
  if (!s) s = situ_device_memory_info(gpu, &info);
  if (!s) printf("the product takes %.2f ms of virtual time\n", 1e3 * info.clock);
  for (int i = 1; !s && i <= 3; i++) {
    printf("run %d on the weak one: ", i);
    const situ_status failure = run(session, x, weak);
    if (failure)
      situ_status_report(failure, stdout);
    else
      puts("computed");
  }
  if (!s) s = run(session, x, fast);
  if (!s) puts("the fast one still computes");

  situ_session_release(session);
  situ_graph_release(graph);
  return situ_status_report(s, stderr);
}
