/* SPDX-License-Identifier: Apache-2.0
 * tensor_list.c: TensorList ops, which implement tf.TensorArray. */
#include <stdlib.h>

#include "ops/gradient.h"
#include "ops/array/list_elements.h"
#include "ops/ops.h"
#include "tensor/number.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

/* Shapes */

/* The element shape from input `input`: a vector, or the scalar -1 if unknown. */
static situ_shape element_shape(const struct call *call, int input) {
  const struct operand *in = &call->in[input];
  situ_shape shape = SITU_ANY_SHAPE;
  if (!in->value || in->shape.rank != 1 || !situ_tensor_data(in->value)) return shape;
  const int64_t rank = in->shape.dim[0];
  if (rank > SITU_MAX_RANK) return shape;
  shape.rank = (int)rank;
  for (int d = 0; d < shape.rank; d++) {
    const int64_t size = call_element(call, input, d);
    shape.dim[d] = size < 0 ? SITU_ANY : size;
  }
  return shape;
}

static situ_status list_shape(struct call *call) {
  call->out[0].shape = SITU_SCALAR;
  return NULL;
}

static situ_status item_shape(struct call *call) {
  call->out[0].shape = element_shape(call, 2);
  return NULL;
}

static situ_status stack_shape(struct call *call) {
  const situ_shape shape = element_shape(call, 1);
  const int64_t count = call_integer(call, "num_elements");
  call->out[0].shape = list_elements_stacked(count < 0 ? SITU_ANY : count, &shape);
  return NULL;
}

static situ_status gather_shape(struct call *call) {
  const situ_shape shape = element_shape(call, 2);
  call->out[0].shape = list_elements_stacked(
      call->in[1].shape.rank == 1 ? call->in[1].shape.dim[0] : SITU_ANY, &shape);
  return NULL;
}

static situ_status concat_shape(struct call *call) {
  situ_shape shape = element_shape(call, 1);
  if (shape.rank > 0) shape.dim[0] = SITU_ANY;
  call->out[0].shape = shape;
  call->out[1].shape = SITU_SHAPE(SITU_ANY);
  return NULL;
}

/* Reading inputs */

/* Reads an integer input; the caller frees *items. */
static situ_status read_integers(const struct compute *compute, int input, int64_t **items,
                                 int *count) {
  situ_tensor *host = NULL;
  TRY(tensor_host(compute->in[input], &host));
  const int64_t n = situ_shape_count(host->shape);
  *count = n < INT32_MAX ? (int)n : 0;
  *items = n >= INT32_MAX ? NULL : malloc(sizeof **items * ((size_t)n + 1));
  for (int64_t i = 0; *items && i < n; i++)
    (*items)[i] = number_integer_at(host->type, situ_tensor_data(host), i);
  situ_tensor_release(host);
  return *items ? NULL : NO_MEMORY();
}

static situ_status read_integer(const struct compute *compute, int input, int64_t *out) {
  int64_t *items = NULL;
  int count = 0;
  TRY(read_integers(compute, input, &items, &count));
  *out = count ? items[0] : 0;
  free(items);
  return count ? NULL : INVALID("Input %d has no element.", input);
}

/* Output 0 is the list with the rows of input `input` as elements; takes over the reference. */
static situ_status cut_input(const struct compute *compute, int input, const int64_t *indices,
                             const int64_t *lengths, int count, struct tensor_list *list) {
  const situ_status status = list_elements_cut(compute->in[input], indices, lengths, count, list);
  if (!status) return tensor_list_tensor(list, &compute->out[0]);
  tensor_list_release(list);
  return status;
}

/* The ops */

static situ_status compute_reserve(struct compute *compute) {
  int64_t count = 0;
  struct tensor_list *list = NULL;
  TRY(read_integer(compute, 1, &count));
  if (count < 0 || count > INT32_MAX)
    return INVALID("The num_elements to reserve must be a non negative number, but got %lld",
                   (long long)count);
  TRY(tensor_list_create((int)count, &list));
  return tensor_list_tensor(list, &compute->out[0]);
}

static situ_status compute_get(struct compute *compute) {
  struct tensor_list *list = NULL;
  int64_t index = 0;
  situ_shape shape;
  TRY(tensor_list_of(compute->in[0], &list));
  TRY(read_integer(compute, 1, &index));
  TRY(list_elements_check(list, index));
  TRY(list_elements_check_type(list->items[index], compute->call->out[0].type));
  if (list->items[index]) {
    compute->out[0] = situ_tensor_retain(list->items[index]);
    return NULL;
  }
  const situ_shape expected = element_shape(compute->call, 2);
  TRY(list_elements_shape(list, (int)index, &expected, &shape));
  return list_elements_zeros(compute->call->out[0].type, shape, &compute->out[0]);
}

/* Sets element `index` to input 2, or clears it. A list that is too short is extended by elements
 * that are not set. */
static situ_status set(const struct compute *compute, bool has_item) {
  struct tensor_list *list = NULL, *changed = NULL;
  int64_t index = 0;
  situ_tensor *item = NULL;
  TRY(tensor_list_of(compute->in[0], &list));
  TRY(read_integer(compute, 1, &index));
  const bool grows =
      has_item && call_bool(compute->call, "resize_if_index_out_of_bounds") && index >= list->count;
  if (!grows || index == INT32_MAX) TRY(list_elements_check(list, index));
  TRY(tensor_list_copy(list, grows ? (int)index + 1 : list->count, &changed));
  if (has_item) {
    const situ_status status = compute_keep(compute, 2, &item);
    if (status) {
      tensor_list_release(changed);
      return status;
    }
  }
  tensor_list_set(changed, (int)index, item);
  return tensor_list_tensor(changed, &compute->out[0]);
}

static situ_status compute_set(struct compute *compute) { return set(compute, true); }

static situ_status compute_clear(struct compute *compute) { return set(compute, false); }

static situ_status compute_stack(struct compute *compute) {
  struct list_elements items = {.expected = element_shape(compute->call, 1)};
  struct tensor_list *list = NULL;
  TRY(tensor_list_of(compute->in[0], &list));
  items.list = list;
  items.count = list->count;
  return list_elements_stack(&items, compute->call->out[0].type, &compute->out[0]);
}

static situ_status compute_gather(struct compute *compute) {
  struct list_elements items = {.expected = element_shape(compute->call, 2)};
  struct tensor_list *list = NULL;
  int64_t *indices = NULL;
  TRY(tensor_list_of(compute->in[0], &list));
  TRY(read_integers(compute, 1, &indices, &items.count));
  items.list = list;
  items.indices = indices;
  const situ_status status =
      list_elements_stack(&items, compute->call->out[0].type, &compute->out[0]);
  free(indices);
  return status;
}

static situ_status compute_from_tensor(struct compute *compute) {
  struct tensor_list *list = NULL;
  const situ_shape *shape = &compute->call->in[0].shape;
  const int64_t count = shape->rank > 0 ? shape->dim[0] : 0;
  if (count >= INT32_MAX) return INVALID("%lld rows are too many for a list.", (long long)count);
  TRY(tensor_list_create((int)count, &list));
  return cut_input(compute, 0, NULL, NULL, (int)count, list);
}

static situ_status compute_scatter(struct compute *compute) {
  struct tensor_list *list = NULL, *changed = NULL;
  int64_t *indices = NULL;
  int count = 0, length = 0;
  TRY(tensor_list_of(compute->in[0], &list));
  TRY(read_integers(compute, 2, &indices, &count));
  length = list->count;
  for (int i = 0; i < count; i++)
    if (indices[i] >= length && indices[i] < INT32_MAX) length = (int)indices[i] + 1;
  situ_status status = tensor_list_copy(list, length, &changed);
  if (!status) status = cut_input(compute, 1, indices, NULL, count, changed);
  free(indices);
  return status;
}

static situ_status compute_split(struct compute *compute) {
  struct tensor_list *list = NULL;
  int64_t *lengths = NULL;
  int count = 0;
  TRY(read_integers(compute, 2, &lengths, &count));
  situ_status status = tensor_list_create(count, &list);
  if (!status) status = cut_input(compute, 0, NULL, lengths, count, list);
  free(lengths);
  return status;
}

static situ_status compute_concat(struct compute *compute) {
  struct list_elements items = {.expected = element_shape(compute->call, 1)};
  struct tensor_list *list = NULL;
  void *lengths = NULL;
  int64_t *leading = NULL;
  TRY(tensor_list_of(compute->in[0], &list));
  items.list = list;
  items.count = list->count;
  TRY(compute_output(compute, 1, SITU_SHAPE(list->count), &lengths));
  TRY(read_integers(compute, 2, &leading, &items.leading_count));
  items.leading_dims = leading;
  const situ_status status =
      list_elements_join(&items, compute->call->out[0].type, lengths, &compute->out[0]);
  free(leading);
  return status;
}

static situ_status compute_length(struct compute *compute) {
  struct tensor_list *list = NULL;
  void *data = NULL;
  TRY(tensor_list_of(compute->in[0], &list));
  TRY(compute_output(compute, 0, SITU_SCALAR, &data));
  *(int32_t *)data = list->count;
  return NULL;
}

static situ_status compute_zeros(struct compute *compute) {
  struct tensor_list *list = NULL, *zeros = NULL;
  TRY(tensor_list_of(compute->in[0], &list));
  TRY(tensor_list_create(list->count, &zeros));
  zeros->like = (struct tensor_list *)resource_retain(&list->head);
  return tensor_list_tensor(zeros, &compute->out[0]);
}

/* Adds lists */

static situ_status add_all(situ_tensor *const *lists, int n, situ_tensor **out);

/* Element `i` of the sum; recursive for lists of lists. */
static situ_status add_items(situ_tensor *const *lists, int n, int i, situ_tensor **items,
                             struct tensor_list *sum) {
  int count = 0;
  for (int k = 0; k < n; k++) {
    struct tensor_list *list = NULL;
    TRY(tensor_list_of(lists[k], &list));
    if (i < list->count && list->items[i]) items[count++] = list->items[i];
  }
  situ_tensor *item = count == 1 ? situ_tensor_retain(items[0]) : NULL;
  if (count > 1)
    TRY(items[0]->type == SITU_VARIANT ? add_all(items, count, &item)
                                       : list_elements_add(items, count, &item));
  if (item) tensor_list_set(sum, i, item);
  return NULL;
}

static situ_status add_all(situ_tensor *const *lists, int n, situ_tensor **out) {
  struct tensor_list *first = NULL, *sum = NULL;
  int longest = 0;
  for (int k = n - 1; k >= 0; k--) {
    TRY(tensor_list_of(lists[k], &first));
    if (first->count > longest) longest = first->count;
  }
  situ_tensor **items = malloc(sizeof *items * (size_t)n);
  situ_status status = items ? tensor_list_copy(first, longest, &sum) : NO_MEMORY();
  for (int i = 0; i < longest && !status; i++) status = add_items(lists, n, i, items, sum);
  free(items);
  if (!status) return tensor_list_tensor(sum, out);
  tensor_list_release(sum);
  return status;
}

static situ_status compute_add(struct compute *compute) {
  return add_all(compute->in, compute->call->n_in, &compute->out[0]);
}

/* Gradients */

static struct term zeros_of(struct gradient *g, int input) {
  return gradient_zeros(g, g->in[input]);
}

static struct term set_at(struct gradient *g, struct term list, struct term index,
                          struct term item) {
  return OP(g, "TensorListSetItem", list, index, item);
}

static void get_grad(struct gradient *g) {
  g->dx[0] = set_at(g, zeros_of(g, 0), g->in[1], g->dy[0]);
}

/* An element of a list of gradients; zeros of the shape in a list of equal length if it is not set.
 * */
static struct term get(struct gradient *g, struct term list, struct term index, situ_type type,
                       struct term shape) {
  return gradient_emit(g, "TensorListGetItem", TERMS(list, index, shape),
                       ATTRS(situ_attr_type("element_dtype", type)));
}

static void set_grad(struct gradient *g) {
  if (gradient_wanted(g, 0)) g->dx[0] = OP(g, "TensorListClearItem", g->dy[0], g->in[1]);
  if (gradient_is_real(gradient_type(g, g->in[2])))
    g->dx[2] =
        get(g, g->dy[0], g->in[1], gradient_type(g, g->in[2]), gradient_shape_of(g, g->in[2]));
}

static void clear_grad(struct gradient *g) {
  g->dx[0] = OP(g, "TensorListClearItem", g->dy[0], g->in[1]);
}

static void stack_grad(struct gradient *g) {
  g->dx[0] = OP(g, "TensorListFromTensor", g->dy[0], g->in[1]);
}

/* The encoding of an unknown shape. */
static struct term any_element(struct gradient *g) { return gradient_int(g, -1); }

static void from_tensor_grad(struct gradient *g) {
  const situ_shape shape = gradient_shape(g, g->in[0]), row = list_elements_row(&shape);
  struct term element = g->in[1];
  if (shape_is_known(&row)) element = gradient_ints(g, row.dim, row.rank);
  g->dx[0] =
      gradient_emit(g, "TensorListStack", TERMS(g->dy[0], element),
                    ATTRS(situ_attr_type("element_dtype", gradient_type(g, g->in[0])),
                          situ_attr_int("num_elements", shape.rank > 0 ? shape.dim[0] : -1)));
}

static void gather_grad(struct gradient *g) {
  g->dx[0] = OP(g, "TensorListScatterIntoExistingList", zeros_of(g, 0), g->dy[0], g->in[1]);
}

static void scatter_grad(struct gradient *g) {
  g->dx[0] =
      g->dy[0]; /* each element is written once, so that its gradient before the write is zero */
  g->dx[1] = gradient_emit(g, "TensorListGather", TERMS(g->dy[0], g->in[2], any_element(g)),
                           ATTRS(situ_attr_type("element_dtype", gradient_type(g, g->in[1]))));
}

static void concat_grad(struct gradient *g) {
  g->dx[0] = OP(g, "TensorListSplit", g->dy[0], g->in[1], gradient_output(g->out[0], 1));
}

static void split_grad(struct gradient *g) {
  g->dx[0] = gradient_emit(g, "TensorListConcatV2", TERMS(g->dy[0], any_element(g), g->in[2]),
                           ATTRS(situ_attr_type("element_dtype", gradient_type(g, g->in[0]))));
}

static void add_grad(struct gradient *g) {
  for (int i = 0; i < g->n_in; i++) g->dx[i] = g->dy[0];
}

/* Op definitions */

#define HANDLE "input_handle:variant[]"
#define SHAPE "element_shape:shape_type"
#define DTYPE "element_dtype:type shape_type:{int32 int64}"
#define LIST_OP_DEF(op, in, out, attributes, text, shaping, gradient, ...)                    \
  {                                                                                           \
    .name = op, .inputs = in, .outputs = out, .attrs = attributes, .python = "", .doc = text, \
    .devices = EVERYWHERE, .flags = OP_DEVICE_INPUTS, .shape = shaping, .grad = gradient,     \
    .compute = __VA_ARGS__                                                                    \
  }

static const struct op_def op_defs[] = {
    {.name = "TensorListReserve",
     .inputs = SHAPE " num_elements:int32[]",
     .outputs = "handle:variant",
     .attrs = DTYPE,
     .python = "",
     .doc = "A list of unset elements.",
     .devices = EVERYWHERE,
     .flags = OP_DEVICE_INPUTS | OP_NO_GRADIENT,
     .shape = list_shape,
     .compute = compute_reserve},
    {.name = "TensorListLength",
     .inputs = HANDLE,
     .outputs = "length:int32",
     .attrs = "",
     .python = "",
     .doc = "The number of elements of a list.",
     .devices = EVERYWHERE,
     .flags = OP_DEVICE_INPUTS | OP_NO_GRADIENT,
     .shape = list_shape,
     .compute = compute_length},
    LIST_OP_DEF("TensorListGetItem", HANDLE " index:int32[] element_shape:int32",
                "item:element_dtype", "element_dtype:type", "An element of a list.", item_shape,
                get_grad, compute_get),
    LIST_OP_DEF("TensorListSetItem", HANDLE " index:int32[] item:element_dtype",
                "output_handle:variant",
                "element_dtype:type resize_if_index_out_of_bounds:bool=false",
                "A copy of a list with one element replaced.", list_shape, set_grad, compute_set),
    LIST_OP_DEF("TensorListClearItem", HANDLE " index:int32[]", "output_handle:variant", "",
                "A copy of a list with one element unset, which reads as zeros.", list_shape,
                clear_grad, compute_clear),
    LIST_OP_DEF("TensorListStack", HANDLE " element_shape:int32", "tensor:element_dtype",
                "element_dtype:type num_elements:int=-1", "Stacks the elements of a list.",
                stack_shape, stack_grad, compute_stack),
    LIST_OP_DEF("TensorListFromTensor", "tensor:element_dtype " SHAPE, "output_handle:variant",
                DTYPE, "A list of the slices of a tensor along the first dimension.", list_shape,
                from_tensor_grad, compute_from_tensor, .args = "tensor: Tensor of rank 1 or more."),
    LIST_OP_DEF("TensorListGather", HANDLE " indices:int32 element_shape:int32",
                "values:element_dtype", "element_dtype:type", "Stacks selected elements of a list.",
                gather_shape, gather_grad, compute_gather,
                .args = "indices: Indices of the elements."),
    LIST_OP_DEF("TensorListScatterIntoExistingList", HANDLE " tensor:element_dtype indices:int32",
                "output_handle:variant", "element_dtype:type",
                "A copy of a list with slices of a tensor at the given indices.", list_shape,
                scatter_grad, compute_scatter,
                .args = "tensor: Elements to store, along the first dimension.\nindices: Index of "
                        "each element."),
    LIST_OP_DEF("TensorListConcatV2", HANDLE " " SHAPE " leading_dims:int64",
                "tensor:element_dtype lengths:int64", DTYPE,
                "Concatenates the elements of a list along the first dimension.", concat_shape,
                concat_grad, compute_concat),
    LIST_OP_DEF("TensorListSplit", "tensor:element_dtype " SHAPE " lengths:int64",
                "output_handle:variant", DTYPE,
                "Splits a tensor along the first dimension into a list.", list_shape, split_grad,
                compute_split, .args = "tensor: Tensor of rank 1 or more."),
    {.name = "TensorListZerosLike",
     .inputs = HANDLE,
     .outputs = "output_handle:variant",
     .attrs = "",
     .python = "",
     .doc = "A list of zeros of the same length.",
     .devices = EVERYWHERE,
     .flags = OP_DEVICE_INPUTS | OP_NO_GRADIENT,
     .shape = list_shape,
     .compute = compute_zeros},
    LIST_OP_DEF("TensorListAddN", "inputs:N*variant", "output_handle:variant", "N:int>=1",
                "The element-wise sum of lists.", list_shape, add_grad, compute_add,
                .args = "inputs: Lists of one length."),
};

OP_FAMILY(tensor_list, op_defs);
