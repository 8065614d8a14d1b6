/* SPDX-License-Identifier: MIT */
#include "cli/attach/process_identity.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/script_argument.h"
#include "cli/base/path.h"
#include "os/linux/proc_files.h"

#define WORDS_MAX 32
#define LINE_BYTES 4096

/* The first words of a command line. `text` keeps them. */
static void read_words(pid_t pid, char text[LINE_BYTES], char *words[WORDS_MAX + 1]) {
    char path[32];
    size_t count = 0;
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
    long n = hd_proc_read(AT_FDCWD, path, text, LINE_BYTES);
    for (long at = 0; at < n && text[at] != '\0' && count < WORDS_MAX; at += (long)strlen(text + at) + 1) {
        words[count++] = text + at;
    }
    words[count] = NULL;
}

/* True: `pid` sees the files that this process sees. */
static bool has_our_files(pid_t pid) {
    struct stat own, its;
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/ns/mnt", (int)pid);
    if (stat("/proc/self/ns/mnt", &own) != 0 || stat(path, &its) != 0 || own.st_ino != its.st_ino) {
        return false;
    }
    snprintf(path, sizeof path, "/proc/%d/root", (int)pid);
    return stat("/", &own) == 0 && stat(path, &its) == 0 && own.st_ino == its.st_ino &&
           own.st_dev == its.st_dev;
}

/* Replaces the script by its path from the root on, since the program has another working folder. False: no
 * such file. */
static bool make_absolute(pid_t pid, char **word, char path[2 * PATH_MAX]) {
    char folder[PATH_MAX], link[32];
    if ((*word)[0] == '/') {
        return access(*word, F_OK) == 0;
    }
    snprintf(link, sizeof link, "/proc/%d/cwd", (int)pid);
    ssize_t n = readlink(link, folder, sizeof folder - 1);
    folder[n > 0 ? n : 0] = '\0';
    snprintf(path, 2 * PATH_MAX, "%s/%s", folder, *word);
    *word = path;
    return n > 0 && access(path, F_OK) == 0;
}

/* Another user's program has any name. A folder, a terminal and a shell get it. */
static void make_plain(char *name) {
    for (char *c = name; *c != '\0'; c++) {
        bool first_dot = c == name && *c == '.';
        *c = (char)(isalnum((unsigned char)*c) != 0 || (strchr("._+-", *c) != NULL && !first_dot) ? *c : '_');
    }
}

static void fill_plain(const char *name, const char *script, const struct run_options *o,
                       struct app_identity *out) {
    char *none[] = {(char *)(uintptr_t) "program", NULL};
    const char *base = script != NULL ? base_name(script) : name;
    app_identity_find(o->name, o->app_version, o->environment, none, out);
    if (o->app_version == NULL && getenv("HANGDOG_VERSION") == NULL) {
        out->version[0] = '\0'; /* of our own working folder */
    }
    if (!out->named) {
        snprintf(out->name, sizeof out->name, "%s", app_name_is_valid(base) ? base : "program");
        make_plain(out->name);
    }
}

void process_identity_find(pid_t pid, uid_t uid, const char *name, const struct run_options *o,
                           struct app_identity *out) {
    char text[LINE_BYTES] = "", *words[WORDS_MAX + 1], path[2 * PATH_MAX], exe[PATH_MAX], link[32];
    read_words(pid, text, words);
    const char *script = hd_script_argument(words);
    size_t at = 0;
    while (script != NULL && words[at] != script) {
        at++;
    }
    snprintf(link, sizeof link, "/proc/%d/exe", (int)pid);
    ssize_t n = readlink(link, exe, sizeof exe - 1);
    exe[n > 0 ? n : 0] = '\0';
    bool readable = words[0] != NULL && uid == geteuid() && has_our_files(pid) && access(exe, F_OK) == 0 &&
                    (script == NULL || make_absolute(pid, &words[at], path));
    if (!readable) {
        fill_plain(name, script, o, out);
        return;
    }
    words[0] = exe;
    app_identity_find(o->name, o->app_version, o->environment, words, out);
    if (script == NULL && !out->named) { /* a program may set its own name */
        snprintf(out->name, sizeof out->name, "%.250s", app_name_is_valid(name) ? name : base_name(exe));
    }
}
