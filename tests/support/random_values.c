/* SPDX-License-Identifier: Apache-2.0
 * random_values.c: see random_values.h. */
#include "support/random_values.h"

#include <math.h>
#include <string.h>

#include "device/backend.h"
#include "tensor/type.h"

enum { MOST_ELEMENTS = 1 << 12 };

unsigned random_byte(struct random_bytes *bytes) {
  if (bytes->data < bytes->end) return *bytes->data++;
  if (!bytes->state) return 0;
  bytes->state = bytes->state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(bytes->state >> 56);
}

int64_t random_integer(struct random_bytes *bytes) {
  static const int64_t odd[] = {
      INT32_MIN, INT32_MAX, INT64_MIN, INT64_MAX, (int64_t)1 << 32, -1000,
      255,       65536,     100,       1 << 20,   (int64_t)1 << 62, INT64_MAX / 3 * 2};
  const unsigned b = random_byte(bytes), first = 256 - (unsigned)COUNT_OF(odd);
  return b >= first ? odd[b - first] : (int64_t)(b % 12) - 3;
}

double random_real(struct random_bytes *bytes) {
  static const double odd[] = {NAN,   INFINITY, -INFINITY,    1e308, -1e308, 1e-310, 1e38, 0.5,
                               -1e10, 3.4e38,   2147483648.0, -0.0,  1e19,   1,      -1,   1e10};
  const unsigned b = random_byte(bytes);
  return b >= 240 ? odd[b - 240] : ((double)b - 60) / 16;
}

const char *random_string(struct random_bytes *bytes) {
  static const char *const strings[] = {"",          "a",
                                        "SAME",      "VALID",
                                        "EXPLICIT",  "NHWC",
                                        "NCHW",      "float",
                                        "0",         "-1",
                                        "1e400",     "ab,cd",
                                        "REFLECT",   "\xff\xfe",
                                        "ij,jk->ik", "nan",
                                        "UTF-8",     "%s%n",
                                        "union",     "union",
                                        "GZIP",      "abc def",
                                        "(",         "[a-z]*",
                                        "bilinear",  "99999999999999999999"};
  return strings[random_byte(bytes) % COUNT_OF(strings)];
}

situ_shape random_shape(struct random_bytes *bytes) {
  situ_shape shape = {.rank = (int)(random_byte(bytes) % 6)};
  if (random_byte(bytes) > 250) shape.rank = SITU_MAX_RANK;
  for (int i = 0; i < shape.rank; i++) shape.dim[i] = random_byte(bytes) % 5;
  return shape;
}

situ_type random_type(struct random_bytes *bytes, uint32_t allowed) {
  for (int tries = 0; tries < 16; tries++) {
    const unsigned type = random_byte(bytes) % MAX_TYPES;
    if (allowed >> type & 1 && situ_type_size((situ_type)type)) return (situ_type)type;
  }
  return SITU_FLOAT;
}

static int64_t integer_bits(struct random_bytes *bytes, situ_type type, bool tame) {
  if (type == SITU_BOOL) return random_byte(bytes) & 1;
  if (type == SITU_HALF || type == SITU_BFLOAT16) return random_byte(bytes) << 8;
  return tame ? random_byte(bytes) % 3 : random_integer(bytes);
}

static void fill(struct random_bytes *bytes, situ_type type, int64_t n, bool tame, char *data) {
  const size_t size = situ_type_size(type);
  for (int64_t i = 0; i < n; i++, data += size) {
    const double number = type == SITU_FLOAT || type == SITU_DOUBLE ? random_real(bytes) : 0;
    const float single = (float)number;
    int64_t bits = integer_bits(bytes, type, tame);
    if (type == SITU_FLOAT) memcpy(&bits, &single, sizeof single);
    if (type == SITU_DOUBLE) memcpy(&bits, &number, sizeof number);
    memcpy(data, &bits, size);
  }
}

static situ_tensor *random_strings(struct random_bytes *bytes, struct arena *arena,
                                   situ_shape shape) {
  const int64_t n = situ_shape_count(shape);
  situ_string *texts = arena_zero(arena, ((size_t)n + 1) * sizeof *texts);
  situ_tensor *tensor = NULL;
  for (int64_t i = 0; i < n; i++) {
    const char *value = random_string(bytes);
    texts[i] = (situ_string){value, strlen(value)};
  }
  situ_status_release(situ_tensor_create_strings(shape, texts, &tensor));
  return tensor;
}

situ_tensor *random_tensor(struct random_bytes *bytes, struct arena *arena, situ_type type,
                           situ_shape shape, bool tame) {
  const int64_t n = situ_shape_count(shape);
  situ_tensor *tensor = NULL;
  if (n < 0 || n > MOST_ELEMENTS || type == SITU_RESOURCE || type == SITU_VARIANT) return NULL;
  if (!situ_type_size(type)) return NULL;
  if (type == SITU_STRING) return random_strings(bytes, arena, shape);
  const size_t size = situ_type_size(type);
  const situ_type part = type_real(type); /* of complex numbers */
  char *data = arena_zero(arena, ((size_t)n + 1) * size);
  fill(bytes, part, n * (int64_t)(size / situ_type_size(part)), tame, data);
  situ_status_release(situ_tensor_create(type, shape, data, &tensor));
  return tensor;
}
