/* SPDX-License-Identifier: MIT */
#include "cli/doctor/checks.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/base/error.h"
#include "cli/base/path.h"
#include "cli/doctor/unit_plan.h"
#include "cli/run/program_check.h"

static void check_unit(struct checks *c, const struct unit *u) {
    const char *type = unit_value(u, "Type");
    size_t n = json_array_size(u->files);
    checks_add(c, "unit", CHECK_OK, NULL, "%s, Type=%s: %s%s%.0zu%s", u->name,
               type[0] != '\0' ? type : "simple", json_string_value(json_array_get(u->files, 0)),
               n > 1 ? " and " : "", n - 1,
               n > 2   ? " drop-ins"
               : n > 1 ? " drop-in"
                       : "");
}

static void check_program(struct checks *c, const struct unit_plan *p) {
    struct problem why;
    if (p->program[0] == '\0') {
        checks_add(c, "program", CHECK_WARN, NULL, "only systemd knows which program it starts: %.200s",
                   p->words);
    } else if (program_lacks(p->program, &why) || !program_can_be_watched(p->program, &why)) {
        checks_add(c, "program", CHECK_FAIL, why.command, "%s", why.text);
    } else {
        checks_add(c, "program", CHECK_OK, NULL, "%s can be watched%s", p->program,
                   p->cluster ? "; pg_ctlcluster starts it without an environment, the drop-in with one"
                              : "");
    }
}

/* Truncates `path` to the first folder that only root may enter; false: no such folder. */
static bool find_closed(char path[PATH_MAX]) {
    struct stat st;
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (stat(path, &st) == 0 && (st.st_mode & S_IXOTH) == 0) {
            return true;
        }
        *slash = '/';
    }
    return false;
}

static void check_own_files(struct checks *c, const struct unit_plan *p, const struct unit *u) {
    static const char install[] = "sudo make install";
    const char *files[] = {p->command, p->preload};
    for (size_t i = 0; i < 2; i++) {
        char path[PATH_MAX];
        const char *key = unit_plan_hidden_by(u, files[i]);
        snprintf(path, sizeof path, "%s", files[i]);
        if (key != NULL) {
            checks_add(c, "hangdog", CHECK_FAIL, strncmp(key, "Root", 4) == 0 ? NULL : install,
                       "the unit's %s= hides %s", key, files[i]);
            return;
        }
        if (find_closed(path) && (p->user[0] != '\0' || unit_is_true(u, "DynamicUser"))) {
            checks_add(c, "hangdog", CHECK_FAIL, install, "its user may not enter %s, where Hangdog is",
                       path);
            return;
        }
    }
    checks_add(c, "hangdog", CHECK_OK, NULL, "%s%s", p->command,
               p->no_exec ? ": NoExecPaths= forbids it, the drop-in allows it" : " can be executed");
}

/* A drop-in that a service's processes cannot write by would lose their reports without a word. */
static void check_spool(struct checks *c, const struct unit_plan *p, const struct unit *u, bool drop_in) {
    char fix[2 * UNIT_NAME_BYTES];
    if (!p->state_directory) {
        checks_add(c, "spool", CHECK_OK, NULL,
                   "/var/lib/hangdog/%s: its processes become %s, and the drop-in gives it to them", p->spool,
                   p->user);
    } else if (p->user[0] == '\0' && !unit_is_true(u, "DynamicUser") && !p->running) {
        snprintf(fix, sizeof fix, "sudo systemctl start %s", u->plain);
        checks_add(c, "spool", drop_in ? CHECK_FAIL : CHECK_WARN, fix,
                   "it starts as root and does not run: only once it runs is known which user writes to "
                   "/var/lib/hangdog/%s",
                   p->spool);
    } else {
        checks_add(c, "spool", CHECK_OK, NULL, "/var/lib/hangdog/%s, by StateDirectory=", p->spool);
    }
}

/* True: the drop-in starts the unit's present command. A package upgrade or an administrator may have changed
 * the command since. */
static bool starts_the_command(const char *drop_in, const struct unit_plan *p) {
    FILE *file = fopen(drop_in, "re");
    char *line = NULL;
    size_t room = 0, n = strlen(p->words);
    bool found = false;
    while (file != NULL && !found && getline(&line, &room, file) > 0) {
        const char *command = strstr(line, " -- ");
        found = command != NULL && strncmp(command + 4, p->words, n) == 0 && command[4 + n] == '\n';
    }
    free(line);
    if (file != NULL) {
        fclose(file);
    }
    return found;
}

static void check_watch(struct checks *c, const struct unit_plan *p, const struct unit *u) {
    char fix[2 * UNIT_NAME_BYTES];
    snprintf(fix, sizeof fix, "hangdog doctor --unit %s --drop-in", u->plain);
    if (u->drop_in[0] == '\0') {
        checks_add(c, "watch", CHECK_WARN, fix, "it is not started under watch; a drop-in does that");
    } else if (!starts_the_command(u->drop_in, p)) {
        checks_add(c, "watch", CHECK_WARN, fix, "%s starts another command than the unit: make it again",
                   u->drop_in);
    } else {
        checks_add(c, "watch", CHECK_OK, NULL, "%s starts it under watch", u->drop_in);
    }
}

void unit_checks_run(struct checks *c, const char *name, bool drop_in) {
    static struct unit_plan plan;
    struct unit u;
    struct problem why;
    if (!unit_load(&u, name, &why)) {
        checks_add(c, "unit", CHECK_FAIL, why.command, "%s", why.text);
        return;
    }
    check_unit(c, &u);
    if (!unit_plan_make(&plan, &u, &why)) {
        checks_add(c, "program", CHECK_FAIL, why.command, "%s", why.text);
    } else {
        check_program(c, &plan);
        check_own_files(c, &plan, &u);
        check_spool(c, &plan, &u, drop_in);
        if (!drop_in) {
            check_watch(c, &plan, &u);
        }
    }
    if (drop_in && !c->failed) {
        unit_plan_print(stdout, &plan, &u);
    }
    unit_free(&u);
}
