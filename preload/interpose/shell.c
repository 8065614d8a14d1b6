/* SPDX-License-Identifier: MIT
 *
 * Where children are followed: commands that libc has the shell run, in children that it makes within itself.
 * The real function is given a command that has a second shell take the place of the first one, with what
 * makes it load us; all else is libc's. Any thread; errno is kept.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/text.h"
#include "os/os.h"
#include "preload/attach/attach_state.h"
#include "preload/attach/record_file.h"
#include "preload/interpose/exec.h"
#include "preload/interpose/real.h"

#define EXPORT __attribute__((visibility("default")))
#define SHELL "/bin/sh"
#define COMMAND_MAX 8192 /* what makes more is not followed */

extern char **environ;

static struct {
    int (*system)(const char *);
    FILE *(*popen)(const char *, const char *);
} real;

void hd_interpose_resolve_shell(void) {
    _Static_assert(sizeof real == 2 * sizeof(void *), "a name for each");
    hd_interpose_look_up_all(&real, "system\0popen\0");
}

/* In single quotes, whatever is in it. */
static void put_quoted(struct hd_text *t, const char *s) {
    hd_text_str(t, "'");
    for (; *s != '\0'; s++) {
        if (*s == '\'') {
            hd_text_str(t, "'\\''");
        } else {
            hd_text_mem(t, s, 1);
        }
    }
    hd_text_str(t, "'");
}

/* The command itself where the shell would not load us, or there is no room. */
static const char *with_us(const char *command, char to[COMMAND_MAX]) {
    int saved = errno;
    const char *preload = hd_exec_preload_for(SHELL, to); /* which needs nothing first */
    const char *users = hd_exec_variable(environ, HD_PRELOAD_VARIABLE);
    struct hd_text t;
    if (preload != NULL) {
        hd_text_init(&t, to, COMMAND_MAX);
        hd_text_str(&t, HD_LINK_VARIABLE);
        put_quoted(&t, hd_record_file_path());
        hd_text_str(&t, " " HD_PRELOAD_VARIABLE);
        if (users != NULL && hd_exec_needs_asan_first(users)) {
            put_quoted(&t, users);
            hd_text_str(&t, ":");
        }
        put_quoted(&t, preload);
        if (users != NULL) {
            put_quoted(&t, ":");
            put_quoted(&t, users);
        }
        hd_text_str(&t, " exec " SHELL " -c ");
        put_quoted(&t, command);
        hd_text_str(&t, " sh"); /* as it calls itself in its errors */
    }
    errno = saved;
    return preload != NULL && t.used + 1 < COMMAND_MAX ? to : command;
}

/* What begins like an option would be one, or is none, as libc has it. Under a filter no call is ours to
 * make.
 */
static bool is_followed(const char *command) {
    return command != NULL && command[0] != '-' && command[0] != '+' && hd_record_file_path() != NULL &&
           !hd_attach_is_filtered();
}

/* Not of the stack: the smallest of a thread has little more than what libc itself needs here. NULL: there is
 * none, or no need. */
static char *take_room(const char *command) {
    if (!is_followed(command)) {
        return NULL;
    }
    void *p = hd_os.map(NULL, COMMAND_MAX, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return hd_os_map_error(p) == 0 ? p : NULL;
}

static void give_room(char *room) {
    if (room != NULL) {
        (void)hd_os.unmap(room, COMMAND_MAX);
    }
}

/* A constructor that runs before ours may call these. */
EXPORT EARLY int system(const char *command) {
    if (real.system == NULL) {
        return ((__typeof__(real.system))hd_interpose_look_up("system"))(command);
    }
    char *room = take_room(command);
    int result = real.system(room != NULL ? with_us(command, room) : command);
    give_room(room);
    return result;
}

EXPORT EARLY FILE *popen(const char *command, const char *mode) {
    if (real.popen == NULL) {
        return ((__typeof__(real.popen))hd_interpose_look_up("popen"))(command, mode);
    }
    char *room = take_room(command);
    FILE *result = real.popen(room != NULL ? with_us(command, room) : command, mode);
    give_room(room);
    return result;
}
