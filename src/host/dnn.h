/* SPDX-License-Identifier: Apache-2.0
 * dnn.h: oneDNN, found at run time. */
#ifndef SITU_HOST_DNN_H
#define SITU_HOST_DNN_H

#include "host/gemm.h"

/* Whether oneDNN is there and not turned off by SITU_ONEDNN=0; loads it when asked first. If not,
 * `why` (a static text; may be NULL) says why. */
bool dnn_available(const char **why);

/* Whether products of floats of that size go to oneDNN: where it is available and SITU_ONEDNN=1
 * asks for it, or the processor has no vectors that our own kernels know. */
bool dnn_use_gemm(int64_t m, int64_t n, int64_t k);

/* A product of floats whose operands each have a stride of 1. oneDNN runs single-threaded inside
 * chunks of rows that the pool deals out. */
situ_status dnn_gemm(const struct gemm *gemm) SITU_MUST_USE;

#endif
