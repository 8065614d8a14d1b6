/* SPDX-License-Identifier: MIT */
#include "cli/doctor/unit_plan.h"

#include <ctype.h>
#include <dirent.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/path.h"
#include "cli/base/proc.h"
#include "cli/run/preload_path.h"

struct unit_processes {
    unsigned count;
    bool has_user; /* a process of a user other than root exists */
    uid_t user;    /* user of the first such process */
    bool young;    /* a process started within the last seconds, and may still change its user */
};

#define YOUNG_S 5
#define NS_PER_S 1000000000

/* "0::/system.slice/NAME.service", perhaps with groups below it. */
static bool is_in_group(pid_t pid, const char *name) {
    char path[64], *line = NULL;
    size_t room = 0, n = strlen(name);
    bool is = false;
    snprintf(path, sizeof path, "/proc/%d/cgroup", (int)pid);
    FILE *file = fopen(path, "re");
    while (file != NULL && !is && getline(&line, &room, file) > 0) {
        for (const char *at = line; !is && (at = strstr(at, name)) != NULL; at += n) {
            is = at > line && at[-1] == '/' && strchr("/\n", at[n]) != NULL;
        }
    }
    free(line);
    if (file != NULL) {
        fclose(file);
    }
    return is;
}

static bool is_young(pid_t pid) {
    struct timespec now = {0};
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (time_t)(proc_stat(pid).started_boot_ns / NS_PER_S) + YOUNG_S > now.tv_sec;
}

/* `name`: of the unit, with its suffix. Zeros where it does not run, or is not visible. */
static struct unit_processes unit_processes_find(const char *name) {
    struct unit_processes found = {0};
    DIR *dir = opendir("/proc");
    for (const struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
        pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);
        if (pid <= 0 || !is_in_group(pid, name)) {
            continue;
        }
        uid_t user = (uid_t)proc_number(pid, "Uid:", 10);
        found.count++;
        found.young |= is_young(pid);
        if (user != 0 && !found.has_user) {
            found.has_user = true;
            found.user = user;
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return found;
}

#define STATE "/var/lib/hangdog"
#define LOOK_US 100000
#define LOOKS 50

/* ---- paths of a sandbox ----------------------------------------------------------------------- */

/* Of the entries of a list of paths, the length of the longest that `path` is below; 0: none. */
static size_t longest_above(const struct unit *u, const char *key, const char *path) {
    size_t longest = 0, i;
    const json_t *line;
    json_array_foreach(unit_values(u, key), i, line) {
        for (const char *at = json_string_value(line); *(at += strspn(at, " \t")) != '\0';) {
            char entry[PATH_MAX], real[PATH_MAX];
            size_t n = strcspn(at, " \t");
            snprintf(entry, sizeof entry, "%.*s", (int)n, at);
            at += n;
            const char *name = entry + strspn(entry, "-+\"");
            name = realpath(name, real) != NULL ? real : name;
            n = strcmp(name, "/") == 0 ? 0 : strlen(name);
            if (strncmp(path, name, n) == 0 && (path[n] == '/' || path[n] == '\0') && n + 1 > longest) {
                longest = n + 1;
            }
        }
    }
    return longest;
}

static bool is_below_any(const char *path, const char *const *folders) {
    for (; *folders != NULL; folders++) {
        size_t n = strlen(*folders);
        if (strncmp(path, *folders, n) == 0 && path[n] == '/') {
            return true;
        }
    }
    return false;
}

const char *unit_plan_hidden_by(const struct unit *u, const char *path) {
    static const char *const homes[] = {"/home", "/root", "/run/user", NULL}, *const temporary[] = {
                                                                                  "/tmp", "/var/tmp", NULL};
    if (unit_value(u, "RootDirectory")[0] != '\0') {
        return "RootDirectory";
    }
    if (unit_value(u, "RootImage")[0] != '\0') {
        return "RootImage";
    }
    bool no_home = unit_is_true(u, "ProtectHome") || strcmp(unit_value(u, "ProtectHome"), "tmpfs") == 0;
    if (no_home && is_below_any(path, homes)) {
        return "ProtectHome";
    }
    if ((unit_is_true(u, "PrivateTmp") || unit_is_true(u, "DynamicUser")) && is_below_any(path, temporary)) {
        return "PrivateTmp";
    }
    return longest_above(u, "InaccessiblePaths", path) != 0 ? "InaccessiblePaths" : NULL;
}

static bool is_no_exec(const struct unit *u, const char *path) {
    return longest_above(u, "NoExecPaths", path) > longest_above(u, "ExecPaths", path);
}

/* ---- the command ------------------------------------------------------------------------------ */

static void next_word(const char **at, char *word, size_t size) {
    *at += strspn(*at, " \t");
    size_t n = strcspn(*at, " \t");
    snprintf(word, size, "%.*s", (int)n, *at);
    *at += n;
}

/* '@' gives the program another name, which the next word is: Hangdog cannot. */
static bool read_command(struct unit_plan *p, const char *line) {
    size_t n = strspn(line, "-+!:@");
    const char *at = line + n;
    char name[PATH_MAX];
    size_t kept = 0;
    for (size_t i = 0; i < n && kept + 1 < sizeof p->prefix; i++) {
        if (line[i] != '@') {
            p->prefix[kept++] = line[i];
        }
    }
    p->prefix[kept] = '\0';
    next_word(&at, p->program, sizeof p->program);
    if (memchr(line, '@', n) != NULL) {
        next_word(&at, name, sizeof name);
    }
    bool fits = (size_t)snprintf(p->words, sizeof p->words, "%s%s", p->program, at) < sizeof p->words;
    if (strpbrk(p->program, "%$\"'\\") != NULL) {
        p->program[0] = '\0';
    }
    return fits;
}

/* pg_ctlcluster empties the environment. So the drop-in starts what it starts: "15-main" is cluster main of
 * version 15. */
static void plan_cluster(struct unit_plan *p, const struct unit *u) {
    char config[PATH_MAX];
    struct stat st;
    size_t version = strcspn(u->instance, "-");
    if (strcmp(base_name(p->program), "pg_ctlcluster") != 0 || u->instance[version] == '\0') {
        return;
    }
    snprintf(config, sizeof config, "/etc/postgresql/%.*s/%s/postgresql.conf", (int)version, u->instance,
             u->instance + version + 1);
    const struct passwd *owner = stat(config, &st) == 0 ? getpwuid(st.st_uid) : NULL;
    p->cluster = true;
    p->follow = p->state_directory = true;
    p->prefix[0] = '\0';
    snprintf(p->user, sizeof p->user, "%s", owner != NULL ? owner->pw_name : "postgres");
    snprintf(p->program, sizeof p->program, "/usr/lib/postgresql/%.*s/bin/postgres", (int)version,
             u->instance);
    snprintf(p->words, sizeof p->words, "%s -c config_file=%s", p->program, config);
}

static bool find_command(struct unit_plan *p, const struct unit *u, struct problem *why) {
    const json_t *lines = unit_values(u, "ExecStart");
    if (strcmp(unit_value(u, "Type"), "oneshot") == 0) {
        error_set(why,
                  "its Type=oneshot: its program does one thing and ends; watch the service that it starts%s",
                  strcmp(u->plain, "postgresql") == 0 ? ", postgresql@VERSION-CLUSTER" : "");
        error_try(why, "systemctl list-units '%s@*'", u->plain);
        return false;
    }
    if (json_array_size(lines) != 1 || !read_command(p, json_string_value(json_array_get(lines, 0)))) {
        error_set(why, "it has no ExecStart= of one command");
        return false;
    }
    return true;
}

/* ---- the plan --------------------------------------------------------------------------------- */

static bool find_own_files(struct unit_plan *p, struct problem *why) {
    char preload[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", p->command, sizeof p->command - 1);
    if (n <= 0 || !preload_path(preload, sizeof preload, why) || realpath(preload, p->preload) == NULL) {
        return false;
    }
    p->command[n] = '\0';
    if (strpbrk(p->command, " \t\"'%$\\") != NULL) {
        error_set(why, "%s: systemd would read its path as something else; install Hangdog below /usr/local",
                  p->command);
        return false;
    }
    return true;
}

/* A folder's name, which no part of systemd reads as anything else. */
static void name_spool(struct unit_plan *p, const struct unit *u) {
    snprintf(p->spool, sizeof p->spool, "%s", u->plain);
    for (char *at = p->spool; *at != '\0'; at++) {
        *at = isalnum((unsigned char)*at) || strchr("@._-", *at) != NULL ? *at : '_';
    }
}

/* systemd calls a service active when its first process says so, and workers may become another user's later.
 */
static struct unit_processes settled_processes(const struct unit *u) {
    struct unit_processes processes = unit_processes_find(u->name);
    for (int i = 0; i < LOOKS && processes.young && !processes.has_user; i++) {
        usleep(LOOK_US);
        processes = unit_processes_find(u->name);
    }
    return processes;
}

static void find_user(struct unit_plan *p, const struct unit *u) {
    const char *user = unit_value(u, "User");
    struct unit_processes processes = settled_processes(u);
    p->running = processes.count > 0;
    p->follow = processes.count > 1 || strcmp(unit_value(u, "Type"), "forking") == 0;
    p->state_directory = unit_is_true(u, "DynamicUser") || !processes.has_user ||
                         (user[0] != '\0' && strcmp(user, "root") != 0 && strcmp(user, "0") != 0);
    const struct passwd *of = !p->state_directory ? getpwuid(processes.user) : NULL;
    if (of != NULL) {
        snprintf(p->user, sizeof p->user, "%s", of->pw_name);
    } else if (!p->state_directory) {
        snprintf(p->user, sizeof p->user, "%u", (unsigned)processes.user);
    } else {
        snprintf(p->user, sizeof p->user, "%.*s", (int)sizeof p->user - 1, user);
    }
}

bool unit_plan_make(struct unit_plan *p, const struct unit *u, struct problem *why) {
    memset(p, 0, sizeof *p);
    if (!find_own_files(p, why) || !find_command(p, u, why)) {
        return false;
    }
    name_spool(p, u);
    find_user(p, u);
    plan_cluster(p, u);
    p->no_exec = is_no_exec(u, p->command) || is_no_exec(u, p->preload);
    return true;
}

/* ---- the text --------------------------------------------------------------------------------- */

/* The service's output was pg_ctlcluster's log. */
static void print_cluster(FILE *to, const struct unit_plan *p, const struct unit *u) {
    char log[PATH_MAX];
    snprintf(log, sizeof log, "/var/log/postgresql/postgresql-%s.log", u->instance);
    fprintf(to, "# pg_ctlcluster starts its server without an environment: this starts the same server.\n");
    fprintf(to, "Type=notify\nPIDFile=\nUser=%s\n", p->user);
    if (access(log, F_OK) == 0) {
        fprintf(to, "StandardOutput=append:%s\nStandardError=inherit\n", log);
    }
}

void unit_plan_print(FILE *to, const struct unit_plan *p, const struct unit *u) {
    fprintf(to, "# By: hangdog doctor --unit %s --drop-in\n[Service]\n", u->plain);
    if (p->cluster) {
        print_cluster(to, p, u);
    }
    if (p->state_directory) {
        fprintf(to, "StateDirectory=hangdog/%s\n", p->spool);
    } else {
        fprintf(to, "# It starts as root, and its processes become %s: they write the reports.\n", p->user);
        fprintf(to, "ExecStartPre=+/usr/bin/install -d -o %s -m 0700 " STATE "/%s\n", p->user, p->spool);
        fprintf(to, "ReadWritePaths=-" STATE "/%s\n", p->spool);
    }
    if (p->no_exec) {
        fprintf(to, "ExecPaths=%s %s\n", p->command, p->preload);
    }
    fprintf(to, "ExecStart=\nExecStart=%s%s run --exec%s --name %s --spool " STATE "/%s -- %s\n", p->prefix,
            p->command, p->follow ? " --follow" : "", u->app, p->spool, p->words);
}
