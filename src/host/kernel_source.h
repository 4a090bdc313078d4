/* SPDX-License-Identifier: Apache-2.0
 * kernel_source.h: generates the complete source of a kernel for one element type, for run-time
 * compilers (OpenCL, NVRTC).
 */
#ifndef SITU_HOST_KERNEL_SOURCE_H
#define SITU_HOST_KERNEL_SOURCE_H

#include "base/strbuf.h"
#include "device/backend.h"

/* Target of the generated source. */
struct kernel_source_target {
  const char *head;    /* first lines such as pragmas; may be "" */
  const char *prelude; /* dialect: a file of kernel_sources such as "kernel/opencl.h" */
  bool has_half, has_double;
};

/* Returns whether a kernel supports the type on a device with or without half and double. */
bool kernel_source_supports(const struct kernel *kernel, situ_type type, bool has_half,
                            bool has_double);

/* Returns the type name in the source: "float"; "32" for kernels that only copy elements. Equal
 * names mean equal sources. */
const char *kernel_source_type_name(const struct kernel *kernel, situ_type type);

/* Appends the source, in which the kernel function is named "situ_" plus its name. Internal if the
 * kernel has no source. */
situ_status kernel_source_write(const struct kernel *kernel, situ_type type,
                                const struct kernel_source_target *target,
                                struct strbuf *out) SITU_MUST_USE;

#endif
