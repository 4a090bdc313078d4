/* SPDX-License-Identifier: Apache-2.0
 * test_header.c: our headers of CUDA's libraries are the same as NVIDIA's, where those are there.
 * The comparison is done by the compiler. */
#if __has_include(<cuda.h>)
#define __CUDA_API_VERSION_INTERNAL /* names of functions are not turned into others */
#include <cuda.h>
#endif
#if __has_include(<nvrtc.h>)
#include <nvrtc.h>
#endif
#if __has_include(<cublas_v2.h>)
#include <cublas_v2.h>
#endif

#if __has_include(<nccl.h>)
#include <nccl.h>
#endif

#include "backend/cuda/blas.h"
#include "backend/cuda/compiler.h"
#include "backend/cuda/driver.h"
#include "backend/cuda/nccl.h"
#include "support/expect.h"
#include "support/skip.h"

#define SAME(table, name)                                                                     \
  _Static_assert(                                                                             \
      __builtin_types_compatible_p(__typeof__(&name), __typeof__(((struct table *)0)->name)), \
      #name);

#ifdef CUDA_VERSION
#define CHECK_NUMBER(name, value, theirs) _Static_assert((value) == (int)(theirs), #name);
#define CHECK_FUNCTION(result, name, args) SAME(cuda_functions, name)
CUDA_NUMBERS(CHECK_NUMBER)
CUDA_FUNCTIONS(CHECK_FUNCTION)
#if CUDA_VERSION >= 12080
CUDA_NEW_NUMBERS(CHECK_NUMBER)
#endif
_Static_assert(sizeof(CUuuid) == CUDA_UUID_BYTES, "CUuuid");
enum { CHECKED_DRIVER = CUDA_VERSION };
#else
enum { CHECKED_DRIVER = 0 };
#endif

#ifdef __NVRTC_H__
#define CHECK_NVRTC(result, name, args) SAME(nvrtc_functions, name)
NVRTC_FUNCTIONS(CHECK_NVRTC)
#endif

#ifdef CUBLAS_VERSION
#define CHECK_CUBLAS_NUMBER(name, value, theirs) _Static_assert((value) == (int)(theirs), #name);
#define CHECK_CUBLAS(result, name, args) SAME(cublas_functions, name)
CUBLAS_NUMBERS(CHECK_CUBLAS_NUMBER)
CUBLAS_FUNCTIONS(CHECK_CUBLAS)
CUBLAS_OPTIONS(CHECK_CUBLAS)
#endif

#ifdef NCCL_VERSION_CODE
#define CHECK_NCCL_NUMBER(name, value, theirs) _Static_assert((value) == (int)(theirs), #name);
#define CHECK_NCCL(result, name, args) SAME(nccl_functions, name)
NCCL_NUMBERS(CHECK_NCCL_NUMBER)
NCCL_FUNCTIONS(CHECK_NCCL)
#if NCCL_VERSION_CODE >= 21300
NCCL_OPTIONS(CHECK_NCCL)
#endif
#endif

static void headers_are_the_same(void **state) {
  (void)state;
  if (!CHECKED_DRIVER) SKIP("no cuda.h");
  print_message("compared with cuda.h %d\n", CHECKED_DRIVER);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(headers_are_the_same)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
