/* SPDX-License-Identifier: Apache-2.0
 * blas.h: matrix multiplication by cuBLAS if it is installed; loaded on first use. */
#ifndef SITU_BACKEND_CUDA_BLAS_H
#define SITU_BACKEND_CUDA_BLAS_H

#include "backend/cuda/driver.h"
#include "device/backend.h"

typedef unsigned cublas_status; /* also used for the other enums except the last argument of gemm */
typedef struct cublasContext *cublas_handle;

#define CUBLAS_FUNCTIONS(X)                                                                       \
  X(cublas_status, cublasCreate_v2, (cublas_handle *))                                            \
  X(cublas_status, cublasDestroy_v2, (cublas_handle))                                             \
  X(cublas_status, cublasSetStream_v2, (cublas_handle, cuda_stream))                              \
  X(cublas_status, cublasGemmStridedBatchedEx,                                                    \
    (cublas_handle, unsigned, unsigned, int, int, int, const void *, const void *, unsigned, int, \
     long long, const void *, unsigned, int, long long, const void *, void *, unsigned, int,      \
     long long, int, unsigned, int))

/* Not in versions before 11.4. */
#define CUBLAS_OPTIONS(X) X(const char *, cublasGetStatusString, (cublas_status))

struct cublas_functions {
  CUBLAS_FUNCTIONS(DL_FIELD)
  CUBLAS_OPTIONS(DL_FIELD)
};

/* Constants of cublas_api.h and library_types.h: our name, value, their name. */
#define CUBLAS_NUMBERS(X)               \
  X(OP_N, 0, CUBLAS_OP_N)               \
  X(OP_T, 1, CUBLAS_OP_T)               \
  X(REAL_32, 0, CUDA_R_32F)             \
  X(REAL_64, 1, CUDA_R_64F)             \
  X(REAL_16, 2, CUDA_R_16F)             \
  X(COMPUTE_32, 68, CUBLAS_COMPUTE_32F) \
  X(COMPUTE_64, 70, CUBLAS_COMPUTE_64F) \
  X(ALGORITHM, -1, CUBLAS_GEMM_DEFAULT)

enum {
#define CUBLAS_NUMBER_ENUM(name, value, theirs) CUBLAS_##name##_NUMBER = value,
  CUBLAS_NUMBERS(CUBLAS_NUMBER_ENUM)
#undef CUBLAS_NUMBER_ENUM
};

/* Arguments of cublasGemmStridedBatchedEx. cuBLAS is column-major, so that C = A B is computed as
 * C' = B' A'. */
struct blas_gemm {
  unsigned type, compute, transpose_a, transpose_b;
  int m, n, k, a_lead, b_lead, count;
  long long a_step, b_step;
};

/* Returns whether cuBLAS can execute the launch, and its arguments. */
bool blas_supports(const struct launch *launch, struct blas_gemm *out);

/* Creates a handle for the current context; NULL if cuBLAS is not available. */
cublas_handle blas_open(void);
void blas_close(cublas_handle handle);

/* Returns the message of a status. */
const char *blas_error(cublas_status status);

/* Enqueues a product; returns a status of cuBLAS, 0 on success. */
cublas_status blas_run(cublas_handle handle, cuda_stream stream, const struct blas_gemm *gemm,
                       cuda_pointer a, cuda_pointer b, cuda_pointer c);

#endif
