/* SPDX-License-Identifier: Apache-2.0
 * onednn_layer.h: oneDNN's convolutions, pooling and normalization with nothing around them, in the
 * layouts that it likes best. */
#ifndef SITU_BENCH_ONEDNN_LAYER_H
#define SITU_BENCH_ONEDNN_LAYER_H

#include <stdint.h>

enum onednn_kind {
  ONEDNN_CONV,
  ONEDNN_CONV_IMAGES,
  ONEDNN_CONV_FILTER,
  ONEDNN_POOL,
  ONEDNN_POOL_GRAD, /* both passes: the second reads what the first keeps */
  ONEDNN_LRN,
  ONEDNN_LRN_GRAD
};

/* Images of side x side pixels under windows of k x k, SAME padding. */
struct onednn_sizes {
  int64_t images, side, channels, filters, k, stride;
};

struct onednn_layer;

/* NULL where oneDNN was not there when the benchmarks were built, or is too new. */
struct onednn_layer *onednn_layer_open(enum onednn_kind kind, const struct onednn_sizes *sizes);

/* Computes; the context is a struct onednn_layer. */
void onednn_layer_run(void *layer);

/* Frees a layer; NULL may be closed. */
void onednn_layer_close(struct onednn_layer *layer);

#endif
