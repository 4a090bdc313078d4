/* SPDX-License-Identifier: Apache-2.0
 * mpi.h: the functions of Open MPI that are used, loaded at run time.
 *
 * Open MPI's handles are addresses of exported objects, so that its headers are not needed. Callers
 * must hold membership_lock (MPI_THREAD_SERIALIZED). */
#ifndef SITU_CLUSTER_MPI_H
#define SITU_CLUSTER_MPI_H

#include "base/base.h"

/* Message tags. */
enum mpi_tag { MPI_TAG_PART = 7101, MPI_TAG_RESULT, MPI_TAG_PIECE, MPI_TAG_LOST, MPI_TAG_TENSOR };

struct mpi_request; /* an MPI_Request; NULL is none */

/* Loads and initializes MPI once; Unavailable if it is not installed. */
situ_status mpi_start(int *rank, int *size) SITU_MUST_USE;

/* Finalizes MPI if mpi_start has initialized it. */
void mpi_stop(void);

/* Gathers `bytes` bytes of each rank on all ranks. Blocks. */
situ_status mpi_all_gather(const void *data, size_t bytes, void *out) SITU_MUST_USE;

/* Starts a non-blocking send or receive of at most 2 GiB. */
situ_status mpi_send(const void *data, size_t bytes, int to, enum mpi_tag tag,
                     struct mpi_request **out) SITU_MUST_USE;
situ_status mpi_receive(void *data, size_t bytes, int from, enum mpi_tag tag,
                        struct mpi_request **out) SITU_MUST_USE;

/* Returns whether a request is complete; it is then set to NULL. */
situ_status mpi_test(struct mpi_request **request, bool *done) SITU_MUST_USE;

/* Cancels a pending request; MPI may still write to its memory until it is finalized. */
void mpi_drop(struct mpi_request **request);

/* Returns whether a message with that tag from *from (-1: any rank, then set) is pending. */
bool mpi_probe(enum mpi_tag tag, int *from);

#endif
