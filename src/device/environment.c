/* SPDX-License-Identifier: Apache-2.0
 * environment.c: validates the environment variables whose values are switches, keywords or
 * numbers. */
#include "device/environment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse_size.h"

enum kind { SWITCH, KEYWORD, INTEGER, SECONDS, SIZE };

static const struct variable {
  const char *name;
  enum kind kind;
  const char *keyword;      /* of a KEYWORD */
  int64_t minimum, maximum; /* of an INTEGER */
} variables[] = {
    {"SITU_CHECK_NUMERICS", SWITCH, NULL, 0, 0},
    {"SITU_CLUSTER_MACHINE_SIZE", INTEGER, NULL, 1, INT32_MAX},
    {"SITU_CLUSTER_TIMEOUT", SECONDS, NULL, 0, 0},
    {"SITU_CUBLAS", SWITCH, NULL, 0, 0},
    {"SITU_CUDA", SWITCH, NULL, 0, 0},
    {"SITU_DEVICE_NAMES", KEYWORD, "legacy", 0, 0},
    {"SITU_EXPANSION_LIMIT", SIZE, NULL, 0, 0},
    {"SITU_HDF5_SECONDS", INTEGER, NULL, 0, INT32_MAX},
    {"SITU_HOST_MEMORY", SIZE, NULL, 0, 0},
    {"SITU_IMAGE_PIXELS", INTEGER, NULL, 1, INT64_MAX},
    {"SITU_JPEG_SCANS", INTEGER, NULL, 1, INT32_MAX},
    {"SITU_NCCL", SWITCH, NULL, 0, 0},
    {"SITU_ONEDNN", SWITCH, NULL, 0, 0},
    {"SITU_SEED", INTEGER, NULL, INT64_MIN, INT64_MAX},
    {"SITU_STRICT", SWITCH, NULL, 0, 0},
    {"SITU_THREADS", INTEGER, NULL, 1, 1024},
};

static bool is_integer(const char *value, int64_t minimum, int64_t maximum) {
  char *end = NULL;
  errno = 0;
  const long long number = strtoll(value, &end, 10);
  return !errno && end != value && !*end && number >= minimum && number <= maximum;
}

/* Parses digits with an optional decimal point; strtod would depend on the locale. */
static bool is_seconds(const char *value) {
  const size_t n_integer = strspn(value, "0123456789");
  const char *rest = value + n_integer;
  const size_t n_fraction = *rest == '.' ? strspn(rest + 1, "0123456789") : 0;
  if (*rest == '.') rest += n_fraction + 1;
  return n_integer + n_fraction > 0 && n_integer < 10 && !*rest && strpbrk(value, "123456789");
}

static situ_status check_integer(const struct variable *v, const char *value) {
  if (is_integer(value, v->minimum, v->maximum)) return NULL;
  if (v->minimum == INT64_MIN)
    return INVALID("%s is '%s'; expected an integer of 64 bits.", v->name, value);
  return INVALID("%s is '%s'; expected an integer from %lld to %lld.", v->name, value,
                 (long long)v->minimum, (long long)v->maximum);
}

static situ_status check_size(const struct variable *v, const char *value) {
  uint64_t bytes = 0;
  const situ_status status = parse_size(value, &bytes);
  situ_status_release(status);
  if (!status && bytes) return NULL;
  return INVALID("%s is '%s'; expected a size above 0, as 8GiB.", v->name, value);
}

static situ_status check(const struct variable *v, const char *value) {
  switch (v->kind) {
    case SWITCH:
      if (!strcmp(value, "0") || !strcmp(value, "1")) return NULL;
      return INVALID("%s is '%s'; expected 0 or 1.", v->name, value);
    case KEYWORD:
      if (!strcmp(value, v->keyword)) return NULL;
      return INVALID("%s is '%s'; expected %sor an empty string.", v->name, value, v->keyword);
    case SECONDS:
      if (is_seconds(value)) return NULL;
      return INVALID("%s is '%s'; expected a number of seconds above 0.", v->name, value);
    case SIZE:
      return check_size(v, value);
    case INTEGER:
      break;
  }
  return check_integer(v, value);
}

situ_status environment_check(void) {
  for (size_t i = 0; i < COUNT_OF(variables); i++) {
    const char *value = getenv(variables[i].name);
    if (value && *value) TRY(check(&variables[i], value));
  }
  return NULL;
}
