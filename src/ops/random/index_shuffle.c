/* SPDX-License-Identifier: Apache-2.0
 * index_shuffle.c: RandomIndexShuffle: the place of an index in a random permutation, without the
 * permutation; see index_shuffle.h.
 *
 * A Simon block cipher with a key of three words permutes the numbers of a block of bits, as in
 * TensorFlow; it is applied again while the result exceeds max_index (cycle walking). */
#include "ops/random/index_shuffle.h"

#include <string.h>

#include "base/interrupt.h"
#include "tensor/tensor.h"

enum { MIN_BLOCK = 16, MAX_BLOCK = 64, MAX_ROUNDS = 256, KEY_WORDS = 3 };

static const uint64_t constant_bits = 0xfffffffc, key_bits = 0x7369f885192c0ef5;

/* The cipher of one key: numbers of two halves of `width` bits. */
struct cipher {
  int width, rounds;
  uint64_t mask; /* of a word */
  uint64_t keys[MAX_ROUNDS];
};

static uint64_t rotate(const struct cipher *c, uint64_t x, int left) {
  return (x << left | x >> (c->width - left)) & c->mask;
}

static uint64_t mix(const struct cipher *c, uint64_t x) {
  return (rotate(c, x, 1) & rotate(c, x, 8)) ^ rotate(c, x, 2);
}

/* The smallest even number of bits, at least MIN_BLOCK, whose numbers reach max_index. */
static int block_bits(uint64_t max_index) {
  int bits = 0;
  while (bits < MAX_BLOCK && ((uint64_t)1 << (bits < 63 ? bits : 63)) < max_index) {
    if (bits == 63) return MAX_BLOCK;
    bits++;
  }
  bits += bits % 2;
  return bits < MIN_BLOCK ? MIN_BLOCK : bits;
}

static void cipher_setup(struct cipher *c, const uint32_t key[KEY_WORDS], uint64_t max_index) {
  c->width = block_bits(max_index) / 2;
  c->mask = ((uint64_t)1 << c->width) - 1;
  uint64_t z = key_bits & c->mask;
  for (int i = 0; i < c->rounds; i++) {
    if (i < KEY_WORDS) {
      c->keys[i] = key[i] & c->mask;
      continue;
    }
    const uint64_t last = c->keys[i - 1];
    c->keys[i] = (constant_bits & c->mask) ^ (z & 1) ^ c->keys[i - KEY_WORDS] ^
                 rotate(c, last, c->width - 3) ^ rotate(c, last, c->width - 4);
    z >>= 1;
  }
}

static uint64_t cipher_encrypt(const struct cipher *c, uint64_t value) {
  uint64_t left = value >> c->width & c->mask, right = value & c->mask;
  for (int i = 0; i < c->rounds; i += 2) {
    left ^= mix(c, right) ^ c->keys[i];
    right ^= mix(c, left) ^ c->keys[i + 1];
  }
  return left << c->width | right;
}

static uint64_t element(const situ_tensor *tensor, int64_t index) {
  const void *data = situ_tensor_data(tensor);
  if (tensor->type == SITU_INT32) return (uint64_t)(int64_t)((const int32_t *)data)[index];
  if (tensor->type == SITU_UINT32) return ((const uint32_t *)data)[index];
  return ((const uint64_t *)data)[index];
}

static bool is_negative(const situ_tensor *tensor, uint64_t value) {
  return (tensor->type == SITU_INT32 || tensor->type == SITU_INT64) && (int64_t)value < 0;
}

static situ_status check_index(const struct compute *compute, uint64_t index, uint64_t max_index) {
  if (is_negative(compute->in[0], index))
    return INVALID("index must be >= 0 but was %lld", (long long)index);
  if (is_negative(compute->in[2], max_index))
    return INVALID("max_index must be >= 0 but was %lld", (long long)max_index);
  if (max_index < index)
    return INVALID("max_index must be >= index, but %llu < %llu", (unsigned long long)max_index,
                   (unsigned long long)index);
  return NULL;
}

/* The outputs of a call: a vector if an input is one. Sets *count to its length, or SITU_ANY. */
static bool is_scalar_call(const struct call *call, int64_t *count) {
  const situ_shape *shapes[] = {&call->in[0].shape, &call->in[1].shape, &call->in[2].shape};
  const int ranks[] = {0, 1, 0};
  *count = SITU_ANY;
  bool is_scalar = true;
  for (int i = 0; i < KEY_WORDS; i++) {
    if (shapes[i]->rank == ranks[i]) continue;
    is_scalar = false;
    if (shapes[i]->rank != SITU_ANY) *count = shapes[i]->dim[0];
  }
  return is_scalar;
}

situ_status index_shuffle_shape(struct call *call) {
  int64_t count;
  const int64_t rounds = call_integer(call, "rounds");
  if (rounds < 4 || rounds % 2 || rounds > MAX_ROUNDS)
    return INVALID("rounds must be an even number from 4 to %d, not %lld", MAX_ROUNDS,
                   (long long)rounds);
  const bool is_known = call->in[0].shape.rank != SITU_ANY && call->in[1].shape.rank != SITU_ANY &&
                        call->in[2].shape.rank != SITU_ANY;
  const bool is_scalar = is_scalar_call(call, &count);
  call->out[0].shape = is_scalar                ? SITU_SCALAR
                       : count >= 0 || is_known ? SITU_SHAPE(count)
                                                : SITU_ANY_SHAPE;
  return NULL;
}

situ_status index_shuffle_compute(struct compute *compute) {
  int64_t count;
  const situ_shape shape = is_scalar_call(compute->call, &count) ? SITU_SCALAR : SITU_SHAPE(count);
  const situ_tensor *const *in = (const situ_tensor *const *)compute->in;
  struct cipher cipher = {.rounds = (int)call_integer(compute->call, "rounds")};
  const size_t size = situ_type_size(in[0]->type);
  void *out = NULL;
  TRY(compute_output(compute, 0, shape, &out));
  for (int64_t i = 0; i < situ_shape_count(shape) && !interrupt_pending(); i++) {
    const uint64_t index = element(in[0], in[0]->shape.rank ? i : 0);
    const uint64_t max_index = element(in[2], in[2]->shape.rank ? i : 0);
    uint32_t key[KEY_WORDS];
    for (int k = 0; k < KEY_WORDS; k++)
      key[k] = (uint32_t)element(in[1], in[1]->shape.rank == 2 ? i * KEY_WORDS + k : k);
    TRY(check_index(compute, index, max_index));
    cipher_setup(&cipher, key, max_index);
    uint64_t place = index;
    do place = cipher_encrypt(&cipher, place);
    while (place > max_index);
    memcpy((char *)out + (size_t)i * size, &place, size); /* little endian */
  }
  return NULL;
}
