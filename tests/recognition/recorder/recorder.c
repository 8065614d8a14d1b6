/* SPDX-License-Identifier: MIT
 *
 * The recorder of waits. Runs on the main thread, around its waits; no allocation.
 */
#include "recorder/recorder.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/text.h"
#include "capture/arch/linux_context.h"
#include "os/linux/proc_files.h"
#include "os/os.h"
#include "recognise/known_functions.h"
#include "recognise/open_files.h"
#include "recognise/wait_seen.h"
#include "unwind/walk.h"

#define STACK_BYTES (256u * 1024u)
#define LINE_BYTES (32u * 1024u)
#define LINE_ROOM 128u /* for one item */
#define FRAMES_MAX 256u
#define OBJECTS_MAX 256u
#define EPOLL_NUMBERS 4096u
#define LOWEST_FD 900
#define NOTED_MAX 64u

/* Mapped wipe-on-fork: a forked child finds `file` 0 and is not recorded. */
static struct recorder {
    int file;
    bool open;       /* a wait has begun */
    unsigned inside; /* a library's own wait */
    int tid, proc_fd;
    uint64_t began_ns, cpu_ns;
    struct hd_modules modules;
    struct hd_functions known;
    struct hd_walker walker;
    uint16_t generation[EPOLL_NUMBERS];
    struct noted { /* what waits were for, to see when it is closed */
        int fd;
        bool used;
        char object[LINE_ROOM];
    } noted[NOTED_MAX];
    uint32_t bytes;
    char line[LINE_BYTES];
    uint8_t stack[STACK_BYTES];
    uint8_t unwinder[]; /* hd_unwinder_bytes() */
} *rec;

/* ---- text -------------------------------------------------------------------------------------- */

static void put(const char *text, size_t n) {
    n = n < LINE_BYTES - 2 - rec->bytes ? n : LINE_BYTES - 2 - rec->bytes;
    memcpy(rec->line + rec->bytes, text, n);
    rec->bytes += (uint32_t)n;
}

static void put_text(const char *text) {
    put(text, strlen(text));
}

static void put_number(uint64_t v, unsigned base) {
    char digits[24];
    unsigned n = sizeof digits;
    do {
        digits[--n] = "0123456789abcdef"[v % base];
        v /= base;
    } while (v != 0);
    put(digits + n, sizeof digits - n);
}

static void put_signed(int64_t v) {
    if (v < 0) {
        put("-", 1);
    }
    put_number(v < 0 ? 0 - (uint64_t)v : (uint64_t)v, 10);
}

static void put_field(const char *name, uint64_t v, unsigned base) {
    put_text(name);
    put_number(v, base);
}

static bool has_room(void) {
    return rec->bytes < LINE_BYTES - LINE_ROOM;
}

/* ---- descriptors ----------------------------------------------------------------------------------- */

static void path_of(char path[40], const char *folder, int fd) {
    struct hd_text t;
    hd_text_init(&t, path, 40);
    hd_text_str(&t, folder);
    hd_text_i64(&t, fd);
}

/* The kernel's own number of an eventfd, 0: it tells none. */
static uint64_t eventfd_id(int fd) {
    char path[40], text[512];
    path_of(path, "/proc/self/fdinfo/", fd);
    hd_proc_read(AT_FDCWD, path, text, sizeof text);
    const char *id = hd_proc_find_line(text, "eventfd-id:");
    uint64_t v = 0;
    if (id != NULL) {
        hd_text_take_number(id, &v);
    }
    return v;
}

static void put_anonymous(int fd, const char *kind, const char *end) {
    if (strncmp(kind, "[eventpoll]", 11) == 0) {
        put_field("e", (uint32_t)fd, 10);
        put_field(".", rec->generation[(unsigned)fd % EPOLL_NUMBERS], 10);
        return;
    }
    uint64_t id = strncmp(kind, "[eventfd]", 9) == 0 ? eventfd_id(fd) : 0;
    put_field("a", (uint32_t)fd, 10);
    put(".", 1);
    while (kind < end && (*kind == '[' || *kind == ']')) {
        kind++;
    }
    size_t n = (size_t)(end - kind);
    put(kind, n != 0 && kind[n - 1] == ']' ? n - 1 : n);
    if (id != 0) {
        put_field(".", id, 10);
    }
}

/* An object as text: s: socket, p: pipe, by inode; e: epoll instance, by number and generation; a: other
 * anonymous ones, by number, kind and id; f: a file, by device and inode; x: not open. */
static void put_object(int fd) {
    char path[40], link[80];
    struct stat st;
    path_of(path, "/proc/self/fd/", fd);
    long n = hd_os.readlink_at(AT_FDCWD, path, link, sizeof link - 1);
    link[n > 0 ? n : 0] = '\0';
    if (strncmp(link, "anon_inode:", 11) == 0) {
        put_anonymous(fd, link + 11, link + n);
    } else if (n <= 0 || hd_os.stat_at(AT_FDCWD, path, &st, 0) != 0) {
        put_field("x", (uint32_t)fd, 10);
    } else if (S_ISSOCK(st.st_mode) || S_ISFIFO(st.st_mode)) {
        put_field(S_ISSOCK(st.st_mode) ? "s" : "p", st.st_ino, 10);
    } else {
        put_field("f", st.st_dev, 16);
        put_field(".", st.st_ino, 10);
    }
}

/* The same into `object`; the line stays as it is. */
static void object_of(int fd, char object[LINE_ROOM]) {
    uint32_t begin = rec->bytes;
    put_object(fd);
    uint32_t n = rec->bytes - begin < LINE_ROOM - 1 ? rec->bytes - begin : LINE_ROOM - 1;
    memcpy(object, rec->line + begin, n);
    object[n] = '\0';
    rec->bytes = begin;
}

/* For the newest descriptors that were waited for. */
static void remember(int fd, const char *object) {
    struct noted *to = &rec->noted[(unsigned)fd % NOTED_MAX];
    *to = (struct noted){.fd = fd, .used = true};
    memcpy(to->object, object, strlen(object) + 1);
}

static void put_item(int fd, unsigned *n) {
    char object[LINE_ROOM];
    if (*n < OBJECTS_MAX && has_room()) {
        put(",", *n != 0);
        ++*n;
        object_of(fd, object);
        remember(fd, object);
        put_text(object);
    }
}

/* What earlier waits were for, and is not open by that number any more. */
static void put_closed(void) {
    char object[LINE_ROOM];
    bool any = false;
    for (unsigned i = 0; i < NOTED_MAX && has_room(); i++) {
        struct noted *was = &rec->noted[i];
        if (!was->used) {
            continue;
        }
        object_of(was->fd, object);
        if (strcmp(object, was->object) != 0) {
            put_text(any ? "," : " closed=");
            put_text(was->object);
            was->used = false;
            any = true;
        }
    }
}

static bool has_fd(const struct hd_recorded_wait *w, int fd) {
    for (unsigned s = 0; s < 3; s++) {
        if (w->sets[s] != NULL && FD_ISSET(fd, w->sets[s])) {
            return true;
        }
    }
    return false;
}

static void add_fd(struct hd_wait_descriptors *descriptors, int fd, unsigned *n) {
    int listens = 0;
    socklen_t size = sizeof listens;
    if (fd < 0) {
        return;
    }
    put_item(fd, n);
    if (descriptors->fds < HD_WAIT_FDS) {
        bool known = !descriptors->epoll && getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0;
        descriptors->listens |= (uint16_t)((known && listens != 0) << descriptors->fds);
        descriptors->fd[descriptors->fds++] = fd;
    }
}

/* Also into `objects`, as the wait table keeps them. */
static void put_set(const struct hd_recorded_wait *w, struct hd_wait_descriptors *descriptors) {
    unsigned n = 0;
    put_text(" set=");
    if (w->library != 0) {
        put(&w->library, 1);
        return;
    }
    if (w->epoll != NULL) {
        descriptors->epoll = true;
        add_fd(descriptors, *w->epoll, &n);
        return;
    }
    for (uint64_t i = 0; w->fds != NULL && i < w->count; i++) {
        add_fd(descriptors, w->fds[i].fd, &n);
    }
    for (int fd = 0; w->fds == NULL && fd < (int)w->count && fd < FD_SETSIZE; fd++) {
        if (has_fd(w, fd)) {
            add_fd(descriptors, fd, &n);
        }
    }
}

/* A letter for each descriptor, in the order of enum hd_kind; an epoll instance's own ones after '@', '?' for
 * those that are not known; '-': none. */
static void put_kinds(const struct hd_recorded_wait *w, const struct hd_wait_descriptors *descriptors) {
    static const char letters[] = "olepPsScg";
    _Static_assert(sizeof letters == HD_KINDS + 1, "one for each");
    struct hd_kinds kinds;
    put_text(" kinds=");
    if (w->library != 0) {
        put(&w->library, 1);
        return;
    }
    hd_open_files_kinds(rec->proc_fd, hd_thread_id_of(rec->tid), descriptors, &kinds);
    put("@", kinds.epoll);
    put("?", !kinds.known);
    put("-", kinds.known && !kinds.epoll && kinds.count == 0);
    for (uint32_t i = 0; kinds.known && i < kinds.count; i++) {
        put(&letters[kinds.kind[i]], 1);
    }
}

/* ---- the stack ----------------------------------------------------------------------------------- */

static int read_own(void *ctx, uint64_t addr, void *dst, size_t n) {
    (void)ctx;
    return hd_os.read_memory(rec->tid, addr, dst, n) == (long)n ? 0 : -EFAULT;
}

struct frame {
    uint64_t pc, sp, start;
    uint8_t trust;
};

/* One step at a time, since the places' stack pointers are wanted. */
static uint32_t walk(const struct hd_regs *regs, struct frame *frames) {
    struct hd_walker *w = &rec->walker;
    struct hd_frame two[2];
    long bytes = hd_os.read_memory(rec->tid, regs->sp, rec->stack, STACK_BYTES);
    uint32_t n = 0;
    *w = (struct hd_walker){.u = (void *)rec->unwinder, .regs = *regs, .trust = HD_TRUST_CONTEXT};
    w->stack =
        (struct hd_stack){.bytes = rec->stack, .address = regs->sp, .size = bytes > 0 ? (uint64_t)bytes : 0};
    w->step_limit = 1;
    do {
        w->scans_left = HD_WALK_SCANS;
        w->candidates_left = HD_WALK_CANDIDATES;
        w->trial_steps_left = HD_SCAN_TRIAL_STEPS;
        hd_walk_set_frames(w, two, 2);
        frames[n] = (struct frame){.pc = w->regs.pc, .sp = w->regs.sp, .trust = w->trust};
        hd_walk_run(w);
        frames[n++].start = two[0].start;
    } while (w->stop == HD_STOP_LIMIT && n < FRAMES_MAX);
    return n;
}

/* The exported function at an address. */
static const char *name_of(uint64_t pc) {
    Dl_info info;
    return dladdr((const void *)(uintptr_t)pc, &info) != 0 ? info.dli_sname : NULL;
}

static void put_frame(const struct frame *f, uint64_t below) {
    uint64_t pc = f->pc - !hd_pc_is_exact(f->trust);
    const char *name = name_of(pc);
    int module = hd_modules_at(&rec->modules, pc);
    if (module >= 0) {
        const char *path = hd_module_path(&rec->modules, (uint32_t)module);
        const char *slash = strrchr(path, '/');
        put_text(slash != NULL ? slash + 1 : path);
        put_field("+", pc - rec->modules.module[module].bias, 16);
    } else {
        put_field("?+", pc, 16);
    }
    if (name != NULL && strlen(name) < LINE_ROOM) {
        put_text("=");
        put_text(name);
    }
    put_field(":", f->sp - below, 16);
}

/* What the tables of names say, of the stack with the recorder's own frames below. */
static void put_names(const struct frame *frames, uint32_t n, bool whole) {
    static const char evidence[] = {[HD_WAIT_EVIDENCE_REQUEST + 2] = '1',
                                    [HD_WAIT_EVIDENCE_PLAIN + 2] = '0',
                                    [HD_WAIT_EVIDENCE_BY_NAME + 2] = '2'};
    struct hd_frame all[FRAMES_MAX];
    for (uint32_t i = 0; i < n; i++) {
        all[i] = (struct hd_frame){.pc = frames[i].pc, .start = frames[i].start, .trust = frames[i].trust};
    }
    put_text(" asks=");
    put(&evidence[hd_known_function(&rec->known, &rec->modules, all, n) + 2], 1);
    bool encloses = hd_known_loop_encloses(&rec->known, &rec->modules, all, n);
    put_field(" enclosed=", encloses ? HD_ENCLOSED : whole ? HD_NOT_ENCLOSED : HD_ENCLOSED_UNKNOWN, 10);
}

static void put_stack(const struct frame *frames, uint32_t n, bool whole) {
    uint64_t place = 0xcbf29ce484222325ULL;
    for (uint32_t i = 0; i < n; i++) {
        place = (place ^ frames[i].pc) * 0x9e3779b97f4a7c15ULL;
        place = (place ^ (place >> 29) ^ frames[i].sp) * 0xff51afd7ed558ccdULL;
    }
    put_field(" root=", whole, 10);
    put_field(" place=", place, 16);
    put_field(" sp=", n != 0 ? frames[0].sp : 0, 16);
    put_text(" stack=");
    for (uint32_t i = 0; i < n && has_room(); i++) {
        put(";", i != 0);
        put_frame(&frames[i], i != 0 ? frames[i - 1].sp : frames[i].sp);
    }
}

static void note_stack(const struct hd_regs *regs) {
    struct frame frames[FRAMES_MAX];
    if (!hd_modules_still_valid(&rec->modules, false)) {
        hd_unwinder_flush((void *)rec->unwinder);
    }
    uint32_t n = walk(regs, frames), own = 0;
    bool whole = rec->walker.stop == HD_STOP_ROOT;
    put_names(frames, n, whole);
    /* our own frames are no part of the place */
    int self = hd_modules_at(&rec->modules, (uint64_t)(uintptr_t)&note_stack);
    while (own < n && self >= 0 && hd_modules_at(&rec->modules, frames[own].pc - 1) == self) {
        own++;
    }
    put_stack(frames + own, n - own, whole);
}

/* ---- waits --------------------------------------------------------------------------------------- */

void hd_recorder_begin(const struct hd_recorded_wait *w) {
    if (rec == NULL || rec->file == 0 || rec->inside > 0 || (int)hd_os.get_tid() != rec->tid) {
        return;
    }
    int saved = errno;
    struct hd_wait_descriptors descriptors = {.fds = 0};
    rec->bytes = 0;
    put_text(" ");
    put_text(w->function);
    put_text(" ");
    put_signed(w->timeout_ns < 0 ? -1 : w->timeout_ns / (int64_t)HD_NS_PER_US);
    put_closed();
    put_set(w, &descriptors);
    put_kinds(w, &descriptors);
    ucontext_t context;
    struct hd_regs regs = {.valid = 0};
    getcontext(&context);
    hd_machine_context_regs(&regs, &context);
    note_stack(&regs);
    rec->open = true;
    errno = saved;
    rec->cpu_ns = hd_os_thread_cpu_ns();
    rec->began_ns = hd_os_now_ns();
}

/* The times come first in the line: it is put together anew. */
void hd_recorder_end(int result) {
    if (rec == NULL || rec->file == 0 || rec->inside > 0 || !rec->open || (int)hd_os.get_tid() != rec->tid) {
        return;
    }
    uint64_t ended_ns = hd_os_now_ns();
    uint64_t cpu_ns = hd_os_thread_cpu_ns();
    uint32_t rest = rec->bytes;
    char times[160];
    rec->open = false;
    put_field("w ", rec->began_ns, 10);
    put_field(" ", ended_ns, 10);
    put_field(" ", rec->cpu_ns, 10);
    put_field(" ", cpu_ns, 10);
    put_text(" ");
    put_signed(result);
    uint32_t n = rec->bytes - rest;
    memcpy(times, rec->line + rest, n);
    memmove(rec->line + n, rec->line, rest);
    memcpy(rec->line, times, n);
    rec->line[rec->bytes++] = '\n';
    if (hd_os.write(rec->file, rec->line, rec->bytes) < 0) {
        rec->file = 0; /* closed by the program */
    }
}

void hd_recorder_enter(void) {
    if (rec != NULL && (int)hd_os.get_tid() == rec->tid) {
        rec->inside++;
    }
}

void hd_recorder_leave(void) {
    if (rec != NULL && (int)hd_os.get_tid() == rec->tid && rec->inside > 0) {
        rec->inside--;
    }
}

void hd_recorder_epoll(int epfd) {
    if (rec != NULL && epfd >= 0 && rec->file != 0) {
        rec->generation[(unsigned)epfd % EPOLL_NUMBERS]++;
    }
}

/* Out of the way of the program's own descriptors. */
static int move_high(int fd) {
    struct rlimit limit = {.rlim_cur = 1024};
    getrlimit(RLIMIT_NOFILE, &limit);
    int high = fcntl(fd, F_DUPFD_CLOEXEC, limit.rlim_cur > LOWEST_FD ? LOWEST_FD : (int)limit.rlim_cur / 2);
    hd_os_close(fd);
    return high;
}

void hd_recorder_start(const char *file) {
    hd_os_clock_init();
    rec = hd_os_memory_take(sizeof *rec + hd_unwinder_bytes());
    if (rec == NULL) {
        return;
    }
    rec->tid = (int)hd_os.get_tid();
    hd_modules_init_live(&rec->modules, -1);
    rec->modules.memory = (struct hd_memory){.read = read_own};
    hd_unwinder_init((void *)rec->unwinder, &rec->modules);
    int fd = move_high(hd_os.open_at(AT_FDCWD, file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
    rec->proc_fd = move_high(hd_os_open(AT_FDCWD, "/proc/self"));
    rec->file = fd > 0 ? fd : 0;
}
