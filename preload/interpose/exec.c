/* SPDX-License-Identifier: MIT
 *
 * The interposed exec functions. In the watched process itself the new program gets what the runner gave the
 * first one: LD_PRELOAD and the memory file. What is built on the stack fits into an alternate one of 8 KiB
 * (the least that programs have) beside a signal's frame; a large environment has a room of its own. A failed
 * exec leaves nothing behind. In children nothing is changed.
 */
#include "preload/interpose/exec.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "os/os.h"
#include "preload/attach/attach.h"
#include "preload/attach/attach_state.h"
#include "preload/attach/exec_target.h"
#include "preload/attach/record_file.h"
#include "preload/interpose/exec_environment.h"
#include "preload/interpose/real.h"

#define EXPORT __attribute__((visibility("default")))
#define VARIABLES_MAX 2048 /* of an environment that is copied */
#define STACK_BYTES 2048   /* for what is copied: some 200 variables */

extern char **environ;

static char own_preload[(HD_SANITIZED ? 2 : 1) * PATH_MAX]; /* empty: nothing is followed */

static struct {
    int (*execve)(const char *, char *const[], char *const[]);
    int (*execvpe)(const char *, char *const[], char *const[]);
    int (*fexecve)(int, char *const[], char *const[]);
    int (*execveat)(int, const char *, char *const[], char *const[], int);
    int (*spawn)(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
                 char *const[], char *const[]);
    __typeof__(&posix_spawnp) spawnp;
} real;

/* Before glibc 2.34. */
static int no_execveat(int dir, const char *path, char *const argv[], char *const env[], int flags) {
    (void)dir, (void)path, (void)argv, (void)env, (void)flags;
    errno = ENOSYS;
    return -1;
}

void hd_exec_resolve(void) {
    _Static_assert(sizeof real == 6 * sizeof(void *), "a name for each");
    hd_interpose_look_up_all(&real, "execve\0execvpe\0fexecve\0execveat\0posix_spawn\0posix_spawnp\0");
    real.execveat = real.execveat != NULL ? real.execveat : no_execveat;
}

void hd_exec_preload_was(const char *begin, size_t length) {
    if (length < sizeof own_preload) {
        memcpy(own_preload, begin, length);
        own_preload[length] = '\0';
    }
}

/* ---- the new program ------------------------------------------------------------------------------ */

/* By the user that the program is by now, without what exec will take from him (access(2) asks as that does),
 * in the root that it is in, and under its Landlock rules, which access(2) passes over: else the loader of
 * the next program says that it cannot. */
static bool we_can_be_read(void) {
    const char *before = HD_SANITIZED ? strrchr(own_preload, ':') : NULL; /* the sanitizer's runtime */
    const char *path = before != NULL ? before + 1 : own_preload;
    int fd = access(path, R_OK) == 0 ? hd_os_open(AT_FDCWD, path) : -1;
    hd_os_close(fd);
    return fd >= 0;
}

static bool loads_us(int dir, const char *path, char *const *argv, char first[HD_EXEC_NAME_BYTES]) {
    return hd_exec_target_loads_us(dir, path, argv, first) && we_can_be_read();
}

const char *hd_exec_preload_for(const char *path, char first[HD_EXEC_NAME_BYTES]) {
    return own_preload[0] != '\0' && loads_us(AT_FDCWD, path, NULL, first) ? own_preload : NULL;
}

char **hd_exec_find(char *const *env, const char *name_and_equals) {
    size_t n = strlen(name_and_equals);
    while (env != NULL && *env != NULL && strncmp(*env, name_and_equals, n) != 0) {
        env++;
    }
    return env != NULL && *env != NULL ? (char **)env : NULL;
}

const char *hd_exec_variable(char *const *env, const char *name_and_equals) {
    char *const *found = hd_exec_find(env, name_and_equals);
    return found != NULL ? *found + strlen(name_and_equals) : NULL;
}

/* Where execvp will find it. */
static bool find(const char *places, const char *name, char *path, size_t size) {
    struct hd_text t;
    for (const char *p = places;; p++) {
        hd_text_init(&t, path, size);
        for (; *p != '\0' && *p != ':'; p++) {
            hd_text_mem(&t, p, 1);
        }
        hd_text_str(&t, path[0] != '\0' ? "/" : "");
        hd_text_str(&t, name);
        struct stat st;
        if (hd_os.stat_at(AT_FDCWD, path, &st, 0) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0) {
            return true;
        }
        if (*p == '\0') {
            return false;
        }
    }
}

/* ---- exec ------------------------------------------------------------------------------------- */

enum way {
    BY_PATH,
    BY_NAME,
    BY_FD,
    BY_DIRECTORY,
    SPAWN,
    SPAWN_BY_NAME
};

struct call {
    enum way way;
    int fd; /* the file, or the directory */
    const char *path;
    char *const *argv;
    char *const *env;
    int flags;
    struct { /* of posix_spawn */
        pid_t *pid;
        const posix_spawn_file_actions_t *actions;
        const posix_spawnattr_t *attributes;
    } spawn;
};

static int pass_on(const struct call *c, char *const *env) {
    if (real.execve == NULL) {
        hd_exec_resolve();
    }
    switch (c->way) {
    case BY_PATH:
        return real.execve(c->path, c->argv, env);
    case BY_NAME:
        return real.execvpe(c->path, c->argv, env);
    case BY_FD:
        return real.fexecve(c->fd, c->argv, env);
    case SPAWN:
        return real.spawn(c->spawn.pid, c->path, c->spawn.actions, c->spawn.attributes, c->argv, env);
    case SPAWN_BY_NAME:
        return real.spawnp(c->spawn.pid, c->path, c->spawn.actions, c->spawn.attributes, c->argv, env);
    case BY_DIRECTORY:
    default:
        return real.execveat(c->fd, c->path, c->argv, env, c->flags);
    }
}

/* A runner that runs under ours starts its own program, which has no use for two. */
static bool is_of_another_runner(const struct call *c) {
    return hd_exec_variable(c->env, HD_LINK_VARIABLE) != NULL;
}

static size_t longest_of(const char *places) {
    size_t longest = 0;
    for (const char *p = places; *p != '\0'; p += p[0] == ':') {
        size_t n = strcspn(p, ":");
        longest = n > longest ? n : longest;
        p += n;
    }
    return longest;
}

/* By itself: no other way needs that much stack, which may be a small one of a handler. libc takes more. */
__attribute__((noinline)) static bool named_loads_us(const struct call *c, char first[HD_EXEC_NAME_BYTES]) {
    const char *listed = hd_exec_variable(environ, "PATH="),
               *places = listed != NULL ? listed : "/bin:/usr/bin";
    size_t bytes = longest_of(places) + strlen(c->path) + sizeof "/";
    char path[bytes < PATH_MAX ? bytes : PATH_MAX];
    return find(places, c->path, path, sizeof path) && loads_us(AT_FDCWD, path, c->argv, first);
}

static bool target_loads_us(const struct call *c, char first[HD_EXEC_NAME_BYTES]) {
    if (c->way == BY_FD && c->env == NULL) {
        return false; /* libc refuses it, and would not with ours */
    }
    if (is_of_another_runner(c) || hd_exec_variable(c->env, "LD_TRACE_LOADED_OBJECTS=") != NULL) {
        return false; /* the second is ldd's: we would be in the list */
    }
    if (c->way == BY_FD || (c->way == BY_DIRECTORY && c->path[0] == '\0')) {
        char path[32];
        struct hd_text t;
        hd_text_init(&t, path, sizeof path);
        hd_text_str(&t, "/proc/self/fd/");
        hd_text_i64(&t, c->fd);
        return loads_us(AT_FDCWD, path, c->argv, first);
    }
    if ((c->way == BY_NAME || c->way == SPAWN_BY_NAME) && strchr(c->path, '/') == NULL) {
        return named_loads_us(c, first);
    }
    return loads_us(c->way == BY_DIRECTORY ? c->fd : AT_FDCWD, c->path, c->argv, first);
}

static size_t count_variables(char *const *env) {
    size_t n = 0;
    for (; env != NULL && env[n] != NULL; n++) {
    }
    return n;
}

/* By itself: where there is another room this stack is not used. */
static __attribute__((noinline)) int pass_on_by_stack(const struct call *c,
                                                      const struct hd_exec_addition *a) {
    char *room[hd_exec_environment_bytes(a) / sizeof(char *) + 1];
    return pass_on(c, hd_exec_environment_fill(room, c->env, a));
}

/* With our two variables: the program removes them before it runs, and then has what it would have had. */
static int pass_on_with(const struct call *c, const char *first, const char *link, bool in_child) {
    const char *users = hd_exec_variable(c->env, HD_PRELOAD_VARIABLE);
    struct hd_exec_addition a = {
        .before = users != NULL && hd_exec_needs_asan_first(users) ? users + strspn(users, ": ") : first,
        .preload = own_preload,
        .users = users,
        .link = link,
        .variables = count_variables(c->env),
    };
    size_t bytes = hd_exec_environment_bytes(&a);
    if (bytes <= STACK_BYTES) {
        return pass_on_by_stack(c, &a);
    }
    void *room = hd_exec_room_take(bytes, in_child);
    if (room == NULL) {
        return E2BIG;
    }
    int result = pass_on(c, hd_exec_environment_fill(room, c->env, &a)), saved = errno;
    hd_exec_room_give(room, bytes, in_child);
    errno = saved;
    return result;
}

/* In the process itself, by a descriptor of the file for its record's successor, which is open no sooner than
 * it must be: children that other threads fork meanwhile have it too. In a child (NULL) by the file's path.
 * E2BIG: it would not load us. */
static int pass_on_with_us(const struct call *c, const struct hd_record *record) {
    char first[HD_EXEC_NAME_BYTES], number[24];
    struct hd_text t;
    int saved = errno;
    bool follow = count_variables(c->env) <= VARIABLES_MAX && target_loads_us(c, first);
    int link = follow && record != NULL ? hd_record_file_open() : -ENOENT;
    errno = saved;
    if (!follow || (record != NULL && link < 0)) {
        return E2BIG;
    }
    hd_text_init(&t, number, sizeof number);
    hd_text_i64(&t, link);
    hd_text_str(&t, ":");
    hd_text_i64(&t, record != NULL ? hd_record_file_number(record) : 0);
    int result = pass_on_with(c, first, record != NULL ? number : hd_record_file_path(),
                              record == NULL && c->way < SPAWN);
    saved = errno;
    hd_os_close(link);
    errno = saved;
    return result;
}

/* Our variables were what was too much: without us it may pass. */
static bool was_too_big(int result) {
    return (result < 0 ? errno : result) == E2BIG;
}

/* A child becomes a program: its own, unless children are followed. */
static int become_in_child(const struct call *c) {
    const char *path = own_preload[0] != '\0' && !is_of_another_runner(c) ? hd_record_file_path() : NULL;
    bool child = path != NULL && c->path != NULL && (hd_attach_is_child() || c->way >= SPAWN);
    int result = child && !hd_attach_is_filtered() ? pass_on_with_us(c, NULL) : E2BIG;
    if (was_too_big(result)) {
        if (child) {
            hd_record_file_count_unwatched(1);
        }
        result = pass_on(c, c->env);
        if (child && result != 0) {
            hd_record_file_count_unwatched(-1);
        }
    }
    return result;
}

static int become(const struct call *c) {
    struct hd_record *record = own_preload[0] != '\0' ? hd_attach_before_exec() : NULL;
    if (record == NULL || c->path == NULL) {
        return become_in_child(c);
    }
    uint32_t before =
        atomic_exchange(&record->status.unwatched, HD_UNWATCHED_EXEC); /* until the new program says no */
    int result = pass_on_with_us(c, record);
    result = was_too_big(result) ? pass_on(c, c->env) : result;
    atomic_store(&record->status.unwatched, before);
    return result;
}

EXPORT int execve(const char *path, char *const argv[], char *const env[]) {
    return become(&(struct call){.way = BY_PATH, .path = path, .argv = argv, .env = env});
}

EXPORT int execv(const char *path, char *const argv[]) {
    return become(&(struct call){.way = BY_PATH, .path = path, .argv = argv, .env = environ});
}

EXPORT int execvpe(const char *name, char *const argv[], char *const env[]) {
    return become(&(struct call){.way = BY_NAME, .path = name, .argv = argv, .env = env});
}

EXPORT int execvp(const char *name, char *const argv[]) {
    return become(&(struct call){.way = BY_NAME, .path = name, .argv = argv, .env = environ});
}

EXPORT int fexecve(int fd, char *const argv[], char *const env[]) {
    return become(&(struct call){.way = BY_FD, .fd = fd, .path = "", .argv = argv, .env = env});
}

EXPORT int execveat(int dir, const char *path, char *const argv[], char *const env[], int flags) {
    return become(&(struct call){
        .way = BY_DIRECTORY, .fd = dir, .path = path, .argv = argv, .env = env, .flags = flags});
}

static size_t count_arguments(va_list list) {
    size_t n = 1;
    while (va_arg(list, char *) != NULL) { // NOLINT(clang-analyzer-valist.Uninitialized): the caller's
        n++;
    }
    return n;
}

/* The arguments of a list, as libc itself has them: on the stack. A list may be empty, whatever the header
 * says. */
static int become_by_list(enum way way, const char *path, const char *first, va_list list, bool env_follows) {
    const char *volatile given = first;
    va_list counted;
    va_copy(counted, list);
    size_t n = given != NULL ? count_arguments(counted) : 0;
    va_end(counted);
    char *argv[n + 1];
    argv[0] = (char *)(uintptr_t)given;
    for (size_t i = 1; i <= n; i++) {
        argv[i] = va_arg(list, char *); // NOLINT(clang-analyzer-valist.Uninitialized): the caller's
    }
    char *const *env = env_follows ? va_arg(list, char *const *) : environ;
    return become(&(struct call){.way = way, .path = path, .argv = argv, .env = env});
}

EXPORT int execl(const char *path, const char *first, ...) {
    va_list list;
    va_start(list, first);
    int result = become_by_list(BY_PATH, path, first, list, false);
    va_end(list);
    return result;
}

EXPORT int execlp(const char *name, const char *first, ...) {
    va_list list;
    va_start(list, first);
    int result = become_by_list(BY_NAME, name, first, list, false);
    va_end(list);
    return result;
}

EXPORT int execle(const char *path, const char *first, ...) {
    va_list list;
    va_start(list, first);
    int result = become_by_list(BY_PATH, path, first, list, true);
    va_end(list);
    return result;
}

/* Its child is made and becomes a program within libc. */
EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                       const posix_spawnattr_t *attributes, char *const argv[], char *const env[]) {
    return become_in_child(&(struct call){
        .way = SPAWN, .path = path, .argv = argv, .env = env, .spawn = {pid, actions, attributes}});
}

EXPORT int posix_spawnp(pid_t *pid, const char *name, const posix_spawn_file_actions_t *actions,
                        const posix_spawnattr_t *attributes, char *const argv[], char *const env[]) {
    return become_in_child(&(struct call){
        .way = SPAWN_BY_NAME, .path = name, .argv = argv, .env = env, .spawn = {pid, actions, attributes}});
}
