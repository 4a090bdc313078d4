/* SPDX-License-Identifier: Apache-2.0
 * name.h: device names: `/job:worker/replica:0/task:3/device:GPU:0` and every shorter form.
 *
 * A name has five optional fields; a field that is absent (or `*`) matches anything. It is a plain
 * value without pointers. One parser reads every form; flags select the forms that it accepts.
 */
#ifndef SITU_DEVICE_NAME_H
#define SITU_DEVICE_NAME_H

#include "base/base.h"

enum {
  NAME_JOB_SIZE = 64,  /* capacity of a job name with its terminator; longer ones are an error */
  NAME_KIND_SIZE = 32, /* capacity of a device type with its terminator */
  NAME_SIZE = 160      /* enough for every printed name */
};

/* Zero-initialized has no constraint. Absent fields are 0 or "". */
struct device_name {
  char job[NAME_JOB_SIZE];
  char kind[NAME_KIND_SIZE]; /* TensorFlow's type: "CPU", "GPU", ... */
  int32_t replica, task, index;
  bool has_job, has_replica, has_task, has_kind, has_index;
};

enum name_flags {
  NAME_STRICT = 0,
  NAME_LENIENT = 1,   /* forms accepted by TensorFlow's Python API: `gpu:0`, `cpu`, `/Cpu:0`,
                         `/job:a-b`, `//cpu:0/` */
  NAME_REFERENCE = 2, /* TensorFlow's quirks: the last of two device parts applies, `/device:*:1`
                         has an index and no type, a number is truncated to 32 bits */
  NAME_LITERAL = 4    /* as a Python DeviceSpec: `/job:*` is the string `*`, `/GPU:-1` is -1 */
};

/* Parses a name; "" and "/" have no constraint. InvalidArgument with the position (from 0) if
 * malformed. `out` is written only on success. */
situ_status name_parse(const char *text, struct device_name *out) SITU_MUST_USE;

/* Parses `KIND:INDEX` without a slash, nothing else. */
situ_status name_parse_local(const char *text, struct device_name *out) SITU_MUST_USE;

/* Parses a full name, a local one, or a lenient form (NAME_LENIENT). */
situ_status name_parse_any(const char *text, struct device_name *out) SITU_MUST_USE;

/* Parses a name with `flags` of enum name_flags. */
situ_status name_parse_flags(const char *text, unsigned flags,
                             struct device_name *out) SITU_MUST_USE;

/* Prints the canonical form `/job:J/replica:R/task:T/device:KIND:INDEX` (`*` for an absent index,
 * no device part without a kind) and returns `out`; NAME_SIZE characters always suffice. */
const char *name_print(const struct device_name *name, char *out, size_t size);

/* Prints the form of TensorFlow 1.2, with `/gpu:0` as the device part. */
const char *name_print_legacy(const struct device_name *name, char *out, size_t size);

/* Prints only `/device:KIND:INDEX` and returns `out`; "" without a kind. */
const char *name_local(const struct device_name *name, char *out, size_t size);

/* True if the same fields are present with the same values. */
bool name_equal(const struct device_name *a, const struct device_name *b);

/* True if all five fields are present. */
bool name_is_complete(const struct device_name *name);

/* True if every field of `less` is present in `more` with the same value. */
bool name_is_spec(const struct device_name *less, const struct device_name *more);

/* True if the pattern matches a complete name; false if the second is not complete. */
bool name_matches(const struct device_name *pattern, const struct device_name *complete);

/* True if no field that both have differs. */
bool name_compatible(const struct device_name *a, const struct device_name *b);

/* On conflicting kinds or indices a merge fails, drops them and stops, or takes those of `other`. A
 * conflict of job, replica or task always fails. */
enum name_merge { MERGE_HARD, MERGE_SOFT, MERGE_OVERRIDE };

/* Copies the fields of `other` into `target`. On failure the fields merged so far remain. */
situ_status name_merge(struct device_name *target, const struct device_name *other,
                       enum name_merge how) SITU_MUST_USE;

/* Copies every field of `less` into `more`, overwriting it. */
void name_ensure(struct device_name *more, const struct device_name *less);

/* Merges the names of nested device scopes: fields of `inner` take precedence; an inner kind
 * without an index drops the outer index. `out` may alias either of them. */
void name_nest(const struct device_name *outer, const struct device_name *inner,
               struct device_name *out);

/* Removes job, replica and task. */
void name_clear_task(struct device_name *name);

/* True if job, replica and task are present in both and equal. */
bool name_same_address_space(const struct device_name *a, const struct device_name *b);

/* True if job, replica or task is present in both and differs. */
bool name_different_address_space(const struct device_name *a, const struct device_name *b);

/* Prints the part up to the task ("" if absent) and `KIND:INDEX`, both of capacity NAME_SIZE.
 * Returns false (nothing written) if kind or index is absent. */
bool name_split(const struct device_name *name, char *task, char *device);

/* Parses a local or full name and fills its absent fields from `base`, which must be complete. */
situ_status name_canonicalize(const char *name, const char *base,
                              struct device_name *out) SITU_MUST_USE;

/* Prints both full forms of a complete name (canonical and legacy, capacity NAME_SIZE). Returns
 * false (nothing written) if it is not complete. */
bool name_mapping(const struct device_name *name, char *canonical, char *legacy);

/* Returns CPU:0 in the address space of a name. */
struct device_name name_host_cpu(const struct device_name *name);

#endif
