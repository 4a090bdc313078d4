/* SPDX-License-Identifier: Apache-2.0
 * jpeg_library.h: libjpeg-turbo, loaded at run time, and its errors as statuses.
 *
 * libjpeg reports errors by a function that must not return. A guarded call is one that longjmp
 * may leave: it keeps its state in a struct, never in local variables of the caller. */
#ifndef SITU_OPS_IMAGE_JPEG_LIBRARY_H
#define SITU_OPS_IMAGE_JPEG_LIBRARY_H

#include <setjmp.h>
#include <stdio.h>

#include <jerror.h>
#include <jpeglib.h>

#include "base/dl.h"

#define JPEG_FUNCTIONS(X)                                                        \
  X(struct jpeg_error_mgr *, jpeg_std_error, (struct jpeg_error_mgr *))          \
  X(void, jpeg_CreateDecompress, (j_decompress_ptr, int, size_t))                \
  X(void, jpeg_destroy_decompress, (j_decompress_ptr))                           \
  X(int, jpeg_read_header, (j_decompress_ptr, boolean))                          \
  X(void, jpeg_calc_output_dimensions, (j_decompress_ptr))                       \
  X(boolean, jpeg_start_decompress, (j_decompress_ptr))                          \
  X(JDIMENSION, jpeg_read_scanlines, (j_decompress_ptr, JSAMPARRAY, JDIMENSION)) \
  X(boolean, jpeg_finish_decompress, (j_decompress_ptr))                         \
  X(void, jpeg_abort_decompress, (j_decompress_ptr))                             \
  X(boolean, jpeg_resync_to_restart, (j_decompress_ptr, int))                    \
  X(void, jpeg_CreateCompress, (j_compress_ptr, int, size_t))                    \
  X(void, jpeg_destroy_compress, (j_compress_ptr))                               \
  X(void, jpeg_set_defaults, (j_compress_ptr))                                   \
  X(void, jpeg_set_quality, (j_compress_ptr, int, boolean))                      \
  X(void, jpeg_simple_progression, (j_compress_ptr))                             \
  X(void, jpeg_start_compress, (j_compress_ptr, boolean))                        \
  X(void, jpeg_write_marker, (j_compress_ptr, int, const JOCTET *, unsigned))    \
  X(JDIMENSION, jpeg_write_scanlines, (j_compress_ptr, JSAMPARRAY, JDIMENSION))  \
  X(void, jpeg_finish_compress, (j_compress_ptr))

/* Functions of libjpeg-turbo that the libjpeg of the Independent JPEG Group lacks. */
#define JPEG_TURBO_FUNCTIONS(X)                                               \
  X(void, jpeg_crop_scanline, (j_decompress_ptr, JDIMENSION *, JDIMENSION *)) \
  X(JDIMENSION, jpeg_skip_scanlines, (j_decompress_ptr, JDIMENSION))

struct jpeg_functions {
  JPEG_FUNCTIONS(DL_FIELD)
  JPEG_TURBO_FUNCTIONS(DL_FIELD)
};

/* Loads the library once; Unimplemented if it is missing or has another ABI. */
situ_status jpeg_library_load(const struct jpeg_functions **out) SITU_MUST_USE;

/* The error manager of libjpeg: `base` comes first, so that a pointer to it can be cast. */
struct jpeg_failure {
  struct jpeg_error_mgr base;
  jmp_buf jump;
  char message[JMSG_LENGTH_MAX];
};

/* Initializes the error manager of a codec. */
struct jpeg_error_mgr *jpeg_library_errors(const struct jpeg_functions *jpeg,
                                           struct jpeg_failure *failure);

/* Calls step(context); false: libjpeg failed, `failure` has its message. */
bool jpeg_library_guard(struct jpeg_failure *failure, void (*step)(void *context), void *context);

#endif
