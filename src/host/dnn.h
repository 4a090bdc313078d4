/* SPDX-License-Identifier: Apache-2.0
 * dnn.h: oneDNN's sgemm, loaded at run time with dlopen. Only struct-free functions of its C API
 * are used, which are the same in versions 2 and 3. */
#ifndef SITU_HOST_DNN_H
#define SITU_HOST_DNN_H

#include "host/gemm.h"

/* Returns whether oneDNN is available and not disabled by SITU_ONEDNN=0; loads it on first use. If
 * not, `why` (may be NULL) is set to the reason, a static string. */
bool dnn_available(const char **why);

/* Returns whether float GEMMs of that size use oneDNN: if it is available, and SITU_ONEDNN=1 or the
 * processor has no vector instructions that situ's own kernels support. */
bool dnn_use_gemm(int64_t m, int64_t n, int64_t k);

/* Computes a float GEMM whose operands each have a stride of 1. oneDNN runs single-threaded on
 * chunks of rows that the thread pool distributes. */
situ_status dnn_gemm(const struct gemm *gemm) SITU_MUST_USE;

#endif
