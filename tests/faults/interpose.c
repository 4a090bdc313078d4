/* SPDX-License-Identifier: Apache-2.0
 * interpose.c: a library for LD_PRELOAD in which the Nth allocation, file operation or thread
 * creation of situ fails. SITU_FAULT=KIND:N[+] selects it for a whole process; with "+" all later
 * ones fail, too. Programs that load this library can call situ_fault_arm instead.
 *
 * Allocations and threads count if their caller is situ: code in libsitu, in the extension module
 * or in a program that contains libsitu.a. NumPy and CPython are not affected. File operations also
 * count for other callers if the file is below SITU_FAULT_FOLDER. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum kind { MEMORY, FILES, THREADS, N_KINDS };
static const char *const kind_names[N_KINDS] = {"memory", "file", "thread"};

static uint64_t counts[N_KINDS];
static uint64_t fail_at; /* 0: never */
static int fail_kind;
static bool persistent, fired;
static int trace_file = -1;
static char folder[4096];
static bool ready;
static const void *self; /* the base address of a program that contains libsitu.a, or NULL */

#define CALLER __builtin_return_address(0)
#define NEXT(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

/* ---- Control ---- */

/* Fails operation `at`, counted from now, and all later ones if `all`; at = 0: none. */
void situ_fault_arm(int kind, uint64_t at, bool all) {
  fail_at = 0;
  memset(counts, 0, sizeof counts);
  fail_kind = kind;
  persistent = all;
  fired = false;
  fail_at = at;
}

uint64_t situ_fault_count(int kind) { return counts[kind]; }

bool situ_fault_fired(void) { return fired; }

__attribute__((constructor)) static void init(void) {
  void *frame[1];
  backtrace(frame, 1); /* loads libgcc now */
  Dl_info info;
  const bool is_python = dlsym(RTLD_DEFAULT, "Py_Initialize");
  if (!is_python && dladdr((void *)getauxval(AT_ENTRY), &info)) self = info.dli_fbase;
  ready = true;
  const char *setting = getenv("SITU_FAULT"), *trace = getenv("SITU_FAULT_TRACE");
  const char *below = getenv("SITU_FAULT_FOLDER");
  if (below) snprintf(folder, sizeof folder, "%s/", below);
  if (trace) trace_file = open(trace, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  for (int kind = 0; setting && kind < N_KINDS; kind++) {
    const size_t length = strlen(kind_names[kind]);
    if (strncmp(setting, kind_names[kind], length) || setting[length] != ':') continue;
    char *end = NULL;
    const uint64_t at = strtoull(setting + length + 1, &end, 10);
    situ_fault_arm(kind, at, *end == '+');
  }
}

/* Writes the number of operations of each kind, and whether one failed. */
__attribute__((destructor)) static void report(void) {
  const char *path = getenv("SITU_FAULT_REPORT");
  const int file = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT, 0600) : -1;
  if (file < 0) return;
  dprintf(file, "%d", fired);
  for (int kind = 0; kind < N_KINDS; kind++)
    dprintf(file, " %llu", (unsigned long long)counts[kind]);
  syscall(SYS_close, file);
}

/* ---- Decisions ---- */

static bool is_situ(const void *caller) {
  Dl_info info;
  if (!ready || !dladdr(caller, &info) || !info.dli_fname) return false;
  const char *slash = strrchr(info.dli_fname, '/');
  const char *name = slash ? slash + 1 : info.dli_fname;
  if (strstr(name, "situ") == name || strstr(name, "libsitu") == name) return true;
  if (strstr(name, "_situ") == name) return true;
  return self && info.dli_fbase == self;
}

static bool counted(enum kind kind) {
  const uint64_t count = __atomic_add_fetch(&counts[kind], 1, __ATOMIC_RELAXED);
  if (!fail_at || (int)kind != fail_kind) return false;
  if (persistent ? count < fail_at : count != fail_at) return false;
  if (!fired && trace_file >= 0) {
    void *frames[32];
    backtrace_symbols_fd(frames, backtrace(frames, 32), trace_file);
  }
  fired = true;
  return true;
}

static bool fails(enum kind kind, const void *caller) { return is_situ(caller) && counted(kind); }

static bool is_below(const char *path) {
  return *folder && path && !strncmp(path, folder, strlen(folder));
}

static bool path_fails(const char *path, const void *caller) {
  return (is_below(path) || is_situ(caller)) && counted(FILES);
}

static bool file_fails(int file, const void *caller) {
  char link[64], path[4096];
  if (file == 1 || file == 2) return false;
  if (is_situ(caller)) return counted(FILES);
  if (!*folder) return false;
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  path[length < 0 ? 0 : length] = 0;
  return is_below(path) && counted(FILES);
}

static bool stream_fails(FILE *stream, const void *caller) {
  if (!stream || stream == stdout || stream == stderr) return false;
  if (!file_fails(fileno(stream), caller)) return false;
  stream->_flags |= 0x20; /* _IO_ERR_SEEN: what ferror() returns */
  return true;
}

#define FAIL_IF(condition, code, result) \
  if (condition) {                       \
    errno = (code);                      \
    return (result);                     \
  }

/* ---- Allocations ---- */

void *malloc(size_t bytes) {
  FAIL_IF(fails(MEMORY, CALLER), ENOMEM, NULL)
  return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes) {
  FAIL_IF(fails(MEMORY, CALLER), ENOMEM, NULL)
  return __libc_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes) {
  FAIL_IF(fails(MEMORY, CALLER), ENOMEM, NULL)
  return __libc_realloc(old, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes) {
  FAIL_IF(fails(MEMORY, CALLER), ENOMEM, NULL)
  return __libc_memalign(alignment, bytes);
}

int posix_memalign(void **out, size_t alignment, size_t bytes) {
  if (fails(MEMORY, CALLER)) return ENOMEM;
  *out = __libc_memalign(alignment, bytes);
  return *out ? 0 : ENOMEM;
}

char *strdup(const char *text) {
  FAIL_IF(fails(MEMORY, CALLER), ENOMEM, NULL)
  char *copy = __libc_malloc(strlen(text) + 1);
  return copy ? strcpy(copy, text) : NULL;
}

char *strndup(const char *text, size_t length) {
  FAIL_IF(fails(MEMORY, CALLER), ENOMEM, NULL)
  const size_t bytes = strnlen(text, length);
  char *copy = __libc_malloc(bytes + 1);
  if (!copy) return NULL;
  copy[bytes] = 0;
  return memcpy(copy, text, bytes);
}

int vasprintf(char **out, const char *format, va_list values) {
  FAIL_IF(fails(MEMORY, CALLER), ENOMEM, -1)
  return NEXT(vasprintf)(out, format, values);
}

int asprintf(char **out, const char *format, ...) {
  FAIL_IF(fails(MEMORY, CALLER), ENOMEM, -1)
  va_list values;
  va_start(values, format);
  const int length = NEXT(vasprintf)(out, format, values);
  va_end(values);
  return length;
}

/* Fortified programs call these instead. */
int __vasprintf_chk(char **out, int flag, const char *format, va_list values) {
  (void)flag;
  FAIL_IF(fails(MEMORY, CALLER), ENOMEM, -1)
  return NEXT(vasprintf)(out, format, values);
}

FILE *open_memstream(char **data, size_t *bytes) {
  FAIL_IF(fails(MEMORY, CALLER), ENOMEM, NULL)
  return NEXT(open_memstream)(data, bytes);
}

void *mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset) {
  FAIL_IF(fails(MEMORY, CALLER), ENOMEM, MAP_FAILED)
  return (void *)syscall(SYS_mmap, at, bytes, protection, flags, file, offset);
}

/* ---- Threads ---- */

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                   void *context) {
  if (fails(THREADS, CALLER)) return EAGAIN;
  return NEXT(pthread_create)(thread, attributes, start, context);
}

/* ---- Files ---- */

static mode_t mode_of(int flags, va_list values) {
  return flags & (O_CREAT | O_TMPFILE) ? (mode_t)va_arg(values, int) : 0;
}

#define DEFINE_OPEN(name)                                         \
  int name(const char *path, int flags, ...) {                    \
    va_list values;                                               \
    va_start(values, flags);                                      \
    const mode_t mode = mode_of(flags, values);                   \
    va_end(values);                                               \
    FAIL_IF(path_fails(path, CALLER), EMFILE, -1)                 \
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode); \
  }
DEFINE_OPEN(open)
DEFINE_OPEN(open64)

int openat(int at, const char *path, int flags, ...) {
  va_list values;
  va_start(values, flags);
  const mode_t mode = mode_of(flags, values);
  va_end(values);
  FAIL_IF(path_fails(path, CALLER), EMFILE, -1)
  return (int)syscall(SYS_openat, at, path, flags, mode);
}

ssize_t read(int file, void *data, size_t bytes) {
  FAIL_IF(file_fails(file, CALLER), EIO, -1)
  return NEXT(read)(file, data, bytes);
}

ssize_t pread(int file, void *data, size_t bytes, off_t offset) {
  FAIL_IF(file_fails(file, CALLER), EIO, -1)
  return NEXT(pread)(file, data, bytes, offset);
}

ssize_t write(int file, const void *data, size_t bytes) {
  FAIL_IF(file_fails(file, CALLER), ENOSPC, -1)
  return NEXT(write)(file, data, bytes);
}

ssize_t pwrite(int file, const void *data, size_t bytes, off_t offset) {
  FAIL_IF(file_fails(file, CALLER), ENOSPC, -1)
  return NEXT(pwrite)(file, data, bytes, offset);
}

int fsync(int file) {
  FAIL_IF(file_fails(file, CALLER), EIO, -1)
  return NEXT(fsync)(file);
}

int ftruncate(int file, off_t bytes) {
  FAIL_IF(file_fails(file, CALLER), EIO, -1)
  return NEXT(ftruncate)(file, bytes);
}

int rename(const char *from, const char *to) {
  FAIL_IF(path_fails(to, CALLER), EACCES, -1)
  return NEXT(rename)(from, to);
}

int mkdir(const char *path, mode_t mode) {
  FAIL_IF(path_fails(path, CALLER), EACCES, -1)
  return NEXT(mkdir)(path, mode);
}

int mkstemp(char *path) {
  FAIL_IF(path_fails(path, CALLER), EMFILE, -1)
  return NEXT(mkstemp)(path);
}

DIR *opendir(const char *path) {
  FAIL_IF(path_fails(path, CALLER), EMFILE, NULL)
  return NEXT(opendir)(path);
}

FILE *fopen(const char *path, const char *mode) {
  FAIL_IF(path_fails(path, CALLER), EMFILE, NULL)
  return NEXT(fopen)(path, mode);
}

FILE *fdopen(int file, const char *mode) {
  FAIL_IF(file_fails(file, CALLER), EMFILE, NULL)
  return NEXT(fdopen)(file, mode);
}

size_t fread(void *data, size_t size, size_t count, FILE *stream) {
  FAIL_IF(stream_fails(stream, CALLER), EIO, 0)
  return NEXT(fread)(data, size, count, stream);
}

size_t fwrite(const void *data, size_t size, size_t count, FILE *stream) {
  FAIL_IF(stream_fails(stream, CALLER), ENOSPC, 0)
  return NEXT(fwrite)(data, size, count, stream);
}

int fflush(FILE *stream) {
  FAIL_IF(stream_fails(stream, CALLER), ENOSPC, EOF)
  return NEXT(fflush)(stream);
}

/* As when the disk is full: the stream is closed, but its last bytes were not written. */
int fclose(FILE *stream) {
  const bool failing = stream_fails(stream, CALLER);
  const int result = NEXT(fclose)(stream);
  FAIL_IF(failing, ENOSPC, EOF)
  return result;
}
