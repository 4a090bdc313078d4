/* SPDX-License-Identifier: Apache-2.0
 * mpi.h: the part of OpenMPI that is used, loaded at run time.
 *
 * OpenMPI's handles are addresses of objects that the library exports, so that no header of it is
 * needed. Calls are made with the lock of the world (MPI_THREAD_SERIALIZED). */
#ifndef SITU_CLUSTER_MPI_H
#define SITU_CLUSTER_MPI_H

#include "base/base.h"

/* Kinds of messages. */
enum mpi_tag { MPI_TAG_PART = 7101, MPI_TAG_RESULT, MPI_TAG_PIECE, MPI_TAG_LOST, MPI_TAG_TENSOR };

struct mpi_request; /* of MPI: NULL is none */

/* Loads and starts MPI, once; Unavailable where there is none. */
situ_status mpi_start(int *rank, int *size) SITU_MUST_USE;

/* Ends it, where it was started here. */
void mpi_stop(void);

/* Every rank gets `bytes` bytes of each. Blocks. */
situ_status mpi_all_gather(const void *data, size_t bytes, void *out) SITU_MUST_USE;

/* Begins to send or receive; at most 2 GiB. */
situ_status mpi_send(const void *data, size_t bytes, int to, enum mpi_tag tag,
                     struct mpi_request **out) SITU_MUST_USE;
situ_status mpi_receive(void *data, size_t bytes, int from, enum mpi_tag tag,
                        struct mpi_request **out) SITU_MUST_USE;

/* Whether a request is done; it is NULL then. */
situ_status mpi_test(struct mpi_request **request, bool *done) SITU_MUST_USE;

/* Gives up a request that is not done; its memory may still be written to until MPI ends. */
void mpi_drop(struct mpi_request **request);

/* Whether a message of that kind from *from (-1: anybody, who is then told) is waiting. */
bool mpi_probe(enum mpi_tag tag, int *from);

#endif
