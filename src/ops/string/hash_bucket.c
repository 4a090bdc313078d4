/* SPDX-License-Identifier: Apache-2.0
 * hash_bucket.c: ops that hash strings to buckets. */
#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "ops/ops.h"
#include "ops/string/fingerprint.h"
#include "tensor/tensor.h"

static situ_status put_into_buckets(struct compute *compute,
                                    uint64_t (*number)(const char *data, size_t length)) {
  const situ_tensor *in = compute->in[0];
  const uint64_t buckets = (uint64_t)call_integer(compute->call, "num_buckets");
  void *data = NULL;
  TRY(compute_output(compute, 0, in->shape, &data));
  for (int64_t i = 0; i < situ_shape_count(in->shape) && !interrupt_pending(); i++) {
    const situ_string text = situ_tensor_string(in, i);
    ((int64_t *)data)[i] = (int64_t)(number(text.data, text.length) % buckets);
  }
  return NULL;
}

static situ_status compute_bucket(struct compute *compute) {
  return put_into_buckets(compute, fingerprint_make);
}

static situ_status compute_old_bucket(struct compute *compute) {
  return put_into_buckets(compute, fingerprint_make_old);
}

static situ_status compute_strong_bucket(struct compute *compute) {
  const struct attr_value *key = call_attr(compute->call, "key");
  const uint64_t buckets = (uint64_t)call_integer(compute->call, "num_buckets");
  if (key->list.count != 2) return INVALID("Key must have 2 elements");
  const uint64_t words[2] = {(uint64_t)key->list.items[0], (uint64_t)key->list.items[1]};
  void *data = NULL;
  const situ_shape shape = situ_tensor_shape(compute->in[0]);
  TRY(compute_output(compute, 0, shape, &data));
  const int64_t n = situ_shape_count(shape);
  for (int64_t i = 0; i < n && !interrupt_pending(); i++) {
    const situ_string text = situ_tensor_string(compute->in[0], i);
    ((int64_t *)data)[i] =
        (int64_t)(fingerprint_make_keyed(words, text.data, text.length) % buckets);
  }
  return NULL;
}

/* Fingerprint: a hash per index of the first dimension, as bytes. */

static situ_status fingerprint_shape(struct call *call) {
  const situ_shape *data = &call->in[0].shape;
  if (data->rank == 0) return INVALID("`data` should have at least one dimension: []");
  TRY(op_need_rank(call, 1, 0, "method"));
  call->out[0].shape = (situ_shape){2, {data->rank > 0 ? data->dim[0] : SITU_ANY, 8}};
  return NULL;
}

/* Strings: the hash of the string; of several, that of the bytes of their hashes. */
static situ_status hash_strings(const situ_tensor *in, int64_t rows, uint64_t *out) {
  const int64_t n = situ_shape_count(in->shape), width = rows ? n / rows : 0;
  uint64_t *each = calloc((size_t)n + 1, sizeof *each);
  if (!each) return NO_MEMORY();
  for (int64_t i = 0; i < n && !interrupt_pending(); i++) {
    const situ_string text = situ_tensor_string(in, i);
    each[i] = fingerprint_make(text.data, text.length);
  }
  for (int64_t i = 0; i < rows; i++)
    out[i] = width == 1
                 ? each[i]
                 : fingerprint_make((const char *)(each + i * width), (size_t)width * sizeof *each);
  free(each);
  return NULL;
}

static situ_status compute_fingerprint(struct compute *compute) {
  const situ_tensor *in = compute->in[0];
  const situ_string method = situ_tensor_string(compute->in[1], 0);
  if (method.length != 10 || memcmp(method.data, "farmhash64", 10))
    return INVALID("Unsupported fingerprint method: %.*s", (int)method.length, method.data);
  const int64_t rows = in->shape.dim[0];
  void *out = NULL;
  TRY(compute_output(compute, 0, (situ_shape){2, {rows, 8}}, &out));
  if (situ_tensor_type(in) == SITU_STRING) return hash_strings(in, rows, out);
  const size_t width = rows ? situ_tensor_bytes(in) / (size_t)rows : 0;
  for (int64_t i = 0; i < rows && !interrupt_pending(); i++)
    ((uint64_t *)out)[i] =
        fingerprint_make((const char *)situ_tensor_data(in) + (size_t)i * width, width);
  return NULL;
}

static const struct op_def op_defs[] = {
    {.name = "Fingerprint",
     .inputs = "data:T method:string",
     .outputs = "fingerprint:uint8",
     .attrs = "T:{" ALL_TYPES "}",
     .doc = "Hashes the slices of a tensor along its first dimension with FarmHash64.",
     .args = "data: Tensor of at least one dimension.\nmethod: Scalar, 'farmhash64'.",
     .devices = "CPU",
     .flags = OP_NO_GRADIENT,
     .shape = fingerprint_shape,
     .compute = compute_fingerprint},
    {.name = "StringToHashBucketFast",
     .inputs = "input:string",
     .outputs = "output:int64",
     .attrs = "num_buckets:int>=1",
     .python = "strings.to_hash_bucket_fast string_to_hash_bucket_fast",
     .doc = "Hashes strings to buckets with FarmHash; the result is the same on all machines.",
     .args = "input: Tensor of strings.\n"
             "num_buckets: Number of buckets; the result is in 0 <= i < num_buckets.",
     .devices = "CPU",
     .flags = OP_NO_GRADIENT,
     .shape = op_same_shape,
     .compute = compute_bucket},
    {.name = "StringToHashBucket",
     .inputs = "string_tensor:string",
     .outputs = "output:int64",
     .attrs = "num_buckets:int>=1",
     .doc = "Hashes strings to buckets with TensorFlow's original hash function.",
     .args = "string_tensor: Tensor of strings.\n"
             "num_buckets: Number of buckets; the result is in 0 <= i < num_buckets.",
     .devices = "CPU",
     .flags = OP_NO_GRADIENT,
     .shape = op_same_shape,
     .compute = compute_old_bucket},
    {.name = "StringToHashBucketStrong",
     .inputs = "input:string",
     .outputs = "output:int64",
     .attrs = "num_buckets:int>=1 key:list(int)",
     .python = "strings.to_hash_bucket_strong string_to_hash_bucket_strong",
     .doc = "Hashes strings to buckets with SipHash, whose result cannot be predicted without the "
            "key.",
     .args = "input: Tensor of strings.\n"
             "num_buckets: Number of buckets; the result is in 0 <= i < num_buckets.\n"
             "key: Two integers.",
     .devices = "CPU",
     .flags = OP_NO_GRADIENT,
     .shape = op_same_shape,
     .compute = compute_strong_bucket},
};

OP_FAMILY(hash_bucket, op_defs);
