/* SPDX-License-Identifier: Apache-2.0
 * host_memory.c: see host_memory.h. */
#include "device/host_memory.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/huge_pages.h"
#include "base/parse_size.h"
#include "base/strbuf.h"
#include "device/allocation_log.h"

static _Atomic uint64_t limit, in_use;
static _Atomic(uint64_t (*)(void)) reclaimer;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* environment_check reports a value that is not a size. */
static void read_environment(void) {
  const char *value = getenv("SITU_HOST_MEMORY");
  uint64_t bytes = 0;
  if (value && *value) situ_status_release(parse_size(value, &bytes));
  limit = bytes;
}

static uint64_t get_limit(void) {
  pthread_once(&once, read_environment);
  return limit;
}

uint64_t host_memory_in_use(void) { return in_use; }

void host_memory_set_limit(uint64_t bytes) {
  pthread_once(&once, read_environment);
  limit = bytes;
}

void host_memory_set_reclaimer(uint64_t (*reclaim)(void)) { reclaimer = reclaim; }

/* Counts the bytes, unless they exceed the limit. */
static bool reserve(size_t bytes) {
  const uint64_t most = get_limit();
  const uint64_t used = atomic_fetch_add(&in_use, bytes) + bytes;
  if (!most || used <= most) return true;
  atomic_fetch_sub(&in_use, bytes);
  return false;
}

static void *try_alloc(size_t bytes, size_t alignment) {
  if (!reserve(bytes)) return NULL;
  void *memory = huge_pages_alloc(bytes, alignment);
  if (!memory) atomic_fetch_sub(&in_use, bytes);
  return memory;
}

void *host_memory_alloc(size_t bytes, size_t alignment) {
  void *memory = try_alloc(bytes, alignment);
  if (memory) return memory;
  uint64_t (*const reclaim)(void) = reclaimer;
  if (!reclaim || !reclaim()) return NULL;
  return try_alloc(bytes, alignment);
}

void host_memory_free(void *memory, size_t bytes) {
  huge_pages_free(memory, bytes);
  atomic_fetch_sub(&in_use, bytes);
}

static void append_tag(struct strbuf *text, const struct memory_tag *tag) {
  struct allocation_log_holder holder;
  allocation_log_make_holder(tag, &holder);
  if (tag->type != SITU_NO_TYPE) {
    strbuf_append(text, " tensor with ");
    allocation_log_append_shape(text, &holder);
    strbuf_appendf(text, " and type %s", allocation_log_type_name(&holder));
  }
}

situ_status host_memory_oom(size_t bytes, const struct memory_tag *tag) {
  char requested[32], most[32], used[32];
  struct strbuf text = {0};
  strbuf_append(&text, "OOM when allocating");
  if (tag) append_tag(&text, tag);
  strbuf_append(&text, " in host memory");
  strbuf_appendf(&text, "\n  requested: %s%s%s", strbuf_format_bytes(bytes, requested),
                 tag && tag->op ? " by " : "", tag && tag->op ? tag->op : "");
  if (get_limit())
    strbuf_appendf(&text,
                   "\n  limit: %s (SITU_HOST_MEMORY), in use: %s"
                   "\n  to change: raise SITU_HOST_MEMORY, or use a smaller batch",
                   strbuf_format_bytes(limit, most), strbuf_format_bytes(in_use, used));
  else
    strbuf_appendf(&text, "\n  in use: %s: the host has too little memory",
                   strbuf_format_bytes(in_use, used));
  const situ_status status =
      text.failed ? NO_MEMORY()
                  : situ_status_create(SITU_RESOURCE_EXHAUSTED, "%s", strbuf_get(&text));
  strbuf_free(&text);
  return status;
}
