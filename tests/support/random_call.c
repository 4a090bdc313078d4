/* SPDX-License-Identifier: Apache-2.0
 * random_call.c: eager calls of any op with random arguments. */
#include "support/random_call.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema/sample.h"
#include "situ/situ.h"
#include "tensor/type.h"

enum { MOST = 64, LIST = 8, MOST_ELEMENTS = 1 << 12, MOST_RESULT = 1 << 21 };

/* A call in the making. Strings and lists of attributes live in the arena. */
struct draft {
  struct random_bytes *bytes;
  const struct schema *schema;
  struct arena arena;
  situ_type types[MOST]; /* of type attributes, by number; of other attributes any type */
  int64_t counts[MOST];  /* lengths of the lists that an attribute counts */
  situ_attr attrs[MOST];
  int n_attrs;
  situ_tensor *inputs[MOST], *kept[MOST];
  int n_inputs, n_kept;
};

/* Random values */

static unsigned byte(struct draft *d) {
  struct random_bytes *b = d->bytes;
  if (b->data < b->end) return *b->data++;
  if (!b->state) return 0;
  b->state = b->state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(b->state >> 56);
}

static int64_t integer(struct draft *d) {
  static const int64_t odd[] = {INT32_MIN, INT32_MAX, INT64_MIN, INT64_MAX, (int64_t)1 << 32,
                                -1000,     255,       65536,     100,       1 << 20};
  const unsigned b = byte(d);
  return b >= 246 ? odd[b - 246] : (int64_t)(b % 12) - 3;
}

static double real(struct draft *d) {
  static const double odd[] = {NAN,   INFINITY, -INFINITY,    1e308, -1e308, 1e-310, 1e38, 0.5,
                               -1e10, 3.4e38,   2147483648.0, -0.0,  1e19,   1,      -1,   1e10};
  const unsigned b = byte(d);
  return b >= 240 ? odd[b - 240] : ((double)b - 60) / 16;
}

static const char *string(struct draft *d) {
  static const char *const strings[] = {
      "",        "a",        "SAME",      "VALID",  "EXPLICIT", "NHWC",
      "NCHW",    "float",    "0",         "-1",     "1e400",    "ab,cd",
      "REFLECT", "\xff\xfe", "ij,jk->ik", "nan",    "UTF-8",    "%s%n",
      "GZIP",    "abc def",  "(",         "[a-z]*", "bilinear", "99999999999999999999"};
  return strings[byte(d) % COUNT_OF(strings)];
}

static situ_shape any_shape(struct draft *d) {
  situ_shape shape = {.rank = (int)(byte(d) % 6)};
  if (byte(d) > 250) shape.rank = SITU_MAX_RANK;
  for (int i = 0; i < shape.rank; i++) shape.dim[i] = byte(d) % 5;
  return shape;
}

static situ_type any_type(struct draft *d, uint32_t allowed) {
  for (int tries = 0; tries < 16; tries++) {
    const unsigned type = byte(d) % MAX_TYPES;
    if (allowed >> type & 1 && situ_type_size((situ_type)type)) return (situ_type)type;
  }
  return SITU_FLOAT;
}

static void fill(struct draft *d, situ_type type, int64_t n, char *data) {
  const size_t size = situ_type_size(type);
  for (int64_t i = 0; i < n; i++, data += size) {
    const double number = type == SITU_FLOAT || type == SITU_DOUBLE ? real(d) : 0;
    const float single = (float)number;
    int64_t bits = type == SITU_BOOL ? byte(d) & 1 : type == SITU_HALF ? byte(d) << 8 : integer(d);
    if (type == SITU_FLOAT) memcpy(&bits, &single, sizeof single);
    if (type == SITU_DOUBLE) memcpy(&bits, &number, sizeof number);
    memcpy(data, &bits, size);
  }
}

/* A tensor with random elements; NULL for a shape too large, or a type without values. */
static situ_tensor *random_tensor(struct draft *d, situ_type type, situ_shape shape) {
  const int64_t n = situ_shape_count(shape);
  situ_tensor *tensor = NULL;
  if (n < 0 || n > MOST_ELEMENTS || type == SITU_RESOURCE || type == SITU_VARIANT) return NULL;
  if (!situ_type_size(type)) return NULL;
  if (type == SITU_STRING) {
    situ_string *texts = arena_zero(&d->arena, ((size_t)n + 1) * sizeof *texts);
    for (int64_t i = 0; i < n; i++) {
      const char *value = string(d);
      texts[i] = (situ_string){value, strlen(value)};
    }
    situ_status_release(situ_tensor_create_strings(shape, texts, &tensor));
    return tensor;
  }
  const size_t size = situ_type_size(type);
  const situ_type part = type_real(type); /* of complex numbers */
  char *data = arena_zero(&d->arena, ((size_t)n + 1) * size);
  fill(d, part, n * (int64_t)(size / situ_type_size(part)), data);
  situ_status_release(situ_tensor_create(type, shape, data, &tensor));
  return tensor;
}

/* Attributes */

static const char *word_of_set(struct draft *d, const char *set) {
  const char *found = strchr(set, '\'');
  for (unsigned skip = byte(d) % 4; found && skip; skip--) {
    const char *close = strchr(found + 1, '\'');
    const char *next = close ? strchr(close + 1, '\'') : NULL;
    if (!next) break;
    found = next;
  }
  if (!found) return string(d);
  return arena_strndup(&d->arena, found + 1, strcspn(found + 1, "'"));
}

static int64_t *list_of(struct draft *d, bool of_types) {
  int64_t *list = ARENA_ARRAY(&d->arena, int64_t, LIST);
  for (int i = 0; i < LIST; i++)
    list[i] = of_types ? any_type(d, ~0u) : byte(d) % 3 ? 1 + byte(d) % 3 : integer(d);
  return list;
}

static situ_attr list_attr(struct draft *d, const situ_op_attr *spec) {
  const int n = byte(d) % 3 ? 4 : (int)(byte(d) % LIST);
  if (spec->kind == SITU_ATTR_FLOATS) {
    double *reals = ARENA_ARRAY(&d->arena, double, LIST);
    for (int i = 0; i < n; i++) reals[i] = real(d);
    return situ_attr_floats(spec->name, reals, n);
  }
  if (spec->kind == SITU_ATTR_SHAPES) {
    situ_shape *shapes = ARENA_ARRAY(&d->arena, situ_shape, LIST);
    for (int i = 0; i < n; i++) shapes[i] = any_shape(d);
    return situ_attr_shapes(spec->name, shapes, n);
  }
  if (spec->kind == SITU_ATTR_TYPES) return situ_attr_types(spec->name, list_of(d, true), n % 4);
  return situ_attr_ints(spec->name, list_of(d, false), n);
}

static situ_attr tensor_attr(struct draft *d, const char *name, situ_type type) {
  situ_tensor *tensor = random_tensor(d, type, any_shape(d));
  if (tensor && d->n_kept < MOST) d->kept[d->n_kept++] = tensor;
  return tensor ? situ_attr_tensor(name, tensor) : situ_attr_bool(name, false);
}

static situ_attr random_attr(struct draft *d, int number) {
  const situ_op_attr *spec = &d->schema->attrs[number];
  switch (spec->kind) {
    case SITU_ATTR_INT:
      return situ_attr_int(spec->name, integer(d));
    case SITU_ATTR_FLOAT:
      return situ_attr_float(spec->name, real(d));
    case SITU_ATTR_BOOL:
      return situ_attr_bool(spec->name, byte(d) & 1);
    case SITU_ATTR_TYPE:
      return situ_attr_type(spec->name, d->types[number]);
    case SITU_ATTR_SHAPE:
      return situ_attr_shape(spec->name, any_shape(d));
    case SITU_ATTR_STRING:
      return situ_attr_string(spec->name,
                              spec->strings ? word_of_set(d, spec->strings) : string(d));
    case SITU_ATTR_TENSOR:
      return tensor_attr(d, spec->name, d->types[number]);
    default:
      return list_attr(d, spec);
  }
}

/* Sets an attribute, in place of one of that name. */
static void set_attr(struct draft *d, situ_attr attr) {
  int at = 0;
  while (at < d->n_attrs && strcmp(d->attrs[at].name, attr.name)) at++;
  if (at == MOST) return;
  d->attrs[at] = attr;
  if (at == d->n_attrs) d->n_attrs++;
}

/* Whole calls */

static bool add_input(struct draft *d, const situ_op_port *port) {
  const situ_type type = port->is_types               ? any_type(d, ~0u)
                         : port->type != SITU_NO_TYPE ? port->type
                         : port->type_attr >= 0       ? d->types[port->type_attr]
                                                      : SITU_FLOAT;
  situ_shape shape = any_shape(d);
  if (port->is_host && byte(d) % 4) shape.rank = (int)(byte(d) % 2);
  if (d->n_inputs == MOST || port->is_ref || port->is_handle) return false;
  situ_tensor *tensor = random_tensor(d, type, shape);
  if (!tensor) return false;
  d->inputs[d->n_inputs++] = tensor;
  return true;
}

/* Everything random. */
static bool draw(struct draft *d) {
  const struct schema *schema = d->schema;
  for (int i = 0; i < schema->n_attrs; i++) {
    const situ_op_attr *spec = &schema->attrs[i];
    d->types[i] = any_type(d, spec->types ? spec->types : ~0u);
    d->counts[i] = byte(d) % 4;
    if (spec->inferred || (spec->default_value && byte(d) % 3 == 0)) continue;
    if (spec->kind == SITU_ATTR_FUNCTION) return false;
    set_attr(d, random_attr(d, i));
  }
  for (int i = 0; i < schema->n_inputs; i++) {
    const situ_op_port *port = &schema->inputs[i];
    int64_t n = port->number_attr >= 0 ? d->counts[port->number_attr]
                : port->is_types       ? (int64_t)(byte(d) % 4)
                                       : 1;
    for (; n > 0; n--)
      if (!add_input(d, port)) return false;
  }
  return true;
}

/* Another shape, one change away. */
static situ_shape near_shape(struct draft *d, situ_shape shape) {
  const unsigned what = byte(d) % 4;
  const int at = shape.rank > 0 ? (int)(byte(d) % (unsigned)shape.rank) : 0;
  if (what == 0) return any_shape(d);
  if (what == 1 && shape.rank > 0) {
    memmove(&shape.dim[at], &shape.dim[at + 1], sizeof *shape.dim * (size_t)(--shape.rank - at));
  } else if (what == 2 && shape.rank < SITU_MAX_RANK) {
    shape.dim[shape.rank++] = byte(d) % 4;
  } else if (shape.rank > 0) {
    shape.dim[at] = byte(d) % 3 ? shape.dim[at] + 1 : byte(d) % 3;
  }
  return shape;
}

static void mutate_input(struct draft *d) {
  const unsigned at = byte(d) % (unsigned)d->n_inputs;
  const situ_tensor *old = d->inputs[at];
  situ_shape shape = situ_tensor_shape(old);
  if (byte(d) % 4) shape = near_shape(d, shape);
  situ_tensor *tensor = random_tensor(d, situ_tensor_type(old), shape);
  if (!tensor) return;
  situ_tensor_release(d->inputs[at]);
  d->inputs[at] = tensor;
}

static void mutate_attr(struct draft *d) {
  const int at = (int)(byte(d) % (unsigned)d->schema->n_attrs);
  const situ_op_attr *spec = &d->schema->attrs[at];
  if (spec->inferred || spec->kind == SITU_ATTR_FUNCTION) return;
  d->types[at] = any_type(d, spec->types ? spec->types : ~0u);
  set_attr(d, random_attr(d, at));
}

/* A sample of the op with a few changes. */
static bool mutate_sample(struct draft *d) {
  struct sample sample;
  const int number = (int)(byte(d) % (unsigned)sample_count(d->schema));
  const uint32_t types = sample_types(d->schema, number);
  const situ_type type = types == 1 ? SITU_NO_TYPE : any_type(d, types);
  situ_status s = sample_make(d->schema, number, type, &d->arena, &sample);
  situ_status_release(s);
  if (s) return false;
  memcpy(d->attrs, sample.attrs, sizeof sample.attrs);
  memcpy(d->inputs, sample.inputs, sizeof sample.inputs);
  d->n_attrs = sample.n_attrs;
  d->n_inputs = sample.n_inputs;
  for (unsigned changes = 1 + byte(d) % 3; changes; changes--) {
    const bool of_attr = d->schema->n_attrs && (!d->n_inputs || byte(d) % 3 == 0);
    if (of_attr)
      mutate_attr(d);
    else if (d->n_inputs)
      mutate_input(d);
  }
  return true;
}

/* Whether an op is left out: it reaches files, other processes or Python, or waits. */
static bool is_left_out(const struct op_def *op) {
  static const char *const parts[] = {"File",    "PyFunc",   "Collective", "Send",    "Recv",
                                      "Reader",  "Print",    "Sleep",      "Summary", "Save",
                                      "Restore", "Iterator", "Dataset"};
  for (size_t i = 0; i < COUNT_OF(parts); i++)
    if (strstr(op->name, parts[i])) return true;
  return op->flags & (OP_BLOCKS | OP_GIVES | OP_TOGETHER | OP_VARIABLE | OP_FED);
}

/* Builds the call as a node, which checks shapes with less known; true if the outputs are small. */
static bool is_small(const struct draft *d) {
  situ_graph *graph = situ_graph_create();
  situ_value inputs[MOST];
  for (int i = 0; i < d->n_inputs; i++) inputs[i] = situ_constant_tensor(graph, NULL, d->inputs[i]);
  const situ_value first =
      situ_emit(graph, d->schema->op->name, NULL, inputs, d->n_inputs, d->attrs, d->n_attrs);
  situ_status status = situ_graph_status(graph);
  bool is_small = !status;
  situ_status_release(status);
  for (int i = 0; is_small && situ_value_valid(situ_value_output(first, i)); i++)
    is_small = situ_shape_count(situ_value_shape(situ_value_output(first, i))) <= MOST_RESULT;
  situ_graph_release(graph);
  return is_small;
}

static void print_call(const struct draft *d) {
  fprintf(stderr, "%s", d->schema->op->name);
  for (int i = 0; i < d->n_attrs; i++)
    fprintf(stderr, " %s=%lld", d->attrs[i].name, (long long)d->attrs[i].integer);
  for (int i = 0; i < d->n_inputs; i++) {
    const situ_shape shape = situ_tensor_shape(d->inputs[i]);
    fprintf(stderr, " %s[", situ_type_name(situ_tensor_type(d->inputs[i])));
    for (int k = 0; k < shape.rank; k++) fprintf(stderr, "%lld,", (long long)shape.dim[k]);
    fprintf(stderr, "]");
  }
  fprintf(stderr, "\n");
}

/* Reads every byte of an output, for the sanitizers. */
static void read_all(const situ_tensor *tensor) {
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

static situ_status run(situ_eager *eager, const char *device, const struct draft *d) {
  situ_tensor *outputs[MOST] = {0};
  int count = 0;
  const situ_call call = {.op = d->schema->id,
                          .device = device,
                          .inputs = d->inputs,
                          .n_inputs = d->n_inputs,
                          .attrs = d->attrs,
                          .n_attrs = d->n_attrs};
  if (getenv("SITU_TEST_VERBOSE")) print_call(d);
  situ_status s = situ_eager_run(eager, &call, outputs, MOST, &count);
  for (int i = 0; i < MOST; i++) {
    read_all(outputs[i]);
    situ_tensor_release(outputs[i]);
  }
  return s;
}

bool random_call(situ_eager *eager, int id, const char *device, struct random_bytes *bytes,
                 situ_status *status) {
  struct draft d = {.bytes = bytes, .schema = schema_get(id)};
  *status = NULL;
  if (!d.schema || d.schema->n_attrs > MOST || is_left_out(d.schema->op)) return false;
  const bool has_samples = sample_count(d.schema) > 0;
  bool is_called = has_samples && byte(&d) % 4 ? mutate_sample(&d) : draw(&d);
  is_called = is_called && is_small(&d);
  if (is_called) *status = run(eager, device, &d);
  for (int i = 0; i < d.n_inputs; i++) situ_tensor_release(d.inputs[i]);
  for (int i = 0; i < d.n_kept; i++) situ_tensor_release(d.kept[i]);
  arena_free(&d.arena);
  return is_called;
}
