/* SPDX-License-Identifier: MIT
 *
 * The entries of a folder: getattrlistbulk, and opendir with readdir.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "errors.h"
#include "import.h"

struct attribute_list {
    uint16_t count, reserved;
    uint32_t common, volume, folder, file, fork;
};

#define COMMON_NAME 0x1u
#define COMMON_DEVICE 0x2u
#define COMMON_TYPE 0x8u
#define COMMON_BORN 0x200u
#define COMMON_MODIFIED 0x400u
#define COMMON_CHANGED 0x800u
#define COMMON_ACCESS_MASK 0x20000u
#define COMMON_FILE_ID 0x02000000u
#define COMMON_ERROR 0x20000000u
#define COMMON_RETURNED 0x80000000u
#define COMMON_KNOWN                                                                              \
    (COMMON_NAME | COMMON_DEVICE | COMMON_TYPE | COMMON_BORN | COMMON_MODIFIED | COMMON_CHANGED | \
     COMMON_ACCESS_MASK | COMMON_FILE_ID | COMMON_ERROR | COMMON_RETURNED)
#define FILE_TOTAL_SIZE 0x2u
#define FILE_DATA_LENGTH 0x200u
#define FILE_KNOWN (FILE_TOTAL_SIZE | FILE_DATA_LENGTH)

struct entry_writer {
    uint8_t bytes[2048];
    size_t used;
};

static void put(struct entry_writer *w, const void *value, size_t n) {
    memcpy(w->bytes + w->used, value, n);
    w->used += n;
}

static uint32_t type_of(const struct stat *st) {
    return S_ISREG(st->st_mode) ? 1 : S_ISDIR(st->st_mode) ? 2 : S_ISLNK(st->st_mode) ? 5 : 0;
}

/* One entry, in the order of the bits; numbers are aligned to 4 bytes, and the name comes last. */
static size_t write_entry(struct entry_writer *w, const struct attribute_list *list, const char *name,
                          const struct stat *st) {
    uint32_t file = S_ISREG(st->st_mode) ? list->file : 0;
    uint32_t returned[5] = {list->common & ~COMMON_ERROR, 0, 0, file, 0};
    w->used = 4;
    put(w, returned, sizeof returned);
    size_t name_at = 0;
    if (list->common & COMMON_ERROR) {
        put(w, &(uint32_t){0}, 4);
    }
    if (list->common & COMMON_NAME) {
        name_at = w->used;
        w->used += 8;
    }
    if (list->common & COMMON_DEVICE) {
        put(w, &(int32_t){(int32_t)st->st_dev}, 4);
    }
    if (list->common & COMMON_TYPE) {
        put(w, &(uint32_t){type_of(st)}, 4);
    }
    const struct timespec *times[3] = {&st->st_ctim, &st->st_mtim, &st->st_ctim};
    for (int i = 0; i < 3; i++) {
        if (list->common & COMMON_BORN << i) {
            put(w, times[i], 16);
        }
    }
    if (list->common & COMMON_ACCESS_MASK) {
        put(w, &(uint32_t){st->st_mode}, 4);
    }
    if (list->common & COMMON_FILE_ID) {
        put(w, &(uint64_t){st->st_ino}, 8);
    }
    int64_t size = st->st_size;
    if (file & FILE_TOTAL_SIZE) {
        put(w, &size, 8);
    }
    if (file & FILE_DATA_LENGTH) {
        put(w, &size, 8);
    }
    if (name_at) {
        uint32_t reference[2] = {(uint32_t)(w->used - name_at), (uint32_t)strlen(name) + 1};
        memcpy(w->bytes + name_at, reference, 8);
        put(w, name, reference[1]);
    }
    w->used = (w->used + 7) & ~(size_t)7;
    memcpy(w->bytes, &(uint32_t){(uint32_t)w->used}, 4);
    return w->used;
}

struct host_entry { /* of getdents64 */
    uint64_t inode;
    int64_t next;
    uint16_t bytes;
    uint8_t type;
    char name[];
};

static bool is_dots(const char *name) {
    return !strcmp(name, ".") || !strcmp(name, "..");
}

static int fake_getattrlistbulk(int fd, const struct attribute_list *list, void *out, size_t bytes,
                                uint64_t options) {
    if (options || list->count != 5 || !(list->common & COMMON_RETURNED) || !(list->common & COMMON_NAME) ||
        list->common & ~COMMON_KNOWN || list->file & ~FILE_KNOWN || list->volume || list->folder ||
        list->fork) {
        return errors_fail(EINVAL);
    }
    char buffer[4096] __attribute__((aligned(8)));
    size_t used = 0;
    int entries = 0;
    for (;;) {
        int64_t back = lseek(fd, 0, SEEK_CUR);
        long n = syscall(SYS_getdents64, fd, buffer, sizeof buffer);
        if (n <= 0) {
            return n < 0 ? errors_fail(errno) : entries;
        }
        for (long at = 0; at < n;) {
            struct host_entry *e = (void *)(buffer + at);
            struct entry_writer w;
            struct stat st;
            if (!is_dots(e->name) && fstatat(fd, e->name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
                size_t size = write_entry(&w, list, e->name, &st);
                if (used + size > bytes) { /* the next call starts with this entry */
                    lseek(fd, back, SEEK_SET);
                    return entries ? entries : errors_fail(ERANGE);
                }
                memcpy((char *)out + used, w.bytes, size);
                used += size;
                entries++;
            }
            back = e->next;
            at += e->bytes;
        }
    }
}

/* ---- opendir ------------------------------------------------------------------------------ */

struct entry {
    uint64_t inode, offset;
    uint16_t bytes, name_bytes;
    uint8_t type;
    char name[1024];
};

struct folder {
    DIR *host;
    struct entry entry;
};

static struct folder *open_folder(DIR *host) {
    struct folder *f = host ? calloc(1, sizeof *f) : NULL;
    if (f) {
        f->host = host;
    } else {
        errors_set(errno);
    }
    return f;
}

static struct folder *fake_opendir(const char *path) {
    return open_folder(opendir(path));
}
static struct folder *fake_fdopendir(int fd) {
    return open_folder(fdopendir(fd));
}

static struct entry *fake_readdir(struct folder *f) {
    struct dirent *e = readdir(f->host);
    if (!e) {
        return NULL;
    }
    f->entry.inode = e->d_ino;
    f->entry.type = e->d_type;
    f->entry.name_bytes = (uint16_t)strlen(e->d_name);
    f->entry.bytes = sizeof f->entry;
    snprintf(f->entry.name, sizeof f->entry.name, "%s", e->d_name);
    return &f->entry;
}

static int fake_closedir(struct folder *f) {
    int result = errors_of(closedir(f->host));
    free(f);
    return result;
}

const struct import imports_of_folder[] = {
    KERNEL("getattrlistbulk", fake_getattrlistbulk, 461),
    LIBRARY("opendir", fake_opendir),
    LIBRARY("opendir$INODE64", fake_opendir),
    LIBRARY("fdopendir", fake_fdopendir),
    LIBRARY("fdopendir$INODE64", fake_fdopendir),
    LIBRARY("readdir", fake_readdir),
    LIBRARY("readdir$INODE64", fake_readdir),
    LIBRARY("closedir", fake_closedir),
    IMPORT_END,
};
