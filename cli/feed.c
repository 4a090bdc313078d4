/* SPDX-License-Identifier: Apache-2.0
 * feed.c: see feed.h. */
#include "feed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define INVALID(...) situ_status_create(SITU_INVALID_ARGUMENT, __VA_ARGS__)

/* ---- Shapes ---- */

/* Parses a shape: "2x3", "2,3", "[2,3]", "[]" for a scalar. */
static situ_status parse_shape(const char *arg, size_t length, situ_shape *out) {
  const char *at = arg, *end = arg + length;
  *out = (situ_shape){0};
  const bool brackets = length >= 2 && *at == '[' && end[-1] == ']';
  if (brackets) at++, end--;
  bool more = at < end || !brackets;
  while (more) {
    char *stop = NULL;
    errno = 0;
    const long long dim = at < end && *at >= '0' && *at <= '9' ? strtoll(at, &stop, 10) : -1;
    if (dim < 0 || errno || stop > end)
      return INVALID("'%.*s' is not a shape. Write 2x3, or [] for a scalar.", (int)length, arg);
    if (out->rank == SITU_MAX_RANK)
      return INVALID("'%.*s' has more than %d dimensions.", (int)length, arg, SITU_MAX_RANK);
    out->dim[out->rank++] = dim;
    at = stop;
    more = at < end;
    if (more && *at != 'x' && *at != ',')
      return INVALID("'%.*s' is not a shape. Write 2x3, or [] for a scalar.", (int)length, arg);
    at += more;
  }
  return NULL;
}

/* ---- Tensors ---- */

/* Reserved address space: pages are never touched, so that steps larger than the memory of this
 * machine can be planned. */
struct pages {
  void *start;
  size_t bytes;
};

static void free_pages(void *context) {
  struct pages *pages = context;
  munmap(pages->start, pages->bytes);
  free(pages);
}

static situ_status zeros(situ_type type, situ_shape shape, situ_tensor **out) {
  const int64_t count = situ_shape_count(shape);
  const size_t size = situ_type_size(type);
  if (type == SITU_STRING) return situ_tensor_create(type, shape, NULL, out);
  if (count < 0 || (size && (uint64_t)count > SIZE_MAX / 2 / size))
    return INVALID("the tensor has too many elements.");
  struct pages *pages = calloc(1, sizeof *pages);
  if (!pages) return situ_status_create(SITU_RESOURCE_EXHAUSTED, "Out of memory.");
  pages->bytes = count ? (size_t)count * size : 1;
  pages->start =
      mmap(NULL, pages->bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages->start == MAP_FAILED) {
    free(pages);
    return situ_status_create(SITU_RESOURCE_EXHAUSTED, "the tensor exceeds the address space.");
  }
  const situ_status s = situ_tensor_wrap(type, shape, pages->start, free_pages, pages, out);
  if (s) free_pages(pages);
  return s;
}

/* Types whose values --feed can set. */
#define NUMBERS(X) X(FLOAT, float) X(DOUBLE, double) X(INT32, int32_t) X(INT64, int64_t)

static situ_status store(situ_type type, double value, int64_t i, void *to) {
  switch (type) {
#define STORE(name, word)          \
  case SITU_##name:                \
    ((word *)to)[i] = (word)value; \
    return NULL;
    NUMBERS(STORE)
#undef STORE
    default:
      return INVALID("values of type %s are not supported; give only the shape.",
                     situ_type_name(type));
  }
}

static situ_status fill_values(situ_type type, int64_t count, const char *values, void *to) {
  for (int64_t i = 0; i < count; i++) {
    char *end = NULL;
    const double value = strtod(values, &end);
    if (end == values || (*end && *end != ','))
      return INVALID("'%s' does not start with a number.", values);
    if ((*end != 0) != (i + 1 < count))
      return INVALID("the shape has %lld elements, but there are %s values.", (long long)count,
                     *end ? "more" : "fewer");
    const situ_status s = store(type, value, i, to);
    if (s) return s;
    values = end + (*end == ',');
  }
  return NULL;
}

static situ_status parse_values(situ_type type, situ_shape shape, const char *values,
                                situ_tensor **out) {
  enum { MAX_VALUES = 1 << 20 };
  const int64_t count = situ_shape_count(shape);
  if (count < 0 || count > MAX_VALUES)
    return INVALID("too many elements for a list of values; give only the shape.");
  void *data = calloc((size_t)count + 1, 8);
  if (!data) return situ_status_create(SITU_RESOURCE_EXHAUSTED, "Out of memory.");
  situ_status s = fill_values(type, count, values, data);
  if (!s) s = situ_tensor_create(type, shape, data, out);
  free(data);
  return s;
}

situ_status feed_parse(situ_graph *graph, const char *arg, situ_feed *out) {
  const char *equals = strrchr(arg, '=');
  if (!equals || equals == arg)
    return INVALID("--feed %s: expected NAME=SHAPE, for example x=2x3.", arg);
  char *name = strndup(arg, (size_t)(equals - arg));
  if (!name) return situ_status_create(SITU_RESOURCE_EXHAUSTED, "Out of memory.");
  out->value = situ_graph_find(graph, name);
  out->tensor = NULL;
  situ_status s = NULL;
  if (!situ_value_valid(out->value))
    s = situ_status_create(SITU_NOT_FOUND, "--feed %s: the graph has no value '%s'.", arg, name);
  free(name);
  if (s) return s;
  const char *values = strchr(equals, ':');
  const size_t length = values ? (size_t)(values - equals - 1) : strlen(equals + 1);
  situ_shape shape;
  s = parse_shape(equals + 1, length, &shape);
  const situ_type type = situ_value_type(out->value);
  if (!s && values) s = parse_values(type, shape, values + 1, &out->tensor);
  if (!s && !values) s = zeros(type, shape, &out->tensor);
  if (!s) return NULL;
  const situ_status named =
      situ_status_create(situ_status_code(s), "--feed %s: %s", arg, situ_status_message(s));
  situ_status_release(s);
  return named;
}
