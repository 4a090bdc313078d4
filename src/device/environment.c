/* SPDX-License-Identifier: Apache-2.0
 * environment.c: see environment.h. */
#include "device/environment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum kind { SWITCH, WORD, WHOLE, SECONDS };

static const struct variable {
  const char *name;
  enum kind kind;
  const char *word;          /* of a WORD */
  int64_t smallest, largest; /* of a WHOLE number */
} variables[] = {
    {"SITU_CHECK_NUMERICS", SWITCH, NULL, 0, 0},
    {"SITU_CLUSTER_MACHINE_SIZE", WHOLE, NULL, 1, INT32_MAX},
    {"SITU_CLUSTER_TIMEOUT", SECONDS, NULL, 0, 0},
    {"SITU_CUBLAS", SWITCH, NULL, 0, 0},
    {"SITU_CUDA", SWITCH, NULL, 0, 0},
    {"SITU_DEVICE_NAMES", WORD, "legacy", 0, 0},
    {"SITU_NCCL", SWITCH, NULL, 0, 0},
    {"SITU_ONEDNN", SWITCH, NULL, 0, 0},
    {"SITU_SEED", WHOLE, NULL, INT64_MIN, INT64_MAX},
    {"SITU_STRICT", SWITCH, NULL, 0, 0},
    {"SITU_THREADS", WHOLE, NULL, 1, 1024},
};

static bool is_whole(const char *text, int64_t smallest, int64_t largest) {
  char *end = NULL;
  errno = 0;
  const long long value = strtoll(text, &end, 10);
  return !errno && end != text && !*end && value >= smallest && value <= largest;
}

/* Digits, perhaps a point and digits: strtod would follow the locale of the program. */
static bool is_seconds(const char *text) {
  const size_t whole = strspn(text, "0123456789");
  const char *rest = text + whole;
  const size_t part = *rest == '.' ? strspn(rest + 1, "0123456789") : 0;
  if (*rest == '.') rest += part + 1;
  return whole + part > 0 && whole < 10 && !*rest && strpbrk(text, "123456789");
}

static situ_status check_whole(const struct variable *v, const char *text) {
  if (is_whole(text, v->smallest, v->largest)) return NULL;
  if (v->smallest == INT64_MIN)
    return INVALID("%s is '%s'; it takes a whole number of 64 bits.", v->name, text);
  return INVALID("%s is '%s'; it takes a whole number from %lld to %lld.", v->name, text,
                 (long long)v->smallest, (long long)v->largest);
}

static situ_status check(const struct variable *v, const char *text) {
  switch (v->kind) {
    case SWITCH:
      if (!strcmp(text, "0") || !strcmp(text, "1")) return NULL;
      return INVALID("%s is '%s'; it takes 0 or 1.", v->name, text);
    case WORD:
      if (!strcmp(text, v->word)) return NULL;
      return INVALID("%s is '%s'; it takes %s, or nothing.", v->name, text, v->word);
    case SECONDS:
      if (is_seconds(text)) return NULL;
      return INVALID("%s is '%s'; it takes a number of seconds above 0.", v->name, text);
    case WHOLE:
      break;
  }
  return check_whole(v, text);
}

situ_status environment_check(void) {
  for (size_t i = 0; i < COUNT_OF(variables); i++) {
    const char *text = getenv(variables[i].name);
    if (text && *text) TRY(check(&variables[i], text));
  }
  return NULL;
}
