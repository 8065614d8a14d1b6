/* SPDX-License-Identifier: MIT */
#include "collector/symbols/debug_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/report/unnamed.h"

#define PART ".part"
#define BAD ".bad"
#define WHY ".why"
#define NAME_BYTES (DEBUG_ID_BYTES + sizeof PART)

struct debug_folder {
    pthread_mutex_t lock;
    int64_t limit_bytes;
    char path[PATH_MAX];
};

struct debug_folder *debug_folder_open(const char *path, long limit_mib) {
    struct debug_folder *f = calloc(1, sizeof *f);
    if (f != NULL) {
        pthread_mutex_init(&f->lock, NULL);
        f->limit_bytes = (int64_t)limit_mib << 20;
        snprintf(f->path, sizeof f->path, "%s", path);
    }
    return f;
}

void debug_folder_close(struct debug_folder *f) {
    if (f != NULL) {
        pthread_mutex_destroy(&f->lock);
        free(f);
    }
}

const char *debug_folder_path(const struct debug_folder *f) {
    return f->path;
}

/* A descriptor of the folder; -1: there is none. */
static int open_folder(const struct debug_folder *f) {
    return open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int64_t size_of(int folder, const char *name) {
    struct stat st;
    return fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) ? st.st_size : -1;
}

static void name_file(char name[NAME_BYTES], const char *id, const char *end) {
    snprintf(name, NAME_BYTES, "%s%s", id, end);
}

static void read_why(int folder, const char *id, char why[DEBUG_WHY_BYTES]) {
    char name[NAME_BYTES];
    name_file(name, id, WHY);
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, why, DEBUG_WHY_BYTES - 1) : 0;
    why[n > 0 ? n : 0] = '\0';
    if (fd >= 0) {
        close(fd);
    }
}

static struct debug_state state_of(int folder, const char *id) {
    char part[NAME_BYTES];
    struct debug_state state = {0};
    struct stat st;
    name_file(part, id, PART);
    if (fstatat(folder, id, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode)) {
        state.bytes = st.st_size;
        state.is_whole = true;
        state.is_checked = (st.st_mode & S_IWUSR) == 0;
    } else {
        state.bytes = size_of(folder, part);
        state.bytes = state.bytes > 0 ? state.bytes : 0;
        read_why(folder, id, state.why);
    }
    return state;
}

struct debug_state debug_folder_state(struct debug_folder *f, const char *id) {
    struct debug_state state = {0};
    pthread_mutex_lock(&f->lock);
    int folder = open_folder(f);
    if (folder >= 0) {
        state = state_of(folder, id);
        close(folder);
    }
    pthread_mutex_unlock(&f->lock);
    return state;
}

/* Calls `take` with each name, until it returns false. */
static void each_name(int folder, bool (*take)(void *to, int folder, const char *name), void *to) {
    int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = again >= 0 ? fdopendir(again) : NULL;
    const struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL && take(to, folder, entry->d_name)) {
    }
    if (dir != NULL) {
        closedir(dir);
    } else if (again >= 0) {
        close(again);
    }
}

static bool add_size(void *to, int folder, const char *name) {
    int64_t *sum = to, bytes = size_of(folder, name);
    *sum += bytes > 0 ? bytes : 0;
    return true;
}

static bool write_all(int fd, const char *data, size_t bytes) {
    while (bytes > 0) {
        ssize_t n = write(fd, data, bytes);
        if (n <= 0) {
            return false;
        }
        data += n;
        bytes -= (size_t)n;
    }
    return true;
}

/* The file is whole once its name says so, and then it is on disk. */
static enum debug_added append(int folder, const char *id, int64_t offset, bool is_last, const void *piece,
                               size_t bytes) {
    char part[NAME_BYTES];
    name_file(part, id, PART);
    int fd = openat(folder, part, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
        return DEBUG_FAILED;
    }
    bool done = lseek(fd, offset, SEEK_SET) == offset && write_all(fd, piece, bytes);
    bool is_full = !done && (errno == ENOSPC || errno == EDQUOT);
    if (!done && ftruncate(fd, offset) != 0) {
        unlinkat(folder, part, 0); /* else a half piece would stay */
    }
    done = done && (!is_last || (fsync(fd) == 0 && renameat(folder, part, folder, id) == 0));
    close(fd);
    return done ? DEBUG_ADDED : is_full ? DEBUG_FULL : DEBUG_FAILED;
}

static enum debug_added add_piece(const struct debug_folder *f, int folder, const char *id, int64_t offset,
                                  int64_t size, const void *piece, size_t bytes) {
    int64_t sum = 0;
    struct debug_state state = state_of(folder, id);
    if (state.is_whole || offset != state.bytes) {
        return DEBUG_OTHER_OFFSET;
    }
    each_name(folder, add_size, &sum); /* at each piece: the others grow, too, and it may say another size */
    if (sum - state.bytes + size > f->limit_bytes) {
        return DEBUG_FULL;
    }
    return append(folder, id, offset, offset + (int64_t)bytes == size, piece, bytes);
}

enum debug_added debug_folder_add(struct debug_folder *f, const char *id, int64_t offset, int64_t size,
                                  const void *piece, size_t bytes) {
    if (size <= 0 || size > DEBUG_FILE_MAX || offset < 0 || offset > size || (int64_t)bytes > size - offset) {
        return DEBUG_TOO_LARGE;
    }
    pthread_mutex_lock(&f->lock);
    mkdir(f->path, 0700);
    int folder = open_folder(f);
    enum debug_added added = folder < 0 ? DEBUG_FAILED : add_piece(f, folder, id, offset, size, piece, bytes);
    if (folder >= 0) {
        close(folder);
    }
    pthread_mutex_unlock(&f->lock);
    return added;
}

struct list {
    char (*ids)[DEBUG_ID_BYTES];
    int count, max;
};

static bool add_id(void *to, int folder, const char *name) {
    struct list *list = to;
    (void)folder;
    if (unnamed_is_build_id(name)) {
        memcpy(list->ids[list->count++], name, strlen(name) + 1);
    }
    return list->count < list->max;
}

int debug_folder_list(struct debug_folder *f, char (*ids)[DEBUG_ID_BYTES], int max) {
    struct list list = {.ids = ids, .max = max};
    pthread_mutex_lock(&f->lock);
    int folder = open_folder(f);
    if (folder >= 0) {
        each_name(folder, add_id, &list);
        close(folder);
    }
    pthread_mutex_unlock(&f->lock);
    return list.count;
}

void debug_folder_set_checked(struct debug_folder *f, const char *id) {
    char name[NAME_BYTES];
    pthread_mutex_lock(&f->lock);
    int folder = open_folder(f);
    if (folder >= 0 && fchmodat(folder, id, S_IRUSR, 0) == 0) {
        name_file(name, id, BAD);
        unlinkat(folder, name, 0);
        name_file(name, id, WHY);
        unlinkat(folder, name, 0);
    }
    if (folder >= 0) {
        close(folder);
    }
    pthread_mutex_unlock(&f->lock);
}

static void write_why(int folder, const char *id, const char *why) {
    char name[NAME_BYTES];
    name_file(name, id, WHY);
    int fd = openat(folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0) {
        write_all(fd, why, strlen(why)); /* on a full disk only the log has the reason */
        close(fd);
    }
}

void debug_folder_set_aside(struct debug_folder *f, const char *id, const char *why) {
    char bad[NAME_BYTES];
    name_file(bad, id, BAD);
    pthread_mutex_lock(&f->lock);
    int folder = open_folder(f);
    if (folder >= 0) {
        renameat(folder, id, folder, bad);
        write_why(folder, id, why);
        close(folder);
    }
    pthread_mutex_unlock(&f->lock);
}
