/* SPDX-License-Identifier: Apache-2.0
 * memory_snapshot.c: writes the state of a device's memory as JSON in the format of PyTorch's
 * memory snapshots. */
#include "device/memory_snapshot.h"

#include <inttypes.h>

#include "base/json.h"

struct writer {
  struct strbuf *out;
  const struct allocation_log *allocation_log;
  uint64_t region; /* address of the open segment */
  bool is_open;
  /* totals of the open segment: */
  uint64_t bytes, allocated, requested;
};

static void add_holder(struct strbuf *out, const struct allocation_log_holder *holder) {
  strbuf_append(out, ", \"frames\": [");
  if (holder->op[0]) {
    strbuf_append(out, "{\"name\": ");
    json_write_string(out, holder->op);
    strbuf_appendf(out, ", \"filename\": \"step\", \"line\": %" PRId64 "}", holder->step);
  }
  strbuf_append(out, "]");
  if (!holder->op[0] && holder->type == SITU_NO_TYPE) return;
  strbuf_append(out, ", \"op\": ");
  json_write_string(out, holder->op);
  strbuf_appendf(out, ", \"step\": %" PRId64, holder->step);
  if (holder->type == SITU_NO_TYPE) return;
  strbuf_appendf(out, ", \"type\": \"%s\", \"shape\": [", allocation_log_type_name(holder));
  for (int i = 0; i < holder->shape.rank && i < SITU_MAX_RANK; i++)
    strbuf_appendf(out, "%s%" PRId64, i ? ", " : "", holder->shape.dim[i]);
  strbuf_append(out, "]");
}

static void end_segment(struct writer *writer) {
  if (!writer->is_open) return;
  strbuf_appendf(writer->out,
                 "], \"total_size\": %" PRIu64 ", \"allocated_size\": %" PRIu64
                 ", \"active_size\": %" PRIu64 ", \"requested_size\": %" PRIu64 "}",
                 writer->bytes, writer->allocated, writer->allocated, writer->requested);
}

static void begin_segment(struct writer *writer, const struct bfc_view *view) {
  strbuf_appendf(writer->out,
                 "%s{\"device\": 0, \"address\": %" PRIu64
                 ", \"stream\": 0, \"segment_type\": \"large\", \"blocks\": [",
                 writer->is_open ? ", " : "", view->region_address);
  writer->is_open = true;
  writer->region = view->region_address;
  writer->bytes = view->region_bytes;
  writer->allocated = writer->requested = 0;
}

static void add_block(void *context, const struct bfc_view *view) {
  struct writer *writer = context;
  const bool first = !writer->is_open || writer->region != view->region_address;
  if (first) {
    end_segment(writer);
    begin_segment(writer, view);
  }
  strbuf_appendf(writer->out,
                 "%s{\"address\": %" PRIu64
                 ", \"size\": %zu, \"requested_size\": %zu, \"state\": \"%s\"",
                 first ? "" : ", ", view->chunk.address, view->chunk.size, view->chunk.requested,
                 view->used ? "active_allocated" : "inactive");
  if (view->used) {
    writer->allocated += view->chunk.size;
    writer->requested += view->chunk.requested;
    add_holder(writer->out, allocation_log_holder(writer->allocation_log, view->chunk.handle));
  }
  strbuf_append(writer->out, "}");
}

static void add_events(struct strbuf *out, const struct allocation_log *allocation_log) {
  const struct allocation_log_clock now = allocation_log_now();
  const int64_t first = max_i64(0, allocation_log->n_events - ALLOCATION_LOG_EVENTS);
  for (int64_t i = first; i < allocation_log->n_events; i++) {
    const struct allocation_log_event *event = &allocation_log->events[i % ALLOCATION_LOG_EVENTS];
    strbuf_appendf(out,
                   "%s{\"action\": \"%s\", \"addr\": %" PRIu64 ", \"size\": %" PRIu64
                   ", \"stream\": 0, \"time_us\": %" PRId64,
                   i > first ? ", " : "", allocation_log_action(event->kind), event->address,
                   event->bytes, allocation_log_time(allocation_log, event, now) / 1000);
    add_holder(out, &event->holder);
    strbuf_append(out, "}");
  }
}

static void add_stats(struct strbuf *out, const struct memory_stats *stats) {
  strbuf_appendf(out,
                 "\"stats\": {\"current\": %" PRIu64 ", \"peak\": %" PRIu64
                 ", \"requested\": %" PRIu64 ", \"reserved\": %" PRIu64 ", \"limit\": %" PRIu64
                 ", \"largest_free\": %" PRIu64 ", \"idle\": %" PRIu64 ", \"num_allocs\": %" PRId64
                 ", \"num_ooms\": %" PRId64 "}",
                 stats->current, stats->peak, stats->requested, stats->reserved, stats->limit,
                 stats->largest_free, stats->idle, stats->allocations, stats->failures);
}

void memory_snapshot_write(struct strbuf *out, const char *device_name, const char *allocator_name,
                           const struct bfc *bfc, const struct allocation_log *allocation_log,
                           const struct memory_stats *stats) {
  struct writer writer = {.out = out, .allocation_log = allocation_log};
  strbuf_append(out, "{\"device\": ");
  json_write_string(out, device_name);
  strbuf_append(out, ", \"allocator\": ");
  json_write_string(out, allocator_name);
  strbuf_append(out, ", ");
  add_stats(out, stats);
  strbuf_append(out, ", \"segments\": [");
  bfc_visit(bfc, add_block, &writer);
  end_segment(&writer);
  strbuf_append(out, "], \"device_traces\": [[");
  add_events(out, allocation_log);
  strbuf_append(out, "]]}");
}
