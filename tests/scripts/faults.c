/* Fails the n-th call that changes a file below a folder; loaded by LD_PRELOAD, armed by `arm`.
   LOST: kills there, and notes in `notes` what reached the disk: S number path (content now in `notes`.number), D folder,
   R from to, L from to, U path. */
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

enum { NONE, EIO_ONCE, ENOSPC_ON, ESTALE_ONCE, SHORT, KILL, LOST, STOP };
static char folder[PATH_MAX], notes[PATH_MAX];
static int kind;
static long at, met, stored;

void arm(const char *below, long call, int fault) { strncpy(folder, below, PATH_MAX - 1); at = call; kind = fault; met = 0; }
void note_in(const char *path) { strncpy(notes, path, PATH_MAX - 1); }
long calls_met(void) { return met; }

#define REAL(name) ({ static __typeof__(&name) real; if (!real) real = dlsym(RTLD_NEXT, #name); real; })

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
    if ((kind == KILL || kind == LOST) && number == at) kill(getpid(), SIGKILL);
    if (kind == STOP && number == at) kill(getpid(), SIGSTOP);
    if ((kind == EIO_ONCE && number == at)) { errno = EIO; return 1; }
    if ((kind == ESTALE_ONCE && number == at)) { errno = ESTALE; return 1; }
    if ((kind == ENOSPC_ON && number >= at)) { errno = ENOSPC; return 1; }
    return 0;
}

#define WRITER(name, params, args)                                      \
    ssize_t name params {                                                              \
        if (!below_fd(fd)) return REAL(name) args;                                     \
        if (size > 1 && (kind == SHORT || kind == KILL || kind == LOST || kind == ENOSPC_ON) && met + 1 == at) { \
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

/* What is noted is below the folder, of one line, and by whole path. */
static void note(const char *what, const char *path, const char *other) {
    char line[2 * PATH_MAX + 64];
    int log = REAL(open)(notes, O_WRONLY | O_CREAT | O_APPEND, 0600);
    int size = snprintf(line, sizeof line, "%s\t%s\t%s\n", what, path, other);
    REAL(write)(log, line, size);
    close(log);
}

static const char *whole(int dir, const char *path, char *room) {
    char link[64];
    if (*path == '/' || dir == AT_FDCWD) return path;
    snprintf(link, sizeof link, "/proc/self/fd/%d", dir);
    ssize_t size = readlink(link, room, PATH_MAX - 1);
    snprintf(room + (size < 0 ? 0 : size), PATH_MAX - (size < 0 ? 0 : size), "/%s", path);
    return room;
}

static int stored_now(int fd) {
    char link[64], path[PATH_MAX] = "", name[PATH_MAX + 32], block[65536];
    struct stat state;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (fstat(fd, &state) || readlink(link, path, sizeof path - 1) < 0) return -1;
    if (S_ISDIR(state.st_mode)) { note("D", path, ""); return 0; }
    long number = __sync_add_and_fetch(&stored, 1);
    snprintf(name, sizeof name, "%s.%ld", notes, number);
    int from = REAL(open)(link, O_RDONLY), to = REAL(open)(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    for (ssize_t size; (size = read(from, block, sizeof block)) > 0;) REAL(write)(to, block, size);
    close(from), close(to);
    snprintf(name, sizeof name, "%ld", number);
    note("S", name, path);
    return 0;
}

#define OF_FD(name, params, args, lost) \
    int name params { return !below_fd(fd) ? REAL(name) args : fails() ? -1 : kind == LOST ? lost : REAL(name) args; }
OF_FD(fsync, (int fd), (fd), stored_now(fd))
OF_FD(fdatasync, (int fd), (fd), stored_now(fd))
OF_FD(ftruncate, (int fd, off_t size), (fd, size), REAL(ftruncate)(fd, size))
OF_FD(ftruncate64, (int fd, off64_t size), (fd, size), REAL(ftruncate64)(fd, size))

#define OF_PATHS(name, params, args, dir, path, what, first, second)                            \
    int name params {                                                                           \
        char one[PATH_MAX] = "", two[PATH_MAX] = "";                                            \
        (void)one, (void)two;                                                                   \
        if (!below_at(dir, path)) return REAL(name) args;                                       \
        if (fails()) return -1;                                                                 \
        if (kind != LOST) return REAL(name) args;                                               \
        const char *from = first, *to = second;                                                 \
        int ended = REAL(name) args;                                                            \
        if (!ended && *what) note(what, from, to);                                              \
        return ended;                                                                           \
    }
#define HERE AT_FDCWD
OF_PATHS(rename, (const char *old, const char *new), (old, new), HERE, new, "R", old, new)
OF_PATHS(link, (const char *old, const char *new), (old, new), HERE, new, "L", old, new)
OF_PATHS(unlink, (const char *path), (path), HERE, path, "U", path, "")
OF_PATHS(rmdir, (const char *path), (path), HERE, path, "", path, "")
OF_PATHS(mkdir, (const char *path, mode_t mode), (path, mode), HERE, path, "", path, "")
OF_PATHS(linkat, (int from_dir, const char *old, int dir, const char *new, int flags), (from_dir, old, dir, new, flags),
         dir, new, "L", whole(from_dir, old, one), whole(dir, new, two))
OF_PATHS(renameat, (int from_dir, const char *old, int dir, const char *new), (from_dir, old, dir, new), dir, new, "R",
         whole(from_dir, old, one), whole(dir, new, two))
OF_PATHS(unlinkat, (int dir, const char *path, int flags), (dir, path, flags), dir, path, "U", whole(dir, path, one), "")

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
