/* SPDX-License-Identifier: Apache-2.0
 * tensor.h: element types, shapes and tensors.
 *
 * A tensor is an immutable array of elements of one type, in row-major order, in host memory or on
 * a device. It is reference-counted: see "Ownership" in situ.h.
 */
#ifndef SITU_TENSOR_H
#define SITU_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "situ/status.h"

#ifdef __cplusplus
#include <initializer_list>
extern "C" {
#endif

/* The element types: name, TensorFlow's number, bytes, TensorFlow's name, NumPy's name. A string
 * element points to bytes that the tensor owns (see situ_tensor_string); a resource element is the
 * handle of a variable, queue, ...; a variant element is a list of tensors. These three are in host
 * memory only. A complex element is its real and its imaginary part. A bfloat16 element is the
 * upper half of a float; the 8-bit types are those of the OCP standard. Kernels compute with these
 * types as float. An int4 or uint4 element is an int8 or uint8 of that range. */
#define SITU_TYPES(X)                                       \
  X(FLOAT, 1, 4, "float", "float32")                        \
  X(DOUBLE, 2, 8, "double", "float64")                      \
  X(INT32, 3, 4, "int32", "int32")                          \
  X(UINT8, 4, 1, "uint8", "uint8")                          \
  X(INT16, 5, 2, "int16", "int16")                          \
  X(INT8, 6, 1, "int8", "int8")                             \
  X(STRING, 7, 8, "string", "object")                       \
  X(COMPLEX64, 8, 8, "complex64", "complex64")              \
  X(INT64, 9, 8, "int64", "int64")                          \
  X(BOOL, 10, 1, "bool", "bool")                            \
  X(BFLOAT16, 14, 2, "bfloat16", "bfloat16")                \
  X(UINT16, 17, 2, "uint16", "uint16")                      \
  X(COMPLEX128, 18, 16, "complex128", "complex128")         \
  X(HALF, 19, 2, "half", "float16")                         \
  X(RESOURCE, 20, 8, "resource", "resource")                \
  X(VARIANT, 21, 8, "variant", "variant")                   \
  X(UINT32, 22, 4, "uint32", "uint32")                      \
  X(UINT64, 23, 8, "uint64", "uint64")                      \
  X(FLOAT8_E5M2, 24, 1, "float8_e5m2", "float8_e5m2")       \
  X(FLOAT8_E4M3FN, 25, 1, "float8_e4m3fn", "float8_e4m3fn") \
  X(INT4, 29, 1, "int4", "int4") X(UINT4, 30, 1, "uint4", "uint4")

typedef enum situ_type {
  SITU_NO_TYPE = 0,
#define SITU_TYPE_ENUM(name, number, bytes, word, numpy) SITU_##name = number,
  SITU_TYPES(SITU_TYPE_ENUM)
#undef SITU_TYPE_ENUM
} situ_type;

enum { SITU_MAX_RANK = 8, SITU_ANY = -1 };

/* A shape, passed by value. Rank SITU_ANY means unknown rank; dimension SITU_ANY means unknown
 * dimension. */
typedef struct situ_shape {
  int rank;
  int64_t dim[SITU_MAX_RANK];
} situ_shape;

/* SITU_SHAPE(2, 3) is the shape [2, 3]; SITU_SCALAR has rank 0. */
#ifdef __cplusplus
#define SITU_SHAPE(...) \
  (situ_shape{(int)std::initializer_list<int64_t>{__VA_ARGS__}.size(), {__VA_ARGS__}})
#define SITU_SCALAR (situ_shape{0, {0}})
#define SITU_ANY_SHAPE (situ_shape{SITU_ANY, {0}})
#else
#define SITU_SHAPE(...) \
  ((situ_shape){(int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), {__VA_ARGS__}})
#define SITU_SCALAR ((situ_shape){0, {0}})
#define SITU_ANY_SHAPE ((situ_shape){SITU_ANY, {0}})
#endif

/* Returns "float" for SITU_FLOAT; "invalid" for an invalid type. */
SITU_API const char *situ_type_name(situ_type type);

/* Returns NumPy's name: "float32" for SITU_FLOAT. */
SITU_API const char *situ_type_numpy(situ_type type);

/* Returns the bytes of one element; 0 for an invalid type. */
SITU_API size_t situ_type_size(situ_type type);

/* Returns the type with a name ("float", "float32", "DT_FLOAT"); SITU_NO_TYPE if there is none. */
SITU_API situ_type situ_type_parse(const char *name);

/* Returns the number of elements; SITU_ANY if a dimension is unknown or the product overflows. */
SITU_API int64_t situ_shape_count(situ_shape shape);

typedef struct situ_tensor situ_tensor;

/* Creates a tensor in host memory with a copy of `data` (zeros if NULL). For SITU_STRING `data` is
 * an array of `const char *`; the strings are copied. */
SITU_API situ_status situ_tensor_create(situ_type type, situ_shape shape, const void *data,
                                        situ_tensor **out) SITU_MUST_USE;

/* A string element. It may contain NUL bytes and is NUL-terminated. */
typedef struct situ_string {
  const char *data;
  size_t length;
} situ_string;

/* Creates a tensor of strings, which are copied. */
SITU_API situ_status situ_tensor_create_strings(situ_shape shape, const situ_string *strings,
                                                situ_tensor **out) SITU_MUST_USE;

/* Returns element `index` of a tensor of strings; borrowed. */
SITU_API situ_string situ_tensor_string(const situ_tensor *tensor, int64_t index);

/* Creates a tensor over the caller's memory without a copy (strings are copied). The memory must
 * not change until `release(context)` is called, when the last reference is dropped; `release` may
 * be NULL. */
SITU_API situ_status situ_tensor_wrap(situ_type type, situ_shape shape, const void *data,
                                      void (*release)(void *context), void *context,
                                      situ_tensor **out) SITU_MUST_USE;

/* Return the element type and the shape. */
SITU_API situ_type situ_tensor_type(const situ_tensor *tensor);
SITU_API situ_shape situ_tensor_shape(const situ_tensor *tensor);

/* Returns the bytes of all elements. */
SITU_API size_t situ_tensor_bytes(const situ_tensor *tensor);

/* Returns the full name of the device that holds the tensor. Borrowed. */
SITU_API const char *situ_tensor_device(const situ_tensor *tensor);

/* Returns the elements of a tensor in host memory; NULL if it is on another device (see
 * situ_tensor_read). Borrowed. */
SITU_API const void *situ_tensor_data(const situ_tensor *tensor);

/* Copies the elements from any device to host memory. `bytes` must equal situ_tensor_bytes. */
SITU_API situ_status situ_tensor_read(const situ_tensor *tensor, void *to,
                                      size_t bytes) SITU_MUST_USE;

/* Prints the elements in NumPy's format, and a newline. */
SITU_API situ_status situ_tensor_print(const situ_tensor *tensor, FILE *stream) SITU_MUST_USE;

/* Adds a reference; returns the tensor. */
SITU_API situ_tensor *situ_tensor_retain(situ_tensor *tensor);

/* Drops a reference; NULL is ignored. */
SITU_API void situ_tensor_release(situ_tensor *tensor);

#ifdef __cplusplus
}
#endif
#endif
