/* SPDX-License-Identifier: Apache-2.0
 * roll.cl: a tensor whose elements are moved along its dimensions, around their ends. */

/* dim are the dimensions, padded in front with 1; 0 <= shift < dim. */
KERNEL(roll, IN(T, x), OUT(T, y), SIZES(dim), SIZES(shift), SIZE(n)) {
  EACH(i, n);
  UNPACK(dim);
  UNPACK(shift);
  i64 from = 0, step = 1, rest = i;
  for (int d = 7; d >= 0; d--) {
    const i64 at = rest % dim[d] - shift[d];
    from += (at < 0 ? at + dim[d] : at) * step;
    step *= dim[d];
    rest /= dim[d];
  }
  y[i] = x[from];
}
