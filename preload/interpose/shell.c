/* SPDX-License-Identifier: MIT
 * system and popen with --follow: libc starts the shell inside these functions, so exec.c does not see the
 * child. The real function gets a command that sets our variables and execs a second shell, which loads the
 * preload. Any thread; errno is kept.
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
#define COMMAND_MAX 8192 /* bytes; a longer command is not followed */

extern char **environ;

static struct {
    int (*system)(const char *);
    FILE *(*popen)(const char *, const char *);
} real;

void hd_interpose_resolve_shell(void) {
    _Static_assert(sizeof real == 2 * sizeof(void *), "a name for each");
    hd_interpose_look_up_all(&real, "system\0popen\0");
}

/* Appends `s` as one word of the shell. */
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

/* Returns the extended command in `to`, or `command` if the shell would not load the preload or `to` is too
 * small. */
static const char *with_preload(const char *command, char to[COMMAND_MAX]) {
    int saved = errno;
    const char *preload =
        hd_exec_preload_for(SHELL, to); /* `to` is scratch: no library must precede ours in a shell */
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
        hd_text_str(&t, " sh"); /* the name in the shell's error messages, as with libc */
    }
    errno = saved;
    return preload != NULL && t.used + 1 < COMMAND_MAX ? to : command;
}

/* False if `command` starts like an option, which libc versions treat differently. False under a seccomp
 * filter, where we make no system calls. */
static bool is_followed(const char *command) {
    return command != NULL && command[0] != '-' && command[0] != '+' && hd_record_file_path() != NULL &&
           !hd_attach_is_filtered();
}

/* Maps memory for the command: the smallest stack of a thread has little more than libc needs here. NULL: no
 * memory, or the command is not followed. */
static char *map_buffer(const char *command) {
    if (!is_followed(command)) {
        return NULL;
    }
    void *p = hd_os.map(NULL, COMMAND_MAX, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return hd_os_map_error(p) == 0 ? p : NULL;
}

static void unmap_buffer(char *buffer) {
    if (buffer != NULL) {
        (void)hd_os.unmap(buffer, COMMAND_MAX);
    }
}

/* A constructor that runs before ours may call these. */
EXPORT EARLY int system(const char *command) {
    if (real.system == NULL) {
        return ((__typeof__(real.system))hd_interpose_look_up("system"))(command);
    }
    char *buffer = map_buffer(command);
    int result = real.system(buffer != NULL ? with_preload(command, buffer) : command);
    unmap_buffer(buffer);
    return result;
}

EXPORT EARLY FILE *popen(const char *command, const char *mode) {
    if (real.popen == NULL) {
        return ((__typeof__(real.popen))hd_interpose_look_up("popen"))(command, mode);
    }
    char *buffer = map_buffer(command);
    FILE *result = real.popen(buffer != NULL ? with_preload(command, buffer) : command, mode);
    unmap_buffer(buffer);
    return result;
}
