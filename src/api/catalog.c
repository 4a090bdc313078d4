/* SPDX-License-Identifier: Apache-2.0
 * catalog.c: implements situ/catalog.h: queries of op definitions, and the version. */
#include "situ/catalog.h"

#include <string.h>

#include "schema/arg_docs.h"
#include "schema/schema.h"

#ifndef SITU_VERSION
#define SITU_VERSION "0.1.0"
#endif

const char *situ_version(void) { return SITU_VERSION; }

int situ_ops_count(void) { return schema_count(); }

/* Returns the family of an op. */
static const char *family_of(const struct op_def *op) {
  for (int i = 0; op_families[i]; i++) {
    const struct op_family *family = op_families[i];
    if (op >= family->ops && op < family->ops + family->count) return family->name;
  }
  return "";
}

static const char *or_empty(const char *text) { return text ? text : ""; }

/* Whether an op reads or changes what outlives a run (variables, resources), or is random. */
static bool is_stateful(const struct schema *schema) {
  bool found = schema->op->flags & (OP_STATEFUL | OP_VARIABLE | OP_UPDATES | OP_SETS);
  for (int i = 0; i < schema->n_inputs; i++)
    found = found || schema->inputs[i].is_ref || schema->inputs[i].is_handle;
  return found;
}

situ_status situ_ops_get(int number, situ_op *out) {
  if (!out) return INVALID("situ_ops_get: `out` is NULL.");
  if (number < 0 || number >= schema_count())
    return INVALID("situ_ops_get: op %d does not exist; there are %d ops.", number, schema_count());
  const struct schema *schema = schema_get(number);
  const struct op_def *op = schema->op;
  *out = (situ_op){.number = number,
                   .name = op->name,
                   .family = family_of(op),
                   .inputs = schema->inputs,
                   .outputs = schema->outputs,
                   .attrs = schema->attrs,
                   .n_inputs = schema->n_inputs,
                   .n_outputs = schema->n_outputs,
                   .n_attrs = schema->n_attrs,
                   .python = or_empty(op->python),
                   .devices = or_empty(op->devices),
                   .host = or_empty(op->host),
                   .doc = or_empty(op->doc),
                   .samples = or_empty(op->samples),
                   .on_host = op->compute != NULL,
                   .is_stateful = is_stateful(schema),
                   .has_effect = op->flags & OP_EFFECT};
  return NULL;
}

situ_status situ_ops_find(const char *name, situ_op *out) {
  if (!name || !out) return INVALID("situ_ops_find: an argument is NULL.");
  const struct schema *schema = schema_find(name);
  if (schema) return situ_ops_get(schema->id, out);
  const char *near = schema_nearest(name);
  return situ_status_create(SITU_NOT_FOUND, "There is no op '%s'.%s%s%s", name,
                            near ? " Did you mean '" : "", near ? near : "", near ? "'?" : "");
}

situ_status situ_ops_argument_doc(int number, const char *argument, char *out, size_t size) {
  if (!argument || !out || !size) return INVALID("situ_ops_argument_doc: an argument is NULL.");
  if (number < 0 || number >= schema_count())
    return INVALID("Op number %d is out of range: there are %d ops.", number, schema_count());
  arg_docs_find(schema_get(number)->op, argument, out, size);
  return NULL;
}
