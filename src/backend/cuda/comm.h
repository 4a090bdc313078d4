/* SPDX-License-Identifier: Apache-2.0
 * comm.h: all-reduce over GPUs by NCCL if it is installed; loaded on first use. */
#ifndef SITU_BACKEND_CUDA_COMM_H
#define SITU_BACKEND_CUDA_COMM_H

#include "backend/cuda/gpu.h"
#include "backend/cuda/nccl.h"

/* The collectives of the back end. */
extern const struct comm cuda_comm;

/* Closes the communicators of a GPU that is about to be closed. */
void comm_close_gpu(struct gpu *gpu);

#endif
