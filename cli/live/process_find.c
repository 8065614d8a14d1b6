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

/* How a process's command line and files name it. */
struct names {
    char name[64], exe[4096], command[512];
    long command_bytes;
    const char *called, *script; /* base names of the first two words */
};

/* False: a thread of the kernel, or a zombie. */
static bool read_names(struct names *n, int pid) {
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/cmdline", pid);
    n->command_bytes = hd_proc_read(AT_FDCWD, path, n->command, sizeof n->command);
    if (n->command_bytes <= 0) {
        return false;
    }
    snprintf(path, sizeof path, "/proc/%d/exe", pid);
    ssize_t bytes = readlink(path, n->exe, sizeof n->exe - 1);
    n->exe[bytes > 0 ? bytes : 0] = '\0';
    live_process_name(pid, n->name, sizeof n->name);
    size_t first = strlen(n->command);
    n->called = base_name(n->command);
    n->script = (long)first + 1 < n->command_bytes ? base_name(n->command + first + 1) : "";
    return true;
}

static enum process_match match(const struct names *n, const char *name) {
    if (name[0] == '\0') { /* a file that may not be read has no name either */
        return PROCESS_IS_OTHER;
    }
    bool program =
        strcmp(n->name, name) == 0 || strcmp(base_name(n->exe), name) == 0 || strcmp(n->called, name) == 0;
    return program                        ? PROCESS_IS_PROGRAM
           : strcmp(n->script, name) == 0 ? PROCESS_RUNS_SCRIPT
                                          : PROCESS_IS_OTHER;
}

enum process_match process_match(int pid, const char *name) {
    struct names n;
    return read_names(&n, pid) ? match(&n, name) : PROCESS_IS_OTHER;
}

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
    struct names n;
    if (!read_names(&n, pid)) {
        return;
    }
    enum process_match is = match(&n, s->name);
    note(s, n.name);
    note(s, n.called);
    for (long i = 0; is != PROCESS_IS_OTHER && i + 1 < n.command_bytes; i++) {
        n.command[i] = n.command[i] == '\0' ? ' ' : n.command[i];
    }
    while (n.command[0] != '\0' && n.command[strlen(n.command) - 1] == ' ') { /* nginx fills its title up */
        n.command[strlen(n.command) - 1] = '\0';
    }
    if (is == PROCESS_IS_PROGRAM) {
        s->pid = pid;
        list(s->list, sizeof s->list, &s->programs, pid, n.command);
    } else if (is == PROCESS_RUNS_SCRIPT) {
        s->script_pid = pid;
        list(s->script_list, sizeof s->script_list, &s->scripts, pid, n.command);
    }
}

/* Looks at all processes but this one and its parent. */
static void look_at_all(struct search *s) {
    DIR *folder = opendir("/proc");
    for (const struct dirent *e; folder != NULL && (e = readdir(folder)) != NULL;) {
        int pid = atoi(e->d_name);
        if (pid > 0 && pid != getpid() && pid != getppid()) {
            look_at(s, pid);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
}

/* No process has the name. */
static void say_none(const struct search *s, const struct live_command *command, struct problem *why) {
    if (s->nearest.nearest != NULL) {
        error_set(why, "cannot %s '%s': no process has that name; did you mean '%s'?", command->verb, s->name,
                  s->like);
    } else {
        error_set(why, "cannot %s '%s': no process has that name", command->verb, s->name);
        error_try(why, "ps -e");
    }
}

static int find_name(const char *name, const struct live_command *command, struct problem *why) {
    struct search s = {.name = name, .nearest = {.word = name}};
    look_at_all(&s);
    bool script = s.programs == 0;
    size_t count = script ? s.scripts : s.programs;
    if (count == 1) {
        return script ? s.script_pid : s.pid;
    }
    if (count > 1) {
        error_set(why, "cannot %s '%s': %zu processes have that name: %s%s", command->verb, name, count,
                  script ? s.script_list : s.list, count > LISTED_MAX ? ", ..." : "");
        error_try(why, "%s %s %d", shell_own_command(), command->name, script ? s.script_pid : s.pid);
    } else {
        say_none(&s, command, why);
    }
    return 0;
}

enum process_match process_find_kind(const char *name, const struct live_command *command,
                                     struct problem *why) {
    struct search s = {.name = name, .nearest = {.word = name}};
    look_at_all(&s);
    if (s.programs + s.scripts == 0) {
        say_none(&s, command, why);
    }
    return s.programs > 0 ? PROCESS_IS_PROGRAM : s.scripts > 0 ? PROCESS_RUNS_SCRIPT : PROCESS_IS_OTHER;
}

bool process_is_number(const char *text) {
    return text[0] != '\0' && text[strspn(text, "0123456789")] == '\0';
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
