/* SPDX-License-Identifier: Apache-2.0
 * stack_ops.c: stacks of tensors: the gradients of TensorFlow 1's while loops push forward values
 * and pop them in the backward loop. A stack lives as long as the run that creates it. */
#include <stdlib.h>

#include "ops/ops.h"
#include "tensor/tensor.h"

struct stack {
  struct resource head;
  pthread_mutex_t lock;
  situ_tensor **items;
  int64_t count, capacity, limit; /* limit: the largest count; negative: any */
};

static void clear(struct stack *stack) {
  while (stack->count) situ_tensor_release(stack->items[--stack->count]);
}

static void destroy(struct resource *resource) {
  struct stack *stack = (struct stack *)resource;
  clear(stack);
  pthread_mutex_destroy(&stack->lock);
  free(stack->items);
  free(stack);
}

static const struct resource_kind stack_kind = {"stack", destroy};

static situ_status compute_create(struct compute *compute) {
  if (situ_shape_count(compute->in[0]->shape) != 1) return INVALID("Stack size must be a scalar.");
  struct stack *stack = calloc(1, sizeof *stack);
  if (!stack) return NO_MEMORY();
  stack->head = (struct resource){.references = 1, .kind = &stack_kind};
  stack->limit = *(const int32_t *)situ_tensor_data(compute->in[0]);
  pthread_mutex_init(&stack->lock, NULL);
  return resource_handle(&stack->head, &compute->out[0]);
}

static situ_status find(const struct compute *compute, struct stack **out) {
  struct resource *resource = NULL;
  TRY(compute_handle(compute, 0, &stack_kind, &resource));
  *out = (struct stack *)resource;
  return NULL;
}

/* Allocates space for another item. Must hold the lock. */
static situ_status reserve(struct stack *stack) {
  if (stack->limit >= 0 && stack->count >= stack->limit)
    return INVALID("Stack overflow: the stack has at most %lld elements.", (long long)stack->limit);
  if (stack->count < stack->capacity) return NULL;
  const int64_t capacity = stack->capacity ? 2 * stack->capacity : 8;
  situ_tensor **items = realloc(stack->items, sizeof(situ_tensor *) * (size_t)capacity);
  if (!items) return NO_MEMORY();
  stack->items = items;
  stack->capacity = capacity;
  return NULL;
}

static situ_status compute_push(struct compute *compute) {
  struct stack *stack = NULL;
  TRY(find(compute, &stack));
  situ_tensor *item = NULL;
  TRY(compute_keep(compute, 1, &item));
  pthread_mutex_lock(&stack->lock);
  const situ_status status = reserve(stack);
  if (!status) stack->items[stack->count++] = situ_tensor_retain(item);
  pthread_mutex_unlock(&stack->lock);
  if (status) {
    situ_tensor_release(item);
    return status;
  }
  compute->out[0] = item;
  return NULL;
}

static situ_status compute_pop(struct compute *compute) {
  struct stack *stack = NULL;
  TRY(find(compute, &stack));
  pthread_mutex_lock(&stack->lock);
  if (stack->count) compute->out[0] = stack->items[--stack->count];
  pthread_mutex_unlock(&stack->lock);
  return compute->out[0] ? NULL : INVALID("Stack is empty when calling Pop().");
}

static situ_status compute_close(struct compute *compute) {
  struct stack *stack = NULL;
  TRY(find(compute, &stack));
  pthread_mutex_lock(&stack->lock);
  clear(stack);
  pthread_mutex_unlock(&stack->lock);
  return NULL;
}

static situ_status push_shape(struct call *call) {
  call->out[0].shape = call->in[1].shape;
  return NULL;
}

static situ_status pop_shape(struct call *call) {
  call->out[0].shape = SITU_ANY_SHAPE;
  return NULL;
}

#define OP_DEF(op, in, out, attributes, text, shaper, function, strings)                      \
  {                                                                                           \
    .name = op, .inputs = in, .outputs = out, .attrs = attributes, .python = "", .doc = text, \
    .args = strings, .devices = EVERYWHERE, .flags = OP_STATEFUL | OP_NO_GRADIENT,            \
    .shape = shaper, .compute = function                                                      \
  }
#define STACK "handle: Handle of the stack."

static const struct op_def op_defs[] = {
    OP_DEF("StackV2", "max_size:int32", "handle:resource", "elem_type:type stack_name:string=''",
           "A new stack of tensors in each run.", op_scalar_shape, compute_create,
           "max_size: The largest number of elements; any if it is negative.\n"
           "elem_type: The type of the elements.\n"
           "stack_name: Ignored: a run has a stack of its own."),
    OP_DEF("StackPushV2", "handle:resource elem:T", "output:T", "T:type swap_memory:bool=false",
           "Pushes a tensor on a stack and returns it.", push_shape, compute_push,
           STACK "\nelem: Tensor to push.\n"
                 "swap_memory: Ignored: elements are in host memory."),
    OP_DEF("StackPopV2", "handle:resource", "elem:elem_type", "elem_type:type",
           "Pops the last tensor of a stack.", pop_shape, compute_pop,
           STACK "\nelem_type: The type of the tensor."),
    OP_DEF("StackCloseV2", "handle:resource", "", "", "Removes all elements of a stack.",
           op_no_shape, compute_close, STACK),
};

OP_FAMILY(stack_ops, op_defs);
