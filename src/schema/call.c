/* SPDX-License-Identifier: Apache-2.0
 * call.c: see call.h. */
#include "schema/call.h"

#include <string.h>

#include "base/strbuf.h"
#include "schema/schema.h"
#include "tensor/shape.h"

const struct attr_value *call_attr(const struct call *call, const char *name) {
  const int i = schema_attr(call->schema, name);
  return i < 0 ? NULL : &call->attrs[i];
}

int64_t call_integer(const struct call *call, const char *name) {
  const struct attr_value *value = call_attr(call, name);
  return value ? value->integer : 0;
}

bool call_bool(const struct call *call, const char *name) { return call_integer(call, name) != 0; }

double call_real(const struct call *call, const char *name) {
  const struct attr_value *value = call_attr(call, name);
  return value ? value->real : 0;
}

const char *call_text(const struct call *call, const char *name) {
  const struct attr_value *value = call_attr(call, name);
  return value && value->text ? value->text : "";
}

situ_type call_type(const struct call *call, const char *name) {
  const struct attr_value *value = call_attr(call, name);
  return value ? value->type : SITU_NO_TYPE;
}

static int64_t integer_at(const situ_tensor *tensor, int64_t index) {
  const void *data = situ_tensor_data(tensor);
  const situ_type type = situ_tensor_type(tensor);
  if (type == SITU_INT8) return ((const int8_t *)data)[index];
  if (type == SITU_INT16) return ((const int16_t *)data)[index];
  return type == SITU_INT32 ? ((const int32_t *)data)[index] : ((const int64_t *)data)[index];
}

int64_t call_element(const struct call *call, int input, int64_t index) {
  return integer_at(call->in[input].value, index);
}

situ_status call_sizes(const struct call *call, int input, int64_t items[SITU_MAX_RANK], int *count,
                       unsigned *unknown) {
  const struct operand *in = &call->in[input];
  *count = SITU_ANY;
  *unknown = 0;
  if (in->type != SITU_INT16 && in->type != SITU_INT32 && in->type != SITU_INT64)
    return INVALID("Input %d must be int16, int32 or int64, not %s", input,
                   situ_type_name(in->type));
  if (!in->value && !in->known) return NULL;
  const int64_t n = situ_shape_count(in->shape);
  if (n < 0 || n > SITU_MAX_RANK)
    return INVALID("Input %d has %lld elements; at most %d are possible", input, (long long)n,
                   (int)SITU_MAX_RANK);
  if (!in->value) *unknown = in->known->unknown;
  const situ_tensor *tensor = in->value ? in->value : in->known->tensor;
  for (int64_t i = 0; i < n; i++) items[i] = integer_at(tensor, i);
  *count = (int)n;
  return NULL;
}

situ_status call_integers(const struct call *call, int input, int64_t items[SITU_MAX_RANK],
                          int *count) {
  unsigned unknown = 0;
  TRY(call_sizes(call, input, items, count, &unknown));
  if (unknown) *count = SITU_ANY;
  return NULL;
}

situ_status call_describe_error(const struct call *call, situ_status status) {
  if (!status || situ_status_code(status) != SITU_INVALID_ARGUMENT || !call->n_in) return status;
  const char *op = call->schema->op->name;
  struct strbuf text = {0};
  char shape[SHAPE_STRING_SIZE];
  if (call->node && strcmp(call->node, op)) strbuf_appendf(&text, "%s = ", call->node);
  strbuf_appendf(&text, "%s: ", op);
  for (int i = 0; i < call->n_in; i++)
    strbuf_appendf(&text, "%s%s%s", i ? ", " : "", situ_type_name(call->in[i].type),
                   shape_print(&call->in[i].shape, shape));
  status = status_note(status, "Inputs of %s", strbuf_get(&text));
  strbuf_free(&text);
  return status;
}

/* While a graph is built, TensorFlow's shape inference reports what is wrong; while it runs, the
 * kernels do, each in its own words, which the shape function has. */
situ_status call_infer_shapes(struct call *call) {
  const situ_status wrong = port_shapes_check(call);
  if (wrong && call->building) return wrong;
  const situ_status status = call->schema->op->shape(call);
  if (!wrong || !status) return wrong ? wrong : status;
  situ_status_release(wrong);
  return status;
}

/* Recording */

/* Reserves one more element of an array in the recorder's arena; the capacity doubles. */
static void *reserve(struct arena *arena, void *items, int32_t count, int32_t *capacity,
                     size_t size) {
  if (count < *capacity) return items;
  const int32_t more = *capacity ? 2 * *capacity : 16;
  void *moved = arena_alloc(arena, (size_t)more * size);
  if (!moved) return NULL;
  if (count) memcpy(moved, items, (size_t)count * size);
  *capacity = more;
  return moved;
}

static size_t operand_bytes(const struct operand *operand) {
  size_t bytes = 0;
  return shape_bytes(operand->type, &operand->shape, &bytes) ? bytes : 0;
}

static size_t slot_bytes(const struct call *call, int32_t slot) {
  for (int i = 0; i < call->n_out; i++)
    if (call->out[i].slot == slot) return operand_bytes(&call->out[i]);
  for (int i = 0; i < call->n_in; i++)
    if (call->in[i].slot == slot) return operand_bytes(&call->in[i]);
  for (int32_t i = call->to->n_scratch; i-- > 0;)
    if (call->to->scratch[i].slot == slot) return call->to->scratch[i].bytes;
  return call->saved && call->saved->slot == slot ? call->saved->bytes : 0;
}

situ_status call_launch(struct call *call, const struct launch *launch) {
  struct recorder *to = call->to;
  if (launch->items == 0) return NULL;
  const size_t size = (size_t)launch->n_args * sizeof *launch->args;
  struct launch_arg *args = arena_alloc(to->arena, size);
  if (!args) return NO_MEMORY();
  memcpy(args, launch->args, size);
  struct launch *launches =
      reserve(to->arena, to->launches, to->n_launches, &to->launch_capacity, sizeof *launches);
  if (!launches) return NO_MEMORY();
  to->launches = launches;
  struct launch *added = &launches[to->n_launches++];
  *added = *launch;
  added->args = args;
  added->node = call->node;
  added->bytes = 0;
  for (int i = 0; i < launch->n_args; i++)
    if (args[i].kind == ARG_SLOT) added->bytes += (double)slot_bytes(call, args[i].slot);
  return NULL;
}

static situ_status add_scratch(struct call *call, const void *initial, size_t bytes,
                               int32_t *slot) {
  struct recorder *to = call->to;
  struct scratch *scratch =
      reserve(to->arena, to->scratch, to->n_scratch, &to->scratch_capacity, sizeof *scratch);
  if (!scratch) return NO_MEMORY();
  to->scratch = scratch;
  *slot = to->next_slot++;
  scratch[to->n_scratch++] =
      (struct scratch){.slot = *slot, .launch = to->n_launches, .bytes = bytes, .initial = initial};
  return NULL;
}

situ_status call_scratch(struct call *call, size_t bytes, int32_t *slot) {
  return add_scratch(call, NULL, bytes, slot);
}

situ_status call_state(struct call *call, const void *initial, size_t bytes, int32_t *slot) {
  void *copy = arena_alloc(call->to->arena, bytes);
  if (!copy) return NO_MEMORY();
  memcpy(copy, initial, bytes);
  return add_scratch(call, copy, bytes, slot);
}

situ_status call_save_result(struct call *call, const void *key, size_t key_bytes, size_t bytes,
                             int32_t *slot) {
  struct arena *arena = call->to->arena;
  struct saved_result *saved = arena_alloc(arena, sizeof *saved);
  void *copy = arena_alloc(arena, key_bytes);
  if (!saved || !copy) return NO_MEMORY();
  memcpy(copy, key, key_bytes);
  TRY(add_scratch(call, NULL, bytes, slot));
  *saved =
      (struct saved_result){.slot = *slot, .bytes = bytes, .key = copy, .key_bytes = key_bytes};
  call->to->scratch[call->to->n_scratch - 1].saved = saved;
  return NULL;
}

bool call_find_result(const struct call *call, const void *key, size_t key_bytes, int32_t *slot) {
  const struct saved_result *saved = call->saved;
  if (!saved || saved->key_bytes != key_bytes || memcmp(saved->key, key, key_bytes) != 0)
    return false;
  *slot = saved->slot;
  return true;
}
