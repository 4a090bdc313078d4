/* SPDX-License-Identifier: Apache-2.0
 * function_tape.c: TapeItem and TapePack: read and write the saved forward values of a function
 * (see if_while.c). */
#include "ops/control/function_tape.h"

#include "ops/gradient.h"
#include "ops/array/list_elements.h"
#include "ops/ops.h"
#include "tensor/tensor.h"

static situ_status item_shape(struct call *call) {
  call->out[0].shape = call->in[1].shape;
  return NULL;
}

static situ_status pack_shape(struct call *call) {
  const struct attr_value *numbers = call_attr(call, "numbers");
  if (numbers->list.count != call->n_in)
    return INVALID("There are %d values, but %d indices", call->n_in, (int)numbers->list.count);
  for (int i = 0; i < call->n_in; i++)
    if (numbers->list.items[i] < 0 || numbers->list.items[i] > INT32_MAX - 1)
      return INVALID("Index %lld of the tape is out of range", (long long)numbers->list.items[i]);
  call->out[0].shape = SITU_SCALAR;
  return NULL;
}

/* An empty list with the element type of another one. */
static situ_status empty_like(const situ_tensor *like, situ_tensor **out) {
  struct tensor_list *list = NULL, *zeros = NULL;
  TRY(tensor_list_of(like, &list));
  TRY(tensor_list_create(list->count, &zeros));
  zeros->like = (struct tensor_list *)resource_retain(&list->head);
  return tensor_list_tensor(zeros, out);
}

static situ_status compute_item(struct compute *compute) {
  struct tensor_list *list = NULL;
  const situ_tensor *like = compute->in[1];
  const int64_t number = call_integer(compute->call, "number");
  TRY(tensor_list_of(compute->in[0], &list));
  if (number >= 0 && number < list->count && list->items[number]) {
    if (list->items[number]->type != like->type)
      return INVALID("Value %lld of the tape is of type %s, not %s", (long long)number,
                     situ_type_name(list->items[number]->type), situ_type_name(like->type));
    compute->out[0] = situ_tensor_retain(list->items[number]);
    return NULL;
  }
  return like->type == SITU_VARIANT
             ? empty_like(like, &compute->out[0])
             : list_elements_zeros(like->type, like->shape, &compute->out[0]);
}

static situ_status compute_pack(struct compute *compute) {
  const struct attr_value *numbers = call_attr(compute->call, "numbers");
  struct tensor_list *list = NULL;
  int64_t count = 0;
  for (int i = 0; i < compute->call->n_in; i++)
    if (numbers->list.items[i] >= count) count = numbers->list.items[i] + 1;
  TRY(tensor_list_create((int)count, &list));
  situ_status status = NULL;
  for (int i = 0; i < compute->call->n_in && !status; i++) {
    situ_tensor *item = NULL;
    status = compute_keep(compute, i, &item);
    if (!status) tensor_list_set(list, (int)numbers->list.items[i], item);
  }
  if (!status) return tensor_list_tensor(list, &compute->out[0]);
  tensor_list_release(list);
  return status;
}

static void item_grad(struct gradient *g) {
  const int64_t number = gradient_integer(g, "number"), type = gradient_type(g, g->in[1]);
  g->dx[0] =
      gradient_emit(g, "TapePack", TERMS(g->dy[0]),
                    ATTRS(situ_attr_types("T", &type, 1), situ_attr_ints("numbers", &number, 1)));
}

static void pack_grad(struct gradient *g) {
  const struct attr_value *numbers = gradient_attr(g, "numbers");
  for (int i = 0; i < g->n_in; i++)
    if (gradient_wanted(g, i))
      g->dx[i] = gradient_emit(g, "TapeItem", TERMS(g->dy[0], g->in[i]),
                               ATTRS(situ_attr_int("number", numbers->list.items[i])));
}

static const struct op_def op_defs[] = {
    {.name = "TapeItem",
     .inputs = "list:variant like:T",
     .outputs = "item:T",
     .attrs = "T:type number:int",
     .python = "",
     .doc = "An element of a list of saved forward values; zeros if it is not set.",
     .args = "list: List of saved values.\n"
             "like: Tensor whose shape and type the zeros have.\n"
             "number: Index of the element.",
     .devices = EVERYWHERE,
     .flags = OP_DEVICE_INPUTS,
     .shape = item_shape,
     .grad = item_grad,
     .compute = compute_item},
    {.name = "TapePack",
     .inputs = "values:T",
     .outputs = "list:variant",
     .attrs = "T:list(type) numbers:list(int)",
     .python = "",
     .doc = "A list with the given values at the given indices.",
     .args = "values: Elements of the list.\n"
             "numbers: Index of each value.",
     .devices = EVERYWHERE,
     .flags = OP_DEVICE_INPUTS,
     .shape = pack_shape,
     .grad = pack_grad,
     .compute = compute_pack},
};

OP_FAMILY(function_tape, op_defs);

situ_value function_tape_item(situ_graph *graph, situ_value list, situ_value like, int number) {
  const situ_attr attr = situ_attr_int("number", number);
  return situ_emit(graph, "TapeItem", "gradients/ditem", (situ_value[]){list, like}, 2, &attr, 1);
}

situ_value function_tape_pack(situ_graph *graph, const situ_value *values, const int64_t *types,
                              const int64_t *numbers, int count) {
  const situ_attr attrs[] = {situ_attr_types("T", types, count),
                             situ_attr_ints("numbers", numbers, count)};
  return situ_emit(graph, "TapePack", "gradients/dtape", values, count, attrs, 2);
}

situ_value function_tape_zeros(situ_graph *graph, situ_value like) {
  const bool is_list = situ_value_type(like) == SITU_VARIANT;
  return situ_emit(graph, is_list ? "TensorListZerosLike" : "ZerosLike", "gradients/zeros", &like,
                   1, NULL, 0);
}
