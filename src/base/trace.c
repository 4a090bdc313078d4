/* SPDX-License-Identifier: Apache-2.0
 * trace.c: collects profiling records and writes them in the Chrome trace event format. */
#include "base/trace.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/json.h"

struct situ_trace {
  pthread_mutex_t lock;
  struct arena strings;
  situ_trace_record *records;
  int count, capacity;
  int64_t clock_offset; /* offset from the monotonic to the real-time clock */
};

_Atomic(situ_trace *) global_trace;

static int64_t read_clock(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

int64_t trace_now(void) { return read_clock(CLOCK_MONOTONIC); }

situ_status situ_trace_create(situ_trace **out) {
  if (!out) return INVALID("situ_trace_create: `out` is NULL.");
  *out = calloc(1, sizeof **out);
  if (!*out) return NO_MEMORY();
  pthread_mutex_init(&(*out)->lock, NULL);
  (*out)->clock_offset = read_clock(CLOCK_REALTIME) - trace_now();
  return NULL;
}

void situ_trace_set_global(situ_trace *trace) { atomic_store(&global_trace, trace); }

void situ_trace_release(situ_trace *trace) {
  if (!trace) return;
  situ_trace *copy = trace;
  atomic_compare_exchange_strong(&global_trace, &copy, NULL);
  arena_free(&trace->strings);
  pthread_mutex_destroy(&trace->lock);
  free(trace->records);
  free(trace);
}

/* Returns the string as stored by one of the last records, or a copy. */
static const char *intern(situ_trace *trace, const char *text) {
  if (!text) return NULL;
  for (int i = trace->count - 1; i >= 0 && i > trace->count - 9; i--) {
    const situ_trace_record *recent = &trace->records[i];
    const char *const strings[] = {recent->device, recent->op, recent->from};
    for (size_t k = 0; k < COUNT_OF(strings); k++)
      if (strings[k] && !strcmp(strings[k], text)) return strings[k];
  }
  return arena_strndup(&trace->strings, text, strlen(text));
}

static bool grow(situ_trace *trace) {
  if (trace->count < trace->capacity) return true;
  const int capacity = trace->capacity ? trace->capacity * 2 : 64;
  situ_trace_record *grown = realloc(trace->records, sizeof *grown * (size_t)capacity);
  if (!grown) return false;
  trace->records = grown;
  trace->capacity = capacity;
  return true;
}

void trace_add(situ_trace *trace, const situ_trace_record *record) {
  pthread_mutex_lock(&trace->lock);
  if (grow(trace)) {
    situ_trace_record *copy = &trace->records[trace->count];
    *copy = *record;
    copy->node = intern(trace, record->node);
    copy->op = intern(trace, record->op);
    copy->device = intern(trace, record->device);
    copy->from = intern(trace, record->from);
    copy->start_ns += trace->clock_offset;
    copy->end_ns += trace->clock_offset;
    if (copy->node && copy->op && copy->device) trace->count++;
  }
  pthread_mutex_unlock(&trace->lock);
}

const situ_trace_record *situ_trace_records(const situ_trace *trace, int *count) {
  if (count) *count = trace ? trace->count : 0;
  return trace ? trace->records : NULL;
}

/* ---- Chrome trace format ---- */

/* Returns the process id of a record's device: the index of the first record with it. */
static int get_process_id(const situ_trace *trace, int index) {
  int i = 0;
  while (strcmp(trace->records[i].device, trace->records[index].device) != 0) i++;
  return i;
}

static void write_names(const situ_trace *trace, struct strbuf *out) {
  static const char *const queues[] = {"compute", "copies in", "copies out"};
  for (int i = 0; i < trace->count; i++) {
    if (get_process_id(trace, i) != i) continue;
    strbuf_appendf(out,
                   "{\"ph\":\"M\",\"pid\":%d,\"name\":\"process_name\",\"args\":{\"name\":", i);
    json_write_string(out, trace->records[i].device);
    strbuf_append(out, "}},\n");
    for (size_t q = 0; q < COUNT_OF(queues); q++)
      strbuf_appendf(out,
                     "{\"ph\":\"M\",\"pid\":%d,\"tid\":%zu,\"name\":\"thread_name\","
                     "\"args\":{\"name\":\"%s\"}},\n",
                     i, q, queues[q]);
  }
}

static void write_record(const situ_trace *trace, int index, struct strbuf *out) {
  const situ_trace_record *record = &trace->records[index];
  const double start = (double)(record->start_ns - trace->records[0].start_ns) / 1e3;
  const double duration = (double)(record->end_ns - record->start_ns) / 1e3;
  strbuf_append(out, "{\"ph\":\"X\",\"cat\":\"op\",\"name\":");
  json_write_string(out, record->op);
  strbuf_appendf(out, ",\"pid\":%d,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f,\"args\":{\"name\":",
                 get_process_id(trace, index), record->queue, start, duration);
  json_write_string(out, record->node);
  if (record->from) {
    strbuf_append(out, ",\"from\":");
    json_write_string(out, record->from);
    strbuf_appendf(out, ",\"bytes\":%llu", (unsigned long long)record->bytes);
  }
  strbuf_appendf(out, "}}%s\n", index + 1 < trace->count ? "," : "");
}

situ_status situ_trace_write(const situ_trace *trace, FILE *stream) {
  if (!trace || !stream) return INVALID("situ_trace_write: an argument is NULL.");
  struct strbuf text = {0};
  strbuf_append(&text, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
  write_names(trace, &text);
  for (int i = 0; i < trace->count; i++) write_record(trace, i, &text);
  strbuf_append(&text, "]}\n");
  const bool ok = !text.failed && fwrite(strbuf_get(&text), 1, text.length, stream) == text.length;
  strbuf_free(&text);
  return ok ? NULL : situ_status_create(SITU_UNKNOWN, "Cannot write the trace.");
}
