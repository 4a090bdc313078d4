/* SPDX-License-Identifier: Apache-2.0
 * conv.c: convolutions: which way each of them goes. */
#include "host/conv.h"

#include <string.h>

#include "host/conv_common.h"
#include "host/gemm.h"

/* A filter of one tap is a matrix, images and results are tall ones. */

static bool is_product(const struct conv *c) {
  return c->kh == 1 && c->kw == 1 && c->sh == 1 && c->sw == 1 && !c->top && !c->left &&
         c->oh == c->h && c->ow == c->w;
}

static struct gemm product_of(const struct conv *c, enum conv_pass want) {
  const int64_t pixels = c->n * c->h * c->w;
  struct gemm g = {.type = c->type, .m = pixels, .n = c->o, .k = c->c, .space = c->space};
  g.a = c->x, g.a_row = c->c, g.a_col = 1;
  g.b = c->filter, g.b_row = c->o, g.b_col = 1;
  g.c = c->y, g.c_row = c->o, g.c_col = 1;
  if (want == CONV_BACKWARD_DATA) {
    g.n = c->c, g.k = c->o;
    g.a = c->y, g.a_row = c->o;
    g.b_row = 1, g.b_col = c->o;
    g.c = c->x, g.c_row = c->c;
  } else if (want == CONV_BACKWARD_FILTER) {
    g.m = c->c, g.k = pixels;
    g.a_row = 1, g.a_col = c->c;
    g.b = c->y;
    g.c = c->filter;
  }
  return g;
}

bool conv_supported(const struct conv *c, enum conv_pass want) {
  if (!conv_kernels(c->type)) return false;
  return want != CONV_BACKWARD_DATA || (c->dh == 1 && c->dw == 1) || (c->sh == 1 && c->sw == 1);
}

/* Whether images, results or filter have no elements: sums of nothing need no space. */
static bool is_empty(const struct conv *c) {
  return c->n * c->h * c->w * c->c == 0 || c->n * c->oh * c->ow * c->o == 0 ||
         c->kh * c->kw * c->c * c->o == 0;
}

size_t conv_workspace_size(const struct conv *c, enum conv_pass want) {
  const struct conv_kernels *kernels = conv_kernels(c->type);
  const size_t size = situ_type_size(c->type);
  if (!kernels || is_empty(c)) return 0;
  if (c->planes) {
    struct conv inner = *c;
    inner.planes = false;
    return conv_nchw_space(c) + conv_workspace_size(&inner, want);
  }
  if (is_product(c)) {
    const struct gemm g = product_of(c, want);
    return gemm_workspace_size(g.type, g.m, g.n, g.k);
  }
  const size_t filter = conv_aligned(conv_packed(kernels, c->kh * c->kw, c->c, c->o), size);
  if (want == CONV_FORWARD) return filter + conv_padded_bytes(c);
  if (want == CONV_BACKWARD_FILTER) return conv_filter_space(kernels, c);
  return conv_aligned(conv_packed(kernels, c->kh * c->kw, c->o, c->c), size);
}

static void clear(void *to, int64_t elements, situ_type type) {
  memset(to, 0, (size_t)elements * situ_type_size(type));
}

situ_status conv_run_with(const struct conv_kernels *kernels, const struct conv *c,
                          enum conv_pass want) {
  const int64_t x = c->n * c->h * c->w * c->c, y = c->n * c->oh * c->ow * c->o;
  const int64_t filter = c->kh * c->kw * c->c * c->o;
  const int64_t wanted = want == CONV_FORWARD ? y : want == CONV_BACKWARD_DATA ? x : filter;
  void *to = want == CONV_FORWARD ? c->y : want == CONV_BACKWARD_DATA ? c->x : c->filter;
  if (!wanted) return NULL;
  if (is_empty(c)) return clear(to, wanted, c->type), NULL;
  if (want == CONV_FORWARD) return conv_result(kernels, c);
  return want == CONV_BACKWARD_DATA ? conv_images(kernels, c) : conv_filter(kernels, c);
}

situ_status conv_run(const struct conv *c, enum conv_pass want) {
  const struct conv_kernels *kernels = conv_kernels(c->type);
  if (!kernels || !conv_supported(c, want))
    return INTERNAL("No convolution of %s.", situ_type_name(c->type));
  if (is_empty(c)) return conv_run_with(kernels, c, want);
  if (c->planes) return conv_nchw_run(c, want);
  if (is_product(c)) {
    const struct gemm g = product_of(c, want);
    return gemm_run(&g);
  }
  return conv_run_with(kernels, c, want);
}
