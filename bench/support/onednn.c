/* SPDX-License-Identifier: Apache-2.0
 * onednn.c: see onednn.h. Versions 2 and 3 of oneDNN differ in how a primitive is described. */
#include "onednn.h"

#include <stdlib.h>

#include "bench.h"

#ifdef BENCH_ONEDNN
#include <dnnl.h>

struct onednn_matmul {
  dnnl_engine_t engine;
  dnnl_stream_t stream;
  dnnl_primitive_t primitive;
  dnnl_exec_arg_t args[3];
};

static void check(dnnl_status_t status) { bench_expect(status == dnnl_success, "oneDNN"); }

#if DNNL_VERSION_MAJOR >= 3
static dnnl_memory_t describe(struct onednn_matmul *m, int64_t n, const float *data) {
  const dnnl_dims_t dims = {n, n};
  dnnl_memory_desc_t desc;
  dnnl_memory_t memory;
  check(dnnl_memory_desc_create_with_tag(&desc, 2, dims, dnnl_f32, dnnl_ab));
  check(dnnl_memory_create(&memory, desc, m->engine, (void *)(uintptr_t)data));
  check(dnnl_memory_desc_destroy(desc));
  return memory;
}

static void make_primitive(struct onednn_matmul *m) {
  const_dnnl_memory_desc_t desc[3];
  dnnl_primitive_desc_t primitive;
  for (int i = 0; i < 3; i++) check(dnnl_memory_get_memory_desc(m->args[i].memory, &desc[i]));
  check(dnnl_matmul_primitive_desc_create(&primitive, m->engine, desc[0], desc[1], NULL, desc[2],
                                          NULL));
  check(dnnl_primitive_create(&m->primitive, primitive));
  check(dnnl_primitive_desc_destroy(primitive));
}
#else
static dnnl_memory_t describe(struct onednn_matmul *m, int64_t n, const float *data) {
  const dnnl_dims_t dims = {n, n};
  dnnl_memory_desc_t desc;
  dnnl_memory_t memory;
  check(dnnl_memory_desc_init_by_tag(&desc, 2, dims, dnnl_f32, dnnl_ab));
  check(dnnl_memory_create(&memory, &desc, m->engine, (void *)(uintptr_t)data));
  return memory;
}

static void make_primitive(struct onednn_matmul *m) {
  const dnnl_memory_desc_t *desc[3];
  dnnl_matmul_desc_t matmul;
  dnnl_primitive_desc_t primitive;
  for (int i = 0; i < 3; i++) check(dnnl_memory_get_memory_desc(m->args[i].memory, &desc[i]));
  check(dnnl_matmul_desc_init(&matmul, desc[0], desc[1], NULL, desc[2]));
  check(dnnl_primitive_desc_create(&primitive, &matmul, NULL, m->engine, NULL));
  check(dnnl_primitive_create(&m->primitive, primitive));
  check(dnnl_primitive_desc_destroy(primitive));
}
#endif

struct onednn_matmul *onednn_open(int64_t n, const float *a, const float *b, float *c) {
  struct onednn_matmul *m = calloc(1, sizeof *m);
  bench_expect(m != NULL, "no memory");
  check(dnnl_engine_create(&m->engine, dnnl_cpu, 0));
  check(dnnl_stream_create(&m->stream, m->engine, dnnl_stream_default_flags));
  m->args[0] = (dnnl_exec_arg_t){DNNL_ARG_SRC, describe(m, n, a)};
  m->args[1] = (dnnl_exec_arg_t){DNNL_ARG_WEIGHTS, describe(m, n, b)};
  m->args[2] = (dnnl_exec_arg_t){DNNL_ARG_DST, describe(m, n, c)};
  make_primitive(m);
  return m;
}

void onednn_run(void *matmul) {
  struct onednn_matmul *m = matmul;
  check(dnnl_primitive_execute(m->primitive, m->stream, 3, m->args));
  check(dnnl_stream_wait(m->stream));
}

void onednn_close(struct onednn_matmul *matmul) {
  if (!matmul) return;
  for (int i = 0; i < 3; i++) check(dnnl_memory_destroy(matmul->args[i].memory));
  check(dnnl_primitive_destroy(matmul->primitive));
  check(dnnl_stream_destroy(matmul->stream));
  check(dnnl_engine_destroy(matmul->engine));
  free(matmul);
}

#else

struct onednn_matmul *onednn_open(int64_t n, const float *a, const float *b, float *c) {
  (void)n;
  (void)a;
  (void)b;
  (void)c;
  return NULL;
}

void onednn_run(void *matmul) { (void)matmul; }
void onednn_close(struct onednn_matmul *matmul) { (void)matmul; }

#endif
