/* SPDX-License-Identifier: Apache-2.0
 * memory_snapshot.h: a device's memory as JSON, in the form of PyTorch's memory snapshots. */
#ifndef SITU_DEVICE_MEMORY_SNAPSHOT_H
#define SITU_DEVICE_MEMORY_SNAPSHOT_H

#include "device/bfc.h"
#include "device/allocation_log.h"

/* Appends one JSON object: "segments" with their "blocks", "device_traces" (the events, oldest
 * first), and the figures of `stats`. A block or event names who holds it in "op", "type", "shape",
 * "step", and in "frames" for PyTorch's viewer. */
void memory_snapshot_write(struct strbuf *out, const char *device_name, const char *allocator_name,
                           const struct bfc *bfc, const struct allocation_log *allocation_log,
                           const struct memory_stats *stats);

#endif
