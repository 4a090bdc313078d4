/* SPDX-License-Identifier: Apache-2.0
 * port_shape.c: see port_shape.h. */
#include "schema/port_shape.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "schema/schema.h"
#include "tensor/shape.h"

/* Parsing */

static int find_symbol(struct port_symbols *symbols, const char *name, size_t length) {
  if (length >= sizeof symbols->name[0]) return -1;
  for (int i = 0; i < symbols->count; i++)
    if (strlen(symbols->name[i]) == length && !memcmp(symbols->name[i], name, length)) return i;
  if (symbols->count == MAX_SYMBOLS) return -1;
  memcpy(symbols->name[symbols->count], name, length);
  return symbols->count++;
}

/* The index of an int attribute, or -1. */
static int find_attr(const struct schema *schema, const char *name, size_t length) {
  for (int i = 0; i < schema->n_attrs; i++)
    if (schema->attrs[i].kind == SITU_ATTR_INT && strlen(schema->attrs[i].name) == length &&
        !memcmp(schema->attrs[i].name, name, length))
      return i;
  return -1;
}

static bool parse_dim(const char *text, size_t length, const struct schema *schema,
                      struct port_symbols *symbols, struct port_dim *out) {
  const bool is_run = length >= 3 && !memcmp(text, "...", 3);
  *out = (struct port_dim){is_run ? DIM_RUN : DIM_ANY, -1};
  if ((length == 1 && *text == '?') || (is_run && length == 3)) return true;
  if (length && isdigit((unsigned char)*text)) {
    *out = (struct port_dim){DIM_SIZE, strtoll(text, NULL, 10)};
    return true;
  }
  const int attr = is_run ? -1 : find_attr(schema, text, length);
  if (attr >= 0) {
    *out = (struct port_dim){DIM_ATTR, attr};
    return true;
  }
  if (!length || !islower((unsigned char)text[is_run ? 3 : 0])) return false;
  *out = (struct port_dim){is_run ? DIM_RUN : DIM_SYMBOL, find_symbol(symbols, text, length)};
  return out->number >= 0;
}

/* Parses the text between brackets. */
static bool parse_dims(const char *text, size_t length, const struct schema *schema,
                       struct port_symbols *symbols, struct port_dims *out) {
  const char *end = text + length;
  *out = (struct port_dims){.run = -1};
  while (text < end) {
    const char *comma = memchr(text, ',', (size_t)(end - text));
    const char *stop = comma ? comma : end;
    if (out->count == SITU_MAX_RANK) return false;
    struct port_dim *dim = &out->dim[out->count];
    if (!parse_dim(text, (size_t)(stop - text), schema, symbols, dim)) return false;
    if (dim->kind == DIM_RUN && out->run >= 0) return false;
    if (dim->kind == DIM_RUN) out->run = out->count;
    out->count++;
    text = stop + 1;
  }
  return true;
}

bool port_shape_parse(const char *text, size_t length, const struct schema *schema,
                      struct port_symbols *symbols, struct arena *arena, struct port_shape *out) {
  const char *end = text + length;
  int count = 1;
  for (const char *c = text; c < end; c++) count += *c == '|';
  *out = (struct port_shape){ARENA_ARRAY(arena, struct port_dims, count), 0};
  if (!out->alternatives) return false;
  while (text < end && *text == '[') {
    const char *close = memchr(text, ']', (size_t)(end - text));
    if (!close || !parse_dims(text + 1, (size_t)(close - text - 1), schema, symbols,
                              &out->alternatives[out->count++]))
      return false;
    text = close + 1;
    if (text == end) return true;
    if (*text++ != '|') return false;
  }
  return false;
}

/* Checking */

/* What the symbols of an op stand for in one call. */
struct binding {
  int64_t size[MAX_SYMBOLS];   /* SITU_ANY: not known yet */
  situ_shape run[MAX_SYMBOLS]; /* of "...name" */
};

static situ_status bind_size(int64_t *bound, int64_t size) {
  if (*bound == SITU_ANY) *bound = size;
  if (*bound == size) return NULL;
  return INVALID("Dimensions must be equal, but are %lld and %lld", (long long)*bound,
                 (long long)size);
}

/* Merges the dimensions of "...name"; the error is that of TensorFlow's Merge. */
static situ_status bind_run(situ_shape *bound, const situ_shape *shape) {
  char a[SHAPE_STRING_SIZE], b[SHAPE_STRING_SIZE];
  if (bound->rank != SITU_ANY && bound->rank != shape->rank)
    return INVALID("Shapes must be equal rank, but are %d and %d", bound->rank, shape->rank);
  for (int d = 0; d < bound->rank; d++)
    if (bound->dim[d] != shape->dim[d] && bound->dim[d] != SITU_ANY && shape->dim[d] != SITU_ANY)
      return INVALID(
          "Dimension %d in both shapes must be equal, but are %lld and %lld. Shapes are %s and %s.",
          d, (long long)bound->dim[d], (long long)shape->dim[d], shape_print(bound, a),
          shape_print(shape, b));
  *bound = shape_merge(bound, shape);
  return NULL;
}

static situ_status check_dim(const struct call *call, const struct port_dim *dim, int64_t size,
                             struct binding *binding) {
  if (size == SITU_ANY || dim->kind == DIM_ANY || dim->kind == DIM_RUN) return NULL;
  if (dim->kind == DIM_SYMBOL) return bind_size(&binding->size[dim->number], size);
  const int64_t want =
      dim->kind == DIM_ATTR ? call->attrs[dim->number].integer : (int64_t)dim->number;
  if (want == size) return NULL;
  return INVALID("Dimension must be %lld but is %lld", (long long)want, (long long)size);
}

static situ_status check_dims(const struct call *call, const struct port_dims *dims,
                              const situ_shape *shape, struct binding *binding) {
  const int before = dims->run < 0 ? dims->count : dims->run, behind = dims->count - before - 1;
  const int skipped = dims->run < 0 ? 0 : shape->rank - before - behind;
  for (int d = 0; d < before; d++) TRY(check_dim(call, &dims->dim[d], shape->dim[d], binding));
  for (int d = 0; d < behind; d++)
    TRY(check_dim(call, &dims->dim[before + 1 + d], shape->dim[before + skipped + d], binding));
  if (dims->run < 0 || dims->dim[dims->run].number < 0) return NULL;
  situ_shape run = {.rank = skipped};
  memcpy(run.dim, shape->dim + before, sizeof *run.dim * (size_t)skipped);
  return bind_run(&binding->run[dims->dim[dims->run].number], &run);
}

static bool has_rank(const struct port_dims *dims, int rank) {
  return dims->run < 0 ? rank == dims->count : rank >= dims->count - 1;
}

/* The ranks of alternatives are adjacent. */
static situ_status wrong_rank(const struct port_shape *shape, int rank) {
  int least = SITU_MAX_RANK + 1, most = 0;
  bool is_open = false;
  for (int i = 0; i < shape->count; i++) {
    const struct port_dims *dims = &shape->alternatives[i];
    const int count = dims->count - (dims->run >= 0);
    is_open = is_open || dims->run >= 0;
    least = count < least ? count : least;
    most = count > most ? count : most;
  }
  const char *bound = is_open || (rank < least && most > least) ? "at least "
                      : most > least                            ? "at most "
                                                                : "";
  return INVALID("Shape must be %srank %d but is rank %d", bound, rank > most ? most : least, rank);
}

static situ_status check_input(const struct call *call, const struct port_shape *wanted,
                               const situ_shape *shape, struct binding *binding) {
  if (!wanted->count || shape->rank == SITU_ANY) return NULL;
  for (int i = 0; i < wanted->count; i++)
    if (has_rank(&wanted->alternatives[i], shape->rank))
      return check_dims(call, &wanted->alternatives[i], shape, binding);
  return wrong_rank(wanted, shape->rank);
}

situ_status port_shapes_check(const struct call *call) {
  const struct schema *schema = call->schema;
  struct binding binding;
  if (!schema->has_shapes) return NULL;
  for (int i = 0; i < MAX_SYMBOLS; i++) {
    binding.size[i] = SITU_ANY;
    binding.run[i] = SITU_ANY_SHAPE;
  }
  for (int i = 0; i < call->n_in; i++) {
    const situ_op_port *port = schema_input_port(schema, call->attrs, i);
    situ_status s = check_input(call, &schema->input_shapes[port - schema->inputs],
                                &call->in[i].shape, &binding);
    if (s && !call->building) s = status_note(s, "Input '%s' of %s", port->name, schema->op->name);
    if (s) return s;
  }
  return NULL;
}
