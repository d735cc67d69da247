/* Fails the n-th call that changes a file below a folder; loaded by LD_PRELOAD, armed by `arm`. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum { NONE, EIO_ONCE, ENOSPC_ON, ESTALE_ONCE, SHORT, KILL };
static char folder[PATH_MAX];
static int kind;
static long at, met;

void arm(const char *below, long call, int fault) { strncpy(folder, below, PATH_MAX - 1); at = call; kind = fault; met = 0; }
long calls_met(void) { return met; }

static int below(const char *path) { return path && *folder && !strncmp(path, folder, strlen(folder)); }

static int below_fd(int fd) {
    char link[64], path[PATH_MAX];
    if (!kind) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, path, sizeof path - 1);
    if (size < 0) return 0;
    path[size] = 0;
    return below(path);
}

static int below_at(int dir, const char *path) {
    return kind && path && (*path == '/' || dir == AT_FDCWD ? below(path) : below_fd(dir));
}

/* 1 if the call has to fail: errno is set. A short write is no failure, and the caller's to finish. */
static int fails(void) {
    long number = __sync_add_and_fetch(&met, 1);
    if (kind == KILL && number == at) kill(getpid(), SIGKILL);
    if ((kind == EIO_ONCE && number == at)) { errno = EIO; return 1; }
    if ((kind == ESTALE_ONCE && number == at)) { errno = ESTALE; return 1; }
    if ((kind == ENOSPC_ON && number >= at)) { errno = ENOSPC; return 1; }
    return 0;
}

#define REAL(name) ({ static __typeof__(&name) real; if (!real) real = dlsym(RTLD_NEXT, #name); real; })

#define WRITER(name, params, args)                                      \
    ssize_t name params {                                                              \
        if (!below_fd(fd)) return REAL(name) args;                                     \
        if (size > 1 && (kind == SHORT || kind == KILL || kind == ENOSPC_ON) && met + 1 == at) { \
            size /= 2;                                                                 \
            ssize_t done = REAL(name) args;                                            \
            fails();                                                                   \
            return done;                                                               \
        }                                                                              \
        return fails() ? -1 : REAL(name) args;                                         \
    }
WRITER(write, (int fd, const void *data, size_t size), (fd, data, size))
WRITER(pwrite, (int fd, const void *data, size_t size, off_t place), (fd, data, size, place))
WRITER(pwrite64, (int fd, const void *data, size_t size, off64_t place), (fd, data, size, place))

#define OF_FD(name, params, args) int name params { return below_fd(fd) && fails() ? -1 : REAL(name) args; }
OF_FD(fsync, (int fd), (fd))
OF_FD(fdatasync, (int fd), (fd))
OF_FD(ftruncate, (int fd, off_t size), (fd, size))
OF_FD(ftruncate64, (int fd, off64_t size), (fd, size))

#define OF_PATH(name, params, args, path) int name params { return kind && below(path) && fails() ? -1 : REAL(name) args; }
OF_PATH(rename, (const char *old, const char *new), (old, new), new)
OF_PATH(link, (const char *old, const char *new), (old, new), new)
OF_PATH(unlink, (const char *path), (path), path)
OF_PATH(rmdir, (const char *path), (path), path)
OF_PATH(mkdir, (const char *path, mode_t mode), (path, mode), path)

int linkat(int from, const char *old, int dir, const char *new, int flags) {
    return below_at(dir, new) && fails() ? -1 : REAL(linkat)(from, old, dir, new, flags);
}
int renameat(int from, const char *old, int dir, const char *new) {
    return below_at(dir, new) && fails() ? -1 : REAL(renameat)(from, old, dir, new);
}
int unlinkat(int dir, const char *path, int flags) {
    return below_at(dir, path) && fails() ? -1 : REAL(unlinkat)(dir, path, flags);
}

#define OPENER(name)                                                                   \
    int name(const char *path, int flags, ...) {                                       \
        va_list rest;                                                                  \
        va_start(rest, flags);                                                         \
        mode_t mode = va_arg(rest, mode_t);                                            \
        va_end(rest);                                                                  \
        if (kind && (flags & (O_CREAT | O_TRUNC)) && below(path) && fails()) return -1; \
        return REAL(name)(path, flags, mode);                                          \
    }
OPENER(open)
OPENER(open64)
