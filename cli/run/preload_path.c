/* SPDX-License-Identifier: MIT
 *
 * The loader splits LD_PRELOAD at colons and spaces, expands words that start with a dollar sign, and knows
 * no quotes. A path with such a character is replaced by a link in a folder of this user. The folder is the
 * same for every run and stays: the program needs the link whenever it executes another program.
 */
#include "cli/run/preload_path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Appends `relative` to `folder`, by text only: `folder` has no symbolic links. A truncated path names no
 * file. */
static void path_from(const char *folder, const char *relative, char *path, size_t size) {
    size_t n = strlen(folder);
    for (; strncmp(relative, "../", 3) == 0; relative += 3) {
        while (n > 0 && folder[--n] != '/') {
        }
    }
    snprintf(path, size, "%.*s/%s", (int)n, folder, relative);
}

/* Searches relative to this command: the configured folder, the build folder, and the folders of packages.
 * Checks that the file can be read, since the loader would print an error into the program's stderr. */
static bool find_near_binary(char *path, size_t size, struct problem *why) {
    static const char *const places[] = {
        PRELOAD_FOLDER "/" PRELOAD_FILE, "../lib/" PRELOAD_FILE, "../lib/hangdog/" PRELOAD_FILE,
        "../lib/x86_64-linux-gnu/hangdog/" PRELOAD_FILE, "../lib/aarch64-linux-gnu/hangdog/" PRELOAD_FILE};
    static const char self[] = "/proc/self/exe";
    char own[PATH_MAX];
    ssize_t n = readlink(self, own, sizeof own - 1);
    if (n <= 0) { /* argv[0] would do here, but a watch needs /proc anyway */
        error_set(why, "cannot read %s: %s", self, strerror(errno));
        if (errno == ENOENT) {
            error_try(why, "mount -t proc proc /proc");
        }
        return false;
    }
    error_set(why, "%s not found; reinstall Hangdog", PRELOAD_FILE);
    own[n] = '\0';
    *strrchr(own, '/') = '\0';
    bool unreadable = false;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        path_from(own, places[i], path, size);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd >= 0) {
            close(fd);
            return true;
        }
        if (errno != ENOENT && errno != ENOTDIR && !unreadable) {
            unreadable = true;
            error_set(why, "cannot read '%.500s': %s", path, strerror(errno));
        }
    }
    return false;
}

static bool can_be_listed(const char *path) {
    return strpbrk(path, " :$") == NULL;
}

/* Makes or checks a folder in which no other user can write, and so cannot replace the library. */
static int make_private(const char *folder) {
    struct stat st;
    bool made = mkdir(folder, 0700) == 0;
    if ((!made && errno != EEXIST) || lstat(folder, &st) != 0) {
        return -errno;
    }
    if (made && (st.st_mode & 0700) != 0700) { /* the umask may have cleared bits of the owner */
        chmod(folder, 0700);
    }
    return S_ISDIR(st.st_mode) && st.st_uid == geteuid() && (st.st_mode & 077) == 0 ? 0 : -EPERM;
}

static int make_link(const char *to, const char *folder) {
    char path[PATH_MAX + sizeof "/" PRELOAD_FILE], there[PATH_MAX];
    int rc = make_private(folder);
    if (rc != 0) {
        return rc;
    }
    snprintf(path, sizeof path, "%s/%s", folder, PRELOAD_FILE);
    ssize_t n = readlink(path, there, sizeof there - 1);
    if (n >= 0) { /* -EEXIST: another path has the same hash */
        there[n] = '\0';
        return strcmp(there, to) == 0 ? 0 : -EEXIST;
    }
    return symlink(to, path) == 0 || errno == EEXIST ? 0 : -errno;
}

/* Makes a link to the library at `real`, and writes a path that LD_PRELOAD can contain. */
static int link_to(const char *real, char *path, size_t size) {
    const char *run = getenv("XDG_RUNTIME_DIR");
    uint64_t hash = 0xcbf29ce484222325ULL;
    for (const char *p = real; *p != '\0'; p++) {
        hash = (hash ^ (uint8_t)*p) * 0x100000001b3ULL;
    }
    const char *places[] = {run != NULL && run[0] == '/' && can_be_listed(run) ? run : "/tmp", "/tmp"};
    int rc = -ENAMETOOLONG;
    for (unsigned i = 0; i < 2 && rc != 0; i++) {
        char folder[PATH_MAX];
        int n = snprintf(folder, sizeof folder, "%s/hangdog-%u-%016llx", places[i], (unsigned)geteuid(),
                         (unsigned long long)hash);
        if ((size_t)n + sizeof "/" PRELOAD_FILE <= sizeof folder &&
            (size_t)snprintf(path, size, "%.*s/%s", n, folder, PRELOAD_FILE) < size) {
            rc = make_link(real, folder);
        }
    }
    return rc;
}

bool preload_path(char *path, size_t size, struct problem *why) {
    char real[PATH_MAX];
    if (!find_near_binary(real, sizeof real, why)) {
        return false;
    }
    if (can_be_listed(real)) {
        return (size_t)snprintf(path, size, "%s", real) < size;
    }
    int rc = link_to(real, path, size);
    if (rc != 0) {
        error_set(
            why,
            "LD_PRELOAD cannot contain '%.500s' (space, colon or dollar sign), and no link to it can be "
            "made in /tmp: %s",
            real, strerror(-rc));
    }
    return rc == 0;
}

bool preload_is_in(pid_t pid) {
    char path[64], line[PATH_MAX + 128];
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *maps = fopen(path, "re");
    while (maps != NULL && !found && fgets(line, sizeof line, maps) != NULL) {
        found = strstr(line, "/" PRELOAD_FILE) != NULL;
    }
    if (maps != NULL) {
        fclose(maps);
    }
    return found;
}
