/* SPDX-License-Identifier: MIT */
#include "cli/attach/targets.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/attach/unit_path.h"
#include "cli/base/proc.h"
#include "cli/base/suggestion.h"
#include "cli/live/process.h"
#include "cli/reporter/json_file.h"
#include "os/linux/proc_files.h"

#define LOOKS 5
#define CGROUP_BYTES 8192

static const struct live_command attach_command = {"attach", "attach to"};

/* ---- the user's words ------------------------------------------------------------------------ */

/* A user's name or number. */
static int find_user(struct targets *t, const char *text, struct problem *why) {
    const struct passwd *user = getpwnam(text);
    if (user != NULL || process_is_number(text)) {
        t->uid = user != NULL ? user->pw_uid : (uid_t)strtoul(text, NULL, 10);
        return 0;
    }
    struct suggestion near = {.word = text};
    char like[64] = "";
    setpwent();
    for (const struct passwd *p; (p = getpwent()) != NULL;) {
        suggestion_add(&near, p->pw_name);
        if (near.nearest == p->pw_name) { /* the memory is used again */
            snprintf(like, sizeof like, "%.63s", p->pw_name);
            near.nearest = like;
        }
    }
    endpwent();
    error_set(why,
              near.nearest != NULL ? "there is no user '%.200s'; did you mean '%s'?"
                                   : "there is no user '%.200s'",
              text, like);
    return -1;
}

/* A name that no process has is an error at the start; other names may find processes. */
static int find_names(struct targets *t, struct problem *why) {
    for (char *const *word = t->options->run.program; *word != NULL; word++) {
        if (process_is_number(*word)) {
            if (process_find(*word, &attach_command, why) == 0) {
                return -1;
            }
            continue;
        }
        enum process_match kind = process_find_kind(*word, &attach_command, why);
        if (kind == PROCESS_IS_OTHER && !t->options->wait) {
            json_file_suggest(why, t->options->run.json, attach_command.name, *word);
            return -1;
        }
        t->scripts |= kind != PROCESS_IS_PROGRAM;
    }
    return 0;
}

int targets_start(struct targets *t, const struct attach_options *o, struct problem *why) {
    t->options = o;
    if (o->user != NULL && find_user(t, o->user, why) != 0) {
        return -1;
    }
    if (o->unit != NULL) {
        snprintf(t->unit, sizeof t->unit, "%.240s%s", o->unit,
                 strchr(o->unit, '.') != NULL ? "" : ".service");
    }
    return find_names(t, why);
}

void targets_end(struct targets *t) {
    free(t->seen);
    t->seen = NULL;
    t->seen_count = 0;
}

void targets_text(const struct targets *t, char *text, size_t size) {
    size_t n = 0;
    text[0] = '\0';
    for (char *const *word = t->options->run.program; *word != NULL && n < size; word++) {
        if (!process_is_number(*word)) {
            n += (size_t)snprintf(text + n, size - n, "%s%.100s", n > 0 ? ", " : "", *word);
        }
    }
    if (n == 0 && t->unit[0] != '\0') {
        snprintf(text, size, "%s", t->unit);
    } else if (n == 0) {
        snprintf(text, size, "a process%s%.100s", t->options->user != NULL ? " of " : "",
                 t->options->user != NULL ? t->options->user : "");
    }
}

bool targets_may_grow(const struct targets *t) {
    bool named = false;
    for (char *const *word = t->options->run.program; *word != NULL; word++) {
        named |= !process_is_number(*word);
    }
    return named || attach_options_is_group(t->options);
}

/* ---- whether a rule names a process ---------------------------------------------------------- */

static bool is_in_unit(int pid, const char *unit) {
    char path[32], text[CGROUP_BYTES];
    snprintf(path, sizeof path, "/proc/%d/cgroup", pid);
    return hd_proc_read(AT_FDCWD, path, text, sizeof text) > 0 && unit_path_has(text, unit);
}

static bool has_name(const struct targets *t, int pid) {
    for (char *const *word = t->options->run.program; *word != NULL; word++) {
        if (!process_is_number(*word)) {
            enum process_match is = process_match(pid, *word);
            if (is == PROCESS_IS_PROGRAM || (is == PROCESS_RUNS_SCRIPT && t->scripts)) {
                return true;
            }
        }
    }
    return false;
}

/* True: the process runs this program, as a runner or an agent does. */
static bool is_hangdog(int pid) {
    struct stat own, its;
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/exe", pid);
    return stat("/proc/self/exe", &own) == 0 && stat(path, &its) == 0 && own.st_ino == its.st_ino &&
           own.st_dev == its.st_dev;
}

/* This process, one that it started (a symbolizer, a command of --on-hang), or the one that started it. */
static bool is_own(int pid) {
    for (int at = pid, steps = 0; at > 1 && steps < 4; steps++) {
        if (at == getpid()) {
            return true;
        }
        at = (int)proc_number(at, "PPid:", 10);
    }
    return pid == getppid() || is_hangdog(pid);
}

/* `young`: the process is new. Most new ones end soon, so a group finds it by the next scan. */
static bool is_meant(const struct targets *t, int pid, bool young) {
    const struct attach_options *o = t->options;
    bool group = o->all || (o->user != NULL && (uid_t)proc_number(pid, "Uid:", 10) == t->uid) ||
                 (o->unit != NULL && is_in_unit(pid, t->unit));
    return ((group && !young) || has_name(t, pid)) && !is_own(pid) && !process_is_of_kernel(pid);
}

/* ---- scans ------------------------------------------------------------------------------------ */

static int by_number(const void *a, const void *b) {
    const struct target_seen *x = a, *y = b;
    return (x->pid > y->pid) - (x->pid < y->pid);
}

/* All numbers in /proc, in order. The caller frees. */
static struct target_seen *list_all(size_t *count) {
    struct target_seen *all = NULL;
    size_t capacity = 0;
    DIR *folder = opendir("/proc");
    *count = 0;
    for (const struct dirent *e; folder != NULL && (e = readdir(folder)) != NULL;) {
        int pid = atoi(e->d_name);
        if (pid <= 0) {
            continue;
        }
        if (*count == capacity) {
            capacity = capacity != 0 ? 2 * capacity : 512;
            struct target_seen *more = realloc(all, capacity * sizeof *all);
            if (more == NULL) {
                break;
            }
            all = more;
        }
        all[(*count)++] = (struct target_seen){.pid = pid};
    }
    if (folder != NULL) {
        closedir(folder);
    }
    if (*count != 0) {
        qsort(all, *count, sizeof *all, by_number);
    }
    return all;
}

/* A process that was here at the first scan has become what it is. */
static void look(struct targets *t, struct target_seen *s) {
    if (s->looks < LOOKS) {
        s->looks = t->started ? s->looks + 1 : LOOKS;
        if (is_meant(t, s->pid, t->started && s->looks == 1)) {
            s->looks = LOOKS;
            t->found(t->arg, s->pid, false);
        }
    }
}

static void scan_rules(struct targets *t) {
    size_t count, old = 0;
    struct target_seen *now = list_all(&count);
    for (size_t i = 0; i < count; i++) {
        while (old < t->seen_count && t->seen[old].pid < now[i].pid) {
            old++;
        }
        if (old < t->seen_count && t->seen[old].pid == now[i].pid) {
            now[i].looks = t->seen[old].looks;
        }
        look(t, &now[i]);
    }
    free(t->seen);
    t->seen = now;
    t->seen_count = count;
}

void targets_scan(struct targets *t) {
    for (char *const *word = t->options->run.program; !t->started && *word != NULL; word++) {
        if (process_is_number(*word)) {
            t->found(t->arg, atoi(*word), true);
        }
    }
    if (targets_may_grow(t)) {
        scan_rules(t);
    }
    t->started = true;
}
