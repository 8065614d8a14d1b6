/* SPDX-License-Identifier: MIT */
#include "cli/reader/report_pick.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/path.h"
#include "cli/base/shell_quote.h"
#include "cli/reader/report_find.h"
#include "cli/reader/report_load.h"

bool report_id_matches(const char *id, const char *part) {
    size_t n = strlen(part), all = strlen(id);
    return n <= all && (strncmp(id, part, n) == 0 || strcmp(id + all - n, part) == 0);
}

/* The newest report but `older` ones that is not of a session (each run ends with one); of sessions only,
 * the same of them. Prints an error for a file that it cannot read, and takes the one before it. */
static json_t *pick_latest(const struct report_files *files, size_t older, char **path, struct problem *why) {
    json_t *session = NULL;
    bool unread = files->unread;
    size_t hangs = 0, sessions = 0;
    for (size_t i = files->count; i-- != 0;) {
        json_t *report = report_load(files->file[i].path, why);
        if (report == NULL) {
            if (!report_is_gone(files->file[i].path)) {
                error_print(why);
                unread = true;
            }
            continue;
        }
        bool hang = strcmp(json_string_value(json_object_get(report, "kind")), "session") != 0;
        if (hang && hangs++ == older) {
            json_decref(session);
            free(*path);
            *path = strdup(files->file[i].path);
            return report;
        }
        if (!hang && sessions++ == older && hangs == 0) {
            session = report;
            *path = strdup(files->file[i].path);
        } else {
            json_decref(report);
        }
    }
    if (session != NULL && hangs == 0) {
        return session;
    }
    json_decref(session);
    if (hangs > 0) {
        error_set(why, "no report 'latest~%zu': there are %zu", older, hangs);
        error_try(why, "%s list", shell_own_command());
    } else {
        error_set(why, "no reports yet in %s%s", files->where, unread ? " that can be read" : "");
        error_try(why, "%s run -- PROGRAM", shell_own_command());
    }
    return NULL;
}

static json_t *pick_by_id(const struct report_files *files, const char *name, char **path, size_t *matches,
                          struct problem *why) {
    const struct report_file *found = NULL;
    *matches = 0;
    for (size_t i = 0; i < files->count; i++) {
        if (!report_id_matches(files->file[i].id, name)) {
            continue;
        }
        if (found == NULL || strcmp(found->id, files->file[i].id) != 0) {
            ++*matches;
        }
        found = &files->file[i];
    }
    if (*matches == 1) {
        *path = strdup(found->path);
        return report_load(found->path, why);
    }
    if (*matches == 0) {
        error_set(why, "no report '%s' in %s", name, files->where);
        error_try(why, "%s list", shell_own_command());
    } else {
        error_set(why, "%zu reports match '%s'", *matches, name);
    }
    return NULL;
}

/* "latest", "latest~2": how many newer ones to pass over. */
static bool is_latest(const char *name, size_t *older) {
    static const char word[] = "latest";
    const char *rest = name + sizeof word - 1;
    char *end;
    *older = 0;
    if (strncmp(name, word, sizeof word - 1) != 0) {
        return false;
    }
    if (*rest == 0) {
        return true;
    }
    if (rest[0] != '~' || rest[1] < '0' || rest[1] > '9') {
        return false;
    }
    *older = strtoul(rest + 1, &end, 10);
    return *end == 0;
}

static bool is_file(const char *name) {
    size_t n = strlen(name);
    return strchr(name, '/') != NULL || (n > 5 && strcmp(name + n - 5, ".json") == 0);
}

char *report_pick_repeated(const char *name, const char *id) {
    char *path = NULL;
    if (id == NULL || strspn(id, "0123456789abcdef-") != REPORT_ID_CHARS || id[REPORT_ID_CHARS] != 0 ||
        !is_file(name) || asprintf(&path, "%.*s%s.json", (int)(base_name(name) - name), name, id) < 0) {
        return NULL;
    }
    if (access(path, F_OK) == 0) {
        return path;
    }
    free(path);
    return NULL;
}

json_t *reports_pick(const char *folder, const char *name, char **path, size_t *matches,
                     struct problem *why) {
    struct report_files files;
    size_t older;
    *path = NULL;
    *matches = 0;
    if (is_file(name)) {
        *path = strdup(name);
        return report_load(name, why);
    }
    if (name[0] == 0) {
        error_set(why, "no report ''");
        error_try(why, "%s list", shell_own_command());
        return NULL;
    }
    if (reports_find(folder, &files, why) != 0) {
        return NULL;
    }
    json_t *report = is_latest(name, &older) ? pick_latest(&files, older, path, why)
                                             : pick_by_id(&files, name, path, matches, why);
    reports_free(&files);
    return report;
}
