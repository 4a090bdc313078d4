/* SPDX-License-Identifier: Apache-2.0
 * unigram_sampler.c: weights of classes from a file or an attribute, and sampling by Walker's
 * alias method. Sums and orders are those of TensorFlow, so that equal seeds draw equal classes. */
#include "ops/random/unigram_sampler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "ops/io/file_ops.h"

/* The weights that belong to this part of all classes. */
struct weights {
  float *items;
  int64_t count, capacity, number; /* number: of the next class in the file or list */
  int64_t parts, part;
  float power, total;
};

situ_status unigram_check(const struct call *call) {
  const bool file = *call_text(call, "vocab_file");
  const int64_t parts = call_integer(call, "num_shards"), part = call_integer(call, "shard");
  const struct attr_value *list = call_attr(call, "unigrams");
  const bool listed = list && list->kind == SITU_ATTR_FLOATS && list->reals.count;
  if (file && listed) return INVALID("Must only provide one of vocab_file and unigrams.");
  if (!file && !listed) return INVALID("Must provide either vocab_file or unigrams.");
  if (parts < 1 || part < 0 || part >= parts)
    return INVALID("shard must be from 0 to before num_shards, got %lld of %lld", (long long)part,
                   (long long)parts);
  if (call_integer(call, "num_reserved_ids") < 0)
    return INVALID("num_reserved_ids must not be negative, got %lld",
                   (long long)call_integer(call, "num_reserved_ids"));
  return NULL;
}

/* Whether the next class belongs to this shard. */
static bool is_ours(struct weights *w) { return w->number++ % w->parts == w->part; }

static situ_status too_many(const struct weights *w) {
  return INVALID("range is %lld, but there are more weights than that", (long long)w->capacity);
}

static situ_status add(struct weights *w, double weight) {
  if (!is_ours(w)) return NULL;
  if (w->count == w->capacity) return too_many(w);
  const float scaled = powf((float)weight, w->power);
  if (!(scaled >= 0) || isinf(scaled))
    return INVALID("%g is not a valid weight of a class: it must not be negative", weight);
  w->total += scaled;
  w->items[w->count++] = scaled;
  return NULL;
}

static situ_status reserve(struct weights *w, int64_t reserved) {
  for (int64_t i = 0; i < reserved; i++) {
    if (!is_ours(w)) continue;
    if (w->count == w->capacity) return too_many(w);
    w->items[w->count++] = 0;
  }
  w->number = w->count;
  return NULL;
}

/* A line is a comma-separated list; the last field is the weight. */
static situ_status add_line(struct weights *w, const char *path, const char *line, size_t length) {
  if (!length) return NULL;
  const char *comma = memrchr(line, ',', length);
  const char *word = comma ? comma + 1 : line;
  const size_t n = length - (size_t)(word - line);
  char number[64] = "", *end = number;
  if (n < sizeof number) memcpy(number, word, n);
  const double weight = strtod(number, &end);
  while (*end == ' ' || *end == '\r' || *end == '\t') end++;
  if (end == number || *end)
    return INVALID(
        "Wrong vocabulary format at line: %.*s (%s; a line ends in a comma and a weight)",
        (int)min_i64((int64_t)length, 200), line, path);
  return add(w, weight);
}

static situ_status add_file(struct weights *w, const char *path) {
  struct strbuf text = {0};
  situ_status status = file_read(path, &text);
  const char *at = status ? "" : strbuf_get(&text), *end = at + (status ? 0 : text.length);
  while (!status && at < end) {
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    if (!stop) stop = end;
    status = add_line(w, path, at, (size_t)(stop - at));
    at = stop + 1;
  }
  strbuf_free(&text);
  return status;
}

static situ_status read_weights(struct call *call, int64_t range, struct weights *w) {
  const struct attr_value *list = call_attr(call, "unigrams");
  const char *path = call_text(call, "vocab_file");
  const int64_t reserved = call_integer(call, "num_reserved_ids");
  if (reserved / call_integer(call, "num_shards") > range)
    return INVALID("range is %lld, but there are %lld reserved ids", (long long)range,
                   (long long)reserved);
  if (!*path && range - reserved > list->reals.count) /* before that much memory is taken */
    return INVALID("range is %lld must be equal to weights size %lld", (long long)range,
                   (long long)(reserved + list->reals.count));
  *w = (struct weights){.items = ARENA_ARRAY(call->to->arena, float, range),
                        .capacity = range,
                        .parts = call_integer(call, "num_shards"),
                        .part = call_integer(call, "shard"),
                        .power = (float)call_real(call, "distortion")};
  if (!w->items) return NO_MEMORY();
  TRY(reserve(w, reserved));
  if (*path)
    TRY(add_file(w, path));
  else
    for (int64_t i = 0; i < list->reals.count; i++) TRY(add(w, list->reals.items[i]));
  if (w->count != range)
    return INVALID("range is %lld must be equal to weights size %lld", (long long)range,
                   (long long)w->count);
  if (!(w->total > 0)) return INVALID("All classes have the weight 0: none can be drawn");
  return NULL;
}

/* Gives entries that are too rare a class that is too frequent for the rest of them. */
static void pair(double *odds, uint32_t *other, int64_t *stack, int64_t n) {
  int64_t *low = stack, *high = stack + n, n_low = 0, n_high = 0;
  for (int64_t i = 0; i < n; i++) {
    other[i] = (uint32_t)i;
    if (odds[i] < 1)
      low[n_low++] = i;
    else
      high[n_high++] = i;
  }
  while (n_low && n_high) {
    const int64_t l = low[--n_low], h = high[--n_high];
    other[l] = (uint32_t)h;
    odds[h] -= 1 - odds[l];
    if (odds[h] < 1)
      low[n_low++] = h;
    else
      high[n_high++] = h;
  }
  while (n_low) odds[low[--n_low]] = 1; /* what rounding has left */
  while (n_high) odds[high[--n_high]] = 1;
}

situ_status unigram_table(struct call *call, int64_t range, uint32_t **table, int64_t *likely) {
  struct arena *arena = call->to->arena;
  struct weights w;
  TRY(read_weights(call, range, &w));
  double *odds = ARENA_ARRAY(arena, double, range), sum = 0;
  uint32_t *other = ARENA_ARRAY(arena, uint32_t, range);
  int64_t *stack = ARENA_ARRAY(arena, int64_t, 2 * range);
  *table = ARENA_ARRAY(arena, uint32_t, UNIGRAM_WORDS * range);
  if (arena->failed) return NO_MEMORY();
  for (int64_t i = 0; i < range; i++) sum += (double)w.items[i];
  for (int64_t i = 0; i < range; i++) odds[i] = (double)(w.items[i] * (float)range) / sum;
  pair(odds, other, stack, range);
  *likely = 0;
  for (int64_t i = 0; i < range; i++) {
    uint32_t *entry = *table + UNIGRAM_WORDS * i;
    const float keep = (float)odds[i], chance = w.items[i] / w.total;
    memcpy(&entry[0], &keep, sizeof keep);
    entry[1] = other[i];
    memcpy(&entry[2], &chance, sizeof chance);
    *likely += w.items[i] > 0;
  }
  return NULL;
}
