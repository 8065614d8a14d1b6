/* SPDX-License-Identifier: MIT
 * The interposed exec functions. The next program of the watched process gets the same as the runner's first
 * program: the preload in LD_PRELOAD, and the file with the records. Stack use is small: a handler may exec
 * on an alternate stack of 8 KiB. A large environment is built in mapped memory. A failed exec leaves nothing
 * behind. A child's exec is changed only with
 * --follow.
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
#define VARIABLES_MAX 2048 /* variables of an environment that is copied */
#define STACK_BYTES 2048   /* bytes of a copy on the stack: some 200 variables */

extern char **environ;

static char own_preload[(HD_SANITIZED ? 2 : 1) * PATH_MAX]; /* empty: no program after an exec is watched */

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

/* True: the next program's loader will be able to open the preload, and print no error. Calls access because
 * it uses the real ids, as the loader does after the exec. Calls open because Landlock rules do not apply to
 * access. */
static bool preload_is_readable(void) {
    const char *before = HD_SANITIZED ? strrchr(own_preload, ':') : NULL; /* the sanitizer's runtime */
    const char *path = before != NULL ? before + 1 : own_preload;
    int fd = access(path, R_OK) == 0 ? hd_os_open(AT_FDCWD, path) : -1;
    hd_os_close(fd);
    return fd >= 0;
}

static bool loads_us(int dir, const char *path, char *const *argv, char first[HD_EXEC_NAME_BYTES]) {
    return hd_exec_target_loads_us(dir, path, argv, first) && preload_is_readable();
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

/* Finds the file that execvp will use. */
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

enum method {
    BY_PATH,
    BY_NAME,
    BY_FD,
    BY_DIRECTORY,
    SPAWN,
    SPAWN_BY_NAME
};

struct call {
    enum method method;
    int fd; /* BY_FD: the file; BY_DIRECTORY: the folder */
    const char *path;
    char *const *argv;
    char *const *env;
    int flags;
    struct { /* arguments of posix_spawn */
        pid_t *pid;
        const posix_spawn_file_actions_t *actions;
        const posix_spawnattr_t *attributes;
    } spawn;
};

static int pass_on(const struct call *c, char *const *env) {
    if (real.execve == NULL) {
        hd_exec_resolve();
    }
    switch (c->method) {
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

/* True: a runner inside this run starts its program, which needs no second watch. */
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

/* Not inlined: only this method needs so much stack, and a handler's stack may be small. libc itself needs
 * more here. */
__attribute__((noinline)) static bool named_loads_us(const struct call *c, char first[HD_EXEC_NAME_BYTES]) {
    const char *listed = hd_exec_variable(environ, "PATH="),
               *places = listed != NULL ? listed : "/bin:/usr/bin";
    size_t bytes = longest_of(places) + strlen(c->path) + sizeof "/";
    char path[bytes < PATH_MAX ? bytes : PATH_MAX];
    return find(places, c->path, path, sizeof path) && loads_us(AT_FDCWD, path, c->argv, first);
}

static bool target_loads_us(const struct call *c, char first[HD_EXEC_NAME_BYTES]) {
    if (c->method == BY_FD && c->env == NULL) {
        return false; /* libc refuses a NULL environment, but would accept ours */
    }
    if (is_of_another_runner(c) || hd_exec_variable(c->env, "LD_TRACE_LOADED_OBJECTS=") != NULL) {
        return false; /* the variable is ldd's, which would list the preload */
    }
    if (c->method == BY_FD || (c->method == BY_DIRECTORY && c->path[0] == '\0')) {
        char path[32];
        struct hd_text t;
        hd_text_init(&t, path, sizeof path);
        hd_text_str(&t, "/proc/self/fd/");
        hd_text_i64(&t, c->fd);
        return loads_us(AT_FDCWD, path, c->argv, first);
    }
    if ((c->method == BY_NAME || c->method == SPAWN_BY_NAME) && strchr(c->path, '/') == NULL) {
        return named_loads_us(c, first);
    }
    return loads_us(c->method == BY_DIRECTORY ? c->fd : AT_FDCWD, c->path, c->argv, first);
}

static size_t count_variables(char *const *env) {
    size_t n = 0;
    for (; env != NULL && env[n] != NULL; n++) {
    }
    return n;
}

/* Not inlined: other paths then do not use this stack. */
static __attribute__((noinline)) int pass_on_by_stack(const struct call *c,
                                                      const struct hd_exec_addition *a) {
    char *memory[hd_exec_environment_bytes(a) / sizeof(char *) + 1];
    return pass_on(c, hd_exec_environment_fill(memory, c->env, a));
}

/* Adds our two variables. Our constructor removes them in the next program. */
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
    void *memory = hd_exec_memory_take(bytes, in_child);
    if (memory == NULL) {
        return E2BIG;
    }
    int result = pass_on(c, hd_exec_environment_fill(memory, c->env, &a)), saved = errno;
    hd_exec_memory_give(memory, bytes, in_child);
    errno = saved;
    return result;
}

/* Passes the call on with our variables. The watched process's next program gets a descriptor of the records'
 * file, opened late to limit which children inherit it. In a child (`record` NULL) it gets the file's path.
 * E2BIG: the program would not load the preload, or our variables did not fit.
 */
static int pass_on_with_preload(const struct call *c, const struct hd_record *record) {
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
                              record == NULL && c->method < SPAWN);
    saved = errno;
    hd_os_close(link);
    errno = saved;
    return result;
}

/* True: the call may succeed without our variables. */
static bool was_too_big(int result) {
    return (result < 0 ? errno : result) == E2BIG;
}

/* An exec or spawn in a child: unchanged unless children are followed. */
static int become_in_child(const struct call *c) {
    const char *path = own_preload[0] != '\0' && !is_of_another_runner(c) ? hd_record_file_path() : NULL;
    bool child = path != NULL && c->path != NULL && (hd_attach_is_child() || c->method >= SPAWN);
    int result = child && !hd_attach_is_filtered() ? pass_on_with_preload(c, NULL) : E2BIG;
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
    uint32_t before = atomic_exchange(&record->status.unwatched,
                                      HD_UNWATCHED_EXEC); /* until the next program takes the record */
    int result = pass_on_with_preload(c, record);
    result = was_too_big(result) ? pass_on(c, c->env) : result;
    atomic_store(&record->status.unwatched, before);
    return result;
}

EXPORT int execve(const char *path, char *const argv[], char *const env[]) {
    return become(&(struct call){.method = BY_PATH, .path = path, .argv = argv, .env = env});
}

EXPORT int execv(const char *path, char *const argv[]) {
    return become(&(struct call){.method = BY_PATH, .path = path, .argv = argv, .env = environ});
}

EXPORT int execvpe(const char *name, char *const argv[], char *const env[]) {
    return become(&(struct call){.method = BY_NAME, .path = name, .argv = argv, .env = env});
}

EXPORT int execvp(const char *name, char *const argv[]) {
    return become(&(struct call){.method = BY_NAME, .path = name, .argv = argv, .env = environ});
}

EXPORT int fexecve(int fd, char *const argv[], char *const env[]) {
    return become(&(struct call){.method = BY_FD, .fd = fd, .path = "", .argv = argv, .env = env});
}

EXPORT int execveat(int dir, const char *path, char *const argv[], char *const env[], int flags) {
    return become(&(struct call){
        .method = BY_DIRECTORY, .fd = dir, .path = path, .argv = argv, .env = env, .flags = flags});
}

static size_t count_arguments(va_list list) {
    size_t n = 1;
    while (va_arg(list, char *) != NULL) { // NOLINT(clang-analyzer-valist.Uninitialized): the caller's
        n++;
    }
    return n;
}

/* Copies the arguments to the stack, as libc does. The list may be empty, although the header forbids that.
 */
static int become_by_list(enum method method, const char *path, const char *first, va_list list,
                          bool env_follows) {
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
    return become(&(struct call){.method = method, .path = path, .argv = argv, .env = env});
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

/* libc makes the child and execs inside this function. */
EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                       const posix_spawnattr_t *attributes, char *const argv[], char *const env[]) {
    return become_in_child(&(struct call){
        .method = SPAWN, .path = path, .argv = argv, .env = env, .spawn = {pid, actions, attributes}});
}

EXPORT int posix_spawnp(pid_t *pid, const char *name, const posix_spawn_file_actions_t *actions,
                        const posix_spawnattr_t *attributes, char *const argv[], char *const env[]) {
    return become_in_child(&(struct call){.method = SPAWN_BY_NAME,
                                          .path = name,
                                          .argv = argv,
                                          .env = env,
                                          .spawn = {pid, actions, attributes}});
}
