/* SPDX-License-Identifier: Apache-2.0
 * record.c: records the kernel launches of a call, with operands of types that are only
 * stored (bfloat16, float8, int4) as a wider type.
 *
 * Kernels that only copy elements exist for these types; no other kernel does. Recording is
 * repeated with operands in scratch memory if it needed one of those. */
#include "ops/record.h"

#include <string.h>

#include "ops/math/cast.h"
#include "schema/schema.h"
#include "tensor/type.h"

static bool has_storage_type(const struct call *call) {
  for (int i = 0; i < call->n_in; i++)
    if (type_is_storage(call->in[i].type)) return true;
  for (int i = 0; i < call->n_out; i++)
    if (type_is_storage(call->out[i].type)) return true;
  return false;
}

/* Whether all launches from `first` on have a kernel for their type. */
static bool has_kernels(const struct recorder *recorder, int32_t first) {
  for (int32_t i = first; i < recorder->n_launches; i++) {
    const struct launch *launch = &recorder->launches[i];
    if (!launch->kernel || !launch->kernel->host[launch->type]) return false;
  }
  return true;
}

/* Copies the attributes with wider types for those that are only stored. */
static const struct attr_value *widen_attrs(const struct call *call) {
  const int n = call->schema->n_attrs;
  struct attr_value *attrs = ARENA_ARRAY(call->to->arena, struct attr_value, n);
  for (int i = 0; attrs && i < n; i++) {
    attrs[i] = call->attrs[i];
    if (attrs[i].kind == SITU_ATTR_TYPE && type_is_storage(attrs[i].type))
      attrs[i].type = type_wide(attrs[i].type);
  }
  return attrs;
}

static situ_status widen_operand(struct call *wide, struct operand *operand) {
  const int64_t n = situ_shape_count(operand->shape);
  operand->type = type_wide(operand->type);
  return call_scratch(wide, (size_t)n * situ_type_size(operand->type), &operand->slot);
}

static bool updates_input(const struct call *call) {
  return call->schema->op->flags & (OP_UPDATES | OP_SETS);
}

/* Allocates operands in scratch memory and converts the inputs, except those that only planning
 * reads. */
static situ_status widen_operands(const struct call *call, struct call *wide) {
  for (int i = 0; i < call->n_in; i++) {
    if (!type_is_storage(call->in[i].type)) continue;
    if (schema_port(call->schema, i, call->n_in)->is_host) continue;
    TRY(widen_operand(wide, &wide->in[i]));
    TRY(cast_record(wide, call->in[i].type, call->in[i].slot, wide->in[i].type, wide->in[i].slot,
                    situ_shape_count(call->in[i].shape)));
  }
  for (int i = 0; i < call->n_out; i++) {
    if (!type_is_storage(call->out[i].type)) continue;
    if (i == 0 && updates_input(call)) {
      wide->out[0].type = type_wide(wide->out[0].type);
      wide->out[0].slot = wide->in[0].slot;
    } else {
      TRY(widen_operand(wide, &wide->out[i]));
    }
  }
  return NULL;
}

static situ_status narrow_operand(struct call *wide, const struct operand *from,
                                  const struct operand *to) {
  return cast_record(wide, from->type, from->slot, to->type, to->slot, situ_shape_count(to->shape));
}

/* Converts outputs and updated variables back. */
static situ_status narrow_operands(const struct call *call, struct call *wide) {
  for (int i = 0; i < call->n_in; i++)
    if (type_is_storage(call->in[i].type) && schema_port(call->schema, i, call->n_in)->is_ref)
      TRY(narrow_operand(wide, &wide->in[i], &call->in[i]));
  for (int i = updates_input(call) ? 1 : 0; i < call->n_out; i++)
    if (type_is_storage(call->out[i].type)) TRY(narrow_operand(wide, &wide->out[i], &call->out[i]));
  return NULL;
}

static situ_status record_widened(struct call *call) {
  struct call wide = *call;
  const size_t n = (size_t)call->n_in + (size_t)call->n_out;
  wide.in = ARENA_ARRAY(call->to->arena, struct operand, n + 1);
  wide.attrs = widen_attrs(call);
  wide.stored = call->n_out ? call->out[0].type : SITU_NO_TYPE;
  if (!wide.in || !wide.attrs) return NO_MEMORY();
  wide.out = wide.in + call->n_in;
  memcpy(wide.in, call->in, sizeof *wide.in * (size_t)call->n_in);
  memcpy(wide.out, call->out, sizeof *wide.out * (size_t)call->n_out);
  TRY(widen_operands(call, &wide));
  TRY(call->schema->op->record(&wide));
  return narrow_operands(call, &wide);
}

situ_status op_record(struct call *call) {
  const struct op_def *op = call->schema->op;
  struct recorder *recorder = call->to;
  if (!op->record) return NULL;
  if (!has_storage_type(call)) return op->record(call);
  const int32_t n_launches = recorder->n_launches, n_scratch = recorder->n_scratch;
  const int32_t next_slot = recorder->next_slot;
  const situ_status status = op->record(call);
  if (!status && has_kernels(recorder, n_launches)) return NULL;
  situ_status_release(status);
  recorder->n_launches = n_launches;
  recorder->n_scratch = n_scratch;
  recorder->next_slot = next_slot;
  return record_widened(call);
}
