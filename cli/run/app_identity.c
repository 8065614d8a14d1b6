/* SPDX-License-Identifier: MIT */
#include "cli/run/app_identity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/script_argument.h"
#include "cli/base/path.h"
#include "cli/base/program_find.h"
#include "cli/run/app_version.h"
#include "cli/run/program_check.h"

bool app_name_is_valid(const char *text) {
    size_t n = strlen(text);
    return n > 0 && n < HD_RECORD_STRING && strchr(text, '/') == NULL && strcmp(text, ".") != 0 &&
           strcmp(text, "..") != 0;
}

/* The user's word: the option, else the variable, else NULL. */
static const char *word_of(const char *option, const char *variable) {
    const char *value = option != NULL ? option : getenv(variable);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

static bool is_node(const char *program) {
    const char *name = base_name(program);
    return strcmp(name, "node") == 0 || strcmp(name, "nodejs") == 0;
}

static bool starts_packages(const char *program) {
    static const char *const starters[] = {"npm", "npx", "yarn", "pnpm"};
    for (size_t i = 0; i < sizeof starters / sizeof starters[0]; i++) {
        if (strcmp(base_name(program), starters[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* The name of package.json without its scope: "@shop/server" is "server". */
static bool name_of_package(const char *file, char *name, size_t size) {
    char text[HD_RECORD_STRING];
    if (!app_version_package_json(file, "name", text, sizeof text) || !app_name_is_valid(base_name(text))) {
        return false;
    }
    snprintf(name, size, "%s", base_name(text));
    return true;
}

/* A path's last part; of "." and "..", that of the folder. */
static void name_of_file(const char *file, char *name, size_t size) {
    char folder[PATH_MAX];
    const char *last = base_name(file);
    if (!app_name_is_valid(last)) {
        last = realpath(file, folder) != NULL && app_name_is_valid(base_name(folder)) ? base_name(folder)
                                                                                      : "program";
    }
    snprintf(name, size, "%.*s", (int)size - 1, last);
}

static bool is_of_the_system(const char *path) {
    static const char *const folders[] = {"/usr/", "/bin/", "/sbin/", "/lib/"};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        if (strncmp(path, folders[i], strlen(folders[i])) == 0) {
            return strncmp(path, "/usr/local/", 11) != 0;
        }
    }
    return false;
}

/* `file`: what the user calls the program; NULL: nothing that has a version. */
static void find_version(const char *file, bool of_node, char *text, size_t size) {
    file = access(file, F_OK) == 0 ? file : "."; /* a module: python3 -m MODULE */
    if (of_node && app_version_package_json(file, "version", text, size)) {
        return;
    }
    if (is_of_the_system(file) ? app_version_debian(file, text, size) : app_version_git(file, text, size)) {
        return;
    }
    text[0] = '\0';
}

void app_identity_find(const char *name, const char *version, const char *environment, char *const *words,
                       struct app_identity *out) {
    *out = (struct app_identity){0};
    const char *program = program_named(words);
    while (*words != program) {
        words++;
    }
    const char *script = hd_script_argument(words), *file = script;
    char path[PATH_MAX];
    bool of_node = is_node(program) || starts_packages(program);
    if (starts_packages(program)) {
        file = ".";
    } else if (script == NULL) {
        file = program_find(program, path, sizeof path) ? path : program;
    }
    name = word_of(name, "HANGDOG_APP");
    if (name != NULL && app_name_is_valid(name)) {
        out->named = true;
        snprintf(out->name, sizeof out->name, "%s", name);
    } else if (of_node && (script != NULL || starts_packages(program)) &&
               name_of_package(file, out->name, sizeof out->name)) {
        out->named = starts_packages(program);
    } else {
        name_of_file(script != NULL ? script : program, out->name, sizeof out->name);
    }
    version = word_of(version, "HANGDOG_VERSION");
    if (version != NULL) {
        snprintf(out->version, sizeof out->version, "%s", version);
    } else if (!hd_script_is_interpreter(file)) {
        find_version(file, of_node, out->version, sizeof out->version);
    }
    environment = word_of(environment, "HANGDOG_ENVIRONMENT");
    snprintf(out->environment, sizeof out->environment, "%s", environment != NULL ? environment : "");
}
