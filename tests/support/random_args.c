/* SPDX-License-Identifier: Apache-2.0
 * random_args.c: see random_args.h. */
#include "support/random_args.h"

#include <stdio.h>
#include <string.h>

#include "schema/sample.h"
#include "tensor/type.h"

enum { LIST = 8 };

/* The sizes that inputs which agree with each other share. */
struct sizes {
  int64_t symbol[MAX_SYMBOLS];
  situ_shape common;
};

static unsigned byte(struct random_args *args) { return random_byte(args->bytes); }

/* Attributes */

static const char *word_of_set(struct random_args *args, const char *set) {
  const char *found = strchr(set, '\'');
  for (unsigned skip = byte(args) % 4; found && skip; skip--) {
    const char *close = strchr(found + 1, '\'');
    const char *next = close ? strchr(close + 1, '\'') : NULL;
    if (!next) break;
    found = next;
  }
  if (!found) return random_string(args->bytes);
  return arena_strndup(&args->arena, found + 1, strcspn(found + 1, "'"));
}

static int64_t *list_of(struct random_args *args, uint32_t types) {
  int64_t *list = ARENA_ARRAY(&args->arena, int64_t, LIST);
  for (int i = 0; i < LIST; i++)
    list[i] = types            ? random_type(args->bytes, types)
              : byte(args) % 3 ? 1 + byte(args) % 3
                               : random_integer(args->bytes);
  return list;
}

static situ_attr list_attr(struct random_args *args, const situ_op_attr *spec) {
  const int n = byte(args) % 3 ? 4 : (int)(byte(args) % LIST);
  if (spec->kind == SITU_ATTR_FLOATS) {
    double *reals = ARENA_ARRAY(&args->arena, double, LIST);
    for (int i = 0; i < n; i++) reals[i] = random_real(args->bytes);
    return situ_attr_floats(spec->name, reals, n);
  }
  if (spec->kind == SITU_ATTR_SHAPES) {
    situ_shape *shapes = ARENA_ARRAY(&args->arena, situ_shape, LIST);
    for (int i = 0; i < n; i++) shapes[i] = random_shape(args->bytes);
    return situ_attr_shapes(spec->name, shapes, n);
  }
  if (spec->kind == SITU_ATTR_TYPES)
    return situ_attr_types(spec->name, list_of(args, spec->types), n % 4);
  return situ_attr_ints(spec->name, list_of(args, 0), n);
}

static situ_attr tensor_attr(struct random_args *args, const char *name, situ_type type) {
  const situ_shape shape = random_shape(args->bytes);
  situ_tensor *tensor = random_tensor(args->bytes, &args->arena, type, shape, false);
  if (tensor && args->n_kept < ARGS_MOST) args->kept[args->n_kept++] = tensor;
  return tensor ? situ_attr_tensor(name, tensor) : situ_attr_bool(name, false);
}

static situ_attr random_attr(struct random_args *args, int number) {
  const situ_op_attr *spec = &args->schema->attrs[number];
  switch (spec->kind) {
    case SITU_ATTR_INT:
      return situ_attr_int(spec->name, random_integer(args->bytes));
    case SITU_ATTR_FLOAT:
      return situ_attr_float(spec->name, random_real(args->bytes));
    case SITU_ATTR_BOOL:
      return situ_attr_bool(spec->name, byte(args) & 1);
    case SITU_ATTR_TYPE:
      return situ_attr_type(spec->name, args->types[number]);
    case SITU_ATTR_SHAPE:
      return situ_attr_shape(spec->name, random_shape(args->bytes));
    case SITU_ATTR_STRING:
      return situ_attr_string(spec->name, spec->strings ? word_of_set(args, spec->strings)
                                                        : random_string(args->bytes));
    case SITU_ATTR_TENSOR:
      return tensor_attr(args, spec->name, args->types[number]);
    default:
      return list_attr(args, spec);
  }
}

void random_args_set(struct random_args *args, situ_attr attr) {
  int at = 0;
  while (at < args->n_attrs && strcmp(args->attrs[at].name, attr.name)) at++;
  if (at == ARGS_MOST) return;
  args->attrs[at] = attr;
  if (at == args->n_attrs) args->n_attrs++;
}

static const situ_attr *find_attr(const struct random_args *args, const char *name) {
  for (int i = 0; i < args->n_attrs; i++)
    if (!strcmp(args->attrs[i].name, name)) return &args->attrs[i];
  return NULL;
}

/* A type that the attribute allows; of any type mostly those that tables and queues are for. */
static situ_type attr_type(struct random_args *args, const situ_op_attr *spec) {
  const uint32_t usual = 1u << SITU_FLOAT | 1u << SITU_INT32 | 1u << SITU_INT64 | 1u << SITU_STRING;
  const uint32_t allowed = spec->types ? spec->types : ~0u;
  return random_type(args->bytes, allowed == ~0u && byte(args) % 4 ? usual : allowed);
}

static void draw_attrs(struct random_args *args, bool tame) {
  const struct schema *schema = args->schema;
  for (int i = 0; i < schema->n_attrs; i++) {
    const situ_op_attr *spec = &schema->attrs[i];
    args->types[i] = attr_type(args, spec);
    args->counts[i] = byte(args) % 4;
    if (spec->inferred || spec->kind == SITU_ATTR_FUNCTION) continue;
    if (spec->default_value && (tame || byte(args) % 3 == 0)) continue;
    random_args_set(args, random_attr(args, i));
  }
}

/* Inputs */

static bool add_input(struct random_args *args, const situ_op_port *port, situ_type type,
                      situ_shape shape, bool tame) {
  const int i = args->n_inputs;
  if (i == ARGS_MOST) return false;
  args->ports[i] = port;
  args->input_types[i] = type;
  args->shapes[i] = shape;
  args->inputs[i] =
      port->is_ref ? NULL : random_tensor(args->bytes, &args->arena, type, shape, tame);
  args->n_inputs++;
  return true;
}

/* The type of element `k` of a port. */
static situ_type port_type(struct random_args *args, const situ_op_port *port, int64_t k) {
  if (port->is_types) {
    const situ_attr *attr = find_attr(args, args->schema->attrs[port->type_attr].name);
    if (attr && k < attr->integer) return (situ_type)attr->integers[k];
    return random_type(args->bytes, ~0u);
  }
  if (port->is_handle) return port->handle_attr < 0 ? SITU_FLOAT : args->types[port->handle_attr];
  if (port->type != SITU_NO_TYPE) return port->type;
  return port->type_attr >= 0 ? args->types[port->type_attr] : SITU_FLOAT;
}

static int64_t port_length(struct random_args *args, const situ_op_port *port, bool tame) {
  if (port->number_attr >= 0)
    return tame ? 1 + args->counts[port->number_attr] % 3 : args->counts[port->number_attr];
  if (!port->is_types) return 1;
  const situ_attr *attr = find_attr(args, args->schema->attrs[port->type_attr].name);
  return attr ? attr->integer : byte(args) % 4;
}

static bool draw_anything(struct random_args *args) {
  draw_attrs(args, false);
  for (int i = 0; i < args->schema->n_inputs; i++) {
    const situ_op_port *port = &args->schema->inputs[i];
    const int64_t n = port_length(args, port, false);
    for (int64_t k = 0; k < n; k++) {
      situ_shape shape = random_shape(args->bytes);
      if (port->is_host && byte(args) % 4) shape.rank = (int)(byte(args) % 2);
      if (!add_input(args, port, port_type(args, port, k), shape, false)) return false;
    }
  }
  return true;
}

/* A shape that the op definition allows, or one that the inputs have in common. */
static situ_shape agreeing_shape(struct random_args *args, int port, const struct sizes *sizes) {
  const struct port_shape *wanted = &args->schema->input_shapes[port];
  situ_shape shape = {0};
  if (!wanted->count && args->schema->inputs[port].is_host) {
    shape.rank = (int)(byte(args) % 2);
    shape.dim[0] = sizes->common.rank;
    return shape;
  }
  if (!wanted->count) {
    shape = sizes->common;
    if (byte(args) % 3 == 0) shape.rank = (int)(byte(args) % 2);
    return shape;
  }
  const struct port_dims *dims = &wanted->alternatives[byte(args) % (unsigned)wanted->count];
  for (int d = 0; d < dims->count; d++) {
    const struct port_dim *dim = &dims->dim[d];
    const int more = dim->kind == DIM_RUN ? sizes->common.rank : 1;
    for (int k = 0; k < more && shape.rank < SITU_MAX_RANK; k++)
      shape.dim[shape.rank++] = dim->kind == DIM_RUN      ? sizes->common.dim[k]
                                : dim->kind == DIM_SIZE   ? dim->number
                                : dim->kind == DIM_SYMBOL ? sizes->symbol[dim->number]
                                                          : 1 + byte(args) % 3;
  }
  return shape;
}

/* Sparse tensors: inputs whose names end in "indices", then values, if any, then the shape */

static bool ends_with(const char *name, const char *end) {
  const size_t length = strlen(name), n = strlen(end);
  return length >= n && !strcmp(name + length - n, end);
}

/* The port of the shape of the sparse tensor whose indices are at `port`; -1: there is none. */
static int find_shape_port(const struct schema *schema, int port) {
  if (!ends_with(schema->inputs[port].name, "indices")) return -1;
  for (int i = port + 1; i < schema->n_inputs && i <= port + 2; i++)
    if (ends_with(schema->inputs[i].name, "shape") || ends_with(schema->inputs[i].name, "shapes"))
      return i;
  return -1;
}

static bool has_sparse_inputs(const struct schema *schema) {
  for (int i = 0; i < schema->n_inputs; i++)
    if (find_shape_port(schema, i) >= 0) return true;
  return false;
}

static void replace_input(struct random_args *args, int input, situ_tensor *tensor) {
  situ_tensor_release(args->inputs[input]);
  args->inputs[input] = tensor;
  args->shapes[input] = tensor ? situ_tensor_shape(tensor) : SITU_SCALAR;
}

/* Makes three inputs a sparse tensor of the shape, whose sizes are at least 2: its elements are at
 * [0, 0, ...] and [1, 1, ...]. `values` may be the input of the shape: there are no values then. */
static void make_sparse(struct random_args *args, int indices, int values, int shape,
                        const situ_shape *dense) {
  int64_t coordinates[2 * SITU_MAX_RANK] = {0}, *second = coordinates + dense->rank;
  const situ_shape one = {1, {dense->rank}}, rows = {2, {2, dense->rank}}, both = {1, {2}};
  situ_tensor *made[2] = {NULL};
  for (int d = 0; d < dense->rank; d++) second[d] = 1;
  situ_status_release(situ_tensor_create(SITU_INT64, rows, coordinates, &made[0]));
  situ_status_release(situ_tensor_create(SITU_INT64, one, dense->dim, &made[1]));
  replace_input(args, indices, made[0]);
  replace_input(args, shape, made[1]);
  if (values < shape)
    replace_input(args, values,
                  random_tensor(args->bytes, &args->arena, args->input_types[values], both, true));
}

/* Makes the inputs of sparse tensors agree with each other. */
static void make_all_sparse(struct random_args *args, const int *first, const int64_t *lengths,
                            const situ_shape *dense) {
  for (int i = 0; i < args->schema->n_inputs; i++) {
    const int shape = find_shape_port(args->schema, i);
    if (shape < 0 || args->schema->inputs[i].type != SITU_INT64) continue;
    for (int64_t k = 0; k < lengths[i] && k < lengths[i + 1] && k < lengths[shape]; k++)
      make_sparse(args, first[i] + (int)k, first[i + 1] + (int)k, first[shape] + (int)k, dense);
  }
}

/* A shape that all inputs have in common; sparse tensors have one of rank 1 or more. */
static situ_shape common_shape(struct random_args *args, bool is_sparse) {
  situ_shape shape = {.rank = is_sparse ? 1 + (int)(byte(args) % 3) : (int)(byte(args) % 4)};
  for (int d = 0; d < shape.rank; d++) shape.dim[d] = is_sparse ? 2 : 1 + byte(args) % 3;
  return shape;
}

bool random_args_draw_inputs(struct random_args *args) {
  const bool is_sparse = has_sparse_inputs(args->schema);
  struct sizes sizes = {.common = common_shape(args, is_sparse)};
  int first[ARGS_MOST] = {0};
  int64_t lengths[ARGS_MOST] = {0};
  for (int i = 0; i < args->schema->n_attrs; i++)
    if (args->types[i] == SITU_NO_TYPE)
      args->types[i] = random_type(args->bytes, args->schema->attrs[i].types);
  for (int i = 0; i < MAX_SYMBOLS; i++) sizes.symbol[i] = 1 + byte(args) % 4;
  for (int i = 0; i < args->schema->n_inputs; i++) {
    const situ_op_port *port = &args->schema->inputs[i];
    first[i] = args->n_inputs;
    lengths[i] = port_length(args, port, true);
    for (int64_t k = 0; k < lengths[i]; k++)
      if (!add_input(args, port, port_type(args, port, k), agreeing_shape(args, i, &sizes), true))
        return false;
  }
  if (is_sparse) make_all_sparse(args, first, lengths, &sizes.common);
  return true;
}

static bool draw_agreeing(struct random_args *args) {
  draw_attrs(args, true);
  return random_args_draw_inputs(args);
}

/* Samples */

/* Another shape, one change away. */
static situ_shape near_shape(struct random_args *args, situ_shape shape) {
  const unsigned what = byte(args) % 4;
  const int at = shape.rank > 0 ? (int)(byte(args) % (unsigned)shape.rank) : 0;
  if (what == 0) return random_shape(args->bytes);
  if (what == 1 && shape.rank > 0) {
    memmove(&shape.dim[at], &shape.dim[at + 1], sizeof *shape.dim * (size_t)(--shape.rank - at));
  } else if (what == 2 && shape.rank < SITU_MAX_RANK) {
    shape.dim[shape.rank++] = byte(args) % 4;
  } else if (shape.rank > 0) {
    shape.dim[at] = byte(args) % 3 ? shape.dim[at] + 1 : byte(args) % 3;
  }
  return shape;
}

static void mutate_input(struct random_args *args) {
  const unsigned at = byte(args) % (unsigned)args->n_inputs;
  if (byte(args) % 4) args->shapes[at] = near_shape(args, args->shapes[at]);
  if (!args->inputs[at]) return;
  situ_tensor *tensor = random_tensor(args->bytes, &args->arena, args->input_types[at],
                                      args->shapes[at], byte(args) % 2);
  if (!tensor) return;
  situ_tensor_release(args->inputs[at]);
  args->inputs[at] = tensor;
}

static void mutate_attr(struct random_args *args) {
  const int at = (int)(byte(args) % (unsigned)args->schema->n_attrs);
  const situ_op_attr *spec = &args->schema->attrs[at];
  if (spec->inferred || spec->kind == SITU_ATTR_FUNCTION) return;
  args->types[at] = random_type(args->bytes, spec->types ? spec->types : ~0u);
  random_args_set(args, random_attr(args, at));
}

static void mutate(struct random_args *args) {
  for (unsigned changes = byte(args) % 4; changes; changes--) {
    const bool of_attr = args->schema->n_attrs && (!args->n_inputs || byte(args) % 3 == 0);
    if (of_attr)
      mutate_attr(args);
    else if (args->n_inputs)
      mutate_input(args);
  }
}

static bool draw_sample(struct random_args *args) {
  struct sample sample;
  const int number = (int)(byte(args) % (unsigned)sample_count(args->schema));
  const uint32_t types = sample_types(args->schema, number);
  const situ_type type = types == 1 ? SITU_NO_TYPE : random_type(args->bytes, types);
  situ_status s = sample_make(args->schema, number, type, &args->arena, &sample);
  situ_status_release(s);
  if (s) return false;
  memcpy(args->attrs, sample.attrs, sizeof sample.attrs);
  memcpy(args->inputs, sample.inputs, sizeof sample.inputs);
  args->n_attrs = sample.n_attrs;
  args->n_inputs = sample.n_inputs;
  for (int i = 0; i < args->n_inputs; i++) {
    args->ports[i] = schema_port(args->schema, i, args->n_inputs);
    args->input_types[i] = situ_tensor_type(args->inputs[i]);
    args->shapes[i] = situ_tensor_shape(args->inputs[i]);
  }
  mutate(args);
  return true;
}

bool random_args_draw(struct random_args *args) {
  if (args->schema->n_attrs > ARGS_MOST) return false;
  const unsigned how = byte(args) % 4;
  if (sample_count(args->schema) > 0 && how > 1) return draw_sample(args);
  if (how == 0) return draw_anything(args);
  const bool drawn = draw_agreeing(args);
  if (drawn && byte(args) % 2) mutate(args);
  return drawn;
}

void random_args_free(struct random_args *args) {
  for (int i = 0; i < args->n_inputs; i++) situ_tensor_release(args->inputs[i]);
  for (int i = 0; i < args->n_kept; i++) situ_tensor_release(args->kept[i]);
  arena_free(&args->arena);
}

void random_args_print(const struct random_args *args) {
  fprintf(stderr, "%s", args->schema->op->name);
  for (int i = 0; i < args->n_attrs; i++)
    fprintf(stderr, " %s=%lld", args->attrs[i].name, (long long)args->attrs[i].integer);
  for (int i = 0; i < args->n_inputs; i++) {
    fprintf(stderr, " %s[", situ_type_name(args->input_types[i]));
    for (int k = 0; k < args->shapes[i].rank; k++)
      fprintf(stderr, "%lld,", (long long)args->shapes[i].dim[k]);
    fprintf(stderr, "]");
  }
  fprintf(stderr, "\n");
}
