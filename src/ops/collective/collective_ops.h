/* SPDX-License-Identifier: Apache-2.0
 * collective_ops.h: names of the ops that implement all-reduce over devices. */
#ifndef SITU_OPS_COLLECTIVE_COLLECTIVE_OPS_H
#define SITU_OPS_COLLECTIVE_COLLECTIVE_OPS_H

#define COLLECTIVE_ADD "AddN"
#define COLLECTIVE_SUM "SumOverDevices"
#define COLLECTIVE_CUT "SplitV"
#define COLLECTIVE_JOIN "ConcatV2"
#define COLLECTIVE_SHAPE "Reshape"

#endif
