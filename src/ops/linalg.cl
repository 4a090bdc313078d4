/* SPDX-License-Identifier: Apache-2.0
 * linalg.cl: products of matrices, one or a batch. On the host linalg.c calls host/gemm.h. */
#ifndef SITU_HOST

/* A work-group of 256 items makes a tile of 16 x 16 elements. dim, a_step and b_step say where the
 * matrices of item i of the batch begin. */
GROUP_KERNEL(matmul, IN(T, a), IN(T, b), OUT(T, c), OUT(T, space), SIZE(m), SIZE(n), SIZE(k),
             SIZE(a_row), SIZE(a_col), SIZE(b_row), SIZE(b_col), SIZE(count), SIZES(dim),
             SIZES(a_step), SIZES(b_step)) {
  __local C left[16][17], right[16][17];
  UNPACK(dim);
  UNPACK(a_step);
  UNPACK(b_step);
  const int x = (int)get_local_id(0) % 16, y = (int)get_local_id(0) / 16;
  const i64 across = (n + 15) / 16, tiles = across * ((m + 15) / 16);
  const i64 batch = get_group_id(0) / tiles, tile = get_group_id(0) % tiles;
  const i64 i = tile / across * 16 + y, j = tile % across * 16 + x;
  i64 a_start = 0, b_start = 0, rest = batch;
  for (int d = 7; d >= 0; d--) {
    a_start += rest % dim[d] * a_step[d];
    b_start += rest % dim[d] * b_step[d];
    rest /= dim[d];
  }
  C sum = 0;
  for (i64 first = 0; first < k; first += 16) {
    const bool in_a = i < m && first + x < k, in_b = first + y < k && j < n;
    left[y][x] = in_a ? (C)a[a_start + i * a_row + (first + x) * a_col] : (C)0;
    right[y][x] = in_b ? (C)b[b_start + (first + y) * b_row + j * b_col] : (C)0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int p = 0; p < 16; p++) sum += left[y][p] * right[p][x];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (i < m && j < n && batch < count) c[(batch * m + i) * n + j] = (T)sum;
}

#endif
