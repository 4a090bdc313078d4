/* SPDX-License-Identifier: Apache-2.0
 * opencl.c: products of matrices on the first OpenCL device, PoCL's where there is no other,
 * against CLBlast on the same device. Matrices stay on the device; everything is compiled
 * beforehand. */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "backend/opencl/gpus.h"
#include "situ/situ.h"
#include "support/bench.h"

enum { ROW_MAJOR = 101, NOT_TURNED = 111, MOST = 1024 };

/* CLBlast, with a queue and matrices of its own. */
typedef int sgemm(int layout, int turn_a, int turn_b, size_t m, size_t n, size_t k, float alpha,
                  cl_memory a, size_t a_offset, size_t a_ld, cl_memory b, size_t b_offset,
                  size_t b_ld, float beta, cl_memory c, size_t c_offset, size_t c_ld,
                  cl_queue *queue, cl_event *event);
struct peer {
  sgemm *multiply;
  cl_queue queue;
  cl_memory a, b, c;
  size_t side;
};

static float numbers[MOST * MOST];

static cl_memory make_matrix(cl_context context, cl_queue queue, size_t side) {
  int32_t error = 0;
  const size_t bytes = side * side * sizeof(float);
  const cl_memory memory = cl.clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &error);
  bench_expect(!error, "clCreateBuffer");
  bench_expect(!cl.clEnqueueWriteBuffer(queue, memory, 1, 0, bytes, numbers, 0, NULL, NULL),
               "clEnqueueWriteBuffer");
  return memory;
}

static void peer_run(void *context) {
  struct peer *p = context;
  const int error =
      p->multiply(ROW_MAJOR, NOT_TURNED, NOT_TURNED, p->side, p->side, p->side, 1, p->a, 0, p->side,
                  p->b, 0, p->side, 0, p->c, 0, p->side, &p->queue, NULL);
  bench_expect(!error && !cl.clFinish(p->queue), "CLBlastSgemm");
}

static bool peer_open(struct peer *p, size_t side) {
  void *library = dlopen("libclblast.so.1", RTLD_NOW | RTLD_LOCAL);
  *p = (struct peer){.side = side};
  if (!library) return false;
  *(void **)(void *)&p->multiply = dlsym(library, "CLBlastSgemm");
  const struct gpu *gpu = gpus_get(0);
  int32_t error = 0;
  const cl_context context = cl.clCreateContext(NULL, 1, &gpu->id, NULL, NULL, &error);
  p->queue = cl.clCreateCommandQueue(context, gpu->id, 0, &error);
  bench_expect(p->multiply && !error, "CLBlast cannot be opened");
  p->a = make_matrix(context, p->queue, side);
  p->b = make_matrix(context, p->queue, side);
  p->c = make_matrix(context, p->queue, side);
  peer_run(p);
  return true;
}

/* situ: a product of two variables; one element of it comes back. */
struct program {
  situ_session *session;
  situ_value fetch;
  float last;
};

static situ_tensor *fetch(situ_session *session, situ_value value) {
  situ_tensor *result = NULL;
  bench_check(situ_session_run(session, NULL, 0, &value, 1, &result));
  return result;
}

static void run(void *context) {
  struct program *p = context;
  situ_tensor *result = fetch(p->session, p->fetch);
  p->last = *(const float *)situ_tensor_data(result);
  situ_tensor_release(result);
}

static situ_value pair(situ_graph *graph, int32_t number) {
  const int32_t both[] = {number, number};
  return situ_constant(graph, NULL, SITU_INT32, SITU_SHAPE(2), both);
}

static void open_program(struct program *p, int64_t side) {
  const situ_shape shape = SITU_SHAPE(side, side);
  situ_graph *graph = situ_graph_create();
  situ_device_push(graph, "/gpu:0");
  const situ_value a = situ_variable_v2(graph, shape, SITU_FLOAT);
  const situ_value b = situ_variable_v2(graph, shape, SITU_FLOAT);
  const situ_value start = situ_constant(graph, NULL, SITU_FLOAT, shape, numbers);
  const situ_value set_a = situ_assign(graph, a, start), set_b = situ_assign(graph, b, start);
  p->fetch = situ_slice(graph, situ_matmul(graph, a, b), pair(graph, 0), pair(graph, 1));
  situ_device_pop(graph);
  bench_check(situ_graph_status(graph));
  bench_check(situ_session_create(graph, NULL, &p->session));
  situ_tensor_release(fetch(p->session, set_a));
  situ_tensor_release(fetch(p->session, set_b));
  run(p);
  double wanted = 0;
  for (int64_t i = 0; i < side; i++) wanted += (double)numbers[i] * (double)numbers[i * side];
  bench_expect(fabs((double)p->last - wanted) < 1e-3 * fabs(wanted) + 1e-4, "matmul");
}

static void measure(int64_t side) {
  char name[64], what[64];
  snprintf(name, sizeof name, "opencl.matmul_%d", (int)side);
  snprintf(what, sizeof what, "matmul of %dx%d on OpenCL", (int)side, (int)side);
  if (!bench_wants(name)) return;
  struct program p = {0};
  struct peer peer;
  open_program(&p, side);
  const bool has_peer = peer_open(&peer, (size_t)side);
  struct bench_side sides[] = {{.run = run, .context = &p}, {.run = peer_run, .context = &peer}};
  const bool quiet = bench_alternate(sides, has_peer ? 2 : 1);
  const double operations = 2 * (double)(side * side * side);
  bench_report(&(struct bench_row){.name = name,
                                   .what = what,
                                   .value = operations / sides[0].best / 1e9,
                                   .unit = "GFLOP/s",
                                   .against = has_peer ? "CLBlast" : NULL,
                                   .yardstick = has_peer ? operations / sides[1].best / 1e9 : 0,
                                   .target = 2,
                                   .at_least = true,
                                   .busy = !quiet,
                                   .note = gpus_get(0)->info.model});
  if (!has_peer) bench_skip(name, "CLBlast", "libclblast1 is not installed");
}

int main(int argc, char **argv) {
  int count = 0, found = 0;
  const char *why = NULL;
  bench_start(argc, argv);
  if (!bench_wants("opencl.matmul_512") && !bench_wants("opencl.matmul_1024")) return 0;
  setenv("SITU_OPENCL_DEVICES", "all", 0);
  bench_check(situ_devices_count(&count));
  bench_check(gpus_find(getenv("SITU_OPENCL_DEVICES"), &found, &why));
  if (!found) {
    bench_skip("opencl.matmul_512", "matmul on OpenCL", why ? why : "no device");
    return 0;
  }
  for (int i = 0; i < MOST * MOST; i++) numbers[i] = (float)(i % 13 - 5) * 0.01f;
  measure(512);
  measure(1024);
  return 0;
}
