/* SPDX-License-Identifier: Apache-2.0
 * snapshot.c: a device's memory as JSON, in the form of PyTorch's memory snapshots. */
#include "device/snapshot.h"

#include <inttypes.h>

#include "base/json.h"

struct writer {
  struct text *out;
  const struct ledger *ledger;
  uint64_t region; /* address of the segment that is open */
  bool open;
  /* of the open segment: */
  uint64_t bytes, used, requested;
};

static void add_holder(struct text *out, const struct ledger_holder *holder) {
  text_add(out, ", \"frames\": [");
  if (holder->op[0]) {
    text_add(out, "{\"name\": ");
    json_write_string(out, holder->op);
    text_addf(out, ", \"filename\": \"step\", \"line\": %" PRId64 "}", holder->step);
  }
  text_add(out, "]");
  if (!holder->op[0] && holder->type == SITU_NO_TYPE) return;
  text_add(out, ", \"op\": ");
  json_write_string(out, holder->op);
  text_addf(out, ", \"step\": %" PRId64, holder->step);
  if (holder->type == SITU_NO_TYPE) return;
  text_addf(out, ", \"type\": \"%s\", \"shape\": [", ledger_type(holder));
  for (int i = 0; i < holder->shape.rank && i < SITU_MAX_RANK; i++)
    text_addf(out, "%s%" PRId64, i ? ", " : "", holder->shape.dim[i]);
  text_add(out, "]");
}

static void end_segment(struct writer *writer) {
  if (!writer->open) return;
  text_addf(writer->out,
            "], \"total_size\": %" PRIu64 ", \"allocated_size\": %" PRIu64
            ", \"active_size\": %" PRIu64 ", \"requested_size\": %" PRIu64 "}",
            writer->bytes, writer->used, writer->used, writer->requested);
}

static void begin_segment(struct writer *writer, const struct bfc_view *view) {
  text_addf(writer->out,
            "%s{\"device\": 0, \"address\": %" PRIu64
            ", \"stream\": 0, \"segment_type\": \"large\", \"blocks\": [",
            writer->open ? ", " : "", view->region_address);
  writer->open = true;
  writer->region = view->region_address;
  writer->bytes = view->region_bytes;
  writer->used = writer->requested = 0;
}

static void add_block(void *context, const struct bfc_view *view) {
  struct writer *writer = context;
  const bool first = !writer->open || writer->region != view->region_address;
  if (first) {
    end_segment(writer);
    begin_segment(writer, view);
  }
  text_addf(writer->out,
            "%s{\"address\": %" PRIu64
            ", \"size\": %zu, \"requested_size\": %zu, \"state\": \"%s\"",
            first ? "" : ", ", view->piece.address, view->piece.size, view->piece.requested,
            view->used ? "active_allocated" : "inactive");
  if (view->used) {
    writer->used += view->piece.size;
    writer->requested += view->piece.requested;
    add_holder(writer->out, ledger_holder(writer->ledger, view->piece.handle));
  }
  text_add(writer->out, "}");
}

static void add_events(struct text *out, const struct ledger *ledger) {
  const struct ledger_moment now = ledger_now();
  const int64_t first = max_i64(0, ledger->n_events - LEDGER_EVENTS);
  for (int64_t i = first; i < ledger->n_events; i++) {
    const struct ledger_event *event = &ledger->events[i % LEDGER_EVENTS];
    text_addf(out,
              "%s{\"action\": \"%s\", \"addr\": %" PRIu64 ", \"size\": %" PRIu64
              ", \"stream\": 0, \"time_us\": %" PRId64,
              i > first ? ", " : "", ledger_word(event->kind), event->address, event->bytes,
              ledger_time(ledger, event, now) / 1000);
    add_holder(out, &event->holder);
    text_add(out, "}");
  }
}

static void add_stats(struct text *out, const struct memory_stats *stats) {
  text_addf(out,
            "\"stats\": {\"current\": %" PRIu64 ", \"peak\": %" PRIu64 ", \"requested\": %" PRIu64
            ", \"reserved\": %" PRIu64 ", \"limit\": %" PRIu64 ", \"largest_free\": %" PRIu64
            ", \"idle\": %" PRIu64 ", \"num_allocs\": %" PRId64 ", \"num_ooms\": %" PRId64 "}",
            stats->current, stats->peak, stats->requested, stats->reserved, stats->limit,
            stats->largest_free, stats->idle, stats->allocations, stats->failures);
}

void snapshot_write(struct text *out, const char *device_name, const char *allocator_name,
                    const struct bfc *bfc, const struct ledger *ledger,
                    const struct memory_stats *stats) {
  struct writer writer = {.out = out, .ledger = ledger};
  text_add(out, "{\"device\": ");
  json_write_string(out, device_name);
  text_add(out, ", \"allocator\": ");
  json_write_string(out, allocator_name);
  text_add(out, ", ");
  add_stats(out, stats);
  text_add(out, ", \"segments\": [");
  bfc_walk(bfc, add_block, &writer);
  end_segment(&writer);
  text_add(out, "], \"device_traces\": [[");
  add_events(out, ledger);
  text_add(out, "]]}");
}
