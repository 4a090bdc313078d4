/* SPDX-License-Identifier: Apache-2.0
 * array_ops.cl: kernels that write integers given as arguments. */
#if T_IS_INTEGER
KERNEL(put_integers, OUT(T, y), SIZES(v), SIZE(n)) {
  EACH(i, n);
  UNPACK(v);
  y[i] = (T)v[i];
}
#endif
