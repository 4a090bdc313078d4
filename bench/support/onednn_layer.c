/* SPDX-License-Identifier: Apache-2.0
 * onednn_layer.c: see onednn_layer.h. */
#include "onednn_layer.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bench.h"

#ifdef BENCH_ONEDNN
#include <dnnl.h>
#endif

#if defined(BENCH_ONEDNN) && DNNL_VERSION_MAJOR == 2

enum { MOST_ARGS = 8 };

struct onednn_layer {
  dnnl_engine_t engine;
  dnnl_stream_t stream;
  dnnl_primitive_t forward; /* of max-pooling, whose gradient needs what it keeps; or NULL */
  dnnl_primitive_t primitive;
  dnnl_exec_arg_t args[MOST_ARGS];
  void *data[MOST_ARGS];
  int n_args;
};

static void check(dnnl_status_t status) { bench_expect(status == dnnl_success, "oneDNN"); }

static dnnl_memory_desc_t describe(int rank, const dnnl_dims_t dims, dnnl_format_tag_t tag) {
  dnnl_memory_desc_t desc;
  check(dnnl_memory_desc_init_by_tag(&desc, rank, dims, dnnl_f32, tag));
  return desc;
}

/* Memory as ours is, in huge pages: with others, times depend on which pages a run gets. */
static char *reserve(size_t bytes) {
  const size_t page = (size_t)2 << 20, rounded = (bytes + page - 1) / page * page;
  char *data = aligned_alloc(page, rounded);
  bench_expect(data != NULL, "no memory");
  madvise(data, rounded, MADV_HUGEPAGE);
  memset(data, 0, bytes);
  return data;
}

/* Gives the layer memory for one argument, as the primitive wants it. */
static void add_arg(struct onednn_layer *layer, const_dnnl_primitive_desc_t primitive,
                    dnnl_query_t query, int arg) {
  const dnnl_memory_desc_t *desc = dnnl_primitive_desc_query_md(primitive, query, 0);
  if (!desc || desc->ndims == 0) return;
  for (int i = 0; i < layer->n_args; i++)
    if (layer->args[i].arg == arg) return; /* shared by both passes */
  const size_t bytes = dnnl_memory_desc_get_size(desc);
  char *data = reserve(bytes);
  for (size_t i = 0; i + 4 <= bytes && desc->data_type == dnnl_f32; i += 4)
    *(float *)(void *)(data + i) = (float)(i / 4 % 13) * 0.01f - 0.03f;
  dnnl_memory_t memory;
  check(dnnl_memory_create(&memory, desc, layer->engine, data));
  layer->data[layer->n_args] = data;
  layer->args[layer->n_args++] = (dnnl_exec_arg_t){arg, memory};
}

static const struct {
  dnnl_query_t query;
  int arg;
} ports[] = {{dnnl_query_src_md, DNNL_ARG_SRC},
             {dnnl_query_weights_md, DNNL_ARG_WEIGHTS},
             {dnnl_query_dst_md, DNNL_ARG_DST},
             {dnnl_query_diff_src_md, DNNL_ARG_DIFF_SRC},
             {dnnl_query_diff_weights_md, DNNL_ARG_DIFF_WEIGHTS},
             {dnnl_query_diff_dst_md, DNNL_ARG_DIFF_DST},
             {dnnl_query_workspace_md, DNNL_ARG_WORKSPACE}};

static void add_args(struct onednn_layer *layer, const_dnnl_primitive_desc_t primitive) {
  for (size_t i = 0; i < sizeof ports / sizeof *ports; i++)
    add_arg(layer, primitive, ports[i].query, ports[i].arg);
}

static dnnl_primitive_desc_t describe_conv(struct onednn_layer *layer, enum onednn_kind kind,
                                           const struct onednn_sizes *s) {
  const dnnl_dims_t x = {s->images, s->channels, s->side, s->side};
  const dnnl_dims_t y = {s->images, s->filters, s->side, s->side};
  const dnnl_dims_t w = {s->filters, s->channels, s->k, s->k};
  const dnnl_dims_t stride = {1, 1}, pad = {s->k / 2, s->k / 2};
  const dnnl_memory_desc_t xd = describe(4, x, dnnl_format_tag_any),
                           yd = describe(4, y, dnnl_format_tag_any),
                           wd = describe(4, w, dnnl_format_tag_any);
  dnnl_convolution_desc_t forward, desc;
  dnnl_primitive_desc_t hint, primitive;
  check(dnnl_convolution_forward_desc_init(&forward, dnnl_forward_training, dnnl_convolution_auto,
                                           &xd, &wd, NULL, &yd, stride, pad, pad));
  check(dnnl_primitive_desc_create(&hint, &forward, NULL, layer->engine, NULL));
  if (kind == ONEDNN_CONV) return hint;
  if (kind == ONEDNN_CONV_IMAGES)
    check(dnnl_convolution_backward_data_desc_init(&desc, dnnl_convolution_auto, &xd, &wd, &yd,
                                                   stride, pad, pad));
  else
    check(dnnl_convolution_backward_weights_desc_init(&desc, dnnl_convolution_auto, &xd, &wd, NULL,
                                                      &yd, stride, pad, pad));
  check(dnnl_primitive_desc_create(&primitive, &desc, NULL, layer->engine, hint));
  check(dnnl_primitive_desc_destroy(hint));
  return primitive;
}

/* Without keeping anything for the gradient it is much faster; a forward pass alone keeps nothing
 * in situ, either. */
static dnnl_prop_kind_t how(bool alone) {
  return alone ? dnnl_forward_inference : dnnl_forward_training;
}

static dnnl_primitive_desc_t describe_pool(struct onednn_layer *layer, enum onednn_kind kind,
                                           const struct onednn_sizes *s) {
  const int64_t out = (s->side + s->stride - 1) / s->stride;
  const int64_t all = (out - 1) * s->stride + s->k - s->side;
  const dnnl_dims_t x = {s->images, s->channels, s->side, s->side};
  const dnnl_dims_t y = {s->images, s->channels, out, out};
  const dnnl_dims_t stride = {s->stride, s->stride}, k = {s->k, s->k};
  const dnnl_dims_t before = {all / 2, all / 2}, after = {all - all / 2, all - all / 2};
  const dnnl_memory_desc_t xd = describe(4, x, dnnl_nhwc), yd = describe(4, y, dnnl_nhwc);
  dnnl_pooling_desc_t forward, desc;
  dnnl_primitive_desc_t hint, primitive;
  check(dnnl_pooling_forward_desc_init(&forward, how(kind == ONEDNN_POOL), dnnl_pooling_max, &xd,
                                       &yd, stride, k, before, after));
  check(dnnl_primitive_desc_create(&hint, &forward, NULL, layer->engine, NULL));
  if (kind == ONEDNN_POOL) return hint;
  check(
      dnnl_pooling_backward_desc_init(&desc, dnnl_pooling_max, &xd, &yd, stride, k, before, after));
  check(dnnl_primitive_desc_create(&primitive, &desc, NULL, layer->engine, hint));
  check(dnnl_primitive_create(&layer->forward, hint));
  add_args(layer, hint);
  check(dnnl_primitive_desc_destroy(hint));
  return primitive;
}

static dnnl_primitive_desc_t describe_lrn(struct onednn_layer *layer, enum onednn_kind kind,
                                          const struct onednn_sizes *s) {
  const dnnl_dims_t x = {s->images, s->channels, s->side, s->side};
  const dnnl_memory_desc_t xd = describe(4, x, dnnl_nhwc);
  dnnl_lrn_desc_t forward, desc;
  dnnl_primitive_desc_t hint, primitive;
  check(dnnl_lrn_forward_desc_init(&forward, how(kind == ONEDNN_LRN), dnnl_lrn_across_channels, &xd,
                                   s->k, 1e-3f, 0.75f, 1));
  check(dnnl_primitive_desc_create(&hint, &forward, NULL, layer->engine, NULL));
  if (kind == ONEDNN_LRN) return hint;
  check(dnnl_lrn_backward_desc_init(&desc, dnnl_lrn_across_channels, &xd, &xd, s->k, 1e-3f, 0.75f,
                                    1));
  check(dnnl_primitive_desc_create(&primitive, &desc, NULL, layer->engine, hint));
  check(dnnl_primitive_desc_destroy(hint));
  return primitive;
}

struct onednn_layer *onednn_layer_open(enum onednn_kind kind, const struct onednn_sizes *sizes) {
  struct onednn_layer *layer = calloc(1, sizeof *layer);
  bench_expect(layer != NULL, "no memory");
  check(dnnl_engine_create(&layer->engine, dnnl_cpu, 0));
  check(dnnl_stream_create(&layer->stream, layer->engine, dnnl_stream_default_flags));
  dnnl_primitive_desc_t primitive = kind <= ONEDNN_CONV_FILTER ? describe_conv(layer, kind, sizes)
                                    : kind <= ONEDNN_POOL_GRAD ? describe_pool(layer, kind, sizes)
                                                               : describe_lrn(layer, kind, sizes);
  add_args(layer, primitive);
  check(dnnl_primitive_create(&layer->primitive, primitive));
  check(dnnl_primitive_desc_destroy(primitive));
  return layer;
}

void onednn_layer_run(void *context) {
  struct onednn_layer *layer = context;
  if (layer->forward)
    check(dnnl_primitive_execute(layer->forward, layer->stream, layer->n_args, layer->args));
  check(dnnl_primitive_execute(layer->primitive, layer->stream, layer->n_args, layer->args));
  check(dnnl_stream_wait(layer->stream));
}

void onednn_layer_close(struct onednn_layer *layer) {
  if (!layer) return;
  for (int i = 0; i < layer->n_args; i++) {
    check(dnnl_memory_destroy(layer->args[i].memory));
    free(layer->data[i]);
  }
  if (layer->forward) check(dnnl_primitive_destroy(layer->forward));
  check(dnnl_primitive_destroy(layer->primitive));
  check(dnnl_stream_destroy(layer->stream));
  check(dnnl_engine_destroy(layer->engine));
  free(layer);
}

#else

struct onednn_layer *onednn_layer_open(enum onednn_kind kind, const struct onednn_sizes *sizes) {
  (void)kind;
  (void)sizes;
  return NULL;
}

void onednn_layer_run(void *layer) { (void)layer; }
void onednn_layer_close(struct onednn_layer *layer) { (void)layer; }

#endif
