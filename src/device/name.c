/* SPDX-License-Identifier: Apache-2.0
 * name.c: see name.h. The grammar is TensorFlow's, with its Python layer's forms behind a flag. */
#include "device/name.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- Fields as a set: the operations on names are operations on these bits. ---- */

enum { JOB = 1, REPLICA = 2, TASK = 4, KIND = 8, INDEX = 16, ADDRESS = 7, ALL = 31 };

static unsigned present(const struct device_name *name) {
  return (name->has_job ? JOB : 0u) | (name->has_replica ? REPLICA : 0u) |
         (name->has_task ? TASK : 0u) | (name->has_kind ? KIND : 0u) |
         (name->has_index ? INDEX : 0u);
}

/* The fields that both have, with different values. */
static unsigned conflicts(const struct device_name *a, const struct device_name *b) {
  const unsigned different =
      (strcmp(a->job, b->job) ? JOB : 0u) | (a->replica != b->replica ? REPLICA : 0u) |
      (a->task != b->task ? TASK : 0u) | (strcmp(a->kind, b->kind) ? KIND : 0u) |
      (a->index != b->index ? INDEX : 0u);
  return different & present(a) & present(b);
}

static void drop(struct device_name *name, unsigned fields) {
  if (fields & JOB) name->has_job = false, name->job[0] = 0;
  if (fields & REPLICA) name->has_replica = false, name->replica = 0;
  if (fields & TASK) name->has_task = false, name->task = 0;
  if (fields & KIND) name->has_kind = false, name->kind[0] = 0;
  if (fields & INDEX) name->has_index = false, name->index = 0;
}

/* Copies those of the fields that `from` has. */
static void copy(struct device_name *to, const struct device_name *from, unsigned fields) {
  const unsigned these = fields & present(from);
  if (these & JOB) to->has_job = true, memcpy(to->job, from->job, sizeof to->job);
  if (these & REPLICA) to->has_replica = true, to->replica = from->replica;
  if (these & TASK) to->has_task = true, to->task = from->task;
  if (these & KIND) to->has_kind = true, memcpy(to->kind, from->kind, sizeof to->kind);
  if (these & INDEX) to->has_index = true, to->index = from->index;
}

/* ---- Reading ---- */

struct reader {
  const char *text, *at;
  unsigned flags;
  bool has_device; /* a device part has been read */
  struct device_name name;
};

/* A word that opens a part of a name, and what reads the rest of it. */
struct part {
  const char *word;
  situ_status (*read)(struct reader *reader);
  const char *kind; /* of the words that are a kind by themselves */
};

static situ_status malformed(const struct reader *reader, const char *what, const char *where) {
  return INVALID("Malformed device specification '%s': %s at character %zu", reader->text, what,
                 (size_t)(where - reader->text));
}

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* A name of letters, digits and `_`, with a letter first. Python takes more in a job. */
static size_t word_length(const char *text, bool is_lenient) {
  size_t n = 0;
  for (; text[n]; n++) {
    const bool is_always = is_letter(text[n]) || (n && (is_digit(text[n]) || text[n] == '_'));
    if (!is_always && !(is_lenient && (is_digit(text[n]) || strchr("_-.", text[n])))) break;
  }
  return n;
}

static situ_status read_word(struct reader *reader, const char *what, bool is_lenient, size_t size,
                             char *out) {
  const size_t length = word_length(reader->at, is_lenient);
  char message[64];
  if (!length || length >= size) {
    const char *form = length ? "a %s of more than %zu characters" : "expected a %s";
    snprintf(message, sizeof message, form, what, size - 1);
    return malformed(reader, message, reader->at);
  }
  memcpy(out, reader->at, length);
  out[length] = 0;
  reader->at += length;
  return NULL;
}

/* TensorFlow reads 64 bits and keeps 32; a sign it never takes. */
static situ_status read_number(struct reader *reader, int32_t *out) {
  const char *start = reader->at;
  const bool is_negative = *start == '-' && (reader->flags & NAME_LITERAL);
  const uint64_t limit = reader->flags & NAME_REFERENCE ? UINT64_MAX : INT32_MAX;
  uint64_t value = 0;
  if (is_negative) reader->at++;
  if (!is_digit(*reader->at)) return malformed(reader, "expected a number", reader->at);
  for (; is_digit(*reader->at); reader->at++) {
    const unsigned digit = (unsigned)(*reader->at - '0');
    if (value > (limit - digit) / 10) return malformed(reader, "a number too large", start);
    value = value * 10 + digit;
  }
  *out = (int32_t)(uint32_t)value;
  if (is_negative) *out = -*out;
  return NULL;
}

/* Reads `*` or a number into the field. */
static situ_status read_field(struct reader *reader, unsigned field, bool *has, int32_t *out) {
  drop(&reader->name, field);
  if (*reader->at == '*') {
    reader->at++;
    return NULL;
  }
  TRY(read_number(reader, out));
  *has = true;
  return NULL;
}

static situ_status read_job(struct reader *reader) {
  struct device_name *name = &reader->name;
  drop(name, JOB);
  if (*reader->at == '*') {
    reader->at++;
    if (reader->flags & NAME_LITERAL) name->has_job = true, strcpy(name->job, "*");
    return NULL;
  }
  const bool is_lenient = reader->flags & NAME_LENIENT;
  TRY(read_word(reader, "job", is_lenient, sizeof name->job, name->job));
  name->has_job = true;
  return NULL;
}

static situ_status read_replica(struct reader *reader) {
  return read_field(reader, REPLICA, &reader->name.has_replica, &reader->name.replica);
}

static situ_status read_task(struct reader *reader) {
  return read_field(reader, TASK, &reader->name.has_task, &reader->name.task);
}

static situ_status read_index(struct reader *reader) {
  return read_field(reader, INDEX, &reader->name.has_index, &reader->name.index);
}

static const struct part *find_part(const char *word, size_t length, bool is_lenient);

static situ_status read_kind(struct reader *reader) {
  struct device_name *name = &reader->name;
  TRY(read_word(reader, "device type", false, sizeof name->kind, name->kind));
  name->has_kind = true;
  const bool is_lenient = reader->flags & NAME_LENIENT;
  const struct part *part = is_lenient ? find_part(name->kind, strlen(name->kind), true) : NULL;
  if (part && part->kind) strcpy(name->kind, part->kind);
  return NULL;
}

static situ_status read_device(struct reader *reader) {
  drop(&reader->name, KIND | INDEX);
  if (*reader->at != '*')
    TRY(read_kind(reader));
  else
    reader->at++;
  if (*reader->at != ':') return NULL;
  const char *index = ++reader->at;
  TRY(read_index(reader));
  if (reader->name.has_index && !reader->name.has_kind && !(reader->flags & NAME_REFERENCE))
    return malformed(reader, "an index without a device type", index);
  return NULL;
}

/* Every word that opens a part; lenient reading takes the kinds in any case. */
static const struct part parts[] = {
    {"job", read_job, NULL},       {"replica", read_replica, NULL}, {"task", read_task, NULL},
    {"device", read_device, NULL}, {"cpu", read_index, "CPU"},      {"CPU", read_index, "CPU"},
    {"gpu", read_index, "GPU"},    {"GPU", read_index, "GPU"},
};

static const struct part *find_part(const char *word, size_t length, bool is_lenient) {
  for (size_t i = 0; i < COUNT_OF(parts); i++) {
    const bool any_case = is_lenient && parts[i].kind;
    if (strlen(parts[i].word) != length) continue;
    if (any_case ? !strncasecmp(parts[i].word, word, length)
                 : !strncmp(parts[i].word, word, length))
      return &parts[i];
  }
  return NULL;
}

static situ_status unknown_part(const struct reader *reader, size_t length) {
  char message[64];
  if (reader->flags & NAME_LENIENT)
    return status_note(
        INVALID("Unknown attribute '%.*s' is encountered while parsing the device "
                "spec: '%s'.",
                (int)length, reader->at, reader->text),
        "It stands at character %zu; known are job, replica, task, device, cpu, gpu.",
        (size_t)(reader->at - reader->text));
  if (!length) return malformed(reader, "expected a part", reader->at);
  snprintf(message, sizeof message, "unknown part '%.*s'", length > 40 ? 40 : (int)length,
           reader->at);
  return malformed(reader, message, reader->at);
}

static situ_status second_device(const struct reader *reader) {
  if (!(reader->flags & NAME_LENIENT)) return malformed(reader, "a second device part", reader->at);
  return status_note(INVALID("Multiple device types are not allowed while parsing the device spec: "
                             "%s.",
                             reader->text),
                     "The second one stands at character %zu.",
                     (size_t)(reader->at - reader->text));
}

/* Reads `KIND:INDEX` up to the end of the text. */
static situ_status read_local(struct reader *reader) {
  TRY(read_kind(reader));
  if (*reader->at != ':') return malformed(reader, "expected ':'", reader->at);
  reader->at++;
  TRY(read_number(reader, &reader->name.index));
  reader->name.has_index = true;
  return *reader->at ? malformed(reader, "expected the end", reader->at) : NULL;
}

/* A text that is `KIND:INDEX` of a kind that no part is named after. */
static bool is_local(const struct reader *reader, size_t length) {
  return reader->at == reader->text && (reader->flags & NAME_LENIENT) &&
         reader->at[length] == ':' && is_digit(reader->at[length + 1]);
}

/* Reads a part; its slash is behind. */
static situ_status read_part(struct reader *reader) {
  const bool is_lenient = reader->flags & NAME_LENIENT;
  const size_t length = strcspn(reader->at, ":/");
  const struct part *part = find_part(reader->at, length, is_lenient);
  if (!part && is_local(reader, length)) return read_local(reader);
  if (!part) return unknown_part(reader, length);
  const bool is_device = part->kind || part->read == read_device;
  if (is_device && reader->has_device && !(reader->flags & NAME_REFERENCE))
    return second_device(reader);
  if (is_device) reader->has_device = true;
  reader->at += length;
  if (part->kind) {
    drop(&reader->name, INDEX);
    reader->name.has_kind = true;
    strcpy(reader->name.kind, part->kind);
  }
  if (*reader->at != ':')
    return part->kind && is_lenient ? NULL : malformed(reader, "expected ':'", reader->at);
  reader->at++;
  return part->read(reader);
}

static situ_status read_full(struct reader *reader) {
  const bool is_lenient = reader->flags & NAME_LENIENT;
  if (!strcmp(reader->text, "/")) return NULL;
  if (is_lenient && *reader->at && *reader->at != '/') TRY(read_part(reader));
  while (*reader->at) {
    if (*reader->at != '/') return malformed(reader, "expected '/'", reader->at);
    reader->at += is_lenient ? strspn(reader->at, "/") : 1;
    if (is_lenient && !*reader->at) break;
    TRY(read_part(reader));
  }
  return NULL;
}

static situ_status read_all(const char *text, unsigned flags,
                            situ_status (*read)(struct reader *reader), struct device_name *out) {
  if (!text) return INVALID("Malformed device specification: there is no text");
  struct reader reader = {.text = text, .at = text, .flags = flags};
  TRY(read(&reader));
  *out = reader.name;
  return NULL;
}

situ_status name_parse_flags(const char *text, unsigned flags, struct device_name *out) {
  return read_all(text, flags, read_full, out);
}

situ_status name_parse(const char *text, struct device_name *out) {
  return read_all(text, NAME_STRICT, read_full, out);
}

situ_status name_parse_local(const char *text, struct device_name *out) {
  return read_all(text, NAME_STRICT, read_local, out);
}

situ_status name_parse_any(const char *text, struct device_name *out) {
  return read_all(text, NAME_LENIENT, read_full, out);
}

/* ---- Writing ---- */

/* Where the next characters go: never past the end, always with room for a 0. */
struct writer {
  char *at, *end;
};

static void put(struct writer *writer, const char *text) {
  for (; *text && writer->at < writer->end; text++) *writer->at++ = *text;
  *writer->at = 0;
}

static void put_number(struct writer *writer, const char *before, int32_t value) {
  char digits[16];
  snprintf(digits, sizeof digits, "%d", (int)value);
  put(writer, before);
  put(writer, digits);
}

static struct writer writer_of(char *out, size_t size) {
  if (size) out[0] = 0;
  return (struct writer){out, size ? out + size - 1 : out};
}

static void put_address(struct writer *writer, const struct device_name *name) {
  if (name->has_job) put(writer, "/job:"), put(writer, name->job);
  if (name->has_replica) put_number(writer, "/replica:", name->replica);
  if (name->has_task) put_number(writer, "/task:", name->task);
}

static void put_device(struct writer *writer, const struct device_name *name, bool is_legacy) {
  if (!name->has_kind) return;
  char kind[NAME_KIND_SIZE];
  for (size_t i = 0; i < sizeof kind; i++) {
    const char c = name->kind[i];
    kind[i] = is_legacy && c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
  }
  put(writer, is_legacy ? "/" : "/device:");
  put(writer, kind);
  if (name->has_index)
    put_number(writer, ":", name->index);
  else
    put(writer, ":*");
}

const char *name_print(const struct device_name *name, char *out, size_t size) {
  struct writer writer = writer_of(out, size);
  if (!size) return out;
  put_address(&writer, name);
  put_device(&writer, name, false);
  return out;
}

const char *name_print_legacy(const struct device_name *name, char *out, size_t size) {
  struct writer writer = writer_of(out, size);
  if (!size) return out;
  put_address(&writer, name);
  put_device(&writer, name, true);
  return out;
}

const char *name_local(const struct device_name *name, char *out, size_t size) {
  struct writer writer = writer_of(out, size);
  if (size) put_device(&writer, name, false);
  return out;
}

bool name_split(const struct device_name *name, char *task, char *device) {
  if (!name->has_kind || !name->has_index) return false;
  struct writer writer = writer_of(task, NAME_SIZE);
  put_address(&writer, name);
  snprintf(device, NAME_SIZE, "%s:%d", name->kind, (int)name->index);
  return true;
}

bool name_mapping(const struct device_name *name, char *canonical, char *legacy) {
  if (!name_is_complete(name)) return false;
  name_print(name, canonical, NAME_SIZE);
  name_print_legacy(name, legacy, NAME_SIZE);
  return true;
}

/* ---- Comparing and joining ---- */

bool name_equal(const struct device_name *a, const struct device_name *b) {
  return present(a) == present(b) && !conflicts(a, b);
}

bool name_has_details(const struct device_name *name) { return present(name); }

bool name_is_complete(const struct device_name *name) { return present(name) == ALL; }

bool name_is_spec(const struct device_name *less, const struct device_name *more) {
  return !(present(less) & ~present(more)) && !conflicts(less, more);
}

bool name_matches(const struct device_name *pattern, const struct device_name *complete) {
  return name_is_complete(complete) && !conflicts(pattern, complete);
}

bool name_compatible(const struct device_name *a, const struct device_name *b) {
  return !conflicts(a, b);
}

static situ_status cannot_merge(const struct device_name *target, const struct device_name *other,
                                const char *what) {
  char a[NAME_SIZE], b[NAME_SIZE];
  return INVALID("Cannot merge devices with incompatible %s: '%s' and '%s'", what,
                 name_print(target, a, sizeof a), name_print(other, b, sizeof b));
}

situ_status name_merge(struct device_name *target, const struct device_name *other,
                       enum name_merge how) {
  static const struct {
    unsigned field, dropped; /* what a soft merge drops on a conflict */
    const char *plural;
  } order[] = {{JOB, 0, "jobs"},
               {REPLICA, 0, "replicas"},
               {TASK, 0, "tasks"},
               {KIND, KIND | INDEX, "types"},
               {INDEX, INDEX, "ids"}};
  for (size_t i = 0; i < COUNT_OF(order); i++) {
    const bool is_conflict = conflicts(target, other) & order[i].field;
    if (is_conflict && (how == MERGE_HARD || !order[i].dropped))
      return cannot_merge(target, other, order[i].plural);
    if (is_conflict && how == MERGE_SOFT) {
      drop(target, order[i].dropped);
      return NULL;
    }
    copy(target, other, order[i].field);
  }
  return NULL;
}

void name_ensure(struct device_name *more, const struct device_name *less) {
  copy(more, less, ALL);
}

void name_nest(const struct device_name *outer, const struct device_name *inner,
               struct device_name *out) {
  const struct device_name top = *inner;
  *out = *outer;
  if (top.has_kind && !top.has_index) drop(out, INDEX);
  copy(out, &top, ALL);
}

bool name_same_address_space(const struct device_name *a, const struct device_name *b) {
  return (present(a) & present(b) & ADDRESS) == ADDRESS && !(conflicts(a, b) & ADDRESS);
}

void name_clear_task(struct device_name *name) { drop(name, ADDRESS); }

bool name_different_address_space(const struct device_name *a, const struct device_name *b) {
  return conflicts(a, b) & ADDRESS;
}

/* Puts a headline of TensorFlow's over the parser's own words. */
static situ_status headline(situ_status cause, const char *before, const char *text) {
  situ_status status =
      status_note(INVALID("Could not parse %s%s into a device specification.", before, text), "%s",
                  situ_status_message(cause));
  situ_status_release(cause);
  return status;
}

situ_status name_canonicalize(const char *name, const char *base, struct device_name *out) {
  struct device_name full, result;
  situ_status s = name_parse(base, &full);
  if (s) return headline(s, "basename: ", base ? base : "");
  if (!name_is_complete(&full)) return INVALID("Basename: %s should be fully specified.", base);
  s = name_parse_local(name, &result);
  if (s) {
    situ_status_release(s);
    s = name_parse(name, &result);
  }
  if (s) return headline(s, "", name ? name : "");
  copy(&result, &full, ~present(&result));
  *out = result;
  return NULL;
}

struct device_name name_host_cpu(const struct device_name *name) {
  struct device_name host = {.kind = "CPU", .has_kind = true, .has_index = true};
  copy(&host, name, ADDRESS);
  return host;
}
