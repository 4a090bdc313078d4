/* SPDX-License-Identifier: Apache-2.0
 * name.c: parses, prints, compares and merges device names. The grammar is TensorFlow's, with the
 * forms of its Python API behind a flag. */
#include "device/name.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- Fields as bit sets ---- */

enum { JOB = 1, REPLICA = 2, TASK = 4, KIND = 8, INDEX = 16, ADDRESS = 7, ALL = 31 };

static unsigned present_fields(const struct device_name *name) {
  return (name->has_job ? JOB : 0u) | (name->has_replica ? REPLICA : 0u) |
         (name->has_task ? TASK : 0u) | (name->has_kind ? KIND : 0u) |
         (name->has_index ? INDEX : 0u);
}

/* Returns the fields that both have with different values. */
static unsigned conflicting_fields(const struct device_name *a, const struct device_name *b) {
  const unsigned different =
      (strcmp(a->job, b->job) ? JOB : 0u) | (a->replica != b->replica ? REPLICA : 0u) |
      (a->task != b->task ? TASK : 0u) | (strcmp(a->kind, b->kind) ? KIND : 0u) |
      (a->index != b->index ? INDEX : 0u);
  return different & present_fields(a) & present_fields(b);
}

static void clear_fields(struct device_name *name, unsigned fields) {
  if (fields & JOB) name->has_job = false, name->job[0] = 0;
  if (fields & REPLICA) name->has_replica = false, name->replica = 0;
  if (fields & TASK) name->has_task = false, name->task = 0;
  if (fields & KIND) name->has_kind = false, name->kind[0] = 0;
  if (fields & INDEX) name->has_index = false, name->index = 0;
}

/* Copies the fields that `from` has. */
static void copy_fields(struct device_name *to, const struct device_name *from, unsigned fields) {
  const unsigned fields_to_copy = fields & present_fields(from);
  if (fields_to_copy & JOB) to->has_job = true, memcpy(to->job, from->job, sizeof to->job);
  if (fields_to_copy & REPLICA) to->has_replica = true, to->replica = from->replica;
  if (fields_to_copy & TASK) to->has_task = true, to->task = from->task;
  if (fields_to_copy & KIND) to->has_kind = true, memcpy(to->kind, from->kind, sizeof to->kind);
  if (fields_to_copy & INDEX) to->has_index = true, to->index = from->index;
}

/* ---- Parsing ---- */

struct parser {
  const char *text, *at;
  unsigned flags;
  bool has_device; /* a device part has been read */
  struct device_name name;
};

/* A keyword that starts a part of a name, and the parser of the rest. */
struct part {
  const char *keyword;
  situ_status (*parse_rest)(struct parser *parser);
  const char *kind; /* of keywords that are device types */
};

static situ_status malformed(const struct parser *parser, const char *what, const char *where) {
  return INVALID("Malformed device specification '%s': %s at character %zu", parser->text, what,
                 (size_t)(where - parser->text));
}

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Returns the length of an identifier. Python accepts more characters in a job. */
static size_t identifier_length(const char *text, bool is_lenient) {
  size_t n = 0;
  for (; text[n]; n++) {
    const bool is_valid = is_letter(text[n]) || (n && (is_digit(text[n]) || text[n] == '_'));
    if (!is_valid && !(is_lenient && (is_digit(text[n]) || strchr("_-.", text[n])))) break;
  }
  return n;
}

static situ_status parse_identifier(struct parser *parser, const char *what, bool is_lenient,
                                    size_t size, char *out) {
  const size_t length = identifier_length(parser->at, is_lenient);
  char message[64];
  if (!length || length >= size) {
    const char *form = length ? "a %s of more than %zu characters" : "expected a %s";
    snprintf(message, sizeof message, form, what, size - 1);
    return malformed(parser, message, parser->at);
  }
  memcpy(out, parser->at, length);
  out[length] = 0;
  parser->at += length;
  return NULL;
}

/* TensorFlow parses 64 bits and truncates to 32; it accepts no sign. */
static situ_status parse_number(struct parser *parser, int32_t *out) {
  const char *start = parser->at;
  const bool is_negative = *start == '-' && (parser->flags & NAME_LITERAL);
  const uint64_t limit = parser->flags & NAME_REFERENCE ? UINT64_MAX : INT32_MAX;
  uint64_t value = 0;
  if (is_negative) parser->at++;
  if (!is_digit(*parser->at)) return malformed(parser, "expected a number", parser->at);
  for (; is_digit(*parser->at); parser->at++) {
    const unsigned digit = (unsigned)(*parser->at - '0');
    if (value > (limit - digit) / 10) return malformed(parser, "a number too large", start);
    value = value * 10 + digit;
  }
  *out = (int32_t)(uint32_t)value;
  if (is_negative) *out = -*out;
  return NULL;
}

/* Parses `*` or a number. */
static situ_status parse_field(struct parser *parser, unsigned field, bool *has, int32_t *out) {
  clear_fields(&parser->name, field);
  if (*parser->at == '*') {
    parser->at++;
    return NULL;
  }
  TRY(parse_number(parser, out));
  *has = true;
  return NULL;
}

static situ_status parse_job(struct parser *parser) {
  struct device_name *name = &parser->name;
  clear_fields(name, JOB);
  if (*parser->at == '*') {
    parser->at++;
    if (parser->flags & NAME_LITERAL) name->has_job = true, strcpy(name->job, "*");
    return NULL;
  }
  const bool is_lenient = parser->flags & NAME_LENIENT;
  TRY(parse_identifier(parser, "job", is_lenient, sizeof name->job, name->job));
  name->has_job = true;
  return NULL;
}

static situ_status parse_replica(struct parser *parser) {
  return parse_field(parser, REPLICA, &parser->name.has_replica, &parser->name.replica);
}

static situ_status parse_task(struct parser *parser) {
  return parse_field(parser, TASK, &parser->name.has_task, &parser->name.task);
}

static situ_status parse_index(struct parser *parser) {
  return parse_field(parser, INDEX, &parser->name.has_index, &parser->name.index);
}

static const struct part *find_part(const char *keyword, size_t length, bool is_lenient);

static situ_status parse_kind(struct parser *parser) {
  struct device_name *name = &parser->name;
  TRY(parse_identifier(parser, "device type", false, sizeof name->kind, name->kind));
  name->has_kind = true;
  const bool is_lenient = parser->flags & NAME_LENIENT;
  const struct part *part = is_lenient ? find_part(name->kind, strlen(name->kind), true) : NULL;
  if (part && part->kind) strcpy(name->kind, part->kind);
  return NULL;
}

static situ_status parse_device(struct parser *parser) {
  clear_fields(&parser->name, KIND | INDEX);
  if (*parser->at != '*')
    TRY(parse_kind(parser));
  else
    parser->at++;
  if (*parser->at != ':') return NULL;
  const char *index = ++parser->at;
  TRY(parse_index(parser));
  if (parser->name.has_index && !parser->name.has_kind && !(parser->flags & NAME_REFERENCE))
    return malformed(parser, "an index without a device type", index);
  return NULL;
}

/* Keywords; lenient parsing ignores the case of device types. */
static const struct part parts[] = {
    {"job", parse_job, NULL},       {"replica", parse_replica, NULL}, {"task", parse_task, NULL},
    {"device", parse_device, NULL}, {"cpu", parse_index, "CPU"},      {"CPU", parse_index, "CPU"},
    {"gpu", parse_index, "GPU"},    {"GPU", parse_index, "GPU"},
};

static const struct part *find_part(const char *keyword, size_t length, bool is_lenient) {
  for (size_t i = 0; i < COUNT_OF(parts); i++) {
    const bool any_case = is_lenient && parts[i].kind;
    if (strlen(parts[i].keyword) != length) continue;
    if (any_case ? !strncasecmp(parts[i].keyword, keyword, length)
                 : !strncmp(parts[i].keyword, keyword, length))
      return &parts[i];
  }
  return NULL;
}

static situ_status unknown_part(const struct parser *parser, size_t length) {
  char message[64];
  if (parser->flags & NAME_LENIENT)
    return status_note(
        INVALID("Unknown attribute '%.*s' is encountered while parsing the device "
                "spec: '%s'.",
                (int)length, parser->at, parser->text),
        "At character %zu; the known attributes are job, replica, task, device, cpu, gpu.",
        (size_t)(parser->at - parser->text));
  if (!length) return malformed(parser, "expected a part", parser->at);
  snprintf(message, sizeof message, "unknown part '%.*s'", length > 40 ? 40 : (int)length,
           parser->at);
  return malformed(parser, message, parser->at);
}

static situ_status duplicate_device(const struct parser *parser) {
  if (!(parser->flags & NAME_LENIENT)) return malformed(parser, "a second device part", parser->at);
  return status_note(INVALID("Multiple device types are not allowed while parsing the device spec: "
                             "%s.",
                             parser->text),
                     "The second one is at character %zu.", (size_t)(parser->at - parser->text));
}

/* Parses `KIND:INDEX` up to the end. */
static situ_status parse_local(struct parser *parser) {
  TRY(parse_kind(parser));
  if (*parser->at != ':') return malformed(parser, "expected ':'", parser->at);
  parser->at++;
  TRY(parse_number(parser, &parser->name.index));
  parser->name.has_index = true;
  return *parser->at ? malformed(parser, "expected the end", parser->at) : NULL;
}

/* Returns whether the input is `KIND:INDEX` with a kind that is not a keyword. */
static bool is_local(const struct parser *parser, size_t length) {
  return parser->at == parser->text && (parser->flags & NAME_LENIENT) &&
         parser->at[length] == ':' && is_digit(parser->at[length + 1]);
}

/* Parses a part behind its slash. */
static situ_status parse_part(struct parser *parser) {
  const bool is_lenient = parser->flags & NAME_LENIENT;
  const size_t length = strcspn(parser->at, ":/");
  const struct part *part = find_part(parser->at, length, is_lenient);
  if (!part && is_local(parser, length)) return parse_local(parser);
  if (!part) return unknown_part(parser, length);
  const bool is_device = part->kind || part->parse_rest == parse_device;
  if (is_device && parser->has_device && !(parser->flags & NAME_REFERENCE))
    return duplicate_device(parser);
  if (is_device) parser->has_device = true;
  parser->at += length;
  if (part->kind) {
    clear_fields(&parser->name, INDEX);
    parser->name.has_kind = true;
    strcpy(parser->name.kind, part->kind);
  }
  if (*parser->at != ':')
    return part->kind && is_lenient ? NULL : malformed(parser, "expected ':'", parser->at);
  parser->at++;
  return part->parse_rest(parser);
}

static situ_status parse_full(struct parser *parser) {
  const bool is_lenient = parser->flags & NAME_LENIENT;
  if (!strcmp(parser->text, "/")) return NULL;
  if (is_lenient && *parser->at && *parser->at != '/') TRY(parse_part(parser));
  while (*parser->at) {
    if (*parser->at != '/') return malformed(parser, "expected '/'", parser->at);
    parser->at += is_lenient ? strspn(parser->at, "/") : 1;
    if (is_lenient && !*parser->at) break;
    TRY(parse_part(parser));
  }
  return NULL;
}

static situ_status parse(const char *text, unsigned flags,
                         situ_status (*parse_rest)(struct parser *parser),
                         struct device_name *out) {
  if (!text) return INVALID("Malformed device specification: the string is NULL");
  struct parser parser = {.text = text, .at = text, .flags = flags};
  TRY(parse_rest(&parser));
  *out = parser.name;
  return NULL;
}

situ_status name_parse_flags(const char *text, unsigned flags, struct device_name *out) {
  return parse(text, flags, parse_full, out);
}

situ_status name_parse(const char *text, struct device_name *out) {
  return parse(text, NAME_STRICT, parse_full, out);
}

situ_status name_parse_local(const char *text, struct device_name *out) {
  return parse(text, NAME_STRICT, parse_local, out);
}

situ_status name_parse_any(const char *text, struct device_name *out) {
  return parse(text, NAME_LENIENT, parse_full, out);
}

/* ---- Printing ---- */

/* Bounded output cursor; always leaves room for the terminator. */
struct writer {
  char *at, *end;
};

static void append(struct writer *writer, const char *text) {
  for (; *text && writer->at < writer->end; text++) *writer->at++ = *text;
  *writer->at = 0;
}

static void append_number(struct writer *writer, const char *before, int32_t value) {
  char digits[16];
  snprintf(digits, sizeof digits, "%d", (int)value);
  append(writer, before);
  append(writer, digits);
}

static struct writer make_writer(char *out, size_t size) {
  if (size) out[0] = 0;
  return (struct writer){out, size ? out + size - 1 : out};
}

static void append_address(struct writer *writer, const struct device_name *name) {
  if (name->has_job) append(writer, "/job:"), append(writer, name->job);
  if (name->has_replica) append_number(writer, "/replica:", name->replica);
  if (name->has_task) append_number(writer, "/task:", name->task);
}

static void append_device(struct writer *writer, const struct device_name *name, bool is_legacy) {
  if (!name->has_kind) return;
  char kind[NAME_KIND_SIZE];
  for (size_t i = 0; i < sizeof kind; i++) {
    const char c = name->kind[i];
    kind[i] = is_legacy && c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
  }
  append(writer, is_legacy ? "/" : "/device:");
  append(writer, kind);
  if (name->has_index)
    append_number(writer, ":", name->index);
  else
    append(writer, ":*");
}

const char *name_print(const struct device_name *name, char *out, size_t size) {
  struct writer writer = make_writer(out, size);
  if (!size) return out;
  append_address(&writer, name);
  append_device(&writer, name, false);
  return out;
}

const char *name_print_legacy(const struct device_name *name, char *out, size_t size) {
  struct writer writer = make_writer(out, size);
  if (!size) return out;
  append_address(&writer, name);
  append_device(&writer, name, true);
  return out;
}

const char *name_local(const struct device_name *name, char *out, size_t size) {
  struct writer writer = make_writer(out, size);
  if (size) append_device(&writer, name, false);
  return out;
}

bool name_split(const struct device_name *name, char *task, char *device) {
  if (!name->has_kind || !name->has_index) return false;
  struct writer writer = make_writer(task, NAME_SIZE);
  append_address(&writer, name);
  snprintf(device, NAME_SIZE, "%s:%d", name->kind, (int)name->index);
  return true;
}

bool name_mapping(const struct device_name *name, char *canonical, char *legacy) {
  if (!name_is_complete(name)) return false;
  name_print(name, canonical, NAME_SIZE);
  name_print_legacy(name, legacy, NAME_SIZE);
  return true;
}

/* ---- Comparison and merging ---- */

bool name_equal(const struct device_name *a, const struct device_name *b) {
  return present_fields(a) == present_fields(b) && !conflicting_fields(a, b);
}

bool name_is_complete(const struct device_name *name) { return present_fields(name) == ALL; }

bool name_is_spec(const struct device_name *less, const struct device_name *more) {
  return !(present_fields(less) & ~present_fields(more)) && !conflicting_fields(less, more);
}

bool name_matches(const struct device_name *pattern, const struct device_name *complete) {
  return name_is_complete(complete) && !conflicting_fields(pattern, complete);
}

bool name_compatible(const struct device_name *a, const struct device_name *b) {
  return !conflicting_fields(a, b);
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
    unsigned field, dropped; /* dropped by a soft merge on a conflict */
    const char *plural;
  } order[] = {{JOB, 0, "jobs"},
               {REPLICA, 0, "replicas"},
               {TASK, 0, "tasks"},
               {KIND, KIND | INDEX, "types"},
               {INDEX, INDEX, "ids"}};
  for (size_t i = 0; i < COUNT_OF(order); i++) {
    const bool is_conflict = conflicting_fields(target, other) & order[i].field;
    if (is_conflict && (how == MERGE_HARD || !order[i].dropped))
      return cannot_merge(target, other, order[i].plural);
    if (is_conflict && how == MERGE_SOFT) {
      clear_fields(target, order[i].dropped);
      return NULL;
    }
    copy_fields(target, other, order[i].field);
  }
  return NULL;
}

void name_ensure(struct device_name *more, const struct device_name *less) {
  copy_fields(more, less, ALL);
}

void name_nest(const struct device_name *outer, const struct device_name *inner,
               struct device_name *out) {
  const struct device_name inner_copy = *inner;
  *out = *outer;
  if (inner_copy.has_kind && !inner_copy.has_index) clear_fields(out, INDEX);
  copy_fields(out, &inner_copy, ALL);
}

bool name_same_address_space(const struct device_name *a, const struct device_name *b) {
  return (present_fields(a) & present_fields(b) & ADDRESS) == ADDRESS &&
         !(conflicting_fields(a, b) & ADDRESS);
}

void name_clear_task(struct device_name *name) { clear_fields(name, ADDRESS); }

bool name_different_address_space(const struct device_name *a, const struct device_name *b) {
  return conflicting_fields(a, b) & ADDRESS;
}

/* Prepends TensorFlow's message to the parser's. */
static situ_status add_context(situ_status cause, const char *before, const char *text) {
  situ_status status =
      status_note(INVALID("Could not parse %s%s into a device specification.", before, text), "%s",
                  situ_status_message(cause));
  situ_status_release(cause);
  return status;
}

situ_status name_canonicalize(const char *name, const char *base, struct device_name *out) {
  struct device_name full, result;
  situ_status s = name_parse(base, &full);
  if (s) return add_context(s, "basename: ", base ? base : "");
  if (!name_is_complete(&full)) return INVALID("Basename: %s should be fully specified.", base);
  s = name_parse_local(name, &result);
  if (s) {
    situ_status_release(s);
    s = name_parse(name, &result);
  }
  if (s) return add_context(s, "", name ? name : "");
  copy_fields(&result, &full, ~present_fields(&result));
  *out = result;
  return NULL;
}

struct device_name name_host_cpu(const struct device_name *name) {
  struct device_name host = {.kind = "CPU", .has_kind = true, .has_index = true};
  copy_fields(&host, name, ADDRESS);
  return host;
}
