/* SPDX-License-Identifier: Apache-2.0
 * record.h: records the kernel launches of a call. */
#ifndef SITU_OPS_RECORD_H
#define SITU_OPS_RECORD_H

#include "schema/call.h"

/* Calls `record` of the op. If one of its kernels has no version for bfloat16, float8 or int4,
 * operands of these types are converted to a wider type before the call, and results back after it:
 * they are computed in the wider type and rounded once. */
situ_status op_record(struct call *call) SITU_MUST_USE;

#endif
