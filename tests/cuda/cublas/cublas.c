/* SPDX-License-Identifier: Apache-2.0
 * cublas.c: a libcublas for tests: checks its arguments, and computes in the order of the stream.
 * Matrices are column-major, as in the real one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/blas.h"
#include "cuda/driver/standin.h"

__extension__ typedef _Float16 half;

enum { STATUS_OK = 0, STATUS_INVALID = 7, STATUS_UNSUPPORTED = 15 };

struct cublasContext {
  cuda_stream stream;
};

/* A product that waits in a stream. */
struct gemm {
  unsigned turn_a, turn_b, type;
  int m, n, k, a_lead, b_lead, c_lead, count;
  long long a_step, b_step, c_step;
  cuda_pointer a, b, c;
};

EXPORT cublas_status cublasCreate_v2(cublas_handle *out);
cublas_status cublasCreate_v2(cublas_handle *out) {
  *out = calloc(1, sizeof **out);
  return STATUS_OK;
}

EXPORT cublas_status cublasDestroy_v2(cublas_handle handle);
cublas_status cublasDestroy_v2(cublas_handle handle) {
  free(handle);
  return STATUS_OK;
}

EXPORT cublas_status cublasSetStream_v2(cublas_handle handle, cuda_stream stream);
cublas_status cublasSetStream_v2(cublas_handle handle, cuda_stream stream) {
  handle->stream = stream;
  return STATUS_OK;
}

EXPORT const char *cublasGetStatusString(cublas_status status);
const char *cublasGetStatusString(cublas_status status) {
  return status == STATUS_INVALID ? "CUBLAS_STATUS_INVALID_VALUE" : "CUBLAS_STATUS_OTHER";
}

/* ---- Computing ---- */

static size_t size_of(unsigned type) {
  return type == CUBLAS_REAL_64_NUMBER ? 8 : type == CUBLAS_REAL_32_NUMBER ? 4 : 2;
}

static double get(unsigned type, const unsigned char *data, long long i) {
  float single = 0;
  double wide = 0;
  half small = 0;
  if (type == CUBLAS_REAL_64_NUMBER) {
    memcpy(&wide, data + i * 8, 8);
    return wide;
  }
  if (type == CUBLAS_REAL_32_NUMBER) {
    memcpy(&single, data + i * 4, 4);
    return (double)single;
  }
  memcpy(&small, data + i * 2, 2);
  return (double)small;
}

static void put(unsigned type, unsigned char *data, long long i, double value) {
  const float single = (float)value;
  const half small = (half)value;
  if (type == CUBLAS_REAL_64_NUMBER)
    memcpy(data + i * 8, &value, 8);
  else if (type == CUBLAS_REAL_32_NUMBER)
    memcpy(data + i * 4, &single, 4);
  else
    memcpy(data + i * 2, &small, 2);
}

/* The memory of all matrices of an operand of rows x cols. */
static unsigned char *memory(const struct gemm *g, cuda_pointer address, int rows, int cols,
                             int lead, long long step) {
  const long long last = step * (g->count - 1) + (long long)lead * (cols - 1) + rows;
  return standin_data(address, (size_t)last * size_of(g->type));
}

static void compute(void *context) {
  struct gemm *g = context;
  const bool ta = g->turn_a, tb = g->turn_b;
  const unsigned char *a =
      memory(g, g->a, ta ? g->k : g->m, ta ? g->m : g->k, g->a_lead, g->a_step);
  const unsigned char *b =
      memory(g, g->b, tb ? g->n : g->k, tb ? g->k : g->n, g->b_lead, g->b_step);
  unsigned char *c = memory(g, g->c, g->m, g->n, g->c_lead, g->c_step);
  for (int s = 0; a && b && c && s < g->count; s++) {
    for (int i = 0; i < g->m; i++) {
      for (int j = 0; j < g->n; j++) {
        double sum = 0;
        for (int p = 0; p < g->k; p++) {
          const long long at_a = ta ? p + (long long)i * g->a_lead : i + (long long)p * g->a_lead;
          const long long at_b = tb ? j + (long long)p * g->b_lead : p + (long long)j * g->b_lead;
          sum += get(g->type, a, at_a + s * g->a_step) * get(g->type, b, at_b + s * g->b_step);
        }
        put(g->type, c, i + (long long)j * g->c_lead + s * g->c_step, sum);
      }
    }
  }
  free(g);
}

/* ---- The call ---- */

static bool is_good(const struct gemm *g, unsigned compute_type) {
  const bool wide = g->type == CUBLAS_REAL_64_NUMBER;
  if (g->m < 0 || g->n < 0 || g->k < 0 || g->count < 0 || g->turn_a > 1 || g->turn_b > 1)
    return false;
  if (g->a_lead < (g->turn_a ? g->k : g->m) || g->b_lead < (g->turn_b ? g->n : g->k) ||
      g->c_lead < g->m)
    return false;
  return compute_type ==
         (wide ? (unsigned)CUBLAS_COMPUTE_64_NUMBER : (unsigned)CUBLAS_COMPUTE_32_NUMBER);
}

/* Whether the factors are 1 and 0. */
static bool are_plain(unsigned type, const void *alpha, const void *beta) {
  const unsigned scalar = type == CUBLAS_REAL_64_NUMBER ? type : CUBLAS_REAL_32_NUMBER;
  return get(scalar, alpha, 0) == 1 && get(scalar, beta, 0) == 0;
}

EXPORT cublas_status cublasGemmStridedBatchedEx(
    cublas_handle handle, unsigned turn_a, unsigned turn_b, int m, int n, int k, const void *alpha,
    const void *a, unsigned a_type, int a_lead, long long a_step, const void *b, unsigned b_type,
    int b_lead, long long b_step, const void *beta, void *c, unsigned c_type, int c_lead,
    long long c_step, int count, unsigned compute_type, int algorithm);
cublas_status cublasGemmStridedBatchedEx(cublas_handle handle, unsigned turn_a, unsigned turn_b,
                                         int m, int n, int k, const void *alpha, const void *a,
                                         unsigned a_type, int a_lead, long long a_step,
                                         const void *b, unsigned b_type, int b_lead,
                                         long long b_step, const void *beta, void *c,
                                         unsigned c_type, int c_lead, long long c_step, int count,
                                         unsigned compute_type, int algorithm) {
  struct gemm *g = malloc(sizeof *g);
  *g = (struct gemm){.turn_a = turn_a,
                     .turn_b = turn_b,
                     .type = a_type,
                     .m = m,
                     .n = n,
                     .k = k,
                     .a_lead = a_lead,
                     .b_lead = b_lead,
                     .c_lead = c_lead,
                     .count = count,
                     .a_step = a_step,
                     .b_step = b_step,
                     .c_step = c_step,
                     .a = (cuda_pointer)(uintptr_t)a,
                     .b = (cuda_pointer)(uintptr_t)b,
                     .c = (cuda_pointer)(uintptr_t)c};
  const bool same = a_type == b_type && a_type == c_type && algorithm == CUBLAS_ALGORITHM_NUMBER;
  if (!handle || !handle->stream || !same || !is_good(g, compute_type) ||
      !are_plain(a_type, alpha, beta)) {
    fprintf(stderr, "cuBLAS stand-in: a product of %d x %d x %d that does not fit\n", m, k, n);
    free(g);
    return STATUS_INVALID;
  }
  const unsigned fault = standin_fault(__func__);
  if (!fault && cuLaunchHostFunc(handle->stream, compute, g) == CUDA_OK) return STATUS_OK;
  free(g);
  return fault ? fault : STATUS_UNSUPPORTED;
}
