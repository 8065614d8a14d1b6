/* SPDX-License-Identifier: MIT
 *
 * Takes a record of the runner's memory file, and opens the file again for exec. While a worker runs, the
 * file stays open in the worker's private descriptor table, where the program does not see it. Without a
 * worker the file stays open in the program's descriptor table, at a high number.
 */
#include "preload/attach/record_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "control/instance.h"
#include "os/linux/proc_files.h"
#include "record/uuid.h"

#define HIGH_FD 900 /* a descriptor number that programs rarely use, below the usual limit of 1024 */

static struct {
    struct hd_record *table;
    struct hd_outbox *outbox; /* NULL: no runner */
    dev_t device;
    ino_t inode;
    int high_fd; /* the high descriptor number plus 1; 0: the file has no high descriptor */
    /* Copies of two options of the records. A forked child that is not followed needs them, because it
     * does not have the records mapped. */
    bool follow;
    char path[sizeof((struct hd_record_options *)0)->link];
} file;

/* ---- take a record ---------------------------------------------------------------------- */

/* True: a session report must be written for this record. */
static bool has_unreported(struct hd_record *r) {
    return atomic_load(&r->hangs.reports) != 0 || atomic_load(&r->loop.certainty) != 0 ||
           atomic_load(&r->hangs.count) != 0;
}

/* Clears the values of the program that had the record before. The record's options stay. */
static void clear_image(struct hd_record *r) {
    size_t options_end = offsetof(struct hd_record, status);
    memset((uint8_t *)r + options_end, 0, offsetof(struct hd_record, runner) - options_end);
}

/* Clears the app's name and version, which are those of the runner's program, since another program stores
 * its own. Does nothing if the user gave one name for all programs. */
static void forget_app(struct hd_record_options *o) {
    if (!o->app_named) {
        o->app_name[0] = o->app_version[0] = '\0';
    }
}

/* Called after an exec. The process keeps the record that it had before the exec, without the values of
 * the program before the exec. */
static struct hd_record *take_over(struct hd_record *r) {
    clear_image(r);
    if (r->options.of_child) {
        forget_app(&r->options);
    }
    return r;
}

/* True: the program before the exec had hangs, and so gets a session report of its own. A program without
 * hangs leaves its record to the next program. */
static bool has_unreported_hangs(struct hd_record *r) {
    return atomic_load(&r->hangs.reports) != 0 || atomic_load(&r->hangs.count) != 0;
}

/* Returns the inode of this process's PID namespace, since a process id is unique only within one namespace.
 * 0: the inode cannot be read, or is not needed without --exec and without followed children. */
static uint64_t own_pid_namespace(const struct hd_record *table) {
    struct stat st;
    bool needed = (table->options.follow || table->options.exec_mode) &&
                  hd_os.stat_at(AT_FDCWD, "/proc/self/ns/pid", &st, 0) == 0;
    return needed ? st.st_ino : 0;
}

/* True: the record's owner has ended, and all reports about the owner are written. */
static bool is_reusable(struct hd_record *r, uint32_t owner, uint64_t space) {
    bool done = !has_unreported(r) || atomic_load(&r->status.session_written) != 0;
    return owner != 0 && done && atomic_load(&r->owner.pid_namespace) == space &&
           kill((pid_t)owner, 0) != 0 && errno == ESRCH;
}

/* Takes a free record for this process. If `reuse`, takes the record of a process that has ended.
 * `of_child`: this process is a child of the program. NULL: there is no record to take. */
static struct hd_record *take_one(struct hd_record *table, bool of_child, bool reuse) {
    uint64_t space = own_pid_namespace(table);
    for (unsigned i = 0; i < HD_RECORDS; i++) {
        struct hd_record *r = &table[i];
        uint32_t owner = reuse ? atomic_load(&r->owner.pid) : 0;
        if ((reuse && (i == 0 || !is_reusable(r, owner, space))) ||
            !atomic_compare_exchange_strong(&r->owner.pid, &owner, (uint32_t)hd_os.get_pid())) {
            continue;
        }
        atomic_store(&r->owner.pid_namespace, space);
        if (i != 0) {
            r->options = table[0].options;
            r->options.started_ns = hd_os_now_ns();
            r->options.started_wall_ns = hd_os_wall_ns();
            r->options.of_child = of_child;
            if (of_child) {
                forget_app(&r->options);
            }
            hd_uuid_make(r->options.session, r->options.started_wall_ns);
            atomic_store(&r->owner.superseded_ns, 0);
            clear_image(r);
        }
        return r;
    }
    return NULL;
}

/* Takes a record for this process. `before`: the record that the process had before exec; NULL: none. */
static struct hd_record *take(struct hd_record *table, struct hd_record *before) {
    bool of_child = before == NULL || before->options.of_child;
    struct hd_record *found = before != NULL && !has_unreported_hangs(before) ? take_over(before) : NULL;
    found = found != NULL ? found : take_one(table, of_child, false);
    found = found != NULL ? found : take_one(table, of_child, true);
    if (found != before && before != NULL && found != NULL) {
        atomic_store(&before->owner.superseded_ns, hd_os_now_ns());
    } else if (found == NULL && before != NULL) {
        /* The table of records is full, so this program gets the record of the program before the exec.
         * That program's reports stay valid. */
        found = take_over(before);
    }
    if (found != NULL) {
        atomic_store(&found->owner.image_ns, found == table && atomic_load(&found->owner.images) == 0
                                                 ? found->options.started_ns
                                                 : hd_os_now_ns());
        atomic_fetch_add(&found->owner.images, 1);
    }
    return found;
}

/* True: the record is for the parent of this process. A constructor of the parent, which ran before ours,
 * started this process. So this process has the parent's environment variables. */
static bool is_for_parent(const struct hd_record_options *o) {
    return !o->follow && o->pid != 0 && o->pid != hd_os.get_pid();
}

/* Returns the record with index `number` if this process owns it, else NULL. */
static struct hd_record *own_record(struct hd_record *table, unsigned long number) {
    bool ours = number < HD_RECORDS && atomic_load(&table[number].owner.pid) == (uint32_t)hd_os.get_pid();
    return ours ? &table[number] : NULL;
}

static struct hd_record *take_from(int fd, unsigned long number) {
    struct stat st;
    bool runs = fstat(fd, &st) == 0 && (uint64_t)st.st_size == HD_RECORD_FILE_BYTES;
    if (!runs && (uint64_t)st.st_size != HD_RECORDS * sizeof(struct hd_record)) {
        return NULL;
    }
    struct hd_record *table = hd_os.map(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (hd_os_map_error(table) != 0) {
        return NULL;
    }
    if (table->magic != HD_RECORD_MAGIC || table->bytes != sizeof *table || is_for_parent(&table->options)) {
        hd_os.unmap(table, (size_t)st.st_size);
        return NULL;
    }
    file.table = table;
    file.outbox = runs ? hd_record_outbox(table) : NULL;
    file.device = st.st_dev;
    file.inode = st.st_ino;
    if (table->options.exec_mode != 0) {
        /* The lock of the file stays after the descriptor is closed, because the mapping keeps it until
         * exec or the end of the process. */
        hd_os.flock(fd, (table->options.follow ? LOCK_SH : LOCK_EX) | LOCK_NB);
    }
    memcpy(file.path, table->options.link, sizeof file.path);
    file.follow = table->options.follow;
    /* If children are not followed, a forked child gets no mapping of the table. Without --exec the child
     * keeps the mapping's first page, by which the runner finds surviving children. */
    if (!file.follow) {
        size_t page = table->options.exec_mode == 0 ? getauxval(AT_PAGESZ) : 0;
        hd_os.advise((uint8_t *)table + page, (size_t)st.st_size - page, MADV_DONTFORK);
    }
    return take(table, own_record(table, number));
}

struct hd_record *hd_record_file_take_for_child(const struct hd_record *parent) {
    file.high_fd = 0; /* the high descriptor is the parent's, and this child does not use it */
    struct hd_record *r = file.follow ? take(file.table, NULL) : NULL;
    if (r != NULL && parent != NULL) {
        memcpy(r->options.app_name, parent->options.app_name, sizeof r->options.app_name);
        memcpy(r->options.app_version, parent->options.app_version, sizeof r->options.app_version);
    }
    return r;
}

const char *hd_record_file_path(void) {
    return file.follow ? file.path : NULL;
}

struct hd_record *hd_record_file_first(void) {
    return file.table;
}

void hd_record_file_count_unwatched(int32_t more) {
    atomic_fetch_add(&file.table->shared.children_unwatched, (uint32_t)more);
}

struct hd_record *hd_record_file_take(const char *text) {
    char *end = NULL;
    int fd =
        text[0] == '/' ? hd_os.open_at(AT_FDCWD, text, O_RDWR | O_CLOEXEC, 0) : (int)strtol(text, &end, 10);
    if (fd < 3) {
        return NULL; /* descriptors 0 to 2 are the program's, so `text` is wrong */
    }
    bool has_number = end != NULL && *end == ':';
    struct hd_record *found = take_from(fd, has_number ? strtoul(end + 1, NULL, 10) : HD_RECORDS);
    if (file.table != NULL) {
        hd_os_close(fd);
    }
    return found;
}

struct hd_outbox *hd_record_file_outbox(void) {
    return file.outbox;
}

unsigned hd_record_file_number(const struct hd_record *r) {
    return (unsigned)(r - file.table);
}

/* ---- open the file again ----------------------------------------------------------------------- */

static bool is_the_file(int fd) {
    struct stat st;
    return fstat(fd, &st) == 0 && st.st_dev == file.device && st.st_ino == file.inode;
}

/* Opens the file again through /proc, by the file's descriptor in the worker's private descriptor
 * table. */
static int open_workers(void) {
    const struct hd_run *run = hd_run_current();
    int kept = run != NULL ? atomic_load(&run->channel.kept_fd) : 0;
    char name[16];
    struct hd_text t;
    if (kept == 0) {
        return -ENOENT;
    }
    hd_text_init(&t, name, sizeof name);
    hd_text_str(&t, "fd/");
    hd_text_i64(&t, kept - 1);
    return hd_proc_open_own_task(hd_thread_id_tid(atomic_load(&run->channel.threads.worker)), name, O_RDWR);
}

int hd_record_file_open(void) {
    if (file.table == NULL) {
        return -ENOENT;
    }
    int fd = file.high_fd != 0 && is_the_file(file.high_fd - 1) ? fcntl(file.high_fd - 1, F_DUPFD, 3)
                                                                : open_workers();
    if (fd < 0) {
        fd = hd_os.open_at(AT_FDCWD, file.path, O_RDWR, 0);
    }
    /* A descriptor number from 0 to 2 means that the program has closed this number. The next program must
     * find it closed. */
    if (fd >= 0 && fd < 3) {
        int higher = fcntl(fd, F_DUPFD, 3);
        hd_os_close(fd);
        fd = higher;
    }
    if (fd >= 0 && !is_the_file(fd)) {
        hd_os_close(fd);
        fd = -ESTALE;
    }
    return fd;
}

void hd_record_file_keep(void) {
    int fd = file.high_fd == 0 ? hd_record_file_open() : -1;
    if (fd >= 0) {
        file.high_fd = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD) + 1;
        hd_os_close(fd);
    }
}

void hd_record_file_release(void) {
    if (file.high_fd != 0 && is_the_file(file.high_fd - 1)) {
        hd_os_close(file.high_fd - 1);
    }
    file.high_fd = 0;
}
