/* SPDX-License-Identifier: Apache-2.0
 * status.h: error codes and statuses.
 *
 * A situ_status is a pointer; NULL is success. An error has a code (numbered as in TensorFlow) and
 * a message. The receiver owns it and frees it with situ_status_release or situ_status_report. A
 * status may be passed between threads.
 */
#ifndef SITU_STATUS_H
#define SITU_STATUS_H

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SITU_API __attribute__((visibility("default")))
#define SITU_MUST_USE __attribute__((warn_unused_result))
#define SITU_NOT_NULL __attribute__((returns_nonnull))
#define SITU_FORMAT(string, first) __attribute__((format(printf, string, first)))
#else
#define SITU_API
#define SITU_MUST_USE
#define SITU_NOT_NULL
#define SITU_FORMAT(string, first)
#endif

/* The error codes: name, number, Python exception class. */
#define SITU_CODES(X)                                  \
  X(OK, 0, "OK")                                       \
  X(CANCELLED, 1, "CancelledError")                    \
  X(UNKNOWN, 2, "UnknownError")                        \
  X(INVALID_ARGUMENT, 3, "InvalidArgumentError")       \
  X(DEADLINE_EXCEEDED, 4, "DeadlineExceededError")     \
  X(NOT_FOUND, 5, "NotFoundError")                     \
  X(ALREADY_EXISTS, 6, "AlreadyExistsError")           \
  X(PERMISSION_DENIED, 7, "PermissionDeniedError")     \
  X(RESOURCE_EXHAUSTED, 8, "ResourceExhaustedError")   \
  X(FAILED_PRECONDITION, 9, "FailedPreconditionError") \
  X(ABORTED, 10, "AbortedError")                       \
  X(OUT_OF_RANGE, 11, "OutOfRangeError")               \
  X(UNIMPLEMENTED, 12, "UnimplementedError")           \
  X(INTERNAL, 13, "InternalError")                     \
  X(UNAVAILABLE, 14, "UnavailableError")               \
  X(DATA_LOSS, 15, "DataLossError")                    \
  X(UNAUTHENTICATED, 16, "UnauthenticatedError")

typedef enum situ_code {
#define SITU_CODE_ENUM(name, number, python) SITU_##name = number,
  SITU_CODES(SITU_CODE_ENUM)
#undef SITU_CODE_ENUM
} situ_code;

typedef struct situ_error *situ_status;

/* Creates a status from a printf format. Never NULL: returns a static status if out of memory. */
SITU_API situ_status situ_status_create(situ_code code, const char *format,
                                        ...) SITU_MUST_USE SITU_NOT_NULL SITU_FORMAT(2, 3);

/* Returns the code; SITU_OK for NULL. */
SITU_API situ_code situ_status_code(situ_status status);

/* Returns the message; "" for NULL. Borrowed from the status. */
SITU_API const char *situ_status_message(situ_status status);

/* Returns the name of the node that failed, or NULL. Borrowed from the status. */
SITU_API const char *situ_status_node(situ_status status);

/* Returns "INVALID_ARGUMENT" for SITU_INVALID_ARGUMENT; "UNKNOWN" for an invalid code. */
SITU_API const char *situ_code_name(situ_code code);

/* Returns the Python exception class: "InvalidArgumentError" for SITU_INVALID_ARGUMENT. */
SITU_API const char *situ_code_python(situ_code code);

/* Frees a status; NULL is ignored. */
SITU_API void situ_status_release(situ_status status);

/* Prints an error ("InvalidArgumentError: message") to the stream and frees it. Returns the exit
 * code for main(): 0 for NULL, else 1. */
SITU_API int situ_status_report(situ_status status, FILE *stream);

#ifdef __cplusplus
}
#endif
#endif
