/* SPDX-License-Identifier: MIT
 *
 * The recorder of waits. Runs on the main thread, around its waits; no allocation.
 */
#include "recorder/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/text.h"
#include "capture/arch/machine.h"
#include "os/linux/proc_files.h"
#include "os/os.h"
#include "recognise/known_functions.h"
#include "unwind/walk.h"

#define STACK_BYTES (256u * 1024u)
#define LINE_BYTES (32u * 1024u)
#define LINE_ROOM 128u /* for one item */
#define FRAMES_MAX 256u
#define OBJECTS_MAX 256u
#define EPOLL_NUMBERS 4096u
#define LOWEST_FD 900

/* Mapped wipe-on-fork: a forked child finds `file` 0 and is not recorded. */
static struct recorder {
    int file;
    bool open; /* a wait has begun */
    int tid;
    uint64_t began_ns, cpu_ns;
    struct hd_modules modules;
    struct hd_functions asks;
    struct hd_walker walker;
    uint16_t generation[EPOLL_NUMBERS];
    uint32_t bytes;
    char line[LINE_BYTES];
    uint8_t stack[STACK_BYTES];
    uint8_t unwinder[]; /* hd_unwinder_bytes() */
} * rec;

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

/* ---- objects ----------------------------------------------------------------------------------- */

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
    hd_read_text(AT_FDCWD, path, text, sizeof text);
    const char *id = hd_find_line(text, "eventfd-id:");
    uint64_t v = 0;
    if (id != NULL) {
        hd_take_number(id, &v);
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

static void put_item(int fd, unsigned *n) {
    if (fd >= 0 && *n < OBJECTS_MAX && has_room()) {
        put(",", *n != 0);
        ++*n;
        put_object(fd);
    }
}

static void put_set(const struct hd_recorded_wait *w) {
    unsigned n = 0;
    put_text(" set=");
    put_item(w->epoll != NULL ? *w->epoll : -1, &n);
    for (uint64_t i = 0; w->fds != NULL && i < w->count; i++) {
        put_item(w->fds[i].fd, &n);
    }
    for (int fd = 0; w->fds == NULL && w->epoll == NULL && fd < (int)w->count && fd < FD_SETSIZE; fd++) {
        bool in = false;
        for (unsigned s = 0; s < 3; s++) {
            in |= w->sets[s] != NULL && FD_ISSET(fd, w->sets[s]);
        }
        put_item(in ? fd : -1, &n);
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
        w->trial_steps_left = HD_SCAN_TRIAL_STEPS;
        hd_walker_frames(w, two, 2);
        frames[n] = (struct frame){.pc = w->regs.pc, .sp = w->regs.sp, .trust = w->trust};
        hd_walk_run(w);
        frames[n++].start = two[0].start;
    } while (w->stop == HD_STOP_LIMIT && n < FRAMES_MAX);
    return n;
}

static void put_frame(const struct frame *f, uint64_t below) {
    uint64_t pc = f->pc - !hd_pc_is_exact(f->trust);
    int module = hd_modules_at(&rec->modules, pc);
    if (module >= 0) {
        const char *path = hd_module_path(&rec->modules, (uint32_t)module);
        const char *slash = strrchr(path, '/');
        put_text(slash != NULL ? slash + 1 : path);
        put_field("+", pc - rec->modules.module[module].bias, 16);
    } else {
        put_field("?+", pc, 16);
    }
    put_field(":", f->sp - below, 16);
}

static void put_stack(const struct frame *frames, uint32_t n, bool whole) {
    uint64_t place = 0xcbf29ce484222325ULL;
    bool asks = false;
    for (uint32_t i = 0; i < n; i++) {
        place = (place ^ frames[i].pc) * 0x9e3779b97f4a7c15ULL;
        place = (place ^ (place >> 29) ^ frames[i].sp) * 0xff51afd7ed558ccdULL;
        struct hd_frame one = {.pc = frames[i].pc, .start = frames[i].start, .trust = frames[i].trust};
        asks |= hd_known_function(&rec->asks, &rec->modules, &one, 1) == HD_EVIDENCE_ASKS;
    }
    put_field(" asks=", asks, 10);
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
    /* our own frames are no part of the place */
    int self = hd_modules_at(&rec->modules, (uint64_t)(uintptr_t)&note_stack);
    while (own < n && self >= 0 && hd_modules_at(&rec->modules, frames[own].pc - 1) == self) {
        own++;
    }
    put_stack(frames + own, n - own, rec->walker.stop == HD_STOP_ROOT);
}

/* ---- waits --------------------------------------------------------------------------------------- */

void hd_recorder_begin(const struct hd_recorded_wait *w) {
    if (rec == NULL || rec->file == 0 || hd_os.get_tid() != rec->tid) {
        return;
    }
    int saved = errno;
    rec->bytes = 0;
    put_text(" ");
    put_text(w->function);
    put_text(" ");
    put_signed(w->timeout_ns < 0 ? -1 : w->timeout_ns / (int64_t)HD_NS_PER_US);
    put_set(w);
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
    if (rec == NULL || rec->file == 0 || !rec->open || hd_os.get_tid() != rec->tid) {
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

void hd_recorder_epoll(int epfd) {
    if (rec != NULL && epfd >= 0 && rec->file != 0) {
        rec->generation[(unsigned)epfd % EPOLL_NUMBERS]++;
    }
}

/* Out of the way of the program's own descriptors. */
static int open_high(const char *name) {
    struct rlimit limit = {.rlim_cur = 1024};
    int fd = hd_os.open_at(AT_FDCWD, name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
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
    rec->tid = hd_os.get_tid();
    hd_modules_init_live(&rec->modules, -1);
    rec->modules.memory = (struct hd_memory){.read = read_own};
    hd_unwinder_init((void *)rec->unwinder, &rec->modules);
    int fd = open_high(file);
    rec->file = fd > 0 ? fd : 0;
}
