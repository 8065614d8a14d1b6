/* SPDX-License-Identifier: MIT
 *
 * Opens the spool folder and writes reports. Worker code: may wait for the disk; no allocation.
 */
#include "report/spool.h"

#include "os/descriptor_table.h"
#include "os/os.h"
#include "record/uuid.h"
#include "report/spool_files.h"
#include "report/spool_path.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#define LOCK_TRIES 3

/* Ignores a failure: the next open of the file reports it. Other bits stay: a folder may have inherited its
 * group bits. */
int hd_spool_allow_owner(int fd, struct stat *st) {
    int r = hd_os.stat_at(fd, "", st, 0);
    if (r == 0 && st->st_nlink <= 1 && (st->st_mode & 0600) != 0600) {
        (void)hd_os.chmod_at(fd, "", (int)(st->st_mode | 0600)); /* the kernel ignores the file type */
    }
    return r;
}

/* ---- the folder --------------------------------------------------------------------------- */

static int open_place(struct hd_spool *s, int place) {
    if (place < 0) {
        return place;
    }
    int fd = hd_os.open_at(place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    hd_os_close(place);
    if (fd < 0) {
        return fd;
    }
    s->dir_fd = fd;
    return 0;
}

int hd_spool_open(struct hd_spool *s, const char *path) {
    *s = (struct hd_spool){
        .dir_fd = -1, .above_fd = -1, .max_reports = HD_SPOOL_REPORTS, .max_bytes = HD_SPOOL_BYTES};
    if (path[0] == 0) {
        return -ENOENT;
    }
    int r = open_place(s, hd_spool_enter_path(path, s->name, sizeof s->name, &s->above_fd));
    if (r == 0) {
        hd_spool_sweep(s->dir_fd);
    } else {
        hd_spool_close(s);
    }
    s->unopened = r;
    return r;
}

/* Makes a removed folder again, by its parent and not by its path: the program may have another root now. */
static int open_again(struct hd_spool *s) {
    int before = s->dir_fd;
    int r = s->above_fd < 0 ? -ENOENT : open_place(s, hd_spool_enter_folder(s->above_fd, s->name));
    if (r == 0) {
        hd_os_close(before);
    }
    return r;
}

void hd_spool_close(struct hd_spool *s) {
    hd_os_close(s->dir_fd);
    hd_os_close(s->above_fd);
    s->dir_fd = s->above_fd = -1;
}

void hd_spool_confine(struct hd_spool *s) {
    hd_os_close(s->above_fd);
    s->above_fd = -1;
    s->dir_fd = hd_private_table_confine(s->dir_fd);
    s->unopened = s->dir_fd < 0 ? -EACCES : s->unopened;
}

/* ---- one report --------------------------------------------------------------------------- */

/* Opens the temporary file and locks it. A file that another process has locked belongs to another writer, or
 * a sweep is about to remove it: tries again. */
static int open_temp(struct hd_spool *s, const char *temp) {
    for (int i = 0; i < LOCK_TRIES; i++) {
        struct stat st;
        int fd = hd_os.open_at(s->dir_fd, temp, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0) {
            return fd;
        }
        int r = hd_os.flock(fd, LOCK_EX | LOCK_NB); /* other errors: a file system without locks */
        if (r != -EWOULDBLOCK) {
            r = hd_spool_allow_owner(fd, &st);
            if (r == 0 && st.st_nlink > 1) { /* another user who may write here put a link there */
                r = hd_os.unlink_at(s->dir_fd, temp);
            } else if (r == 0 && st.st_nlink != 0) {
                s->owner = st.st_uid;
                r = hd_os.ftruncate(fd, 0);
                if (r == 0) {
                    return fd;
                }
            }
            if (r < 0) {
                hd_os.unlink_at(s->dir_fd, temp);
                hd_os_close(fd);
                return r;
            }
        }
        hd_os_close(fd);
    }
    return -EBUSY;
}

static int put_in_file(void *ctx, const char *bytes, size_t n) {
    const int *fd = ctx;
    while (n != 0) {
        long written = hd_os.write(*fd, bytes, n);
        if (written == -EINTR) {
            continue;
        }
        if (written <= 0) {
            return written < 0 ? (int)written : -EIO;
        }
        bytes += written;
        n -= (size_t)written;
    }
    return 0;
}

static int note_failure(struct hd_spool *s, int error) {
    if (error < 0) {
        s->failed++;
        s->error = -error;
    }
    return error;
}

/* After a rename, the report is valid. A failure means that it may not survive a power cut: only stores it.
 */
static void settle(struct hd_spool *s, const char *name) {
    int r = hd_os.fsync(s->dir_fd);
    int trimmed = hd_spool_what(name) == HD_SPOOL_REPORT ? hd_spool_trim(s, name) : 0;
    if (trimmed < 0) {
        r = trimmed;
    }
    if (r < 0) {
        s->error = -r;
    }
}

/* `r` NULL: only finds out the owner of new files. */
static int write_file(struct hd_spool *s, const struct hd_report *r, struct hd_report_scratch *scratch,
                      const char *temp, const char *name) {
    int fd = open_temp(s, temp);
    if (fd < 0) {
        return fd;
    }
    int result = -ECANCELED;
    if (r != NULL) {
        result = hd_report_write(r, scratch, (struct hd_sink){.put = put_in_file, .ctx = &fd});
    }
    if (result == 0) {
        result = hd_os.fsync(fd);
    }
    if (result == 0) {
        result = hd_os.rename_at(s->dir_fd, temp, name);
    }
    if (result < 0) {
        hd_os.unlink_at(s->dir_fd, temp);
    }
    hd_os_close(fd); /* only now: the lock keeps sweeps off the temporary name */
    return result;
}

int hd_spool_write(struct hd_spool *s, const struct hd_report *r, struct hd_report_scratch *scratch,
                   bool deferred) {
    char temp[HD_SPOOL_NAME_BYTES], name[HD_SPOOL_NAME_BYTES];
    if (s->dir_fd < 0) {
        return note_failure(s, s->unopened < 0 ? s->unopened : -EBADF);
    }
    hd_spool_name(temp, r->id, HD_SPOOL_TEMP);
    hd_spool_name(name, r->id, deferred ? HD_SPOOL_DEFERRED : HD_SPOOL_REPORT);
    int result = write_file(s, r, scratch, temp, name);
    if (result == -ENOENT && open_again(s) == 0) {
        result = write_file(s, r, scratch, temp, name);
    }
    if (result < 0) {
        return note_failure(s, result);
    }
    /* The name of an update is on disk already. After a power cut the file has the old text or the new one,
     * each of them whole. */
    if (r->complete || memcmp(s->stands, r->id, sizeof s->stands) != 0) {
        settle(s, name);
    }
    memcpy(s->stands, r->id, sizeof s->stands);
    return 0;
}

bool hd_spool_has(struct hd_spool *s, const uint8_t id[HD_UUID_BYTES]) {
    char deferred[HD_SPOOL_NAME_BYTES], name[HD_SPOOL_NAME_BYTES];
    struct stat st;
    hd_spool_name(deferred, id, HD_SPOOL_DEFERRED);
    hd_spool_name(name, id, HD_SPOOL_REPORT);
    return hd_os.stat_at(s->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 ||
           hd_os.stat_at(s->dir_fd, deferred, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

int hd_spool_release(struct hd_spool *s, const uint8_t id[HD_UUID_BYTES]) {
    char deferred[HD_SPOOL_NAME_BYTES], name[HD_SPOOL_NAME_BYTES];
    hd_spool_name(deferred, id, HD_SPOOL_DEFERRED);
    hd_spool_name(name, id, HD_SPOOL_REPORT);
    int result = hd_os.rename_at(s->dir_fd, deferred, name);
    if (result < 0) {
        return note_failure(s, result);
    }
    settle(s, name);
    return 0;
}

void hd_spool_make_room(struct hd_spool *s) {
    uint32_t one = s->max_reports > 1;
    uint8_t id[HD_UUID_BYTES]; /* a name that another user cannot guess, to put a file there */
    char temp[HD_SPOOL_NAME_BYTES];
    hd_uuid_make(id, 0);
    hd_spool_name(temp, id, HD_SPOOL_TEMP);
    (void)write_file(s, NULL, NULL, temp,
                     ""); /* finds out the owner, if this process has written nothing yet */
    s->max_reports -= one;
    (void)hd_spool_trim(s, ""); /* a failure shows again when the report is written */
    s->max_reports += one;
}

int hd_spool_withdraw(struct hd_spool *s, const uint8_t id[HD_UUID_BYTES]) {
    char name[HD_SPOOL_NAME_BYTES];
    hd_spool_name(name, id, HD_SPOOL_DEFERRED);
    int result = hd_os.unlink_at(s->dir_fd, name);
    if (result == -ENOENT) { /* already released, before it turned out not to be a hang */
        hd_spool_name(name, id, HD_SPOOL_REPORT);
        result = hd_os.unlink_at(s->dir_fd, name);
    }
    return note_failure(s, result);
}
