/* SPDX-License-Identifier: Apache-2.0
 * blas.c: matrix multiplication by cuBLAS if it is installed; see blas.h. */
#include "backend/cuda/blas.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct cublas_functions cublas;
static const char *const libraries[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11",
                                        "/usr/local/cuda/lib64/libcublas.so", NULL};
#define CUBLAS_NEED(result, name, args) DL_SYMBOL(struct cublas_functions, name)
#define CUBLAS_MAY(result, name, args) DL_OPTIONAL(struct cublas_functions, name)
static const struct dl_symbol symbols[] = {CUBLAS_FUNCTIONS(CUBLAS_NEED)
                                               CUBLAS_OPTIONS(CUBLAS_MAY)};

static bool is_loaded;

static void load(void) {
  char why[DL_REASON_SIZE];
  const char *setting = getenv("SITU_CUBLAS");
  if (setting && !strcmp(setting, "0")) return;
  is_loaded = dl_load(libraries, symbols, (int)COUNT_OF(symbols), &cublas, why);
}

cublas_handle blas_open(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  cublas_handle handle = NULL;
  pthread_once(&once, load);
  return is_loaded && !cublas.cublasCreate_v2(&handle) ? handle : NULL;
}

const char *blas_error(cublas_status status) {
  const char *text = cublas.cublasGetStatusString ? cublas.cublasGetStatusString(status) : NULL;
  return text ? text : "unknown status";
}

void blas_close(cublas_handle handle) { cublas.cublasDestroy_v2(handle); }

/* ---- Arguments ---- */

/* Arguments of the matmul kernels of ops/linalg/matmul.cl. */
enum {
  ARG_M = 4,
  ARG_N,
  ARG_K,
  ARG_A_ROW,
  ARG_A_COL,
  ARG_B_ROW,
  ARG_B_COL,
  ARG_COUNT,
  ARG_DIM,
  ARG_A_STEP = ARG_DIM + SITU_MAX_RANK,
  ARG_B_STEP = ARG_A_STEP + SITU_MAX_RANK,
  N_ARGS = ARG_B_STEP + SITU_MAX_RANK
};

/* The file that contains the matmul kernels and no others. */
static const char matmul_file[] = "ops/linalg/matmul.cl";

static int64_t get_integer(const struct launch *launch, int arg) {
  return launch->args[arg].integer;
}

/* Returns the stride between the matrices of a batch; false if it is not uniform. */
static bool get_batch_stride(const struct launch *launch, int steps, long long *out) {
  int64_t first = 0, inner = 1;
  for (int d = SITU_MAX_RANK - 1; d >= 0; d--) {
    const int64_t dim = get_integer(launch, ARG_DIM + d), step = get_integer(launch, steps + d);
    if (dim <= 1) continue;
    if (inner == 1) first = step;
    if (step != first * inner) return false;
    inner *= dim;
  }
  *out = first;
  return true;
}

/* Returns transposition and leading dimension: one stride must be 1, the other at least the length
 * of a row or column. */
static bool get_layout(int64_t row, int64_t col, int64_t rows, int64_t cols, unsigned *transpose,
                       int *lead) {
  const bool is_row_major = col == 1 && row >= cols;
  const bool is_transposed = row == 1 && col >= rows;
  if (!is_row_major && !is_transposed) return false;
  *transpose = is_row_major ? CUBLAS_OP_N_NUMBER : CUBLAS_OP_T_NUMBER;
  const int64_t leading_dimension = is_row_major ? row : col;
  *lead = (int)leading_dimension;
  return leading_dimension <= INT_MAX;
}

static bool set_types(situ_type type, struct blas_gemm *out) {
  out->type = type == SITU_DOUBLE ? CUBLAS_REAL_64_NUMBER
              : type == SITU_HALF ? CUBLAS_REAL_16_NUMBER
                                  : CUBLAS_REAL_32_NUMBER;
  out->compute = type == SITU_DOUBLE ? CUBLAS_COMPUTE_64_NUMBER : CUBLAS_COMPUTE_32_NUMBER;
  return type == SITU_FLOAT || type == SITU_DOUBLE || type == SITU_HALF;
}

bool blas_supports(const struct launch *launch, struct blas_gemm *out) {
  const char *file = launch->kernel->file;
  if (!file || strcmp(file, matmul_file) != 0 || launch->n_args != N_ARGS) return false;
  const int64_t m = get_integer(launch, ARG_M), n = get_integer(launch, ARG_N),
                k = get_integer(launch, ARG_K);
  const int64_t count = get_integer(launch, ARG_COUNT);
  if (!m || !n || !k || !count || m > INT_MAX || n > INT_MAX || k > INT_MAX || count > INT_MAX)
    return false;
  *out = (struct blas_gemm){.m = (int)m, .n = (int)n, .k = (int)k, .count = (int)count};
  return set_types(launch->type, out) &&
         get_layout(get_integer(launch, ARG_A_ROW), get_integer(launch, ARG_A_COL), m, k,
                    &out->transpose_a, &out->a_lead) &&
         get_layout(get_integer(launch, ARG_B_ROW), get_integer(launch, ARG_B_COL), k, n,
                    &out->transpose_b, &out->b_lead) &&
         get_batch_stride(launch, ARG_A_STEP, &out->a_step) &&
         get_batch_stride(launch, ARG_B_STEP, &out->b_step);
}

static const void *to_pointer(cuda_pointer address) {
  return (const void *)(uintptr_t)address; /* NOLINT(performance-no-int-to-ptr) */
}

cublas_status blas_run(cublas_handle handle, cuda_stream stream, const struct blas_gemm *p,
                       cuda_pointer a, cuda_pointer b, cuda_pointer c) {
  const float one = 1, zero = 0;
  const double wide_one = 1, wide_zero = 0;
  const bool is_double = p->compute == CUBLAS_COMPUTE_64_NUMBER;
  const cublas_status status = cublas.cublasSetStream_v2(handle, stream);
  if (status) return status;
  return cublas.cublasGemmStridedBatchedEx(
      handle, p->transpose_b, p->transpose_a, p->n, p->m, p->k,
      is_double ? (const void *)&wide_one : &one, to_pointer(b), p->type, p->b_lead, p->b_step,
      to_pointer(a), p->type, p->a_lead, p->a_step, is_double ? (const void *)&wide_zero : &zero,
      (void *)(uintptr_t)to_pointer(c), p->type, p->n, (long long)p->m * p->n, p->count, p->compute,
      CUBLAS_ALGORITHM_NUMBER);
}
