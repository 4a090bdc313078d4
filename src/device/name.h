/* SPDX-License-Identifier: Apache-2.0
 * name.h: device names: `/job:worker/replica:0/task:3/device:GPU:0` and every shorter form.
 *
 * A name is a value of five optional fields; a field that is absent (or was written `*`) stands for
 * anything. It owns nothing: copy it, throw it away. One parser reads every form; flags say which
 * forms it takes.
 */
#ifndef SITU_DEVICE_NAME_H
#define SITU_DEVICE_NAME_H

#include "base/base.h"

enum {
  NAME_JOB_SIZE = 64,  /* of a job's text, with its 0; a longer one is an error */
  NAME_KIND_SIZE = 32, /* of a kind's text, with its 0 */
  NAME_SIZE = 160      /* holds every printed name */
};

/* Zero is the name without any constraint. Absent fields are 0 or "". */
struct device_name {
  char job[NAME_JOB_SIZE];
  char kind[NAME_KIND_SIZE]; /* TensorFlow's type: "CPU", "GPU", ... */
  int32_t replica, task, index;
  bool has_job, has_replica, has_task, has_kind, has_index;
};

enum name_flags {
  NAME_STRICT = 0,
  NAME_LENIENT = 1,   /* what Python takes: `gpu:0`, `cpu`, `/Cpu:0`, `/job:a-b`, `//cpu:0/` */
  NAME_REFERENCE = 2, /* TensorFlow's slips: the last of two device parts counts, `/device:*:1` has
                         an index and no kind, a number is cut to 32 bits */
  NAME_LITERAL = 4 /* what a Python DeviceSpec keeps: `/job:*` as the text `*`, `/GPU:-1` as -1 */
};

/* Reads a name; "" and "/" are the name without any constraint. A malformed text is
 * InvalidArgument; its message gives the place, counted from 0. `out` is written only on success.
 */
situ_status name_parse(const char *text, struct device_name *out) SITU_MUST_USE;

/* Reads `KIND:INDEX` without a slash, nothing else. */
situ_status name_parse_local(const char *text, struct device_name *out) SITU_MUST_USE;

/* Reads what a user may write: a full name, a local one, or a lenient form (NAME_LENIENT). */
situ_status name_parse_any(const char *text, struct device_name *out) SITU_MUST_USE;

/* The parser behind the others; `flags` of enum name_flags. */
situ_status name_parse_flags(const char *text, unsigned flags,
                             struct device_name *out) SITU_MUST_USE;

/* Writes the canonical form `/job:J/replica:R/task:T/device:KIND:INDEX` (`*` for an absent index,
 * no device part without a kind) and returns `out`; NAME_SIZE characters are always enough. */
const char *name_print(const struct device_name *name, char *out, size_t size);

/* The same in the form of TensorFlow 1.2: the device part is `/gpu:0`. */
const char *name_print_legacy(const struct device_name *name, char *out, size_t size);

/* Writes `/device:KIND:INDEX` alone and returns `out`; "" without a kind. */
const char *name_local(const struct device_name *name, char *out, size_t size);

/* The same fields are present, with the same values. */
bool name_equal(const struct device_name *a, const struct device_name *b);

/* Any field is present. */
bool name_has_details(const struct device_name *name);

/* All five fields are present. */
bool name_is_complete(const struct device_name *name);

/* Every field of `less` is present in `more`, with the same value. */
bool name_is_spec(const struct device_name *less, const struct device_name *more);

/* The pattern is a specification of a name that is complete; false where the second is not. */
bool name_matches(const struct device_name *pattern, const struct device_name *complete);

/* No field that both have differs. */
bool name_compatible(const struct device_name *a, const struct device_name *b);

/* What a merge does when kinds or indices conflict: fail; drop them and stop; take the other's. A
 * conflict of job, replica or task always fails. */
enum name_merge { MERGE_HARD, MERGE_SOFT, MERGE_OVERRIDE };

/* Copies the fields of `other` into `target`. A failure leaves what was merged so far. */
situ_status name_merge(struct device_name *target, const struct device_name *other,
                       enum name_merge how) SITU_MUST_USE;

/* Copies every field of `less` into `more`, over what is there. */
void name_ensure(struct device_name *more, const struct device_name *less);

/* What a device scope inside another one yields: fields of `inner` win; an inner kind without an
 * index drops the outer index. `out` may be either of them. */
void name_nest(const struct device_name *outer, const struct device_name *inner,
               struct device_name *out);

/* Removes job, replica and task. */
void name_clear_task(struct device_name *name);

/* Job, replica and task are present in both and equal. */
bool name_same_address_space(const struct device_name *a, const struct device_name *b);

/* Job, replica or task is present in both and differs. */
bool name_different_address_space(const struct device_name *a, const struct device_name *b);

/* Writes the part up to the task ("" where there is none) and `KIND:INDEX`, both NAME_SIZE long;
 * false (nothing written) where kind or index is absent. */
bool name_split(const struct device_name *name, char *task, char *device);

/* Reads a local or full name and fills what it lacks from `base`, which must be complete. */
situ_status name_canonicalize(const char *name, const char *base,
                              struct device_name *out) SITU_MUST_USE;

/* Writes both full forms of a complete name (canonical and legacy, NAME_SIZE each); false (nothing
 * written) where it is not complete. */
bool name_mapping(const struct device_name *name, char *canonical, char *legacy);

/* CPU:0 in the address space of a name. */
struct device_name name_host_cpu(const struct device_name *name);

#endif
