/* SPDX-License-Identifier: Apache-2.0
 * kernel_source.c: generates the source of one kernel for one element type: type macros, prelude of
 * the dialect, and the kernel file, in which only the selected kernel is compiled. */
#include "host/kernel_source.h"

#include <string.h>

/* Macros of an element type: T, C, T_NAME, T_BYTES and its class. */
struct type_macros {
  const char *t, *c, *name;
  int bytes;
  bool is_real, is_integer, is_bool, is_signed;
};

static const struct type_macros types[MAX_TYPES] = {
    [SITU_FLOAT] = {"float", "float", "float", 4, true, false, false, true},
    [SITU_DOUBLE] = {"double", "double", "double", 8, true, false, false, true},
    [SITU_HALF] = {"half", "float", "half", 2, true, false, false, true},
    [SITU_INT32] = {"i32", "i32", "int32", 4, false, true, false, true},
    [SITU_INT64] = {"i64", "i64", "int64", 8, false, true, false, true},
    [SITU_INT8] = {"i8", "i32", "int8", 1, false, true, false, true},
    [SITU_UINT8] = {"u8", "i32", "uint8", 1, false, true, false, false},
    [SITU_INT16] = {"i16", "i32", "int16", 2, false, true, false, true},
    [SITU_UINT16] = {"u16", "i32", "uint16", 2, false, true, false, false},
    [SITU_UINT32] = {"u32", "u32", "uint32", 4, false, true, false, false},
    [SITU_UINT64] = {"u64", "u64", "uint64", 8, false, true, false, false},
    [SITU_BFLOAT16] = {"u16", "float", "bfloat16", 2, true, false, false, true},
    [SITU_FLOAT8_E5M2] = {"u8", "float", "float8_e5m2", 1, true, false, false, true},
    [SITU_FLOAT8_E4M3FN] = {"u8", "float", "float8_e4m3fn", 1, true, false, false, true},
    [SITU_INT4] = {"i8", "i32", "int4", 1, false, true, false, true},
    [SITU_UINT4] = {"u8", "i32", "uint4", 1, false, true, false, false},
    [SITU_COMPLEX64] = {"complex64", "complex64", "complex64", 8, false, false, false, true},
    [SITU_COMPLEX128] = {"complex128", "complex128", "complex128", 16, false, false, false, true},
    [SITU_BOOL] = {"u8", "i32", "truth", 1, false, false, true, false},
};

/* Element types of kernels that only copy. */
static const struct type_macros sizes[] = {{"u8", "u8", "8", 1, false, true, false, false},
                                           {"u16", "u16", "16", 2, false, true, false, false},
                                           {"u32", "u32", "32", 4, false, true, false, false},
                                           {"u64", "u64", "64", 8, false, true, false, false},
                                           {"u128", "u128", "128", 16, false, false, false, false}};

static const struct type_macros *get_type_macros(const struct kernel *kernel, situ_type type) {
  if (!kernel->bits) return &types[type];
  size_t i = 0;
  while (i < COUNT_OF(sizes) - 1 && sizes[i].bytes != types[type].bytes) i++;
  return &sizes[i];
}

static bool is_complex_type(situ_type type) {
  return type == SITU_COMPLEX64 || type == SITU_COMPLEX128;
}

static const char *find_source(const char *file) {
  for (const struct kernel_source *source = kernel_sources; file && source->file; source++)
    if (!strcmp(source->file, file)) return source->text;
  return NULL;
}

bool kernel_source_supports(const struct kernel *kernel, situ_type type, bool has_half,
                            bool has_double) {
  if ((unsigned)type >= MAX_TYPES || !kernel->host[type] || !types[type].t) return false;
  if (kernel->bits) return true;
  const bool is_double = type == SITU_DOUBLE || type == SITU_COMPLEX128;
  return (type != SITU_HALF || has_half) && (!is_double || has_double);
}

const char *kernel_source_type_name(const struct kernel *kernel, situ_type type) {
  return get_type_macros(kernel, type)->name;
}

situ_status kernel_source_write(const struct kernel *kernel, situ_type type,
                                const struct kernel_source_target *target, struct strbuf *out) {
  const struct type_macros *type_macros = get_type_macros(kernel, type);
  const char *prelude = find_source(target->prelude);
  const bool is_complex = is_complex_type(type) && !kernel->bits;
  const char *file = is_complex && kernel->complex_file ? kernel->complex_file : kernel->file;
  const char *source = kernel->text ? kernel->text : find_source(file);
  if (!prelude || !source) return INTERNAL("Kernel '%s' has no source.", kernel->name);
  strbuf_append(out, target->head);
  strbuf_appendf(out, "#define HAS_DOUBLE %d\n#define HAS_HALF %d\n", target->has_double,
                 target->has_half);
  strbuf_appendf(out, "#define T_NAME %s\n#define T_BYTES %d\n", type_macros->name,
                 type_macros->bytes);
  strbuf_appendf(out, "#define T_IS_REAL %d\n#define T_IS_INTEGER %d\n", type_macros->is_real,
                 type_macros->is_integer);
  strbuf_appendf(out, "#define T_IS_BOOL %d\n#define T_IS_SIGNED %d\n#define PICK_%s ~,\n",
                 type_macros->is_bool, type_macros->is_signed, kernel->name);
  strbuf_append(out, prelude);
  strbuf_appendf(out, "typedef %s T;\ntypedef %s C;\n", type_macros->t, type_macros->c);
  if (is_complex)
    strbuf_appendf(out, "typedef %s R;\n",
                   types[type == SITU_COMPLEX64 ? SITU_FLOAT : SITU_DOUBLE].t);
  strbuf_append(out, source);
  return out->failed ? NO_MEMORY() : NULL;
}
