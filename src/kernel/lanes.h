/* SPDX-License-Identifier: Apache-2.0
 * lanes.h: reductions in GPU kernels: several threads of a work-group (lanes) cooperate on one
 * result, such as a row or a reduced element. Their number is a power of two up to 256 (the last
 * argument of the kernel; LAUNCH_LANES, op_lanes). Partial results are combined in a tree of fixed
 * order, so that results do not depend on the device.
 *
 *   __local C part[256];
 *   LANES_BEGIN(lanes, true);            item_: index of the result, lane_: 0 ... lanes - 1
 *   C sum = 0;
 *   if (item_ < n) for (i64 k = lane_; k < width; k += lanes) sum += ...
 *   LANES_REDUCE(part, sum, LANES_SUM);    every lane has the total
 *
 * Items beyond the last result must reach the barriers, too. */
#ifndef SITU_KERNEL_LANES_H
#define SITU_KERNEL_LANES_H

/* `beside`: the lanes of a result are adjacent threads; otherwise results are, for operands whose
 * columns are contiguous. */
#define LANES_BEGIN(lanes, beside)                                        \
  const int id_ = (int)get_local_id(0), n_lanes_ = (int)(lanes);          \
  const int results_ = 256 / n_lanes_, stride_ = (beside) ? 1 : results_; \
  const int lane_ = (beside) ? id_ % n_lanes_ : id_ / results_;           \
  const i64 item_ = (i64)get_group_id(0) * results_ + ((beside) ? id_ / n_lanes_ : id_ % results_)

/* Tree reduction with root lane 0: COMBINE merges the items `id_` and `id_ + other_`. */
#define LANES_TREE(COMBINE)                               \
  for (int half_ = n_lanes_ / 2; half_ > 0; half_ /= 2) { \
    const int other_ = half_ * stride_;                   \
    barrier(CLK_LOCAL_MEM_FENCE);                         \
    if (lane_ < half_) {                                  \
      COMBINE;                                            \
    }                                                     \
  }                                                       \
  barrier(CLK_LOCAL_MEM_FENCE)

/* Reduces `value` over all lanes with TWO(a, b). `part` can be reused afterwards. */
#define LANES_REDUCE(part, value, TWO)                        \
  part[id_] = value;                                          \
  LANES_TREE(part[id_] = TWO(part[id_], part[id_ + other_])); \
  value = part[id_ - lane_ * stride_];                        \
  barrier(CLK_LOCAL_MEM_FENCE)

#define LANES_SUM(a, b) ((a) + (b))

#endif
