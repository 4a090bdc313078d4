/* SPDX-License-Identifier: Apache-2.0
 * kernel_source.h: the whole text of a kernel in one element type, for compilers that run with the
 * program.
 */
#ifndef SITU_HOST_KERNEL_SOURCE_H
#define SITU_HOST_KERNEL_SOURCE_H

#include "base/strbuf.h"
#include "device/backend.h"

/* What it is written for. */
struct kernel_source_target {
  const char *head;    /* the first lines: pragmas; "" for none */
  const char *prelude; /* the dialect, a file of kernel_sources: "kernel/opencl.h" */
  bool has_half, has_double;
};

/* Whether a kernel has a form for the type on a device that computes with half and double or not.
 */
bool kernel_source_supports(const struct kernel *kernel, situ_type type, bool has_half,
                            bool has_double);

/* The word of the type in the kernel's text: "float"; "32" where the kernel only moves elements.
 * Calls with the same word have the same text. */
const char *kernel_source_type_name(const struct kernel *kernel, situ_type type);

/* The name of the kernel's function in the text is "situ_" and its name. Internal where the kernel
 * has no text. */
situ_status kernel_source_write(const struct kernel *kernel, situ_type type,
                                const struct kernel_source_target *target,
                                struct strbuf *out) SITU_MUST_USE;

#endif
