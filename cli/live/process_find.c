/* SPDX-License-Identifier: MIT
 * A name matches the kernel's name of the process, the program's file, or argv[0]. Otherwise it matches the
 * script that the process runs.
 */
#include "cli/live/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/path.h"
#include "cli/base/shell_quote.h"
#include "cli/base/suggestion.h"
#include "os/linux/proc_files.h"

#define LISTED_MAX 10

struct search {
    const char *name;
    int script_pid, pid; /* the newest; 0: none */
    size_t scripts, programs;
    char list[1024]; /* of those that have the name, or run a script of that name */
    char script_list[1024];
    struct suggestion nearest;
    char like[64]; /* its text */
};

static void note(struct search *s, const char *name) {
    suggestion_add(&s->nearest, name);
    if (s->nearest.nearest == name) { /* `name` does not stay valid */
        snprintf(s->like, sizeof s->like, "%.63s", name);
        s->nearest.nearest = s->like;
    }
}

static void list(char *to, size_t size, size_t *count, int pid, const char *command) {
    size_t n = strlen(to);
    if ((*count)++ < LISTED_MAX) {
        snprintf(to + n, size - n, "%s%d (%.60s)", n != 0 ? ", " : "", pid, command);
    }
}

static void look_at(struct search *s, int pid) {
    char path[32], name[64], exe[4096], command[512];
    snprintf(path, sizeof path, "/proc/%d/cmdline", pid);
    long n = hd_proc_read(AT_FDCWD, path, command, sizeof command);
    if (n <= 0) {
        return; /* a thread of the kernel, or a zombie */
    }
    snprintf(path, sizeof path, "/proc/%d/exe", pid);
    ssize_t bytes = readlink(path, exe, sizeof exe - 1);
    exe[bytes > 0 ? bytes : 0] = '\0';
    live_process_name(pid, name, sizeof name);
    size_t first = strlen(command);
    const char *called = base_name(command),
               *script = (long)first + 1 < n ? base_name(command + first + 1) : "";
    bool program =
        strcmp(name, s->name) == 0 || strcmp(base_name(exe), s->name) == 0 || strcmp(called, s->name) == 0;
    bool runs = strcmp(script, s->name) == 0;
    note(s, name);
    note(s, called);
    for (long i = 0; (program || runs) && i + 1 < n; i++) {
        command[i] = command[i] == '\0' ? ' ' : command[i];
    }
    if (program) {
        s->pid = pid;
        list(s->list, sizeof s->list, &s->programs, pid, command);
    } else if (runs) {
        s->script_pid = pid;
        list(s->script_list, sizeof s->script_list, &s->scripts, pid, command);
    }
}

static int find_name(const char *name, const struct live_command *command, struct problem *why) {
    struct search s = {.name = name, .nearest = {.word = name}};
    DIR *folder = opendir("/proc");
    for (const struct dirent *e; folder != NULL && (e = readdir(folder)) != NULL;) {
        int pid = atoi(e->d_name);
        if (pid > 0 && pid != getpid() && pid != getppid()) {
            look_at(&s, pid);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    bool script = s.programs == 0;
    size_t count = script ? s.scripts : s.programs;
    if (count == 1) {
        return script ? s.script_pid : s.pid;
    }
    if (count > 1) {
        error_set(why, "cannot %s '%s': %zu processes have that name: %s%s", command->verb, name, count,
                  script ? s.script_list : s.list, count > LISTED_MAX ? ", ..." : "");
        error_try(why, "%s %s %d", shell_own_command(), command->name, script ? s.script_pid : s.pid);
    } else if (s.nearest.nearest != NULL) {
        error_set(why, "cannot %s '%s': no process has that name; did you mean '%s'?", command->verb, name,
                  s.like);
    } else {
        error_set(why, "cannot %s '%s': no process has that name", command->verb, name);
        error_try(why, "ps -e");
    }
    return 0;
}

int process_find(const char *text, const struct live_command *command, struct problem *why) {
    char *end;
    errno = 0;
    long pid = strtol(text, &end, 10);
    if (text[0] == '\0' || *end != '\0') {
        return find_name(text, command, why);
    }
    if (errno == 0 && pid > 0 && pid <= INT32_MAX) {
        return (int)pid;
    }
    error_set(why, "cannot %s process %s: there is no such process", command->verb, text);
    return 0;
}
