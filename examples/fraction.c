/* SPDX-License-Identifier: Apache-2.0
 * fraction.c: limits the memory of every GPU to a fraction: 0.4, or argv[1].
 *
 * The whole fraction is allocated on first use, and the program never gets more. Without a fraction
 * (0) the limit is nearly all memory. SITU_GPU_MEMORY=fraction=0.4 has the same effect without a
 * change to the program. */
#include <stdlib.h>

#include <situ/situ.h>

int main(int argc, char **argv) {
  const situ_config config = {.devices.memory.fraction = argc > 1 ? atof(argv[1]) : 0.4};
  const float one = 1;
  situ_graph *graph = situ_graph_create();
  const situ_value a = situ_constant(graph, "a", SITU_FLOAT, SITU_SCALAR, &one);
  const situ_value sum = situ_add(graph, a, a);

  situ_session *session = NULL;
  situ_tensor *result = NULL;
  situ_device device;
  situ_memory_info info;
  int gpu = 0;
  situ_status s = situ_session_create(graph, &config, &session);
  if (!s) s = situ_session_eval(session, sum, &result);
  if (!s) s = situ_devices_find("/gpu:0", &gpu);
  if (!s) s = situ_devices_get(gpu, &device);
  if (!s) s = situ_device_memory_info(gpu, &info);
  if (!s)
    printf("limit: %.3f of %.0f GiB, all of it reserved: %s\n",
           (double)info.limit / (double)device.memory, (double)device.memory / 0x1p30,
           info.reserved >= info.limit / 1000 * 999 ? "yes" : "no");

  situ_tensor_release(result);
  situ_session_release(session);
  situ_graph_release(graph);
  return situ_status_report(s, stderr);
}
