/* SPDX-License-Identifier: Apache-2.0
 * spec.h: parses the specification of simulated GPUs: SITU_SIM_GPUS, --gpus, the config.
 *
 * A specification is a count (`4`), or a comma list of NAME[@PCI][=MEMORY][;KEY=VALUE]..., for
 * example
 *
 *   Tesla K40c@0000:05:00.0=12GiB;flops=4.3T;bandwidth=288G
 *
 * A name does not contain `,@=;` and is not all digits. Keys: `flops` (per second), `bandwidth` and
 * `link` (bytes per second, of its memory and to the host and its peers), numbers with an optional
 * suffix K, M, G or T, for the virtual clock; `fail_alloc=N`: the Nth allocation of its memory
 * fails; `lost_after=N`: the device is lost after N kernels.
 */
#ifndef SITU_BACKEND_SIM_SPEC_H
#define SITU_BACKEND_SIM_SPEC_H

#include "base/base.h"

enum { SIM_MAX = 64 }; /* maximum number of simulated GPUs */

/* Zero means not set, except for model, bus id and memory, which have defaults. */
struct sim_spec {
  char model[64];
  char bus_id[32]; /* "0000:05:00.0" */
  uint64_t memory; /* bytes */
  double flops, bandwidth, link;
  int64_t fail_alloc, lost_after;
};

/* Parses `text` into `out`, which has room for SIM_MAX. Empty or NULL is a count of 0.
 * InvalidArgument if malformed; the message shows the text with a caret at the position. The
 * default bus id is 0000:BB:00.0 with BB the index from 1, or the next free one; the default memory
 * is 8 GiB. Duplicate bus ids are an error. */
situ_status sim_spec_parse(const char *text, struct sim_spec *out, int *count) SITU_MUST_USE;

#endif
