/* SPDX-License-Identifier: Apache-2.0
 * growth.c: memory growth: allocates GPU memory on demand.
 *
 * By default nearly all memory of a GPU is allocated on first use. With growth the allocation
 * starts small. Memory is kept for the next run until situ_device_trim returns what is unused.
 * SITU_GPU_MEMORY=growth has the same effect without a change to the program. */
#include <situ/situ.h>

/* Sums up the elements of an n by n matrix of ones on the GPU. */
static situ_status use(situ_session *session, situ_graph *graph, int n) {
  const int32_t dims[] = {n, n}, both[] = {0, 1};
  const float one = 1;
  const situ_value shape = situ_constant(graph, NULL, SITU_INT32, SITU_SHAPE(2), dims);
  const situ_value value = situ_constant(graph, NULL, SITU_FLOAT, SITU_SCALAR, &one);
  const situ_value axes = situ_constant(graph, NULL, SITU_INT32, SITU_SHAPE(2), both);
  const situ_value ones = situ_fill(graph, shape, value);
  const situ_value sum = situ_reduce_sum(graph, ones, axes);
  situ_tensor *result = NULL;
  const situ_status s = situ_session_eval(session, sum, &result);
  situ_tensor_release(result);
  return s;
}

static situ_status show(int gpu, const char *when) {
  situ_memory_info info;
  const situ_status s = situ_device_memory_info(gpu, &info);
  if (!s)
    printf("%-24s reserved %6.2f MiB, limit %6.2f GiB\n", when, (double)info.reserved / 0x1p20,
           (double)info.limit / 0x1p30);
  return s;
}

int main(void) {
  const situ_config config = {.devices.memory.growth = true};
  situ_graph *graph = situ_graph_create();
  situ_session *session = NULL;
  int gpu = 0;
  situ_status s = situ_session_create(graph, &config, &session);
  if (!s) s = situ_devices_find("/gpu:0", &gpu);
  if (!s) s = show(gpu, "before the first run:");
  if (!s) s = use(session, graph, 100);
  if (!s) s = show(gpu, "after a small matrix:");
  if (!s) s = use(session, graph, 4000);
  if (!s) s = show(gpu, "after a large matrix:");
  if (!s) s = situ_device_trim(gpu, NULL);
  if (!s) s = show(gpu, "after situ_device_trim:");

  situ_session_release(session);
  situ_graph_release(graph);
  return situ_status_report(s, stderr);
}
