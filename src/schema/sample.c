/* SPDX-License-Identifier: Apache-2.0
 * sample.c: see sample.h. */
#include "schema/sample.h"

#include <stdlib.h>
#include <string.h>

#include "schema/signature.h"
#include "tensor/number.h"
#include "tensor/type.h"

/* The source of sample `number`; empty after the last. */
static struct token find(const struct schema *schema, int number) {
  const char *text = schema->op->samples ? schema->op->samples : "";
  for (; number > 0 && *text; number--) {
    text += strcspn(text, ";");
    text += *text == ';';
  }
  return (struct token){text, strcspn(text, ";")};
}

int sample_count(const struct schema *schema) {
  int count = 0;
  while (find(schema, count).length) count++;
  return count;
}

/* The next token of a sample. */
static struct token next_token(const char **text, const char *end) {
  struct token token = signature_token(text);
  if (token.at >= end) return (struct token){end, 0};
  if (token.at + token.length > end) token.length = (size_t)(end - token.at);
  *text = token.at + token.length;
  return token;
}

static bool is_attr(struct token token) { return token.at[0] != '['; }

static int attr_of(const struct schema *schema, struct token token) {
  const char *equal = memchr(token.at, '=', token.length);
  for (int i = 0; equal && i < schema->n_attrs; i++)
    if (strlen(schema->attrs[i].name) == (size_t)(equal - token.at) &&
        !memcmp(schema->attrs[i].name, token.at, (size_t)(equal - token.at)))
      return i;
  return -1;
}

uint32_t sample_types(const struct schema *schema, int number) {
  const struct token text = find(schema, number);
  const char *at = text.at, *end = text.at + text.length;
  const int first = schema->device_type_attr;
  uint32_t types = 0;
  for (struct token w = next_token(&at, end); w.length && first >= 0; w = next_token(&at, end))
    if (is_attr(w) && attr_of(schema, w) == first) return 1;
  if (first < 0) return 1;
  for (int type = 0; type < MAX_TYPES; type++)
    if (situ_type_size((situ_type)type) && type != SITU_STRING && type != SITU_RESOURCE &&
        type != SITU_VARIANT && !type_is_float8((situ_type)type) && !type_is_int4((situ_type)type))
      types |= 1u << type;
  return types & schema->attrs[first].types;
}

/* Values */

static void store(void *data, situ_type type, int64_t i, double value) {
  number_store(type, data, i, value);
}

double sample_number(const situ_tensor *tensor, int64_t i) {
  const void *data = situ_tensor_data(tensor);
  const situ_type type = situ_tensor_type(tensor);
  if (type_is_complex(type)) return number_at(type_real(type), data, i);
  if (type_is_real(type)) return number_at(type, data, i);
  if (type == SITU_UINT64) return (double)((const uint64_t *)data)[i];
  return (double)number_integer_at(type, data, i);
}

int64_t sample_count_numbers(const situ_tensor *tensor) {
  const int64_t n = situ_shape_count(situ_tensor_shape(tensor));
  return type_is_complex(situ_tensor_type(tensor)) ? 2 * n : n;
}

/* A value of the domain for the type, from a number of the sequence. */
static double choose(situ_type type, const char *domain, uint32_t random) {
  const bool real = type_is_real(type);
  int low = -255, high = 255; /* in 64ths */
  if (type == SITU_BOOL) return random & 1;
  if (!strncmp(domain, ":whole", 6)) return 1 + random % 4;
  if (!strncmp(domain, ":pos", 4)) low = 16;
  if (!strncmp(domain, ":above1", 7)) low = 64;
  if (!strncmp(domain, ":unit", 5)) low = -61, high = 61;
  if (!strncmp(domain, ":probability", 12)) low = 3, high = 61;
  const double value = (low + (int)(random % (uint32_t)(high - low + 1))) / 64.0;
  if (real) return value;
  if (!strncmp(domain, ":unit", 5)) return random % 2;
  if (*domain == ':') return 1 + random % 9;
  return type_is_unsigned(type) ? random % 10 : (double)(random % 19) - 9;
}

/* Fills each row with a distribution: 0.5 at two positions. */
static void share(void *data, situ_type type, const situ_shape *shape, uint32_t seed) {
  const int64_t width = shape->dim[shape->rank - 1], n = situ_shape_count(*shape);
  memset(data, 0, (size_t)n * situ_type_size(type));
  for (int64_t row = 0; row < n; row += width) {
    seed = seed * 1664525u + 1013904223u;
    const int64_t a = (seed >> 8) % width, b = (seed >> 16) % width;
    store(data, type, row + a, 0.5);
    store(data, type, row + b, a == b ? 1 : 0.5);
  }
}

/* Fills a complex tensor with the numbers that a real one of twice the size would have. */
static situ_status make_complex(situ_type type, struct token token, uint32_t seed,
                                struct arena *arena, situ_tensor **out) {
  struct attr_value shape;
  const size_t length = strcspn(token.at, "]") + 1;
  TRY(attr_parse(SITU_ATTR_SHAPE, token.at, length, arena, &shape));
  const bool given = length < token.length && token.at[length] == '=';
  const int64_t n = situ_shape_count(*shape.shape);
  char *at = (char *)(uintptr_t)token.at + length;
  void *data = arena_zero(arena, (size_t)(n + 1) * situ_type_size(type));
  if (!data) return NO_MEMORY();
  for (int64_t i = 0; i < 2 * n; i++) {
    seed = seed * 1664525u + 1013904223u;
    if (given && i % 2) continue;
    const double value = given ? strtod(at + 1, &at)
                               : choose(SITU_DOUBLE, length < token.length ? at : "", seed >> 12);
    number_store(type_real(type), data, i, value);
  }
  return situ_tensor_create(type, *shape.shape, data, out);
}

static situ_status make_tensor(situ_type type, struct token token, uint32_t seed,
                               struct arena *arena, situ_tensor **out) {
  struct attr_value shape;
  const size_t length = strcspn(token.at, "]") + 1;
  if (type_is_complex(type)) return make_complex(type, token, seed, arena, out);
  TRY(attr_parse(SITU_ATTR_SHAPE, token.at, length, arena, &shape));
  const char *rest = token.at + length;
  const bool given = length < token.length && *rest == '=';
  const int64_t n = situ_shape_count(*shape.shape);
  void *data = arena_zero(arena, (size_t)(n + 1) * situ_type_size(type));
  if (!data) return NO_MEMORY();
  char *at = (char *)(uintptr_t)rest;
  for (int64_t i = 0; i < n; i++) {
    seed = seed * 1664525u + 1013904223u;
    const double value =
        given ? strtod(at + 1, &at) : choose(type, length < token.length ? rest : "", seed >> 12);
    store(data, type, i, value);
  }
  if (!given && length < token.length && !strncmp(rest, ":share", 6))
    share(data, type, shape.shape, seed);
  return situ_tensor_create(type, *shape.shape, data, out);
}

/* Making a sample */

static situ_status read_attrs(struct sample *out, struct token text, situ_type type,
                              struct arena *arena, struct attr_value *values) {
  const struct schema *schema = out->schema;
  const char *at = text.at, *end = text.at + text.length;
  if (type != SITU_NO_TYPE)
    values[schema->device_type_attr] = (struct attr_value){.kind = SITU_ATTR_TYPE, .type = type};
  for (struct token w = next_token(&at, end); w.length; w = next_token(&at, end)) {
    if (!is_attr(w)) continue;
    const int i = attr_of(schema, w);
    if (i < 0) return INVALID("no attribute for '%.*s'", (int)w.length, w.at);
    const size_t name = strlen(schema->attrs[i].name) + 1;
    TRY(attr_parse(schema->attrs[i].kind, w.at + name, w.length - name, arena, &values[i]));
  }
  for (int i = 0; i < schema->n_attrs; i++) {
    if (values[i].kind != SITU_ATTR_NONE)
      out->attrs[out->n_attrs++] = attr_public(schema->attrs[i].name, &values[i]);
    else
      values[i] = schema->defaults[i];
  }
  return NULL;
}

/* A list gets the inputs that the others leave. */
static void count_list(const struct sample *sample, int words, struct attr_value *values) {
  for (int i = 0; i < sample->schema->n_inputs; i++) {
    const int number = sample->schema->inputs[i].number_attr;
    if (number >= 0)
      values[number] = (struct attr_value){.kind = SITU_ATTR_INT,
                                           .integer = words - sample->schema->n_inputs + 1};
  }
}

situ_status sample_make(const struct schema *schema, int number, situ_type type,
                        struct arena *arena, struct sample *out) {
  const struct token text = find(schema, number);
  const char *end = text.at + text.length;
  struct attr_value values[SAMPLE_MOST] = {0};
  struct token words[SAMPLE_MOST];
  int n = 0;
  *out = (struct sample){.schema = schema};
  TRY(read_attrs(out, text, type, arena, values));
  const char *at = text.at;
  for (struct token w = next_token(&at, end); w.length && n < SAMPLE_MOST; w = next_token(&at, end))
    if (!is_attr(w)) words[n++] = w;
  count_list(out, n, values);
  for (; out->n_inputs < n; out->n_inputs++) {
    const int i = out->n_inputs;
    const situ_op_port *port = schema_input_port(schema, values, i);
    const situ_type own = port->type_attr < 0 ? port->type : values[port->type_attr].type;
    const uint32_t seed = (uint32_t)(number * 31 + i * 7 + 1) * 2654435761u;
    out->is_host[i] = port->is_host;
    TRY(make_tensor(own, words[i], seed, arena, &out->inputs[i]));
  }
  return NULL;
}

void sample_free(struct sample *sample) {
  for (int i = 0; i < sample->n_inputs; i++) situ_tensor_release(sample->inputs[i]);
}
