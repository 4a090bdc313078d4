/* SPDX-License-Identifier: Apache-2.0
 * kernel.c: statuses of run-time errors of host kernels. */
#include "kernel/kernel.h"

static const struct {
  situ_code code;
  const char *message;
} faults[] = {{SITU_INTERNAL, "A kernel failed"},
#define FAULT_ENTRY(name, code, message) {SITU_##code, message},
              FAULTS(FAULT_ENTRY)
#undef FAULT_ENTRY
};

situ_status kernel_fault(const struct fault *fault) {
  char message[256];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-extra-args"
  snprintf(message, sizeof message, faults[fault->kind].message, (long long)fault->a,
           (long long)fault->b, (long long)fault->c);
#pragma GCC diagnostic pop
  return situ_status_create(faults[fault->kind].code, "%s", message);
}
