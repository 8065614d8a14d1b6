/* SPDX-License-Identifier: MIT
 *
 * hangdog __complete: what a shell offers that is known only when a user presses the tabulator. A line for
 * each word: the word, a tabulator, a description. It prints no error.
 */
#include "cli/base/options.h"
#include "cli/base/path.h"
#include "cli/base/sanitize.h"
#include "cli/commands.h"
#include "cli/reader/groups.h"
#include "cli/reader/summaries.h"
#include "cli/render/row_values.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROWS 30
#define LINE_BYTES 4352

static int cmd_complete(int argc, char **argv);

const struct command command_complete = {
    .name = "__complete",
    .about = "Print words for a shell's completion",
    .usage = "apps|reports|processes",
    .deep = true,
    .run = cmd_complete,
};

/* Neither a line's end nor a tabulator is left in it. */
static void print_word(const char *word, const char *description) {
    sanitize_print(stdout, word);
    fputc('\t', stdout);
    sanitize_print(stdout, description);
    fputc('\n', stdout);
}

static void print_apps(const struct summaries *s) {
    const char *name;
    json_t *value;
    json_object_foreach(s->apps, name, value) {
        print_word(name, "");
    }
}

static char *key_of_id(const json_t *summary) {
    return groups_key(summary, (const char *const[]){"id", "file", NULL});
}

/* The newest first. */
static void print_reports(struct summaries *s) {
    json_t *rows = groups_make(s->rows, key_of_id);
    size_t count = json_array_size(rows);
    print_word("latest", "the last hang");
    for (size_t i = count; i-- > (count > ROWS ? count - ROWS : 0);) {
        json_t *row = json_array_get(rows, i);
        summaries_name(s, row);
        char id[37], description[1024], *function = row_function(row);
        const char *app = json_string_value(json_object_get(row, "app"));
        const char *file = base_name(json_string_value(json_object_get(row, "file")));
        snprintf(id, sizeof id, "%s", file != NULL ? file : "");
        snprintf(description, sizeof description, "%s: %s", app != NULL ? app : "-",
                 function != NULL ? function : "-");
        print_word(id + strlen(id) - summaries_id_end(s, id), description);
        free(function);
    }
    json_decref(rows);
}

static bool is_watched(const char *pid) {
    char path[300], line[LINE_BYTES];
    bool found = false;
    snprintf(path, sizeof path, "/proc/%s/maps", pid);
    FILE *maps = fopen(path, "re");
    while (maps != NULL && !found && fgets(line, sizeof line, maps) != NULL) {
        found = strstr(line, "/libhangdog") != NULL;
    }
    if (maps != NULL) {
        fclose(maps);
    }
    return found;
}

/* False: another user's process, or a thread of the kernel. */
static bool has_program(const char *pid) {
    char path[300], file[8];
    snprintf(path, sizeof path, "/proc/%s/exe", pid);
    return readlink(path, file, sizeof file) > 0;
}

static void print_processes(bool watched) {
    DIR *dir = opendir("/proc");
    for (const struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
        char path[300], name[64] = "";
        if (strspn(e->d_name, "0123456789") != strlen(e->d_name) || !has_program(e->d_name) ||
            is_watched(e->d_name) != watched) {
            continue;
        }
        snprintf(path, sizeof path, "/proc/%s/comm", e->d_name);
        FILE *comm = fopen(path, "re");
        if (comm != NULL && fgets(name, sizeof name, comm) != NULL) {
            name[strcspn(name, "\n")] = '\0';
        }
        if (comm != NULL) {
            fclose(comm);
        }
        print_word(e->d_name, name);
    }
    if (dir != NULL) {
        closedir(dir);
    }
}

static int cmd_complete(int argc, char **argv) {
    struct summary_options o = {.no_symbols = true};
    struct summaries s;
    const char *what = argc == 2 ? argv[1] : "";
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere >= 0) {
        dup2(nowhere, STDERR_FILENO);
        close(nowhere);
    }
    if (strcmp(what, "processes") == 0 || strcmp(what, "running") == 0) {
        print_processes(what[0] == 'p');
        return 0;
    }
    int status = summaries_read(&command_complete, &o, &s);
    if (status == 0 && strcmp(what, "apps") == 0) {
        print_apps(&s);
    } else if (status == 0 && strcmp(what, "reports") == 0) {
        print_reports(&s);
    }
    summaries_free(&s);
    return status;
}
