/* SPDX-License-Identifier: Apache-2.0
 * list_elements.c: see list_elements.h. */
#include "ops/array/list_elements.h"

#include <stdlib.h>
#include <string.h>

#include "tensor/number.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"
#include "tensor/type.h"

/* A shape with one more leading dimension. */
situ_shape list_elements_stacked(int64_t count, const situ_shape *shape) {
  situ_shape out = *shape;
  if (shape->rank < 0 || shape->rank == SITU_MAX_RANK) return SITU_ANY_SHAPE;
  out.rank++;
  out.dim[0] = count;
  for (int d = 0; d < shape->rank; d++) out.dim[d + 1] = shape->dim[d];
  return out;
}

situ_shape list_elements_row(const situ_shape *shape) {
  situ_shape out = *shape;
  if (shape->rank < 1) return SITU_ANY_SHAPE;
  out.rank--;
  for (int d = 0; d < out.rank; d++) out.dim[d] = shape->dim[d + 1];
  return out;
}

situ_status list_elements_check(const struct tensor_list *list, int64_t index) {
  if (index >= 0 && index < list->count) return NULL;
  return INVALID("Trying to access element %lld in a list with %d elements.", (long long)index,
                 list->count);
}

situ_status list_elements_check_type(const situ_tensor *item, situ_type type) {
  if (!item || item->type == type) return NULL;
  return INVALID("Invalid data types; op elements %s but list elements %s", situ_type_name(type),
                 situ_type_name(item->type));
}

/* The shape of an element, whether or not it is set. */
situ_status list_elements_shape(const struct tensor_list *list, int index,
                                const situ_shape *expected, situ_shape *out) {
  const struct tensor_list *at = list;
  while (at->like && !(index < at->count && at->items[index])) at = at->like;
  if (index < at->count && at->items[index]) {
    *out = at->items[index]->shape;
    return NULL;
  }
  *out = *expected;
  for (int i = 0; i < list->count && !shape_is_known(out); i++)
    if (list->items[i]) *out = list->items[i]->shape;
  if (shape_is_known(out)) return NULL;
  return INVALID(
      "Trying to read an element of a list (number %d) that was never set, and whose "
      "shape is not known.",
      index);
}

/* Concatenating */

struct joint {
  situ_type type;
  situ_shape shape;
  size_t size;          /* of an element */
  situ_tensor *made;    /* numbers */
  situ_string *strings; /* strings */
  int64_t at;
};

static situ_status joint_begin(struct joint *joint, situ_type type, situ_shape shape) {
  *joint = (struct joint){.type = type, .shape = shape, .size = situ_type_size(type)};
  if (type != SITU_STRING) return tensor_create_raw(type, shape, &joint->made);
  joint->strings = calloc((size_t)situ_shape_count(shape) + 1, sizeof *joint->strings);
  return joint->strings ? NULL : NO_MEMORY();
}

/* Appends `count` elements of a tensor in host memory; zeros for NULL. */
static void joint_add(struct joint *joint, const situ_tensor *from, int64_t first, int64_t count) {
  const size_t bytes = (size_t)count * joint->size;
  if (joint->strings) {
    for (int64_t i = 0; from && i < count; i++)
      joint->strings[joint->at + i] = situ_tensor_string(from, first + i);
  } else if (bytes && joint->made) {
    char *to = (char *)joint->made->buffer->host + (size_t)joint->at * joint->size;
    if (from)
      memcpy(to, (const char *)situ_tensor_data(from) + (size_t)first * joint->size, bytes);
    else
      memset(to, 0, bytes);
  }
  joint->at += count;
}

static situ_status joint_end(struct joint *joint, situ_status status, situ_tensor **out) {
  situ_tensor *made = joint->made;
  if (!status && joint->strings)
    status = situ_tensor_create_strings(joint->shape, joint->strings, &made);
  free(joint->strings);
  if (status)
    situ_tensor_release(joint->made);
  else
    *out = made;
  return status;
}

static int pick(const struct list_elements *items, int i) {
  return items->indices ? (int)items->indices[i] : i;
}

static situ_status add_pick(struct joint *joint, const struct list_elements *items, int i,
                            const situ_shape *shape) {
  situ_tensor *host = NULL, *item = items->list->items[pick(items, i)];
  TRY(list_elements_check_type(item, joint->type));
  if (item) TRY(tensor_host(item, &host));
  joint_add(joint, host, 0, situ_shape_count(*shape));
  situ_tensor_release(host);
  return NULL;
}

/* Stacks elements of one shape. */
situ_status list_elements_stack(const struct list_elements *items, situ_type type,
                                situ_tensor **out) {
  situ_shape shape = items->expected;
  struct joint joint = {0};
  for (int i = 0; i < items->count; i++) {
    situ_shape next;
    TRY(list_elements_check(items->list, pick(items, i)));
    TRY(list_elements_shape(items->list, pick(items, i), &items->expected, &next));
    char a[SHAPE_STRING_SIZE], b[SHAPE_STRING_SIZE];
    if (i && !shape_equal(&next, &shape))
      return INVALID("Tried to stack elements of a list with different shapes: %s and %s.",
                     shape_print(&shape, a), shape_print(&next, b));
    shape = next;
  }
  if (!shape_is_known(&shape))
    return INVALID("Tried to stack a list without elements, whose shape is not known.");
  TRY(joint_begin(&joint, type, list_elements_stacked(items->count, &shape)));
  situ_status status = NULL;
  for (int i = 0; i < items->count && !status; i++) status = add_pick(&joint, items, i, &shape);
  return joint_end(&joint, status, out);
}

/* Makes list elements of the rows of a tensor in host memory: row i becomes element `indices[i]`,
 * or with `lengths` an element is that many rows. */
static situ_status cut(const situ_tensor *from, const int64_t *indices, const int64_t *lengths,
                       int count, struct tensor_list *list) {
  const situ_shape row = list_elements_row(&from->shape);
  const int64_t size = situ_shape_count(row), rows = from->shape.dim[0];
  int64_t at = 0;
  for (int i = 0; i < count; i++) {
    struct joint joint;
    situ_tensor *item = NULL;
    const int64_t n = lengths ? lengths[i] : 1, index = indices ? indices[i] : i;
    TRY(list_elements_check(list, index));
    if (n < 0 || n > rows - at)
      return INVALID(
          "The lengths of the list elements do not add up to the %lld rows of the tensor.",
          (long long)rows);
    situ_status status =
        joint_begin(&joint, from->type, lengths ? list_elements_stacked(n, &row) : row);
    if (!status) joint_add(&joint, from, at * size, n * size);
    TRY(joint_end(&joint, status, &item));
    tensor_list_set(list, (int)index, item);
    at += n;
  }
  return NULL;
}

situ_status list_elements_cut(situ_tensor *tensor, const int64_t *indices, const int64_t *lengths,
                              int count, struct tensor_list *list) {
  situ_tensor *host = NULL;
  if (tensor->shape.rank < 1) return INVALID("A scalar has no rows.");
  TRY(tensor_host(tensor, &host));
  const situ_status status = cut(host, indices, lengths, count, list);
  situ_tensor_release(host);
  return status;
}

situ_status list_elements_zeros(situ_type type, situ_shape shape, situ_tensor **out) {
  struct joint joint;
  const situ_status status = joint_begin(&joint, type, shape);
  if (!status) joint_add(&joint, NULL, 0, situ_shape_count(shape));
  return joint_end(&joint, status, out);
}

situ_status list_elements_join(const struct list_elements *items, situ_type type, int64_t *lengths,
                               situ_tensor **out) {
  situ_shape whole = SITU_ANY_SHAPE;
  int64_t total = 0;
  for (int i = 0; i < items->count; i++) {
    situ_shape shape, expected = items->expected;
    if (!items->list->items[i] && i < items->leading_count && expected.rank > 0)
      expected.dim[0] = items->leading_dims[i];
    TRY(list_elements_shape(items->list, i, &expected, &shape));
    if (shape.rank < 1) return INVALID("Concat requires elements to be at least vectors.");
    lengths[i] = shape.dim[0];
    if (lengths[i] < 0 || __builtin_add_overflow(total, lengths[i], &total))
      return INVALID("Element %d of the list cannot have %lld rows.", i, (long long)lengths[i]);
    shape.dim[0] = 0;
    if (i && !shape_equal(&shape, &whole))
      return INVALID("Concat requires elements of one shape but for the first dimension.");
    whole = shape;
  }
  if (whole.rank < 1) return INVALID("Concat requires at least one element.");
  struct joint joint;
  whole.dim[0] = total;
  situ_status status = joint_begin(&joint, type, whole);
  for (int i = 0; i < items->count && !status; i++) {
    situ_shape shape = whole;
    shape.dim[0] = lengths[i];
    status = add_pick(&joint, items, i, &shape);
  }
  return joint_end(&joint, status, out);
}

situ_status list_elements_add(situ_tensor *const *items, int count, situ_tensor **out) {
  const situ_tensor *first = items[0];
  situ_tensor *sum = NULL;
  for (int k = 0; k < count; k++) TRY(list_elements_check_type(items[k], first->type));
  if (first->type == SITU_STRING) return INVALID("Lists of strings cannot be added.");
  TRY(tensor_create_raw(first->type, first->shape, &sum));
  const situ_type type = type_real(first->type);
  const int64_t n = situ_shape_count(first->shape) * (type_is_complex(first->type) ? 2 : 1);
  situ_status status = NULL;
  for (int k = 0; k < count && !status; k++) {
    situ_tensor *host = NULL;
    status = tensor_host(items[k], &host);
    if (!status && !shape_equal(&host->shape, &first->shape))
      status = INVALID("Elements of lists that are added have different shapes.");
    const void *from = status ? NULL : situ_tensor_data(host);
    void *to = sum->buffer->host;
    for (int64_t i = 0; !status && i < n; i++) {
      const double value = number_at(type, from, i);
      if (type == SITU_FLOAT)
        ((float *)to)[i] = (k ? ((float *)to)[i] : 0) + ((const float *)from)[i];
      else
        number_store(type, to, i, (k ? number_at(type, to, i) : 0) + value);
    }
    situ_tensor_release(host);
  }
  if (status)
    situ_tensor_release(sum);
  else
    *out = sum;
  return status;
}
