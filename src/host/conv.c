/* SPDX-License-Identifier: Apache-2.0
 * conv.c: 2-D convolution: selects the algorithm (GEMM for 1x1 filters, NCHW through NHWC, direct
 * otherwise). */
#include "host/conv.h"

#include <string.h>

#include "host/conv_common.h"
#include "host/gemm.h"

/* ---- 1x1 convolution is a GEMM ---- */

static bool is_gemm(const struct conv *c) {
  return c->kh == 1 && c->kw == 1 && c->sh == 1 && c->sw == 1 && !c->top && !c->left &&
         c->oh == c->h && c->ow == c->w;
}

static struct gemm make_gemm(const struct conv *c, enum conv_pass pass) {
  const int64_t pixels = c->n * c->h * c->w;
  struct gemm g = {.type = c->type, .m = pixels, .n = c->o, .k = c->c, .workspace = c->workspace};
  g.a = c->x, g.a_row = c->c, g.a_col = 1;
  g.b = c->filter, g.b_row = c->o, g.b_col = 1;
  g.c = c->y, g.c_row = c->o, g.c_col = 1;
  if (pass == CONV_BACKWARD_DATA) {
    g.n = c->c, g.k = c->o;
    g.a = c->y, g.a_row = c->o;
    g.b_row = 1, g.b_col = c->o;
    g.c = c->x, g.c_row = c->c;
  } else if (pass == CONV_BACKWARD_FILTER) {
    g.m = c->c, g.k = pixels;
    g.a_row = 1, g.a_col = c->c;
    g.b = c->y;
    g.c = c->filter;
  }
  return g;
}

bool conv_supported(const struct conv *c, enum conv_pass pass) {
  if (!conv_kernels(c->type)) return false;
  return pass != CONV_BACKWARD_DATA || (c->dh == 1 && c->dw == 1) || (c->sh == 1 && c->sw == 1);
}

/* Returns whether input, output or filter is empty. */
static bool is_empty(const struct conv *c) {
  return c->n * c->h * c->w * c->c == 0 || c->n * c->oh * c->ow * c->o == 0 ||
         c->kh * c->kw * c->c * c->o == 0;
}

size_t conv_workspace_size(const struct conv *c, enum conv_pass pass) {
  const struct conv_kernels *kernels = conv_kernels(c->type);
  const size_t size = situ_type_size(c->type);
  if (!kernels || is_empty(c)) return 0;
  if (c->is_nchw) {
    struct conv inner = *c;
    inner.is_nchw = false;
    return conv_nchw_workspace_size(c) + conv_workspace_size(&inner, pass);
  }
  if (is_gemm(c)) {
    const struct gemm g = make_gemm(c, pass);
    return gemm_workspace_size(g.type, g.m, g.n, g.k);
  }
  const size_t n_filter =
      conv_aligned(conv_packed_elements(kernels, c->kh * c->kw, c->c, c->o), size);
  if (pass == CONV_FORWARD) return n_filter + conv_padded_bytes(c);
  if (pass == CONV_BACKWARD_FILTER) return conv_backward_filter_workspace_size(kernels, c);
  return conv_aligned(conv_packed_elements(kernels, c->kh * c->kw, c->o, c->c), size);
}

static void fill_zero(void *output, int64_t elements, situ_type type) {
  memset(output, 0, (size_t)elements * situ_type_size(type));
}

situ_status conv_run_with(const struct conv_kernels *kernels, const struct conv *c,
                          enum conv_pass pass) {
  const int64_t n_x = c->n * c->h * c->w * c->c, n_y = c->n * c->oh * c->ow * c->o;
  const int64_t n_filter = c->kh * c->kw * c->c * c->o;
  const int64_t n_output = pass == CONV_FORWARD ? n_y : pass == CONV_BACKWARD_DATA ? n_x : n_filter;
  void *output = pass == CONV_FORWARD ? c->y : pass == CONV_BACKWARD_DATA ? c->x : c->filter;
  if (!n_output) return NULL;
  if (is_empty(c)) return fill_zero(output, n_output, c->type), NULL;
  if (pass == CONV_FORWARD) return conv_forward(kernels, c);
  return pass == CONV_BACKWARD_DATA ? conv_backward_data(kernels, c)
                                    : conv_backward_filter(kernels, c);
}

situ_status conv_run(const struct conv *c, enum conv_pass pass) {
  const struct conv_kernels *kernels = conv_kernels(c->type);
  if (!kernels || !conv_supported(c, pass))
    return INTERNAL("Convolution does not support type %s.", situ_type_name(c->type));
  if (is_empty(c)) return conv_run_with(kernels, c, pass);
  if (c->is_nchw) return conv_nchw_run(c, pass);
  if (is_gemm(c)) {
    const struct gemm g = make_gemm(c, pass);
    return gemm_run(&g);
  }
  return conv_run_with(kernels, c, pass);
}
