/* SPDX-License-Identifier: Apache-2.0
 * onednn.h: oneDNN's matmul with nothing around it. */
#ifndef SITU_BENCH_ONEDNN_H
#define SITU_BENCH_ONEDNN_H

#include <stdint.h>

struct onednn_matmul;

/* c = a * b, square matrices of n rows of floats; NULL where oneDNN was not there when the
 * benchmarks were built. */
struct onednn_matmul *onednn_open(int64_t n, const float *a, const float *b, float *c);

/* Multiplies; the context is a struct onednn_matmul. */
void onednn_run(void *matmul);

/* Frees a matmul; NULL may be closed. */
void onednn_close(struct onednn_matmul *matmul);

#endif
