/* SPDX-License-Identifier: MIT
 *
 * The preload's constructor. It takes a record of the runner's file, removes Hangdog's variables from the
 * environment, and starts the watch (attach/attach.h). If a step fails, the program runs as without Hangdog.
 */
#include <errno.h>
#include <string.h>

#include "os/os.h"
#include "preload/attach/attach.h"
#include "preload/attach/record_file.h"
#include "preload/interpose/exec.h"
#include "preload/interpose/real.h"

#define PRELOAD_NAME "libhangdog-preload.so"

extern char **environ;

/* Clears the text too: /proc/PID/environ shows this memory, and some programs write their title there. */
static void drop_variable(char **e) {
    memset(*e, 0, strlen(*e));
    for (; *e != NULL; e++) {
        e[0] = e[1];
    }
}

/* Removes our library from LD_PRELOAD, and with it what the runner put before. The user's entries stay, in
 * their order. Changes the string in place: no lock, no allocation. */
static void clean_preload(void) {
    char **e = hd_exec_find(environ, HD_PRELOAD_VARIABLE);
    if (e == NULL) {
        return;
    }
    char *value = *e + strlen(HD_PRELOAD_VARIABLE);
    char *own = strstr(value, PRELOAD_NAME);
    if (own == NULL) {
        return;
    }
    char *rest = own + strlen(PRELOAD_NAME);
    while (own > value &&
           (HD_SANITIZED || own[-1] != ':')) { /* a sanitized build needs its runtime before the preload */
        own--;
    }
    hd_exec_preload_was(own, (size_t)(rest - own));
    if (*rest == ':' || *rest == ' ') {
        size_t left = strlen(rest + 1);
        memmove(value, rest + 1, left);
        memset(value + left, 0, (size_t)(rest + 1 - value));
    } else {
        drop_variable(e);
    }
}

static struct hd_record *take_link(void) {
    char **e = hd_exec_find(environ, HD_LINK_VARIABLE);
    if (e == NULL) {
        return NULL;
    }
    struct hd_record *r = hd_record_file_take(*e + strlen(HD_LINK_VARIABLE));
    drop_variable(e);
    return r;
}

/* A zygote process of Chromium, Electron and similar programs. It enters its namespaces by raw system calls,
 * and ends the program if it finds a second thread before. */
static bool is_zygote(char *const *argv) {
    while (*argv != NULL && strcmp(*argv, "--type=zygote") != 0) {
        argv++;
    }
    return *argv != NULL;
}

__attribute__((constructor(101))) static void begin(int argc, char **argv) {
    (void)argc;
    int saved = errno;
    hd_interpose_resolve();
    hd_exec_resolve();
    hd_jump_resolve();
    hd_interpose_resolve_ids();
    hd_interpose_resolve_shell();
    hd_interpose_resolve_events();
    struct hd_record *r = take_link();
    clean_preload();
    if (r != NULL) {
        hd_attach_begin(r, is_zygote(argv));
    }
    errno = saved;
}
