/* SPDX-License-Identifier: Apache-2.0
 * random_call.c: eager calls of any op with random arguments. */
#include "support/random_call.h"

#include <stdlib.h>
#include <string.h>

#include "support/random_args.h"

enum { MOST_RESULT = 1 << 21 };

/* Whether an op is left out: it reaches files, other processes or Python, or waits. */
static bool is_left_out(const struct op_def *op) {
  static const char *const parts[] = {"File",    "PyFunc",   "Collective", "Send",    "Recv",
                                      "Reader",  "Print",    "Sleep",      "Summary", "Save",
                                      "Restore", "Iterator", "Dataset"};
  for (size_t i = 0; i < COUNT_OF(parts); i++)
    if (strstr(op->name, parts[i])) return true;
  return op->flags & (OP_BLOCKS | OP_UNBLOCKS | OP_COLLECTIVE | OP_VARIABLE | OP_FED);
}

/* Builds the call as a node, which checks shapes with less known; true if the outputs are small, or
 * the node is rejected: then the eager call has to fail, too, before it takes memory. */
static bool is_small(const struct random_args *args) {
  situ_graph *graph = situ_graph_create();
  situ_value inputs[ARGS_MOST];
  for (int i = 0; i < args->n_inputs; i++)
    inputs[i] = situ_constant_tensor(graph, NULL, args->inputs[i]);
  const situ_value first = situ_emit(graph, args->schema->op->name, NULL, inputs, args->n_inputs,
                                     args->attrs, args->n_attrs);
  situ_status status = situ_graph_status(graph);
  bool is_small = true;
  if (status) {
    situ_status_release(status);
    situ_graph_release(graph);
    return true;
  }
  for (int i = 0; is_small && situ_value_valid(situ_value_output(first, i)); i++)
    is_small = situ_shape_count(situ_value_shape(situ_value_output(first, i))) <= MOST_RESULT;
  situ_graph_release(graph);
  return is_small;
}

void read_tensor(const situ_tensor *tensor) {
  volatile unsigned sum = 0;
  if (!tensor || situ_tensor_type(tensor) == SITU_RESOURCE) return;
  const int64_t n = situ_shape_count(situ_tensor_shape(tensor));
  if (situ_tensor_type(tensor) == SITU_STRING) {
    for (int64_t i = 0; i < n; i++) {
      const situ_string text = situ_tensor_string(tensor, i);
      for (size_t k = 0; k < text.length; k++) sum += (unsigned char)text.data[k];
    }
  }
}

static situ_status run(situ_eager *eager, const char *device, const struct random_args *args) {
  situ_tensor *outputs[ARGS_MOST] = {0};
  int count = 0;
  const situ_call call = {.op = args->schema->id,
                          .device = device,
                          .inputs = args->inputs,
                          .n_inputs = args->n_inputs,
                          .attrs = args->attrs,
                          .n_attrs = args->n_attrs};
  if (getenv("SITU_TEST_VERBOSE")) random_args_print(args);
  situ_status s = situ_eager_run(eager, &call, outputs, ARGS_MOST, &count);
  for (int i = 0; i < ARGS_MOST; i++) {
    read_tensor(outputs[i]);
    situ_tensor_release(outputs[i]);
  }
  return s;
}

/* Whether every input is a tensor. */
static bool is_complete(const struct random_args *args) {
  for (int i = 0; i < args->n_inputs; i++)
    if (!args->inputs[i]) return false;
  for (int i = 0; i < args->schema->n_attrs; i++)
    if (args->schema->attrs[i].kind == SITU_ATTR_FUNCTION) return false;
  return true;
}

bool random_call(situ_eager *eager, int id, const char *device, struct random_bytes *bytes,
                 situ_status *status) {
  struct random_args args = {.bytes = bytes, .schema = schema_get(id)};
  *status = NULL;
  if (is_left_out(args.schema->op)) return false;
  const bool is_called = random_args_draw(&args) && is_complete(&args) && is_small(&args);
  if (is_called) *status = run(eager, device, &args);
  random_args_free(&args);
  return is_called;
}
