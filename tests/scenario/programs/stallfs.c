/* SPDX-License-Identifier: MIT
 *
 * A file system that can stop to answer: `stallfs FOLDER MOUNTPOINT`, in the foreground. It shows FOLDER;
 * while FOLDER/stall is there, by FOLDER's own path, whatever would write waits; while FOLDER/stall-reads is,
 * what would read; while FOLDER/stall-closes is, what would close. Built where libfuse 3 is.
 */
#if __has_include(<fuse.h>) && __has_include(<fuse_lowlevel.h>)
#define FUSE_USE_VERSION 35

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int folder;

static const char *name_of(const char *path) {
    return path[1] != '\0' ? path + 1 : ".";
}

static void stall_while(const char *file) {
    struct timespec t = {.tv_nsec = 5000000};
    while (faccessat(folder, file, F_OK, 0) == 0) {
        nanosleep(&t, NULL);
    }
}

static void stall(void) {
    stall_while("stall");
}

static int result(long rc) {
    return rc < 0 ? -errno : (int)rc;
}

static int fs_getattr(const char *path, struct stat *st, struct fuse_file_info *info) {
    (void)info;
    return result(fstatat(folder, name_of(path), st, AT_SYMLINK_NOFOLLOW));
}

static int fs_readdir(const char *path, void *buf, fuse_fill_dir_t fill, off_t offset,
                      struct fuse_file_info *info, enum fuse_readdir_flags flags) {
    (void)offset;
    (void)info;
    (void)flags;
    int fd = openat(folder, name_of(path), O_RDONLY | O_DIRECTORY);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (dir == NULL) {
        return -errno;
    }
    for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
        fill(buf, e->d_name, NULL, 0, 0);
    }
    closedir(dir);
    return 0;
}

static int fs_open(const char *path, struct fuse_file_info *info) {
    int fd = openat(folder, name_of(path), info->flags);
    info->fh = (uint64_t)fd;
    return result(fd) < 0 ? -errno : 0;
}

static int fs_create(const char *path, mode_t mode, struct fuse_file_info *info) {
    stall();
    int fd = openat(folder, name_of(path), info->flags | O_CREAT, mode);
    info->fh = (uint64_t)fd;
    return fd < 0 ? -errno : 0;
}

static int fs_read(const char *path, char *buf, size_t n, off_t offset, struct fuse_file_info *info) {
    (void)path;
    stall_while("stall-reads");
    return result(pread((int)info->fh, buf, n, offset));
}

static int fs_write(const char *path, const char *buf, size_t n, off_t offset, struct fuse_file_info *info) {
    (void)path;
    stall();
    return result(pwrite((int)info->fh, buf, n, offset));
}

static int fs_truncate(const char *path, off_t size, struct fuse_file_info *info) {
    stall();
    if (info != NULL) {
        return result(ftruncate((int)info->fh, size));
    }
    int fd = openat(folder, name_of(path), O_WRONLY);
    int rc = result(fd < 0 ? -1 : ftruncate(fd, size));
    close(fd);
    return rc;
}

static int fs_fsync(const char *path, int data, struct fuse_file_info *info) {
    (void)path;
    (void)data;
    (void)info;
    stall();
    return 0;
}

static int fs_flush(const char *path, struct fuse_file_info *info) {
    (void)path;
    (void)info;
    stall_while("stall-closes");
    return 0;
}

static int fs_release(const char *path, struct fuse_file_info *info) {
    (void)path;
    close((int)info->fh);
    return 0;
}

static int fs_rename(const char *from, const char *to, unsigned flags) {
    stall();
    return flags != 0 ? -EINVAL : result(renameat(folder, name_of(from), folder, name_of(to)));
}

static int fs_unlink(const char *path) {
    stall();
    return result(unlinkat(folder, name_of(path), 0));
}

static int fs_access(const char *path, int mode) {
    return result(faccessat(folder, name_of(path), mode, 0));
}

static const struct fuse_operations operations = {
    .getattr = fs_getattr,
    .readdir = fs_readdir,
    .open = fs_open,
    .create = fs_create,
    .read = fs_read,
    .write = fs_write,
    .truncate = fs_truncate,
    .fsync = fs_fsync,
    .flush = fs_flush,
    .release = fs_release,
    .rename = fs_rename,
    .unlink = fs_unlink,
    .access = fs_access,
};

int main(int argc, char **argv) {
    if (argc != 3 || (folder = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0) {
        fprintf(stderr, "usage: stallfs FOLDER MOUNTPOINT\n");
        return 2;
    }
    char foreground[] = "-f";
    char *arguments[] = {argv[0], foreground, argv[2], NULL};
    return fuse_main(3, arguments, &operations, NULL) != 0 ? 1 : 0;
}

#else
#include <stdio.h>

int main(void) {
    fprintf(stderr, "stallfs was built without libfuse 3: scripts/install-dependencies test\n");
    return 77;
}
#endif
