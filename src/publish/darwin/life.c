/* SPDX-License-Identifier: MIT
 *
 * The record is memory until the worker has opened the spool. Then the worker copies it into the file and
 * maps the file in its place. A count that another thread adds between the two steps may be lost.
 */
#include "publish/life.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "base/text.h"
#include "os/arch/page.h"
#include "os/darwin/mach.h"
#include "os/darwin/system_state.h"
#include "os/darwin/system_values.h"
#include "publish/darwin/fatal_report.h"
#include "publish/darwin/run_end.h"
#include "publish/describe.h"
#include "publish/publish.h"
#include "record/uuid.h"
#include "report/session.h"
#include "report/spool_files.h"

/* The content of the file. */
struct life {
    struct hd_record record;
    struct hd_life_values values;
};

#define LIFE_BYTES 16384u /* whole pages on both CPUs */

_Static_assert(sizeof(struct life) <= LIFE_BYTES && LIFE_BYTES % HD_RECORD_ALIGN == 0,
               "the values lie in the record's own memory");

static int life_fd = -1;                       /* of the worker; negative: there is no file */
static struct hd_life_values *_Atomic present; /* of this run, in the mapped file; NULL: none */
static struct hd_record *mapped;               /* in the file; NULL: in memory */
static struct life dead;                       /* the file of the run before */

/* ---- values ----------------------------------------------------------------------------------- */

static void store_memory(struct hd_life_values *v) {
    struct hd_mach_task task;
    const char *pressure = hd_system_memory_pressure();
    if (hd_mach.task(&task) == 0) {
        atomic_store(&v->footprint_bytes, task.footprint_bytes);
        atomic_store(&v->limit_remaining_bytes, task.limit_remaining_bytes);
    }
    atomic_store(&v->pressed, pressure != NULL && strcmp(pressure, "critical") == 0);
}

/* On a thread of the system's queue. */
static void take_pressure(void) {
    struct hd_life_values *v = atomic_load(&present);
    if (v != NULL) {
        store_memory(v);
    }
}

static void copy_text(char *to, size_t size, const char *from) {
    struct hd_text t;
    hd_text_init(&t, to, size);
    hd_text_str(&t, from != NULL ? from : "");
}

static void fill_values(const struct hd_publisher *p, struct hd_life_values *v) {
    memset(v, 0, sizeof *v);
    hd_system_text("kern.bootsessionuuid", v->boot, sizeof v->boot);
    copy_text(v->os_version, sizeof v->os_version, p->host->os_version);
    copy_text(v->app_version, sizeof v->app_version, p->app->version);
    memcpy(v->build_id, p->app->build_id, sizeof v->build_id);
    atomic_store(&v->debugger, hd_system_has_debugger());
    store_memory(v);
}

/* ---- the run before --------------------------------------------------------------------------- */

static bool is_valid(struct life *l, const struct hd_record *own) {
    l->record.options.app_name[sizeof l->record.options.app_name - 1] = '\0';
    l->values.boot[sizeof l->values.boot - 1] = '\0';
    l->values.os_version[sizeof l->values.os_version - 1] = '\0';
    l->values.app_version[sizeof l->values.app_version - 1] = '\0';
    return l->record.magic == HD_RECORD_MAGIC && l->record.bytes == sizeof l->record &&
           memcmp(l->record.options.session, own->options.session, HD_UUID_BYTES) != 0;
}

/* Writes the session report of the dead run, unless the run itself did. */
static void write_session(struct hd_publisher *p, const char *end) {
    struct hd_record *was = &dead.record;
    struct hd_app app = *p->app;
    struct hd_session s;
    struct hd_monitor_cost cost;
    struct hd_report r;
    uint64_t alive_ns = atomic_load(&was->status.alive_ns), started_ns = was->options.started_ns;
    hd_session_fill(was, alive_ns > started_ns ? alive_ns - started_ns : 0, &s, &cost);
    if (atomic_load(&was->status.session_written) != 0 || (s.turns == 0 && s.hangs == 0)) {
        return;
    }
    s.end = end;
    app.name = was->options.app_name;
    app.version = dead.values.app_version[0] != '\0' ? dead.values.app_version : NULL;
    app.pid = was->options.pid;
    app.started_wall_ns = was->options.started_wall_ns;
    memcpy(app.session, was->options.session, HD_UUID_BYTES);
    hd_describe_run(p, HD_REPORT_SESSION, &r);
    r.app = &app;
    r.complete = false; /* a dead process left it */
    r.started_wall_ns = was->options.started_wall_ns;
    r.duration_ns = s.used_ns;
    r.monitor = &cost;
    r.session = &s;
    hd_uuid_make_session(r.id, r.started_wall_ns + s.used_ns);
    (void)hd_spool_write(&p->spool, &r, p->scratch, false);
}

static void settle(struct hd_publisher *p, const struct hd_life_values *now) {
    const struct hd_record *was = &dead.record;
    const char *end = hd_run_end(was, &dead.values, now);
    if (atomic_load(&was->open.state) == HD_RECORD_HANG_LASTS) {
        (void)hd_fatal_report_finish(p->spool.dir_fd, was->open.hang_id, atomic_load(&was->open.duration_ns));
    }
    write_session(p, end);
    p->previous_end = end;
}

/* ---- the file --------------------------------------------------------------------------------- */

static int open_file(const struct hd_publisher *p) {
    char name[32];
    struct hd_text t;
    struct stat st;
    hd_text_init(&t, name, sizeof name);
    hd_text_str(&t, ".");
    hd_text_hex(&t, hd_hash(HD_HASH_BEGIN, p->app->name, strlen(p->app->name)));
    hd_text_str(&t, ".life");
    int fd = hd_os.open_at(p->spool.dir_fd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0 && (hd_os.flock(fd, LOCK_EX | LOCK_NB) != 0 || hd_spool_allow_owner(fd, &st) != 0 ||
                    st.st_nlink != 1 || !S_ISREG(st.st_mode))) {
        hd_os_close(fd); /* another process of this name runs */
        fd = -EBUSY;
    }
    return fd;
}

/* Writes the whole file first: a store into a mapped page for which the disk has no space would end the
 * program. */
static bool write_file(int fd, const struct hd_record *record, const struct hd_life_values *now) {
    static const char zeros[1024];
    uint64_t bytes = LIFE_BYTES;
    if (hd_os.ftruncate(fd, 0) != 0 || hd_os.write(fd, record, sizeof *record) != (long)sizeof *record ||
        hd_os.write(fd, now, sizeof *now) != (long)sizeof *now) {
        return false;
    }
    for (uint64_t at = sizeof(struct life); at < bytes;) {
        size_t n = bytes - at < sizeof zeros ? (size_t)(bytes - at) : sizeof zeros;
        long written = hd_os.write(fd, zeros, n);
        if (written <= 0) {
            return false;
        }
        at += (uint64_t)written;
    }
    return true;
}

/* Puts memory in the place of the file of this process's run before. The file is about to be empty, and a
 * read of the mapping would then end the program. Not at the end of that run: its last mark goes into the
 * file. */
static void leave_file(void) {
    if (mapped != NULL) {
        memcpy(&dead, mapped, sizeof dead);
        if (hd_os_memory_of_file(mapped, LIFE_BYTES, -1) == 0) {
            memcpy(mapped, &dead, sizeof dead);
        }
        mapped = NULL;
    }
}

void hd_life_start(struct hd_publisher *p) {
    struct hd_record *record = p->run->record;
    struct hd_life_values now;
    hd_system_state_start(take_pressure);
    if (p->spool.dir_fd < 0 || p->app->name == NULL || (uintptr_t)record % HD_PAGE_BYTES != 0) {
        return;
    }
    life_fd = open_file(p);
    if (life_fd < 0) {
        return;
    }
    fill_values(p, &now);
    record->options.pid = p->app->pid;
    if (hd_os.read(life_fd, &dead, sizeof dead) == (long)sizeof dead && is_valid(&dead, record)) {
        settle(p, &now);
    }
    hd_os_close(life_fd); /* to write from the file's start */
    life_fd = open_file(p);
    leave_file();
    if (life_fd >= 0 && write_file(life_fd, record, &now) &&
        hd_os_memory_of_file(record, LIFE_BYTES, life_fd) == 0) {
        mapped = record;
        atomic_store(&present, &((struct life *)(void *)record)->values);
    }
}

void hd_life_store_crash(void) {
    struct hd_life_values *v = atomic_load(&present);
    if (v != NULL) {
        atomic_store(&v->crashed, true);
    }
}

void hd_life_store_process(bool debugger) {
    struct hd_life_values *v = atomic_load(&present);
    if (v != NULL) {
        store_memory(v);
        atomic_store(&v->debugger, debugger);
    }
}

void hd_life_end(void) {
    atomic_store(&present, NULL);
    if (life_fd >= 0) {
        (void)hd_os.flock(life_fd, LOCK_UN); /* a mapping may keep the lock of a closed file */
    }
    hd_os_close(life_fd);
    life_fd = -1;
}
