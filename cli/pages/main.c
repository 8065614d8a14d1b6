/* SPDX-License-Identifier: MIT
 *
 *   hangdog-pages DIR SCHEMA
 *
 * Writes DIR/man/man1/hangdog-COMMAND.1 and the like, and the completions, as they are installed below share.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/commands.h"
#include "cli/pages/completion.h"
#include "cli/pages/man_page.h"
#include "cli/pages/report_page.h"

#define PATH_BYTES 4096

static _Noreturn void fail(const char *what) {
    fprintf(stderr, "hangdog-pages: cannot write %s: %s\n", what, strerror(errno));
    exit(EXIT_FAILURE);
}

/* The file below `folder`, which is made. */
static FILE *create(const char *folder, const char *name) {
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    for (char *at = path + strlen(folder); (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        if (mkdir(path, 0755) != 0 && errno != EEXIST) {
            fail(path);
        }
        *at = '/';
    }
    FILE *out = fopen(path, "w");
    if (out == NULL) {
        fail(path);
    }
    return out;
}

static void finish(FILE *out, const char *name) {
    if (ferror(out) || fclose(out) != 0) {
        fail(name);
    }
}

static void write_script(const char *folder, const char *name,
                         void (*write)(FILE *, const struct command *)) {
    FILE *out = create(folder, name);
    write(out, &command_hangdog);
    finish(out, name);
}

static void write_page(const char *folder, const struct command *c) {
    char name[128];
    snprintf(name, sizeof name, "man/man1/hangdog%s%s.1", c->name[0] != '\0' ? "-" : "", c->name);
    FILE *out = create(folder, name);
    man_page_write(out, c, &command_hangdog);
    finish(out, name);
}

int main(int argc, char **argv) {
    json_error_t error;
    json_t *schema = argc == 3 ? json_load_file(argv[2], 0, &error) : NULL;
    if (schema == NULL) {
        fprintf(stderr, "usage: hangdog-pages DIR SCHEMA\n");
        return 2;
    }
    write_page(argv[1], &command_hangdog);
    for (const struct command *const *c = command_hangdog.commands; *c != NULL; c++) {
        if ((*c)->group != NULL) {
            write_page(argv[1], *c);
        }
    }
    FILE *out = create(argv[1], "man/man5/hangdog-report.5");
    report_page_write(out, schema);
    finish(out, "hangdog-report.5");
    write_script(argv[1], "bash-completion/completions/hangdog", completion_write_bash);
    write_script(argv[1], "zsh/site-functions/_hangdog", completion_write_zsh);
    write_script(argv[1], "fish/vendor_completions.d/hangdog.fish", completion_write_fish);
    json_decref(schema);
    return 0;
}
