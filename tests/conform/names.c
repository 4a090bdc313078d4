/* SPDX-License-Identifier: Apache-2.0
 * names.c: the cases about device names, visibility and limits. */
#include "conform/conform.h"

#include <stdlib.h>
#include <string.h>

#include "device/limit.h"
#include "device/name.h"
#include "device/visible.h"

enum { MAX_GPUS = 256 };

/* A case: its arguments, and the address of its result. */
struct question {
  const struct json *args;
  struct strbuf *out;
};

static const char *text_arg(const struct question *q, int i) {
  return json_string(json_at(q->args, i), NULL);
}

/* The answers are TensorFlow's, slips included. */
static situ_status name_arg(const struct question *q, int i, struct device_name *out) {
  return name_parse_flags(text_arg(q, i), NAME_REFERENCE, out);
}

static situ_status two_names(const struct question *q, struct device_name *a,
                             struct device_name *b) {
  TRY(name_arg(q, 0, a));
  return name_arg(q, 1, b);
}

static void add_truth(const struct question *q, bool value) {
  strbuf_append(q->out, value ? "true" : "false");
}

static void add_name(const struct question *q, const struct device_name *name) {
  char printed[NAME_SIZE];
  json_write_string(q->out, name_print(name, printed, sizeof printed));
}

static void add_pair(const struct question *q, const char *a, const char *b) {
  strbuf_append(q->out, "[");
  json_write_string(q->out, a);
  strbuf_append(q->out, ", ");
  json_write_string(q->out, b);
  strbuf_append(q->out, "]");
}

static void add_indices(const struct question *q, const int *indices, int n) {
  strbuf_append(q->out, "[");
  for (int i = 0; i < n; i++) strbuf_appendf(q->out, "%s%d", i ? ", " : "", indices[i]);
  strbuf_append(q->out, "]");
}

static void add_fields(const struct question *q, const struct device_name *name) {
  struct strbuf fields = {0};
  if (name->has_job) strbuf_append(&fields, ", \"job\": "), json_write_string(&fields, name->job);
  if (name->has_replica) strbuf_appendf(&fields, ", \"replica\": %d", name->replica);
  if (name->has_task) strbuf_appendf(&fields, ", \"task\": %d", name->task);
  if (name->has_kind)
    strbuf_append(&fields, ", \"type\": "), json_write_string(&fields, name->kind);
  if (name->has_index) strbuf_appendf(&fields, ", \"id\": %d", name->index);
  strbuf_appendf(q->out, "{%s}", fields.length ? strbuf_get(&fields) + 2 : "");
  strbuf_free(&fields);
}

static situ_status parse(const struct question *q) {
  struct device_name name;
  TRY(name_arg(q, 0, &name));
  add_fields(q, &name);
  return NULL;
}

static situ_status parse_local(const struct question *q) {
  struct device_name name;
  TRY(name_parse_local(text_arg(q, 0), &name));
  add_fields(q, &name);
  return NULL;
}

static situ_status to_string(const struct question *q) {
  struct device_name name;
  TRY(name_arg(q, 0, &name));
  add_name(q, &name);
  return NULL;
}

static situ_status local_name(const struct question *q) {
  struct device_name name;
  char printed[NAME_SIZE];
  TRY(name_arg(q, 0, &name));
  json_write_string(q->out, name_local(&name, printed, sizeof printed));
  return NULL;
}

static situ_status compare(const struct question *q,
                           bool (*test)(const struct device_name *, const struct device_name *)) {
  struct device_name a, b;
  TRY(two_names(q, &a, &b));
  add_truth(q, test(&a, &b));
  return NULL;
}

static situ_status same_address_space(const struct question *q) {
  return compare(q, name_same_address_space);
}
static situ_status different_address_space(const struct question *q) {
  return compare(q, name_different_address_space);
}
static situ_status matches(const struct question *q) { return compare(q, name_matches); }
static situ_status is_spec(const struct question *q) { return compare(q, name_is_spec); }
static situ_status compatible(const struct question *q) { return compare(q, name_compatible); }

static situ_status split(const struct question *q) {
  struct device_name name;
  char task[NAME_SIZE], device[NAME_SIZE];
  TRY(name_arg(q, 0, &name));
  if (!name_split(&name, task, device)) return INVALID("The name has no device, or no index.");
  add_pair(q, task, device);
  return NULL;
}

static situ_status merge_by(const struct question *q, enum name_merge how) {
  struct device_name a, b;
  TRY(two_names(q, &a, &b));
  TRY(name_merge(&a, &b, how));
  add_name(q, &a);
  return NULL;
}

static situ_status merge(const struct question *q) { return merge_by(q, MERGE_HARD); }
static situ_status merge_soft(const struct question *q) { return merge_by(q, MERGE_SOFT); }
static situ_status merge_override(const struct question *q) { return merge_by(q, MERGE_OVERRIDE); }

static situ_status mapping_names(const struct question *q) {
  struct device_name name;
  char canonical[NAME_SIZE], legacy[NAME_SIZE];
  TRY(name_arg(q, 0, &name));
  if (!name_mapping(&name, canonical, legacy)) return INVALID("The name is not complete.");
  add_pair(q, canonical, legacy);
  return NULL;
}

static situ_status canonicalize(const struct question *q) {
  struct device_name name;
  TRY(name_canonicalize(text_arg(q, 0), text_arg(q, 1), &name));
  add_name(q, &name);
  return NULL;
}

static situ_status host_cpu(const struct question *q) {
  struct device_name name;
  TRY(name_arg(q, 0, &name));
  name = name_host_cpu(&name);
  add_name(q, &name);
  return NULL;
}

/* What a DeviceSpec of Python makes of a text, and of two. */
static situ_status py_from_string(const struct question *q) {
  struct device_name name;
  TRY(name_parse_flags(text_arg(q, 0), NAME_LENIENT | NAME_LITERAL, &name));
  add_name(q, &name);
  return NULL;
}

static situ_status py_merge(const struct question *q) {
  struct device_name a, b;
  TRY(name_parse_flags(text_arg(q, 0), NAME_LENIENT | NAME_LITERAL, &a));
  TRY(name_parse_flags(text_arg(q, 1), NAME_LENIENT | NAME_LITERAL, &b));
  name_ensure(&a, &b);
  add_name(q, &a);
  return NULL;
}

static situ_status count_arg(const struct question *q, int i, int *out) {
  const int64_t count = json_integer(json_at(q->args, i), -1);
  if (count < 0 || count > MAX_GPUS) return INVALID("Argument %d is no count of devices.", i);
  *out = (int)count;
  return NULL;
}

static situ_status list(const struct question *q) {
  int count, n, indices[MAX_GPUS];
  TRY(count_arg(q, 1, &count));
  TRY(visible_list(text_arg(q, 0), count, indices, &n));
  add_indices(q, indices, n);
  return NULL;
}

static situ_status mask(const struct question *q) {
  static const struct visible_device devices[MAX_GPUS];
  int count, indices[MAX_GPUS];
  char note[VISIBLE_NOTE_SIZE];
  TRY(count_arg(q, 1, &count));
  const int n = visible_mask(NULL, text_arg(q, 0), devices, count, indices, note);
  add_indices(q, indices, n);
  return NULL;
}

static situ_status default_limit(const struct question *q) {
  const int64_t available = json_integer(json_at(q->args, 0), -1);
  if (available < 0) return INVALID("Argument 0 is no number of bytes.");
  strbuf_appendf(q->out, "%llu", (unsigned long long)limit_default((uint64_t)available));
  return NULL;
}

static const struct {
  const char *op;
  situ_status (*answer)(const struct question *q);
} answers[] = {
    {"parse", parse},
    {"parse_local", parse_local},
    {"to_string", to_string},
    {"local_name", local_name},
    {"same_address_space", same_address_space},
    {"different_address_space", different_address_space},
    {"matches", matches},
    {"is_spec", is_spec},
    {"compatible", compatible},
    {"split", split},
    {"merge", merge},
    {"merge_soft", merge_soft},
    {"merge_override", merge_override},
    {"mapping_names", mapping_names},
    {"canonicalize", canonicalize},
    {"host_cpu", host_cpu},
    {"py_from_string", py_from_string},
    {"py_merge", py_merge},
    {"visible_device_list", list},
    {"cuda_visible_devices", mask},
    {"default_gpu_limit", default_limit},
};

static situ_status answer(const char *op, const struct question *q) {
  for (size_t i = 0; i < COUNT_OF(answers); i++)
    if (!strcmp(answers[i].op, op)) return answers[i].answer(q);
  return INVALID("There is no operation '%s'.", op);
}

void conform_names(const struct json *test, struct strbuf *out) {
  const struct question question = {json_get(test, "args"), out};
  situ_status s = answer(json_string(json_get(test, "op"), ""), &question);
  if (!s) return;
  strbuf_append(out, "{\"error\": ");
  json_write_string(out, situ_status_message(s));
  strbuf_append(out, "}");
  situ_status_release(s);
}
