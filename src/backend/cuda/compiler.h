/* SPDX-License-Identifier: Apache-2.0
 * compiler.h: NVRTC, NVIDIA's compiler, loaded at run time in whatever version is there. */
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

/* The NVRTC for a GPU of this architecture (75 for 7.5) and a driver of this version (13000). One
 * of the driver's own version comes first: its PTX is what the driver knows. */
situ_status compiler_find(int arch, int driver, const struct compiler **out) SITU_MUST_USE;

/* Whether machine code for the architecture can be made; PTX always can. */
bool compiler_knows(const struct compiler *compiler, int arch);

/* The options, as one text, for an architecture: machine code for it, or PTX for it or for the
 * newest before it. */
void compiler_options(const struct compiler *compiler, int arch, bool binary, char out[128]);

/* Compiles a text; the result is to be freed. `log` gets what the compiler says, and is to be freed
 * too, where there is an error. */
nvrtc_result compiler_run(const struct compiler *compiler, const char *text, int arch, bool binary,
                          unsigned char **out, size_t *size, char **log);

#endif
