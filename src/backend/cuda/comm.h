/* SPDX-License-Identifier: Apache-2.0
 * comm.h: sums over GPUs by NCCL, where it is installed; loaded when a program asks for it. */
#ifndef SITU_BACKEND_CUDA_COMM_H
#define SITU_BACKEND_CUDA_COMM_H

#include "backend/cuda/gpu.h"
#include "backend/cuda/nccl.h"

/* The table of the back end. */
extern const struct comm cuda_comm;

/* Looks after the other GPUs of the GPU's communicators: where one failed, the others would wait
 * for it for ever, so that their sums are aborted. Takes no lock of a GPU. */
void comm_ask(void *gpu);

/* Closes the communicators of a GPU, which is about to be closed. */
void comm_forget(struct gpu *gpu);

#endif
