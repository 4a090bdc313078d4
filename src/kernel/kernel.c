/* SPDX-License-Identifier: Apache-2.0
 * kernel.c: statuses of faults inside host kernels. */
#include "kernel/kernel.h"

static const struct {
  situ_code code;
  const char *text;
} faults[] = {{SITU_INTERNAL, "A kernel failed"},
#define FAULT_ROW(name, code, text) {SITU_##code, text},
              FAULTS(FAULT_ROW)
#undef FAULT_ROW
};

situ_status kernel_fault(const struct fault *fault) {
  char text[256];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-extra-args"
  snprintf(text, sizeof text, faults[fault->kind].text, (long long)fault->a, (long long)fault->b,
           (long long)fault->c);
#pragma GCC diagnostic pop
  return situ_status_create(faults[fault->kind].code, "%s", text);
}
