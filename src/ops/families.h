/* SPDX-License-Identifier: Apache-2.0
 * families.h: the list of op families. The families themselves do not include it, so that a new
 * one does not recompile the others. */
#ifndef SITU_OPS_FAMILIES_H
#define SITU_OPS_FAMILIES_H

#include "schema/op_def.h"

/* Every family once; X_family is defined by its file. */
/* clang-format off */
#define OP_FAMILIES(X) \
  X(array_ops) \
  X(bitcast) \
  X(elementwise) \
  X(special_functions) \
  X(fake_quant) \
  X(quantize_dequantize) \
  X(cast) \
  X(select_add_n) \
  X(slice) \
  X(roll) \
  X(shape_arithmetic) \
  X(concat_split) \
  X(tile_pad) \
  X(gather) \
  X(mirror_pad) \
  X(random_ops) \
  X(shuffle_multinomial_gamma) \
  X(poisson_binomial) \
  X(candidate_sampler) \
  X(scatter) \
  X(segment_reduce) \
  X(sorted_segments) \
  X(resize_hsv) \
  X(glimpse) \
  X(where_unique) \
  X(set_ops) \
  X(sparse_fill) \
  X(sparse_reduce) \
  X(sparse_math) \
  X(matrix_diag) \
  X(matrix_band_diag) \
  X(einsum) \
  X(matrix_solve) \
  X(cumsum) \
  X(check_numerics) \
  X(string_ops) \
  X(segment_join) \
  X(hash_bucket) \
  X(regex_ops) \
  X(as_string) \
  X(string_format) \
  X(matmul) \
  X(variable_ops) \
  X(reduce) \
  X(softmax) \
  X(transpose) \
  X(optimizer_ops) \
  X(cross_entropy) \
  X(pool) \
  X(fractional_pool) \
  X(morphology) \
  X(lrn) \
  X(batch_norm) \
  X(batch_norm_global) \
  X(file_ops) \
  X(checkpoint_ops) \
  X(conv) \
  X(top_k) \
  X(queue_ops) \
  X(mutex) \
  X(stack_ops) \
  X(session_tensors) \
  X(staging_ops) \
  X(accumulator_ops) \
  X(lookup_ops) \
  X(lookup_text_file) \
  X(reader_ops) \
  X(py_func) \
  X(iterator_ops) \
  X(if_while) \
  X(batch) \
  X(unbatch) \
  X(tensor_list) \
  X(function_tape) \
  X(collective_ops) \
  X(parse_example) \
  X(decode_json) \
  X(decode_image) \
  X(encode_image) \
  X(ctc) \
  X(ctc_beam) \
  X(non_max_suppression) \
  X(projective_transform) \
  X(scale_and_translate) \
  X(combined_non_max_suppression) \
  X(svd) \
  X(qr) \
  X(eigh) \
  X(eig) \
  X(lu) \
  X(lstsq) \
  X(tridiagonal) \
  X(fft) \
  X(sparse_layout) \
  X(sparse_cross) \
  X(substr) \
  X(unicode_ops)
/* clang-format on */

#define OP_FAMILY_EXTERN(name) extern const struct op_family name##_family;
OP_FAMILIES(OP_FAMILY_EXTERN)
#undef OP_FAMILY_EXTERN

#endif
