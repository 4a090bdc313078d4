/* SPDX-License-Identifier: Apache-2.0
 * oom.c: formats the out-of-memory error of a device: request, usage, largest owners and which
 * option to change. */
#include "device/oom.h"

#include <stdlib.h>
#include <string.h>

enum { N_SHOWN = 5 };

/* All chunks of one op with the same type and shape. */
struct holding {
  const struct allocation_log_holder *holder;
  uint64_t bytes;
  int32_t n_chunks;
};

struct holdings {
  const struct allocation_log *allocation_log;
  struct holding *items;
  int32_t count, capacity;
};

static void add_holding(void *context, const struct bfc_view *view) {
  struct holdings *holdings = context;
  if (!view->used || holdings->count == holdings->capacity) return;
  holdings->items[holdings->count++] = (struct holding){
      .holder = allocation_log_holder(holdings->allocation_log, view->chunk.handle),
      .bytes = view->chunk.size,
      .n_chunks = 1};
}

static int compare_dims(const situ_shape *a, const situ_shape *b) {
  if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
  for (int i = 0; i < a->rank && i < SITU_MAX_RANK; i++)
    if (a->dim[i] != b->dim[i]) return a->dim[i] < b->dim[i] ? -1 : 1;
  return 0;
}

static int compare_holders(const struct allocation_log_holder *a,
                           const struct allocation_log_holder *b) {
  const int by_name = strcmp(a->op, b->op);
  if (by_name) return by_name;
  if (a->type != b->type) return a->type < b->type ? -1 : 1;
  return a->type == SITU_NO_TYPE ? 0 : compare_dims(&a->shape, &b->shape);
}

static int compare_by_holder(const void *a, const void *b) {
  const struct holding *available = a, *right = b;
  return compare_holders(available->holder, right->holder);
}

static int compare_by_bytes(const void *a, const void *b) {
  const struct holding *available = a, *right = b;
  if (available->bytes != right->bytes) return available->bytes > right->bytes ? -1 : 1;
  return compare_holders(available->holder, right->holder);
}

/* Merges the entries of the same op, type and shape, and sorts by descending size. */
static void merge_holdings(struct holdings *holdings) {
  int32_t kept = 0;
  qsort(holdings->items, (size_t)holdings->count, sizeof *holdings->items, compare_by_holder);
  for (int32_t i = 0; i < holdings->count; i++) {
    struct holding *last = kept ? &holdings->items[kept - 1] : NULL;
    if (last && !compare_holders(last->holder, holdings->items[i].holder)) {
      last->bytes += holdings->items[i].bytes;
      last->n_chunks++;
    } else {
      holdings->items[kept++] = holdings->items[i];
    }
  }
  holdings->count = kept;
  qsort(holdings->items, (size_t)kept, sizeof *holdings->items, compare_by_bytes);
}

static void append_holders(struct strbuf *message, const struct oom *oom,
                           const struct bfc_stats *stats) {
  struct holdings holdings = {.allocation_log = oom->allocation_log, .capacity = stats->n_chunks};
  holdings.items = stats->n_chunks ? calloc((size_t)stats->n_chunks, sizeof *holdings.items) : NULL;
  if (!holdings.items) return;
  bfc_visit(oom->bfc, add_holding, &holdings);
  merge_holdings(&holdings);
  strbuf_append(message, "\n  held by");
  for (int32_t i = 0; i < holdings.count && i < N_SHOWN; i++) {
    const struct holding *holding = &holdings.items[i];
    char bytes[32];
    strbuf_appendf(message, "\n    %10s  %s ", strbuf_format_bytes(holding->bytes, bytes),
                   holding->holder->op[0] ? holding->holder->op : "(not named)");
    allocation_log_append_shape(message, holding->holder);
    if (holding->holder->type)
      strbuf_appendf(message, " %s", allocation_log_type_name(holding->holder));
    if (holding->n_chunks > 1) strbuf_appendf(message, ", %d pieces", holding->n_chunks);
  }
  if (holdings.count > N_SHOWN)
    strbuf_appendf(message, "\n    and %d more", holdings.count - N_SHOWN);
  free(holdings.items);
}

static void append_request(struct strbuf *message, const struct oom *oom) {
  struct allocation_log_holder request;
  char bytes[32];
  allocation_log_make_holder(oom->tag, &request);
  if (request.type != SITU_NO_TYPE) {
    strbuf_append(message, "OOM when allocating tensor with ");
    allocation_log_append_shape(message, &request);
    strbuf_appendf(message, " and type %s", allocation_log_type_name(&request));
  } else {
    strbuf_appendf(message, "OOM when allocating %s", strbuf_format_bytes(oom->bytes, bytes));
  }
  strbuf_appendf(message, " on %s by allocator %s", oom->device_name, oom->allocator_name);
  strbuf_appendf(message, "\n  requested: %s", strbuf_format_bytes(oom->bytes, bytes));
  if (request.op[0]) strbuf_appendf(message, " by %s", request.op);
  if (request.step) strbuf_appendf(message, " in step %lld", (long long)request.step);
}

/* Returns the largest size that could be allocated: the largest free chunk, or the memory not yet
 * reserved unless the device has refused it. */
static uint64_t largest_piece(const struct oom *oom, const struct bfc_stats *stats) {
  const uint64_t more = stats->limit - stats->reserved + stats->idle;
  return !oom->refused && more > stats->largest_free ? more : stats->largest_free;
}

static void append_usage(struct strbuf *message, const struct oom *oom,
                         const struct bfc_stats *stats) {
  char a[32], b[32], c[32], d[32];
  const uint64_t available = stats->limit - stats->in_use;
  strbuf_appendf(message, "\n  limit: %s, in use: %s, peak: %s, reserved: %s",
                 strbuf_format_bytes(stats->limit, a), strbuf_format_bytes(stats->in_use, b),
                 strbuf_format_bytes(stats->peak, c), strbuf_format_bytes(stats->reserved, d));
  strbuf_appendf(message,
                 "\n  largest free piece: %s: ", strbuf_format_bytes(largest_piece(oom, stats), a));
  if (oom->refused)
    strbuf_appendf(message, "the device itself refused %s more",
                   strbuf_format_bytes(oom->refused, b));
  else if (oom->bytes <= available)
    strbuf_appendf(message, "fragmentation, %s are free in pieces",
                   strbuf_format_bytes(available, b));
  else
    strbuf_appendf(message, "too little memory, %s are missing",
                   strbuf_format_bytes(oom->bytes - available, b));
}

/* Advises which limit to change so that `need` bytes fit. */
static void append_limit_advice(struct strbuf *message, const struct oom *oom, uint64_t required) {
  char now[32], then[32];
  const double fraction = oom->total ? (double)required / (double)oom->total : 0.0;
  const struct memory_options *options = oom->options;
  if (oom->bound == BOUND_FRACTION && required <= oom->total)
    strbuf_appendf(message, "raise per_process_gpu_memory_fraction from %g to at least %.3f",
                   options->fraction, fraction + 0.0005);
  else if (oom->bound == BOUND_RESERVE && required <= oom->available)
    strbuf_appendf(message, "lower reserve_bytes from %s to at most %s",
                   strbuf_format_bytes(options->reserve_bytes, now),
                   strbuf_format_bytes(oom->available - required, then));
  else if (oom->bound == BOUND_LIMIT && required <= oom->available)
    strbuf_appendf(message, "raise limit_bytes from %s to at least %s",
                   strbuf_format_bytes(options->limit_bytes, now),
                   strbuf_format_bytes(required, then));
  else if (oom->bound == BOUND_DEFAULT && required <= oom->available)
    strbuf_appendf(message, "set limit_bytes to at least %s", strbuf_format_bytes(required, then));
  else
    strbuf_appendf(message, "use a smaller batch: %s are needed and the device has %s",
                   strbuf_format_bytes(required, then), strbuf_format_bytes(oom->total, now));
}

/* Appends the one option to change. */
static void append_advice(struct strbuf *message, const struct oom *oom,
                          const struct bfc_stats *stats) {
  strbuf_append(message, "\n  to change: ");
  if (oom->bytes > stats->limit - stats->in_use)
    append_limit_advice(message, oom, stats->in_use + round_up(oom->bytes, BFC_ALIGNMENT));
  else if (oom->refused)
    strbuf_append(message,
                  "end other programs that hold memory of this device, or use a smaller batch");
  else if (oom->options->growth)
    strbuf_append(message, "set allow_growth to false, so that the memory is one piece");
  else
    strbuf_append(message, "use a smaller batch, so that the pieces in use are smaller");
}

situ_status oom_status(const struct oom *oom) {
  struct strbuf message = {0};
  struct bfc_stats stats;
  bfc_stats(oom->bfc, &stats);
  append_request(&message, oom);
  append_usage(&message, oom, &stats);
  append_holders(&message, oom, &stats);
  append_advice(&message, oom, &stats);
  const situ_status status =
      message.failed ? NO_MEMORY()
                     : situ_status_create(SITU_RESOURCE_EXHAUSTED, "%s", strbuf_get(&message));
  strbuf_free(&message);
  return status;
}
