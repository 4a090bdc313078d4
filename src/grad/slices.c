/* SPDX-License-Identifier: Apache-2.0
 * slices.c: a list of sparse gradients, their sum and their conversion to dense tensors. */
#include "grad/slices.h"

#include <stdlib.h>

struct term slices_add(struct slices_list *list, struct slices slices) {
  if (list->count == list->capacity) {
    const int32_t more = list->capacity ? 2 * list->capacity : 8;
    struct slices *items = realloc(list->items, sizeof *items * (size_t)more);
    if (!items) return NO_TERM;
    list->items = items;
    list->capacity = more;
  }
  list->items[list->count] = slices;
  return (struct term){list->count++, SLICES_OUTPUT};
}

void slices_free(struct slices_list *list) {
  free(list->items);
  *list = (struct slices_list){0};
}

struct term slices_dense(struct gradient *g, struct slices *s) {
  if (!term_exists(s->dense))
    s->dense = gradient_sum_rows(g, s->values, s->indices, s->shape, &s->known);
  return s->dense;
}

struct term slices_join(struct gradient *g, struct slices_list *list, const struct term *terms,
                        int count) {
  struct term *values = malloc(2 * sizeof *values * (size_t)count);
  if (!values) return gradient_fail(g, NO_MEMORY()), NO_TERM;
  struct term *indices = values + count, joined = NO_TERM;
  for (int i = 0; i < count; i++) {
    values[i] = list->items[terms[i].node].values;
    indices[i] = list->items[terms[i].node].indices;
  }
  struct slices sum = list->items[terms[0].node];
  sum.dense = NO_TERM;
  sum.values = gradient_join(g, values, count);
  sum.indices = gradient_join(g, indices, count);
  free(values);
  if (!g->error) joined = slices_add(list, sum);
  if (!g->error && !term_exists(joined)) gradient_fail(g, NO_MEMORY());
  return joined;
}
