/* SPDX-License-Identifier: Apache-2.0
 * status.h: how calls report failure.
 *
 * A situ_status is a pointer; NULL is success. A status that is not NULL carries a code with
 * TensorFlow's number and a text, belongs to whoever received it, and is freed by
 * situ_status_release or situ_status_report. It may travel between threads.
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

/* Every code once: name, number, the class that Python raises. */
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

/* Makes a status from a printf format. Never fails: without memory it gives a fixed one. */
SITU_API situ_status situ_status_create(situ_code code, const char *format,
                                        ...) SITU_MUST_USE SITU_NOT_NULL SITU_FORMAT(2, 3);

/* The code; SITU_OK of NULL. */
SITU_API situ_code situ_status_code(situ_status status);

/* The text; "" of NULL. Borrowed from the status. */
SITU_API const char *situ_status_message(situ_status status);

/* The name of the node that failed, or NULL where no node did. Borrowed from the status. */
SITU_API const char *situ_status_node(situ_status status);

/* "INVALID_ARGUMENT" for SITU_INVALID_ARGUMENT; "UNKNOWN" for a number that is no code. */
SITU_API const char *situ_code_name(situ_code code);

/* "InvalidArgumentError" for SITU_INVALID_ARGUMENT: the name of the class that Python raises. */
SITU_API const char *situ_code_python(situ_code code);

/* Frees a status; NULL is ignored. */
SITU_API void situ_status_release(situ_status status);

/* Prints a status ("InvalidArgumentError: text") to the stream and frees it; returns the exit code
 * of the program: 0 of NULL, 1 otherwise. The last line of main(). */
SITU_API int situ_status_report(situ_status status, FILE *stream);

#ifdef __cplusplus
}
#endif
#endif
