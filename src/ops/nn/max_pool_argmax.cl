/* SPDX-License-Identifier: Apache-2.0
 * max_pool_argmax.cl: flat index of the maximum of each window (max_pool.cl) in its image, or with
 * `all` in the batch; NHWC. For dim and place see pool.cl. */
#if T_BYTES == 4 || T_BYTES == 8
KERNEL(flat_argmax, IN(uchar, argmax), OUT(T, y), SIZES(dim), SIZES(place), SIZE(bytes),
       SIZE(all), SIZE(n)) {
  EACH(i, n);
  UNPACK(dim);
  UNPACK(place);
  const i64 channel = i % dim[2], pixel = i / dim[2], col = pixel % dim[1];
  const i64 row = pixel / dim[1] % dim[0], image = pixel / dim[1] / dim[0];
  i64 index = 0;
  for (i64 b = bytes - 1; b >= 0; b--) index = index << 8 | (i64)argmax[i + b * n];
  const i64 h = row * place[2] - place[4] + index / dim[4];
  const i64 w = col * place[3] - place[5] + index % dim[4];
  y[i] = (T)((((all ? image : 0) * place[0] + h) * place[1] + w) * dim[2] + channel);
}
#endif
