/* SPDX-License-Identifier: Apache-2.0
 * limit.c: computes the memory limit of a device: one formula per option. */
#include "device/limit.h"

#include "base/strbuf.h"

static const uint64_t MIB = 1 << 20;

uint64_t limit_default(uint64_t available) {
  const uint64_t fraction_reserve = (uint64_t)((double)available * 0.05);
  const uint64_t large_reserve = fraction_reserve > 300 * MIB ? fraction_reserve : 300 * MIB;
  const uint64_t reserve = available < 2048 * MIB ? 225 * MIB : large_reserve;
  return reserve < available ? available - reserve : available;
}

situ_status limit_fraction(uint64_t total, double fraction, int capability_major, uint64_t *out) {
  if (!(fraction > 0))
    return INVALID("The memory fraction is %g; expected a number above 0.", fraction);
  if (fraction > 1 && capability_major < 6)
    return INTERNAL(
        "Unified memory on GPUs with compute capability lower than 6.0 (pre-Pascal class GPUs) "
        "does not support oversubscription.");
  if (fraction > 1)
    return situ_status_create(
        SITU_UNIMPLEMENTED,
        "The memory fraction is %g; more than 1 asks for unified memory, which is not supported.",
        fraction);
  *out = (uint64_t)((double)total * fraction);
  return *out ? NULL
              : INVALID("The memory fraction %g of a device with %llu bytes is less than a byte.",
                        fraction, (unsigned long long)total);
}

situ_status limit_bytes(uint64_t available, uint64_t bytes, uint64_t *out) {
  if (!bytes) return INVALID("The memory limit must be above 0 bytes.");
  *out = bytes < available ? bytes : available;
  return NULL;
}

situ_status limit_reserve(uint64_t available, uint64_t reserve, uint64_t *out) {
  if (reserve >= available) {
    char a[32], b[32];
    return situ_status_create(SITU_RESOURCE_EXHAUSTED,
                              "%s are to stay free on the device, but only %s are free now.",
                              strbuf_format_bytes(reserve, a), strbuf_format_bytes(available, b));
  }
  *out = available - reserve;
  return NULL;
}
