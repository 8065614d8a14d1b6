/* SPDX-License-Identifier: MIT */
#include "cli/run/run_spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/error.h"
#include "cli/base/spool_folder.h"
#include "cli/reader/report_find.h"
#include "record/record.h"
#include "report/spool.h"

bool run_spool_path(const struct run_options *o, char *path, size_t size, struct problem *why) {
    if (o->spool != NULL) {
        char *real = o->spool[0] == '/' ? strdup("") : realpath(".", NULL);
        if (real == NULL) {
            error_set(why,
                      "cannot use the spool '%.200s': it is in the working folder, and that one: %s; "
                      "name it from the root on",
                      o->spool, strerror(errno));
            return false;
        }
        bool fits = (size_t)snprintf(path, size, "%s%s%s", real, real[0] != '\0' ? "/" : "", o->spool) < size;
        free(real);
        if (!fits) {
            error_set(why, "cannot use the spool '%.200s': the path is too long; name a shorter one",
                      o->spool);
        }
        return fits;
    }
    char *folder = reports_default_folder(why);
    if (folder == NULL) {
        return false;
    }
    bool fits = (size_t)snprintf(path, size, "%s/%s", folder, o->name) < size;
    free(folder);
    if (!fits) {
        error_set(why, "cannot use the default spool: the path is too long; name a shorter one with --spool");
    }
    return fits;
}

static bool is_limited(rlim_t bytes) {
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < bytes;
}

/* A full disk takes a file's name, and no byte of it. */
static int has_room(const char *path) {
    static const char page[4096] = {1};
    char made[5 * HD_RECORD_STRING];
    int fd = (size_t)snprintf(made, sizeof made, "%s/.room-XXXXXX", path) < sizeof made
                 ? mkostemp(made, O_CLOEXEC)
                 : -1;
    if (fd < 0) {
        return -errno;
    }
    ssize_t n = write(fd, page, sizeof page);
    int rc = n == (ssize_t)sizeof page ? 0 : n < 0 ? -errno : -ENOSPC;
    rc = rc == -EFBIG || (n > 0 && is_limited(sizeof page)) ? 0 : rc; /* the program's limit, said later */
    close(fd);
    unlink(made);
    return rc;
}

int run_spool_check(const char *path, struct problem *why) {
    struct hd_spool spool;
    int rc = spool_folder_open(path);
    if (rc == -ELOOP) {
        error_set(why, "cannot use the spool '%.500s': another user's link leads there; name its folder",
                  path);
        return rc;
    }
    rc = hd_spool_open(&spool, path);
    if (rc == 0) {
        hd_spool_close(&spool);
        rc = spool_folder_open(path);
    }
    if (rc == 0) {
        rc = access(path, W_OK | X_OK) == 0 ? 0 : -errno;
    }
    if (rc == 0) {
        rc = has_room(path);
    }
    if (rc != 0) {
        error_set(why, "cannot write reports to '%.500s': %s; %sname another folder with --spool", path,
                  strerror(-rc), rc == -EACCES ? "make it writable, or " : "");
    }
    return rc;
}

bool run_spool_make_spare(char *path, size_t size) {
    const char *above[] = {getenv("XDG_RUNTIME_DIR"), "/dev/shm", "/tmp", "/var/tmp"};
    for (size_t i = 0; i < sizeof above / sizeof above[0]; i++) {
        if (above[i] != NULL && above[i][0] == '/' &&
            (size_t)snprintf(path, size, "%s/hangdog-XXXXXX", above[i]) < size && mkdtemp(path) != NULL) {
            if (has_room(path) == 0) {
                return true;
            }
            rmdir(path);
        }
    }
    return false;
}

void run_spool_remove_spare(const char *path) {
    DIR *dir = opendir(path);
    if (dir == NULL) {
        return;
    }
    for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
        unlinkat(dirfd(dir), e->d_name, 0); /* not "." and ".." */
    }
    closedir(dir);
    rmdir(path);
}
