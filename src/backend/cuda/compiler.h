/* SPDX-License-Identifier: Apache-2.0
 * compiler.h: NVRTC, NVIDIA's run-time compiler, loaded in the installed version that suits the GPU
 * and the driver. */
#ifndef SITU_BACKEND_CUDA_COMPILER_H
#define SITU_BACKEND_CUDA_COMPILER_H

#include "base/dl.h"

typedef struct _nvrtcProgram *nvrtc_program;
typedef unsigned nvrtc_result;

#define NVRTC_FUNCTIONS(X)                                                                        \
  X(nvrtc_result, nvrtcVersion, (int *, int *))                                                   \
  X(const char *, nvrtcGetErrorString, (nvrtc_result))                                            \
  X(nvrtc_result, nvrtcGetNumSupportedArchs, (int *))                                             \
  X(nvrtc_result, nvrtcGetSupportedArchs, (int *))                                                \
  X(nvrtc_result, nvrtcCreateProgram,                                                             \
    (nvrtc_program *, const char *, const char *, int, const char *const *, const char *const *)) \
  X(nvrtc_result, nvrtcDestroyProgram, (nvrtc_program *))                                         \
  X(nvrtc_result, nvrtcCompileProgram, (nvrtc_program, int, const char *const *))                 \
  X(nvrtc_result, nvrtcGetProgramLogSize, (nvrtc_program, size_t *))                              \
  X(nvrtc_result, nvrtcGetProgramLog, (nvrtc_program, char *))                                    \
  X(nvrtc_result, nvrtcGetPTXSize, (nvrtc_program, size_t *))                                     \
  X(nvrtc_result, nvrtcGetPTX, (nvrtc_program, char *))                                           \
  X(nvrtc_result, nvrtcGetCUBINSize, (nvrtc_program, size_t *))                                   \
  X(nvrtc_result, nvrtcGetCUBIN, (nvrtc_program, char *))

struct nvrtc_functions {
  NVRTC_FUNCTIONS(DL_FIELD)
};

enum { COMPILER_ARCHS = 64 };

/* A version of NVRTC. */
struct compiler {
  struct nvrtc_functions nvrtc;
  int major, minor;
  int archs[COMPILER_ARCHS], n_archs; /* 75, 80, ... */
};

/* Returns the NVRTC for a GPU of this architecture (75 for 7.5) and a driver of this version
 * (13000). Prefers the driver's own version, whose PTX the driver supports. */
situ_status compiler_find(int arch, int driver, const struct compiler **out) SITU_MUST_USE;

/* Returns whether machine code for the architecture can be generated; PTX always can. */
bool compiler_supports(const struct compiler *compiler, int arch);

/* Writes the compiler options for an architecture as one string: machine code, or PTX for it or for
 * the newest supported one before it. */
void compiler_options(const struct compiler *compiler, int arch, bool binary, char out[128]);

/* Compiles a source. The caller frees the result, and `log`, which is set to the compiler's
 * messages on error. */
nvrtc_result compiler_run(const struct compiler *compiler, const char *text, int arch, bool binary,
                          unsigned char **out, size_t *size, char **log);

#endif
