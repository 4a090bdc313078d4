/* SPDX-License-Identifier: Apache-2.0
 * fingerprint.h: 64-bit string hashes that are stable across machines and versions. */
#ifndef SITU_OPS_STRING_FINGERPRINT_H
#define SITU_OPS_STRING_FINGERPRINT_H

#include <stddef.h>
#include <stdint.h>

/* FarmHash's Fingerprint64, the hash of TensorFlow's string_to_hash_bucket_fast. */
uint64_t fingerprint_make(const char *data, size_t length);

/* MurmurHash64A (TensorFlow's Hash64), the hash of its older ops. */
uint64_t fingerprint_make_old(const char *data, size_t length);

/* SipHash-2-4 with a key, TensorFlow's strong hash. */
uint64_t fingerprint_make_keyed(const uint64_t key[2], const char *data, size_t length);

#endif
