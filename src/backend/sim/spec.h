/* SPDX-License-Identifier: Apache-2.0
 * spec.h: simulated GPUs as the user asks for them: SITU_SIM_GPUS, --gpus, the config.
 *
 * The text is a count (`4`), or a comma list of NAME[@PCI][=MEMORY][;KEY=VALUE]..., for example
 *
 *   Tesla K40c@0000:05:00.0=12GiB;flops=4.3T;bandwidth=288G
 *
 * A name may not hold `,@=;` and is not all digits. Keys: `flops` (per second), `bandwidth` and
 * `link` (bytes per second, of its memory and to the host and its peers), numbers that may end in
 * K, M, G or T, for the virtual clock; `fail_alloc=N`: the Nth allocation of its memory fails;
 * `lost_after=N`: the device is lost after N kernels.
 */
#ifndef SITU_BACKEND_SIM_SPEC_H
#define SITU_BACKEND_SIM_SPEC_H

#include "base/base.h"

enum { SIM_MAX = 64 }; /* simulated GPUs in a process */

/* Zero is "not given", but for model, bus id and memory, which have defaults. */
struct sim_spec {
  char model[64];
  char bus_id[32]; /* "0000:05:00.0" */
  uint64_t memory; /* bytes */
  double flops, bandwidth, link;
  int64_t fail_alloc, lost_after;
};

/* Reads the text into `out`, which has room for SIM_MAX. An empty text (or NULL) is a count of 0. A
 * wrong one is InvalidArgument; the message shows the text with a mark under the place. A GPU
 * without a bus id gets 0000:BB:00.0 where BB is its number in the list from 1, or the next that
 * nobody has; without memory, 8 GiB. Two with one bus id are an error. */
situ_status sim_spec_parse(const char *text, struct sim_spec *out, int *count) SITU_MUST_USE;

#endif
