/* SPDX-License-Identifier: Apache-2.0
 * memory_snapshot.h: writes the state of a device's memory as JSON in the format of PyTorch's
 * memory snapshots. */
#ifndef SITU_DEVICE_MEMORY_SNAPSHOT_H
#define SITU_DEVICE_MEMORY_SNAPSHOT_H

#include "device/bfc.h"
#include "device/allocation_log.h"

/* Appends one JSON object: "segments" with their "blocks", "device_traces" (the events, oldest
 * first) and the statistics. A block or event names its owner in "op", "type", "shape", "step", and
 * in "frames" for PyTorch's viewer. */
void memory_snapshot_write(struct strbuf *out, const char *device_name, const char *allocator_name,
                           const struct bfc *bfc, const struct allocation_log *allocation_log,
                           const struct memory_stats *stats);

#endif
