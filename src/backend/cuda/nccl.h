/* SPDX-License-Identifier: Apache-2.0
 * nccl.h: the functions and constants of NCCL that are used, loaded at run time. */
#ifndef SITU_BACKEND_CUDA_NCCL_H
#define SITU_BACKEND_CUDA_NCCL_H

#include "backend/cuda/driver.h"

typedef unsigned nccl_result; /* also used for the other enums */
typedef struct ncclComm *nccl_comm;

#define NCCL_FUNCTIONS(X)                                                       \
  X(nccl_result, ncclCommInitAll, (nccl_comm *, int, const int *))              \
  X(nccl_result, ncclCommDestroy, (nccl_comm))                                  \
  X(nccl_result, ncclCommAbort, (nccl_comm))                                    \
  X(nccl_result, ncclGroupStart, (void))                                        \
  X(nccl_result, ncclGroupEnd, (void))                                          \
  X(nccl_result, ncclAllReduce,                                                 \
    (const void *, void *, size_t, unsigned, unsigned, nccl_comm, cuda_stream)) \
  X(const char *, ncclGetErrorString, (nccl_result))

/* Not in versions before 2.13. */
#define NCCL_OPTIONS(X) X(const char *, ncclGetLastError, (nccl_comm))

struct nccl_functions {
  NCCL_FUNCTIONS(DL_FIELD)
  NCCL_OPTIONS(DL_FIELD)
};

/* Constants of nccl.h: our name, value, their name. */
#define NCCL_NUMBERS(X)    \
  X(SUM, 0, ncclSum)       \
  X(INT8, 0, ncclInt8)     \
  X(UINT8, 1, ncclUint8)   \
  X(INT32, 2, ncclInt32)   \
  X(INT64, 4, ncclInt64)   \
  X(HALF, 6, ncclFloat16)  \
  X(FLOAT, 7, ncclFloat32) \
  X(DOUBLE, 8, ncclFloat64)

enum {
#define NCCL_NUMBER_ENUM(name, value, theirs) NCCL_##name = value,
  NCCL_NUMBERS(NCCL_NUMBER_ENUM)
#undef NCCL_NUMBER_ENUM
};

#endif
