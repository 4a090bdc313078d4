/* SPDX-License-Identifier: Apache-2.0
 * visible.h: selects and orders the GPUs that a program sees: CUDA_VISIBLE_DEVICES,
 * visible_device_list, device_count. */
#ifndef SITU_DEVICE_VISIBLE_H
#define SITU_DEVICE_VISIBLE_H

#include "base/base.h"

enum { VISIBLE_NOTE_SIZE = 256 };

/* Identifies a GPU other than by its index. Strings may be NULL or "". Borrowed. */
struct visible_device {
  const char *bus_id; /* "0000:05:00.0" */
  const char *uuid;   /* "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6" */
};

/* Returns the value of SITU_VISIBLE_DEVICES, else of CUDA_VISIBLE_DEVICES, else NULL. `*variable`
 * is set to the name of the variable, or NULL. */
const char *visible_environment(const char **variable);

/* Applies such a value to `count` devices in bus order. Writes the indices of the visible ones, in
 * their new order, to `out` (room for `count`) and returns their number. As in CUDA: NULL shows
 * all, "" none; a comma list names indices, UUIDs (a unique prefix of "GPU-...") or, beyond CUDA,
 * bus ids ("0000:05:00.0", "05:00.0"); the list ends at the first entry that names no device; a
 * repeated device hides all. Ignores blanks and one pair of quotes around the value. `note` is set
 * to a warning if the list was truncated (except by a negative index at its end, which is CUDA's
 * idiom), else to "". */
int visible_mask(const char *variable, const char *value, const struct visible_device *devices,
                 int count, int *out, char note[VISIBLE_NOTE_SIZE]);

/* Applies gpu_options.visible_device_list to `count` visible devices: "" (or NULL) selects all,
 * else a comma list of indices, written to `out` (room for `count`). Fails with TensorFlow's errors
 * for an entry that is not a number, out of range or repeated. */
situ_status visible_list(const char *list, int count, int *out, int *n_out) SITU_MUST_USE;

/* ConfigProto.device_count: keeps the first `wanted` of `count` devices; all if negative. */
int visible_keep(int count, int requested);

#endif
