/* SPDX-License-Identifier: MIT */
#include "agent/app_folder.h"

#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "report/spool_files.h"

#define FOLDERS_MAX 128 /* of one user */
#define PASS 0711
#define ENTER (ACL_READ | ACL_EXECUTE)

void app_folder_name(const char *app, char name[APP_FOLDER_NAME_BYTES]) {
    size_t n = 0;
    for (; app[n] != '\0' && n < APP_FOLDER_NAME_BYTES - 4; n++) {
        unsigned char c = (unsigned char)app[n];
        name[n] = (char)(c <= ' ' || c >= 127 || c == '/' || (n == 0 && c == '.') ? '_' : c);
    }
    name[n] = '\0';
    if (n == 0) {
        snprintf(name, APP_FOLDER_NAME_BYTES, "program");
    }
}

static int make(int above, const char *name, mode_t mode) {
    if (mkdirat(above, name, mode) != 0 && errno != EEXIST) {
        return -errno;
    }
    int fd = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd >= 0 ? fd : -errno;
}

bool app_folder_make_spool(const char *spool, struct problem *why) {
    int fd = make(AT_FDCWD, spool, PASS);
    struct stat st;
    /* Changes the mode of a folder that systemd has made, too. Another user could read its reports. */
    if (fd < 0 || fstat(fd, &st) != 0 || st.st_uid != geteuid() || fchmod(fd, PASS) != 0) {
        error_set(why, "cannot use the spool %s: %s", spool,
                  fd >= 0 && st.st_uid != geteuid() ? "it belongs to another user"
                                                    : strerror(fd < 0 ? -fd : errno));
        if (fd >= 0) {
            close(fd);
        }
        return false;
    }
    close(fd);
    return true;
}

/* The owner, and `user`, who gets `rights`. */
static int set_reader(int fd, uid_t user, uint16_t rights) {
    struct {
        struct posix_acl_xattr_header head;
        struct posix_acl_xattr_entry entry[5];
    } list = {{htole32(POSIX_ACL_XATTR_VERSION)},
              {{htole16(ACL_USER_OBJ), htole16(rights | ACL_WRITE), htole32((uint32_t)ACL_UNDEFINED_ID)},
               {htole16(ACL_USER), htole16(rights), htole32(user)},
               {htole16(ACL_GROUP_OBJ), 0, htole32((uint32_t)ACL_UNDEFINED_ID)},
               {htole16(ACL_MASK), htole16(rights), htole32((uint32_t)ACL_UNDEFINED_ID)},
               {htole16(ACL_OTHER), 0, htole32((uint32_t)ACL_UNDEFINED_ID)}}};
    return fsetxattr(fd, "system.posix_acl_access", &list, sizeof list, 0) == 0 ? 0 : -errno;
}

/* Folders in a user's folder; names begin with no dot. */
static unsigned count_folders(int user_fd) {
    unsigned count = 0;
    int fd = openat(user_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    for (const struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
        count += e->d_name[0] != '.';
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return count;
}

int app_folder_make(const char *spool, uid_t user, const char *app, char *path, size_t size) {
    char name[APP_FOLDER_NAME_BYTES], above[PATH_MAX];
    struct stat st;
    app_folder_name(app, name);
    snprintf(above, sizeof above, "%s/%u", spool, (unsigned)user);
    int fd = make(AT_FDCWD, above, 0700);
    if (fd < 0) {
        return fd;
    }
    int reader = user == geteuid() ? 0 : set_reader(fd, user, ENTER);
    if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0 && count_folders(fd) >= FOLDERS_MAX) {
        snprintf(name, sizeof name, "other");
    }
    int app_fd = make(fd, name, 0755);
    int rc = app_fd < 0                  ? app_fd
             : fchmod(app_fd, 0755) != 0 ? -errno /* whatever the umask says */
             : (size_t)snprintf(path, size, "%s/%s", above, name) >= size ? -ENAMETOOLONG
                                                                          : 0;
    if (app_fd >= 0) {
        close(app_fd);
    }
    close(fd);
    return rc == 0 && reader != 0 ? -ENOTSUP : rc;
}

void app_folder_leave(const char *path) {
    (void)rmdir(path); /* fails if the folder has a report */
}

struct give {
    int dir_fd, rc;
    uid_t user;
    bool lasts;
};

/* A report that is not final stays the agent's: its user could write there what the agent reads again. */
static int show(const struct give *g, const char *name, const struct stat *st) {
    if ((st->st_mode & S_IRGRP) != 0) { /* it has a list */
        return 0;
    }
    int fd = openat(g->dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0) {
        (void)set_reader(fd, g->user, ACL_READ);
        close(fd);
    }
    return 0;
}

static int give_one(void *ctx, enum hd_spool_file what, const char *name) {
    struct give *g = ctx;
    struct stat st;
    if (what != HD_SPOOL_REPORT || fstatat(g->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
        st.st_uid == g->user || st.st_uid != geteuid()) {
        return 0;
    }
    if (g->lasts) {
        return show(g, name, &st);
    }
    if ((fchmodat(g->dir_fd, name, 0600, 0) != 0 ||
         fchownat(g->dir_fd, name, g->user, (gid_t)-1, AT_SYMLINK_NOFOLLOW) != 0) &&
        errno != ENOENT) {
        g->rc = -errno;
    }
    return 0;
}

int app_folder_give(const char *path, uid_t user, bool lasts) {
    struct give g = {.user = user, .lasts = lasts};
    if (user == geteuid()) {
        return 0;
    }
    g.dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (g.dir_fd < 0) {
        return -errno;
    }
    int rc = hd_spool_walk(g.dir_fd, give_one, &g);
    close(g.dir_fd);
    return rc != 0 ? rc : g.rc;
}
