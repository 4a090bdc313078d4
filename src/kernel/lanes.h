/* SPDX-License-Identifier: Apache-2.0
 * lanes.h: kernels for GPUs in which several items of a work-group share the work on one result: a
 * row, or what is reduced to one element. They are its lanes, a power of two of them up to 256 (the
 * last argument of the kernel; LAUNCH_LANES, op_lanes), and join what each has in a tree: the order
 * is always the same, so no result depends on the device.
 *
 *   __local C part[256];
 *   LANES_BEGIN(lanes, true);            item_: the number of the result, lane_: 0 ... lanes - 1
 *   C sum = 0;
 *   if (item_ < n) for (i64 k = lane_; k < width; k += lanes) sum += ...
 *   LANES_REDUCE(part, sum, LANES_SUM);    every lane has the sum of all
 *
 * Items behind the last result come to the barriers, too. */
#ifndef SITU_KERNEL_LANES_H
#define SITU_KERNEL_LANES_H

/* `beside`: lanes of a result are neighbours; else results are, for operands whose columns are. */
#define LANES_BEGIN(lanes, beside)                             \
  const int id_ = (int)get_local_id(0), many_ = (int)(lanes);  \
  const int each_ = 256 / many_, next_ = (beside) ? 1 : each_; \
  const int lane_ = (beside) ? id_ % many_ : id_ / each_;      \
  const i64 item_ = (i64)get_group_id(0) * each_ + ((beside) ? id_ / many_ : id_ % each_)

/* Visits the pairs of lanes of a tree whose root is lane 0: JOINS is done by the nearer one, of the
 * items `id_` and `id_ + other_`. */
#define LANES_TREE(JOINS)                              \
  for (int half_ = many_ / 2; half_ > 0; half_ /= 2) { \
    const int other_ = half_ * next_;                  \
    barrier(CLK_LOCAL_MEM_FENCE);                      \
    if (lane_ < half_) {                               \
      JOINS;                                           \
    }                                                  \
  }                                                    \
  barrier(CLK_LOCAL_MEM_FENCE)

/* Makes `value` that of all lanes. `part` may be used again. */
#define LANES_REDUCE(part, value, TWO)                        \
  part[id_] = value;                                          \
  LANES_TREE(part[id_] = TWO(part[id_], part[id_ + other_])); \
  value = part[id_ - lane_ * next_];                          \
  barrier(CLK_LOCAL_MEM_FENCE)

#define LANES_SUM(a, b) ((a) + (b))

#endif
