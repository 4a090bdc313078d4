/* SPDX-License-Identifier: Apache-2.0
 * fingerprint.c: FarmHash Fingerprint64, with one algorithm per range of lengths, and Hash64. */
#include "ops/string/fingerprint.h"

static const uint64_t k0 = 0xc3a5c85c97cb3127, k1 = 0xb492b66fbe98f273, k2 = 0x9ae16a3b2f90404f;

struct pair {
  uint64_t first, second;
};

static uint64_t word(const char *s) {
  uint64_t x = 0;
  for (int i = 7; i >= 0; i--) x = x << 8 | (unsigned char)s[i];
  return x;
}

static uint64_t half_word(const char *s) {
  uint64_t x = 0;
  for (int i = 3; i >= 0; i--) x = x << 8 | (unsigned char)s[i];
  return x;
}

static uint64_t turn(uint64_t x, int by) { return x >> by | x << (64 - by); }
static uint64_t mix(uint64_t x) { return x ^ x >> 47; }

static uint64_t join(uint64_t u, uint64_t v, uint64_t mul) {
  const uint64_t a = mix((u ^ v) * mul);
  return mix((v ^ a) * mul) * mul;
}

static uint64_t up_to_16(const char *s, size_t n) {
  const uint64_t mul = k2 + n * 2;
  if (n >= 8) {
    const uint64_t a = word(s) + k2, b = word(s + n - 8);
    return join(turn(b, 37) * mul + a, (turn(a, 25) + b) * mul, mul);
  }
  if (n >= 4) return join(n + (half_word(s) << 3), half_word(s + n - 4), mul);
  if (!n) return k2;
  const uint64_t a = (unsigned char)s[0], b = (unsigned char)s[n >> 1], c = (unsigned char)s[n - 1];
  return mix((a + (b << 8)) * k2 ^ (n + (c << 2)) * k0) * k2;
}

static uint64_t up_to_32(const char *s, size_t n) {
  const uint64_t mul = k2 + n * 2, a = word(s) * k1, b = word(s + 8);
  const uint64_t c = word(s + n - 8) * mul, d = word(s + n - 16) * k2;
  return join(turn(a + b, 43) + turn(c, 30) + d, a + turn(b + k2, 18) + c, mul);
}

static uint64_t up_to_64(const char *s, size_t n) {
  const uint64_t mul = k2 + n * 2, a = word(s) * k2, b = word(s + 8);
  const uint64_t c = word(s + n - 8) * mul, d = word(s + n - 16) * k2;
  const uint64_t y = turn(a + b, 43) + turn(c, 30) + d;
  const uint64_t z = join(y, a + turn(b + k2, 18) + c, mul);
  const uint64_t e = word(s + 16) * mul, f = word(s + 24);
  const uint64_t g = (y + word(s + n - 32)) * mul, h = (z + word(s + n - 24)) * mul;
  return join(turn(e + f, 43) + turn(g, 30) + h, e + turn(f + a, 18) + g, mul);
}

/* 32 bytes with two seeds. */
static struct pair weak(const char *s, uint64_t a, uint64_t b) {
  a += word(s);
  b = turn(b + a + word(s + 24), 21);
  const uint64_t c = a;
  a += word(s + 8) + word(s + 16);
  b += turn(a, 44);
  return (struct pair){a + word(s + 24), b + c};
}

struct state {
  uint64_t x, y, z;
  struct pair v, w;
};

/* Hashes a block of 64 bytes; the last one with another factor. */
static void take(struct state *t, const char *s, uint64_t mul, uint64_t weight) {
  t->x = turn(t->x + t->y + t->v.first + word(s + 8), 37) * mul;
  t->y = turn(t->y + t->v.second + word(s + 48), 42) * mul;
  t->x ^= t->w.second * weight;
  t->y += t->v.first * weight + word(s + 40);
  t->z = turn(t->z + t->w.first, 33) * mul;
  t->v = weak(s, t->v.second * mul, t->x + t->w.first);
  t->w = weak(s + 32, t->z + t->w.second, t->y + word(s + 16));
  const uint64_t z = t->z;
  t->z = t->x;
  t->x = z;
}

static uint64_t longer(const char *s, size_t n) {
  const uint64_t seed = 81, y = seed * k1 + 113;
  struct state t = {seed * k2 + word(s), y, mix(y * k2 + 113) * k2, {0, 0}, {0, 0}};
  const char *end = s + (n - 1) / 64 * 64, *last = end + ((n - 1) & 63) - 63;
  for (; s != end; s += 64) take(&t, s, k1, 1);
  const uint64_t mul = k1 + ((t.z & 255) << 1);
  t.w.first += (n - 1) & 63;
  t.v.first += t.w.first;
  t.w.first += t.v.first;
  take(&t, last, mul, 9);
  return join(join(t.v.first, t.w.first, mul) + mix(t.y) * k0 + t.z,
              join(t.v.second, t.w.second, mul) + t.x, mul);
}

uint64_t fingerprint_make(const char *data, size_t length) {
  if (length <= 16) return up_to_16(data, length);
  if (length <= 32) return up_to_32(data, length);
  if (length <= 64) return up_to_64(data, length);
  return longer(data, length);
}

uint64_t fingerprint_make_old(const char *data, size_t length) {
  const uint64_t factor = 0xc6a4a7935bd1e995u;
  const int shift = 47;
  uint64_t hash = 0xdecafcaffeu ^ (length * factor);
  for (; length >= 8; data += 8, length -= 8) {
    uint64_t word = 0;
    for (int i = 7; i >= 0; i--) word = word << 8 | (uint8_t)data[i];
    word *= factor;
    word ^= word >> shift;
    hash = (hash ^ (word * factor)) * factor;
  }
  uint64_t rest = 0;
  for (size_t i = length; i > 0; i--) rest = rest << 8 | (uint8_t)data[i - 1];
  if (length) hash = (hash ^ rest) * factor;
  hash = (hash ^ (hash >> shift)) * factor;
  return hash ^ (hash >> shift);
}

/* SipHash-2-4 */

static uint64_t rotate(uint64_t word, int bits) { return word << bits | word >> (64 - bits); }

static void sip_round(uint64_t v[4]) {
  v[0] += v[1];
  v[2] += v[3];
  v[1] = rotate(v[1], 13) ^ v[0];
  v[3] = rotate(v[3], 16) ^ v[2];
  v[0] = rotate(v[0], 32);
  v[2] += v[1];
  v[0] += v[3];
  v[1] = rotate(v[1], 17) ^ v[2];
  v[3] = rotate(v[3], 21) ^ v[0];
  v[2] = rotate(v[2], 32);
}

static void sip_word(uint64_t v[4], uint64_t word) {
  v[3] ^= word;
  sip_round(v);
  sip_round(v);
  v[0] ^= word;
}

uint64_t fingerprint_make_keyed(const uint64_t key[2], const char *data, size_t length) {
  uint64_t v[4] = {key[0] ^ 0x736f6d6570736575u, key[1] ^ 0x646f72616e646f6du,
                   key[0] ^ 0x6c7967656e657261u, key[1] ^ 0x7465646279746573u};
  const size_t whole = length / 8 * 8;
  uint64_t word = 0, last = (uint64_t)length << 56;
  for (size_t i = 0; i < whole; i++) {
    word = word >> 8 | (uint64_t)(uint8_t)data[i] << 56;
    if (i % 8 == 7) sip_word(v, word);
  }
  for (size_t i = whole; i < length; i++) last |= (uint64_t)(uint8_t)data[i] << 8 * (i - whole);
  sip_word(v, last);
  v[2] ^= 0xff;
  for (int i = 0; i < 4; i++) sip_round(v);
  return v[0] ^ v[1] ^ v[2] ^ v[3];
}
