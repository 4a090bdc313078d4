/* SPDX-License-Identifier: Apache-2.0
 * visible.h: which of the GPUs that are there a program sees, and in which order. */
#ifndef SITU_DEVICE_VISIBLE_H
#define SITU_DEVICE_VISIBLE_H

#include "base/base.h"

enum { VISIBLE_NOTE_SIZE = 256 };

/* How the user may point at a GPU besides its index. Texts may be NULL or "". Borrowed. */
struct visible_device {
  const char *bus_id; /* "0000:05:00.0" */
  const char *unit;   /* its UUID: "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6" */
};

/* What the environment says: the value of SITU_VISIBLE_DEVICES, else of CUDA_VISIBLE_DEVICES, else
 * NULL. `*variable` gets the name of the one that is set (static), else NULL. */
const char *visible_environment(const char **variable);

/* Applies such a value to `count` devices in the order of the bus; writes the indices of the
 * visible ones, in their new order, to `out` (room for `count`) and returns how many. As CUDA does
 * it: NULL shows all, "" none; a comma list names indices, UUIDs ("GPU-" and as many digits as tell
 * it from the others) or, beyond CUDA, bus ids ("0000:05:00.0", "05:00.0"); the list ends at the
 * first entry that names no device; an entry that repeats a device hides all. Blanks and one pair
 * of quotes around the value are passed over. `note` gets the sentence to say once when the list
 * was cut (a negative index at the end of the list is CUDA's way to cut it, and needs none), else
 * "". */
int visible_mask(const char *variable, const char *value, const struct visible_device *devices,
                 int count, int *out, char note[VISIBLE_NOTE_SIZE]);

/* gpu_options.visible_device_list over `count` visible devices: "" (or NULL) is all of them, else a
 * comma list of indices in the order wanted, written to `out` (room for `count`). TensorFlow's
 * three errors: an entry that is no number, one that is out of range, one that comes twice. */
situ_status visible_list(const char *list, int count, int *out, int *n_out) SITU_MUST_USE;

/* ConfigProto.device_count: the first `wanted` of `count` devices; all where it is negative. */
int visible_keep(int count, int wanted);

#endif
