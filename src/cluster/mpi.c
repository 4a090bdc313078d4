/* SPDX-License-Identifier: Apache-2.0
 * mpi.c: loads Open MPI at run time; see mpi.h. */
#include "cluster/mpi.h"

#include <dlfcn.h>
#include <limits.h>

#include "base/dl.h"

/* As in OpenMPI's mpi.h. */
struct mpi_status {
  int source, tag, error, cancelled;
  size_t count;
};
enum { THREAD_SERIALIZED = 2, ERROR_TEXT = 256 };

#define FUNCTIONS(X)                                                                      \
  X(int, MPI_Initialized, (int *))                                                        \
  X(int, MPI_Finalized, (int *))                                                          \
  X(int, MPI_Init_thread, (int *, char ***, int, int *))                                  \
  X(int, MPI_Finalize, (void))                                                            \
  X(int, MPI_Comm_rank, (void *, int *))                                                  \
  X(int, MPI_Comm_size, (void *, int *))                                                  \
  X(int, MPI_Comm_dup, (void *, void **))                                                 \
  X(int, MPI_Comm_set_errhandler, (void *, void *))                                       \
  X(int, MPI_Allgather, (const void *, int, void *, void *, int, void *, void *))         \
  X(int, MPI_Isend, (const void *, int, void *, int, int, void *, struct mpi_request **)) \
  X(int, MPI_Irecv, (void *, int, void *, int, int, void *, struct mpi_request **))       \
  X(int, MPI_Test, (struct mpi_request **, int *, struct mpi_status *))                   \
  X(int, MPI_Cancel, (struct mpi_request **))                                             \
  X(int, MPI_Request_free, (struct mpi_request **))                                       \
  X(int, MPI_Iprobe, (int, int, void *, int *, struct mpi_status *))                      \
  X(int, MPI_Error_string, (int, char *, int *))

/* Objects whose addresses are handles. */
#define OBJECTS(X) X(ompi_mpi_comm_world) X(ompi_mpi_byte) X(ompi_mpi_errors_return)

#define OBJECT_FIELD(name) void *name;
struct table {
  FUNCTIONS(DL_FIELD)
  OBJECTS(OBJECT_FIELD)
};
#define FUNCTION_SYMBOL(result, name, args) DL_SYMBOL(struct table, name)
#define OBJECT_SYMBOL(name) DL_SYMBOL(struct table, name)
static const struct dl_symbol symbols[] = {FUNCTIONS(FUNCTION_SYMBOL) OBJECTS(OBJECT_SYMBOL)};
static const char *const libraries[] = {"libmpi.so.40", "libmpi.so", "libmpi.so.12", NULL};

static struct table mpi;
static void *communicator; /* NULL: not initialized */
static bool is_owner;      /* MPI was initialized here */

static situ_status check(int code, const char *what) {
  if (!code) return NULL;
  char text[ERROR_TEXT] = "";
  int length = 0;
  mpi.MPI_Error_string(code, text, &length);
  return situ_status_create(SITU_UNAVAILABLE, "%s: %s", what, text);
}

static situ_status load(void) {
  char why[DL_REASON_SIZE];
  /* Open MPI's plug-ins need its symbols in the global scope. */
  for (const char *const *name = libraries; *name; name++)
    if (dlopen(*name, RTLD_NOW | RTLD_GLOBAL)) break;
  if (dl_load(libraries, symbols, (int)COUNT_OF(symbols), &mpi, why)) return NULL;
  return situ_status_create(
      SITU_UNAVAILABLE, "Clusters of several machines need Open MPI, which cannot be loaded: %s",
      why);
}

static situ_status initialize(void) {
  int is_initialized = 0, provided = 0;
  TRY(check(mpi.MPI_Initialized(&is_initialized), "MPI_Initialized"));
  if (!is_initialized)
    TRY(check(mpi.MPI_Init_thread(NULL, NULL, THREAD_SERIALIZED, &provided), "MPI_Init_thread"));
  is_owner = !is_initialized;
  TRY(check(mpi.MPI_Comm_dup(mpi.ompi_mpi_comm_world, &communicator), "MPI_Comm_dup"));
  return check(mpi.MPI_Comm_set_errhandler(communicator, mpi.ompi_mpi_errors_return),
               "MPI_Comm_set_errhandler");
}

situ_status mpi_start(int *rank, int *size) {
  if (!communicator) {
    TRY(load());
    TRY(initialize());
  }
  TRY(check(mpi.MPI_Comm_rank(communicator, rank), "MPI_Comm_rank"));
  return check(mpi.MPI_Comm_size(communicator, size), "MPI_Comm_size");
}

void mpi_stop(void) {
  int is_finalized = 0;
  if (!communicator) return;
  communicator = NULL;
  if (is_owner && !mpi.MPI_Finalized(&is_finalized) && !is_finalized) mpi.MPI_Finalize();
}

situ_status mpi_all_gather(const void *data, size_t bytes, void *out) {
  void *byte = mpi.ompi_mpi_byte;
  return check(mpi.MPI_Allgather(data, (int)bytes, byte, out, (int)bytes, byte, communicator),
               "MPI_Allgather");
}

static situ_status check_size(size_t bytes) {
  if (bytes <= INT_MAX) return NULL;
  return INVALID("A message of %zu bytes is too large: at most %d.", bytes, INT_MAX);
}

situ_status mpi_send(const void *data, size_t bytes, int to, enum mpi_tag tag,
                     struct mpi_request **out) {
  TRY(check_size(bytes));
  return check(mpi.MPI_Isend(data, (int)bytes, mpi.ompi_mpi_byte, to, (int)tag, communicator, out),
               "MPI_Isend");
}

situ_status mpi_receive(void *data, size_t bytes, int from, enum mpi_tag tag,
                        struct mpi_request **out) {
  TRY(check_size(bytes));
  return check(
      mpi.MPI_Irecv(data, (int)bytes, mpi.ompi_mpi_byte, from, (int)tag, communicator, out),
      "MPI_Irecv");
}

situ_status mpi_test(struct mpi_request **request, bool *done) {
  int flag = 0;
  TRY(check(mpi.MPI_Test(request, &flag, NULL), "MPI_Test"));
  *done = flag;
  if (flag) *request = NULL;
  return NULL;
}

void mpi_drop(struct mpi_request **request) {
  if (!*request) return;
  mpi.MPI_Cancel(request);
  mpi.MPI_Request_free(request);
  *request = NULL;
}

bool mpi_probe(enum mpi_tag tag, int *from) {
  int flag = 0;
  struct mpi_status status = {0};
  if (!communicator || mpi.MPI_Iprobe(*from, (int)tag, communicator, &flag, &status)) return false;
  if (flag) *from = status.source;
  return flag;
}
