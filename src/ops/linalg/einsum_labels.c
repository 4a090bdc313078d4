/* SPDX-License-Identifier: Apache-2.0
 * einsum_labels.c: see einsum_labels.h. */
#include "ops/linalg/einsum_labels.h"

#include <ctype.h>
#include <string.h>

#include "ops/ops.h"
#include "tensor/shape.h"

enum { LETTERS = 256 };

static situ_status parse_subscripts(const char *text, int length, struct subscripts *out) {
  *out = (struct subscripts){.front = text, .back = text};
  int periods = 0;
  for (int i = 0; i < length; i++) {
    if (text[i] == '.')
      periods++;
    else if (!isalpha((unsigned char)text[i]))
      return INVALID("Expected letters or an ellipsis (...) as subscripts, but found '%c' in: %.*s",
                     text[i], length, text);
  }
  if (periods != 0 && periods != 3)
    return INVALID(
        "Expected at most one ellipsis (...), but found %d periods (.) in the input "
        "subscript: %.*s",
        periods, length, text);
  out->n_front = length;
  if (!periods) return NULL;
  const char *dots = memmem(text, (size_t)length, "...", 3);
  if (!dots) return INVALID("Periods found outside of ellipsis in subscript: %.*s", length, text);
  out->dots = true;
  out->n_front = (int)(dots - text);
  out->back = dots + 3;
  out->n_back = length - out->n_front - 3;
  return NULL;
}

situ_status einsum_parse(const char *text, struct equation *out) {
  const char *arrow = strstr(text, "->");
  *out = (struct equation){.n_in = 0};
  if (!arrow || strstr(arrow + 2, "->"))
    return INVALID("Expecting exactly one '->' in einsum equation: %s", text);
  for (const char *at = text; at <= arrow; out->n_in++) {
    const char *comma = memchr(at, ',', (size_t)(arrow - at)), *end = comma ? comma : arrow;
    if (out->n_in == 2) return INVALID("Expecting 1 or 2 input subscripts in equation '%s'", text);
    TRY(parse_subscripts(at, (int)(end - at), &out->in[out->n_in]));
    at = end + 1;
  }
  return parse_subscripts(arrow + 2, (int)strlen(arrow + 2), &out->out);
}

situ_status einsum_labels_of(const struct subscripts *s, int ellipsis, struct labels *out) {
  const int dots = s->dots ? ellipsis : 0;
  *out = (struct labels){.rank = 0};
  if (s->n_front + dots + s->n_back > SITU_MAX_RANK)
    return INVALID("Einsum supports tensors of at most %d dimensions, not %d", (int)SITU_MAX_RANK,
                   s->n_front + dots + s->n_back);
  for (int i = 0; i < s->n_front; i++) out->label[out->rank++] = (unsigned char)s->front[i];
  for (int i = dots; i > 0; i--) out->label[out->rank++] = -i;
  for (int i = 0; i < s->n_back; i++) out->label[out->rank++] = (unsigned char)s->back[i];
  return NULL;
}

/* The number of dimensions that "..." stands for in an input of known rank. */
static situ_status ellipsis_rank(const struct call *call, const struct equation *equation, int i,
                                 int *out) {
  const struct subscripts *s = &equation->in[i];
  const int rank = call->in[i].shape.rank, letters = s->n_front + s->n_back;
  const char *text = call_text(call, "equation");
  *out = rank - letters;
  if (s->dots && *out < 0)
    return INVALID("Expected input %d to have rank at least %d but got: %d (equation '%s')", i,
                   letters, rank, text);
  if (!s->dots && *out)
    return INVALID("Expected input %d to have rank %d but got: %d (equation '%s')", i, letters,
                   rank, text);
  return NULL;
}

/* Sizes of labels as far as they are known. */
struct sizes {
  int64_t letter[LETTERS];
  int64_t dots[SITU_MAX_RANK + 1]; /* dots[k]: of label -k */
  bool present[LETTERS];
  int ellipsis; /* the number of dimensions of "..." */
};

static situ_status add_size(struct sizes *sizes, const struct call *call, int i, int axis,
                            int label) {
  const int64_t size = call->in[i].shape.dim[axis];
  int64_t *known = label < 0 ? &sizes->dots[-label] : &sizes->letter[label];
  char text[SHAPE_STRING_SIZE];
  if (label < 0 && size == 1) return NULL;
  if (*known == SITU_ANY || (label < 0 && *known == 1)) {
    *known = size;
    return NULL;
  }
  if (size != SITU_ANY && size != *known)
    return INVALID(
        "Expected dimension %lld at axis %d of the input shaped %s but got dimension "
        "%lld (equation '%s')",
        (long long)*known, axis, shape_print(&call->in[i].shape, text), (long long)size,
        call_text(call, "equation"));
  return NULL;
}

static void add_letters(struct sizes *sizes, const struct subscripts *s) {
  for (int i = 0; i < s->n_front; i++) sizes->present[(unsigned char)s->front[i]] = true;
  for (int i = 0; i < s->n_back; i++) sizes->present[(unsigned char)s->back[i]] = true;
}

static situ_status read_sizes(const struct call *call, const struct equation *equation,
                              struct sizes *sizes) {
  *sizes = (struct sizes){.ellipsis = 0};
  for (int i = 0; i < LETTERS; i++) sizes->letter[i] = SITU_ANY;
  for (int i = 0; i <= SITU_MAX_RANK; i++) sizes->dots[i] = 1;
  for (int i = 0; i < call->n_in; i++) {
    struct labels labels;
    int ellipsis;
    add_letters(sizes, &equation->in[i]);
    if (call->in[i].shape.rank == SITU_ANY) {
      if (equation->in[i].dots) sizes->ellipsis = SITU_ANY;
      continue;
    }
    TRY(ellipsis_rank(call, equation, i, &ellipsis));
    TRY(einsum_labels_of(&equation->in[i], ellipsis, &labels));
    if (sizes->ellipsis != SITU_ANY && equation->in[i].dots && ellipsis > sizes->ellipsis)
      sizes->ellipsis = ellipsis;
    for (int axis = 0; axis < labels.rank; axis++)
      TRY(add_size(sizes, call, i, axis, labels.label[axis]));
  }
  return NULL;
}

static situ_status check_output(const struct call *call, const struct equation *equation,
                                const struct sizes *sizes) {
  const struct subscripts *out = &equation->out;
  const char *text = call_text(call, "equation");
  for (int i = 0; i < out->n_front + out->n_back; i++) {
    const char c = i < out->n_front ? out->front[i] : out->back[i - out->n_front];
    if (!sizes->present[(unsigned char)c])
      return INVALID(
          "Einsum output subscripts for equation '%s' has label '%c' which is not "
          "present in the input subscripts",
          text, c);
  }
  if (!out->dots && sizes->ellipsis > 0)
    return INVALID(
        "Einsum equation '%s' has no ellipsis (...) in the output subscripts, but the "
        "inputs have %d dimensions for it",
        text, sizes->ellipsis);
  return NULL;
}

situ_status einsum_shape(struct call *call) {
  struct equation equation;
  struct sizes sizes;
  struct labels labels;
  situ_shape *out = &call->out[0].shape;
  *out = SITU_ANY_SHAPE;
  TRY(einsum_parse(call_text(call, "equation"), &equation));
  if (call->n_in != equation.n_in)
    return INVALID("Expected %d inputs for equation %s but got: %d", equation.n_in,
                   call_text(call, "equation"), call->n_in);
  TRY(read_sizes(call, &equation, &sizes));
  TRY(check_output(call, &equation, &sizes));
  if (equation.out.dots && sizes.ellipsis == SITU_ANY) return NULL;
  TRY(einsum_labels_of(&equation.out, sizes.ellipsis, &labels));
  out->rank = labels.rank;
  for (int d = 0; d < labels.rank; d++) {
    const int label = labels.label[d];
    out->dim[d] = label < 0 ? sizes.dots[-label] : sizes.letter[label];
  }
  return shape_check(out);
}

situ_status einsum_labels(const struct call *call, const struct equation *equation,
                          struct labels in[2], struct labels *out) {
  int most = 0;
  for (int i = 0; i < call->n_in; i++) {
    int ellipsis;
    TRY(ellipsis_rank(call, equation, i, &ellipsis));
    TRY(einsum_labels_of(&equation->in[i], ellipsis, &in[i]));
    most = ellipsis > most ? ellipsis : most;
  }
  return einsum_labels_of(&equation->out, most, out);
}
