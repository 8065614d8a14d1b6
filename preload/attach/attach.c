/* SPDX-License-Identifier: MIT
 *
 * Ordinary code: starting and stopping the watch of this process. A monitor is two threads, and some programs
 * must have one: what asks the kernel for a new user namespace, say. They are watched from their first wait
 * on, and our threads end before they make such a call again.
 */
#include "preload/attach/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "capture/mailbox.h"
#include "control/instance.h"
#include "os/linux/proc_status.h"
#include "preload/attach/abandoned.h"
#include "preload/attach/attach_recogniser.h"
#include "preload/attach/attach_settings.h"
#include "preload/attach/credentials.h"
#include "preload/attach/imports.h"
#include "preload/attach/named_threads.h"
#include "preload/attach/record_file.h"
#include "preload/waits/wait_table.h"

#define STARTS_AT_ONCE 4
#define START_PART 20 /* of the time: later starts take a twentieth, where a program ends each watch soon */

enum phase {
    NOT_OURS,
    AT_FIRST_WAIT, /* to be started then */
    STARTING,
    WATCHED,
    ENDING, /* our threads end by themselves; to be started at the next wait */
    NEVER,  /* no more */
};

static struct {
    int pid;
    uint32_t *here; /* zero in a forked child, which in a namespace of its own may have our number */
    struct hd_record *record;
    _Atomic uint32_t phase;
    unsigned starts, tables;
    uint64_t start_took_ns, start_again_ns; /* no sooner */
    int securebits;
    _Atomic bool filtered;
    struct hd_wait_table *waits; /* the main thread's, while it is watched */
} self;

void *hd_attach_alt_stack;

/* Not in a forked child, whose memory is its own. */
static bool has_our_memory(void) {
    return self.here != NULL && __atomic_load_n(self.here, __ATOMIC_RELAXED) != 0;
}

/* Neither in a forked child nor in one that shares our memory until exec. */
bool hd_attach_is_own(void) {
    return has_our_memory() && hd_os.get_pid() == self.pid;
}

bool hd_attach_is_filtered(void) {
    return atomic_load_explicit(&self.filtered, memory_order_relaxed);
}

static void this_process_is_own(void) {
    static uint32_t not_wiped = 1; /* without memory the number alone tells */
    if (self.here == NULL) {
        self.here = hd_os_memory_take(sizeof *self.here);
    }
    if (self.here == NULL) {
        self.here = &not_wiped;
    }
    __atomic_store_n(self.here, 1, __ATOMIC_RELAXED);
    self.pid = hd_os.get_pid();
}

/* Not on the stack: the first wait may be a coroutine's, which has some KiB. One thread starts at a time. */
static struct hd_settings settings;

/* The top of the main thread's stack: what the kernel laid there is above every frame. */
static uint64_t main_stack_top(void) {
    return getauxval(AT_EXECFN); /* the path that was executed: the last string on the stack but one */
}

static void watch_main_thread(struct hd_run *run, struct hd_wait_table *t, uint64_t start_ns) {
    hd_stack_copies_init(&t->left);
    t->stack_top = main_stack_top() & ~7ULL;
    struct hd_watch *watch = hd_watch_add(run, "main", 0, start_ns);
    t->loop = watch != NULL ? &watch->loop : NULL;
    t->watch = watch;
    if (t->watch != NULL) {
        hd_attach_alt_stack = t->watch->mailbox->alt_stack;
    }
    hd_wait_table_self = self.waits = t;
}

/* The main thread ends by pthread_exit, and others go on, which are not watched any more, and libc ends a
 * process with and on its last thread, so ours must be gone before: theirs are not the program's descriptors.
 */
static void main_thread_ends(void *unused) {
    (void)unused;
    hd_wait_table_self = NULL;
    hd_instance_leave(true);
}

static void leave_with_the_main_thread(void) {
    pthread_key_t key;
    if (pthread_key_create(&key, main_thread_ends) == 0) {
        pthread_setspecific(key, &key);
    }
}

/* A worker at a disk ends when that answers: false. The kernel counts a joined thread for an instant. */
static bool stop(void) {
    const struct hd_run *run = hd_run_current();
    int monitor = run != NULL ? hd_thread_id_tid(atomic_load(&run->channel.monitor_thread)) : 0;
    int worker = run != NULL ? hd_thread_id_tid(atomic_load(&run->channel.worker_thread)) : 0;
    bool stopped = hd_instance_stop() == 0 && run != NULL;
    hd_attach_add_abandoned(monitor);
    hd_attach_add_abandoned(worker);
    return stopped && !atomic_load(&run->channel.worker_left);
}

/* On the monitor: the main thread has given up a right by a call that we have not seen, and our threads end.
 * Under a filter nothing of ours may make a call on a thread of the program, not even at its exit. */
static void end_themselves(bool filtered) {
    uint32_t watched = WATCHED;
    if (!atomic_compare_exchange_strong(&self.phase, &watched, filtered ? NEVER : ENDING)) {
        return; /* another thread ends them */
    }
    self.waits->watch = NULL;
    if (filtered) {
        hd_capture_signal_end();
        hd_named_forget();
        atomic_store(&self.record->status.unwatched, HD_UNWATCHED_FILTER);
        atomic_store(&self.filtered, true);
        if (hd_run_begin_change(false, hd_os_now_ns()) == HD_PHASE_RUNNING) {
            hd_run_end_change(HD_PHASE_STOPPED);
        }
    }
}

/* The calling thread is the main thread. */
static void start(struct hd_wait_table *t, uint64_t start_ns) {
    struct hd_record *r = self.record;
    uint64_t begun_ns = hd_os_now_ns();
    hd_attach_settings(&r->options, &settings);
    struct hd_run *run;
    const struct hd_ports ports = {.recogniser = hd_attach_recogniser(t, r), .exceeds = end_themselves};
    if (!hd_attach_has_same_root()) { /* what a path means now is not what the user said */
        atomic_store(&self.phase, NEVER);
        atomic_store(&r->status.unwatched, HD_UNWATCHED_ROOT);
        hd_record_file_keep_no_longer();
        return;
    }
    int rc = self.tables < HD_ATTACH_TABLES_MAX ? hd_instance_start(&settings, &ports, r, &run) : -ENOMEM;
    if (rc != 0) {
        atomic_store(&self.phase, NEVER);
        bool none_left = rc == -ENOMEM || rc == -EAGAIN || rc == -EBUSY;
        atomic_store(&r->status.unwatched, none_left ? HD_UNWATCHED_FAILED : HD_UNWATCHED_TABLE);
        hd_record_file_keep_no_longer(); /* nothing of ours stays among the program's numbers */
        return;
    }
    hd_attach_store_rights();
    if (self.securebits < 0) {
        self.securebits = hd_own_prctl(PR_GET_SECUREBITS, 0, 0, 0, 0);
    }
    if (self.starts++ == 0) {
        leave_with_the_main_thread();
    }
    atomic_store(&r->status.attached, 2);
    watch_main_thread(run, t, start_ns);
    hd_run_wait_ready(run, UINT64_MAX);
    if (t->watch != NULL) {
        hd_watch_wait_open(run, t->watch);
    }
    hd_record_file_keep_no_longer();
    atomic_store(&r->status.unwatched, HD_UNWATCHED_NOT);
    self.start_took_ns = hd_os_now_ns() - begun_ns;
    uint32_t starting = STARTING;
    if (!atomic_compare_exchange_strong(&self.phase, &starting, WATCHED)) { /* a filter came meanwhile */
        (void)stop();
        atomic_store(&r->status.unwatched, HD_UNWATCHED_FILTER);
    }
}

/* ---- at the begin ----------------------------------------------------------------------------- */

/* A filter that came with exec is on our threads too. The runner has tried those that it has itself. What
 * cannot be said (-1) is taken for one; without /proc nothing could be seen of the program anyway. */
static bool under_an_unknown_filter(const struct hd_record_options *o) {
    static const char own[] = "/proc/self/status";
    char mode[16];
    int length = hd_proc_status_value(AT_FDCWD, own, "Seccomp:", mode, sizeof mode);
    return (length < 0 || (length > 0 && mode[0] != '0')) &&
           (o->seccomp_filters < 0 ||
            hd_proc_status_number(AT_FDCWD, own, "Seccomp_filters:", 10) != (uint64_t)o->seccomp_filters);
}

static struct hd_wait_table *first_wait(void);

void hd_attach_begin(struct hd_record *r, bool needs_single_threaded) {
    static const char *const names[] = {"unshare", "setns"};
    this_process_is_own();
    self.record = r;
    atomic_store(&r->status.attached, 1);
    if (under_an_unknown_filter(&r->options)) {
        atomic_store(&self.filtered, true);
        atomic_store(&self.phase, NEVER);
        atomic_store(&r->status.unwatched, HD_UNWATCHED_FILTER);
        return;
    }
    self.securebits = hd_own_prctl(PR_GET_SECUREBITS, 0, 0, 0, 0);
    struct hd_wait_table *t = hd_wait_table_new();
    hd_wait_hooks = (struct hd_wait_hooks){.first_wait = first_wait};
    hd_wait_table_self = t;
    hd_named_init(r);
    (void)hd_attach_has_same_root();
    if (t == NULL) {
        atomic_store(&r->status.unwatched, HD_UNWATCHED_FAILED);
    } else if (needs_single_threaded || hd_main_program_imports(names, sizeof names / sizeof names[0])) {
        atomic_store(&self.phase, AT_FIRST_WAIT);
        atomic_store(&r->status.unwatched, HD_UNWATCHED_NO_WAIT);
        hd_record_file_keep();
    } else if (r->options.of_child != 0 && r->options.exec_mode == 0) {
        atomic_store(&self.phase, AT_FIRST_WAIT); /* most are short, and wait for nothing */
        atomic_store(&r->status.unwatched, HD_UNWATCHED_NO_WAIT);
    } else {
        atomic_store(&self.phase, STARTING);
        start(t, atomic_load(&r->owner.image_ns));
    }
}

bool hd_attach_is_child(void) {
    return self.record != NULL && !hd_attach_is_filtered() && !hd_attach_is_own();
}

/* A forked child that waits is taken for one that stays. What it has of the parent's watch was wiped. */
static struct hd_wait_table *first_wait_of_child(void) {
    int saved = errno;
    struct hd_wait_table *t = hd_wait_table_new();
    struct hd_record *r = t != NULL ? hd_record_file_take_again(self.record) : NULL;
    hd_wait_table_self = NULL;
    this_process_is_own();
    hd_attach_forget_id_changes();
    self.starts = self.tables = 0;
    self.start_again_ns = 0;
    self.securebits = -1;
    atomic_store(&self.phase, NEVER);
    if (r != NULL) {
        self.record = r;
        atomic_store(&r->status.attached, 1);
        atomic_store(&self.phase, STARTING);
        hd_wait_table_self = t;
        start(t, hd_os_now_ns());
    }
    errno = saved;
    return hd_wait_table_self;
}

/* While its parent is to be started: what such a child finds, the thread's too, is its parent's. */
static bool in_vforked_child(void) {
    uint32_t phase = atomic_load(&self.phase);
    return (phase == AT_FIRST_WAIT || phase == ENDING) && has_our_memory() && hd_os.get_pid() != self.pid;
}

static struct hd_wait_table *first_wait(void) {
    struct hd_wait_table *t = hd_wait_table_self;
    uint32_t phase = AT_FIRST_WAIT;
    if (t->named) {
        hd_wait_table_self = NULL; /* forgotten, or a forked child's */
        return NULL;
    }
    if (in_vforked_child()) {
        return NULL;
    }
    if (hd_record_file_path() != NULL && hd_attach_is_child()) {
        return first_wait_of_child();
    }
    int saved = errno;
    if (atomic_load(&self.phase) == ENDING && hd_attach_end_threads()) {
        t = hd_wait_table_self;
        errno = saved;
    }
    if (self.start_again_ns > hd_os_now_ns() && atomic_load(&self.phase) == AT_FIRST_WAIT) {
        return NULL;
    }
    if (!atomic_compare_exchange_strong(&self.phase, &phase, STARTING)) {
        if (phase != STARTING) {
            hd_wait_table_self = NULL; /* a forked child's, wiped: no more looks at it, nor system calls */
        }
        return NULL;
    }
    if (!has_our_memory()) {
        atomic_store(&self.phase, NEVER);
        hd_wait_table_self = NULL;
        return NULL;
    }
    start(t, self.record->options.of_child && self.starts == 0 ? atomic_load(&self.record->owner.image_ns)
                                                               : hd_os_now_ns());
    errno = saved;
    return t;
}

/* A vforked child has the parent's memory. */
void hd_attach_loses_rights(void) {
    bool child = hd_record_file_path() != NULL && hd_attach_is_child();
    bool waits = atomic_load(&self.phase) == AT_FIRST_WAIT && hd_attach_is_own();
    if (hd_wait_table_self != NULL && (child || waits) && geteuid() == 0 &&
        !(has_our_memory() && hd_os.get_pid() != self.pid)) {
        (void)first_wait();
    }
}

struct hd_record *hd_attach_before_exec(void) {
    bool may_be = self.record != NULL && !hd_attach_is_filtered() && atomic_load(&self.phase) != NEVER;
    return may_be && hd_attach_is_own() ? self.record : NULL;
}

/* ---- alone, or filtered ----------------------------------------------------------------------- */

static bool have_threads(enum phase phase) {
    return phase == WATCHED || phase == ENDING;
}

int hd_attach_own_thread(void) {
    if (!have_threads(atomic_load(&self.phase)) || hd_attach_is_filtered() || !hd_attach_is_own()) {
        return 0;
    }
    const struct hd_run *run = hd_run_current();
    int tid = run != NULL ? hd_thread_id_tid(atomic_load(&run->channel.monitor_thread)) : 0;
    return run != NULL && tid == 0 ? -1 : tid; /* just born: it has not said yet */
}

int hd_attach_securebits(void) {
    return self.securebits;
}

bool hd_attach_end_threads(void) {
    struct hd_wait_table *t = hd_wait_table_self;
    if (hd_attach_own_thread() == 0 || t == NULL || t->named) {
        return false;
    }
    uint64_t begun_ns = hd_os_now_ns();
    hd_record_file_keep();
    hd_wait_table_self = NULL; /* what is left of it is the worker's, who may be stuck at a disk */
    struct hd_run *run = hd_run_current();
    if (run != NULL && t->watch != NULL) { /* else another thread's filter was quicker, or no memory there */
        hd_watch_remove(run, t->watch);
    }
    if (stop()) {
        hd_wait_table_forget(t);
        hd_wait_table_self = t;
    } else {
        hd_wait_table_self = hd_wait_table_new();
        self.tables++;
    }
    hd_watch_leave_stopped();
    hd_named_forget();    /* not before: until then others may begin to be watched */
    self.securebits = -1; /* what threads to come will have: known when they are made */
    uint64_t now_ns = hd_os_now_ns();
    uint64_t took_ns = self.start_took_ns + (now_ns - begun_ns);
    self.start_again_ns = self.starts < STARTS_AT_ONCE ? 0 : now_ns + START_PART * took_ns;
    uint32_t phase = atomic_load(&self.phase); /* NEVER: a filter came meanwhile */
    if (have_threads(phase)) {
        atomic_compare_exchange_strong(&self.phase, &phase,
                                       hd_wait_table_self != NULL ? AT_FIRST_WAIT : NEVER);
    }
    return true;
}

void hd_attach_end_watch(enum hd_unwatched why) {
    if (hd_attach_own_thread() != 0) {
        (void)stop(); /* the watched thread goes on to mark, and harms nobody */
        atomic_store(&self.phase, NEVER);
        atomic_store(&self.record->status.unwatched, why);
    }
}

void hd_attach_before_filter(void) {
    if (hd_attach_is_filtered() || (has_our_memory() && hd_os.get_pid() != self.pid)) {
        return;
    }
    hd_capture_signal_end(); /* in a child too: a signal of its own would find our handler */
    if (has_our_memory()) {
        if (have_threads(atomic_exchange(&self.phase, NEVER))) {
            (void)stop();
            hd_named_forget();
            self.waits->watch = NULL;
            hd_attach_wait_for_abandoned();
        }
        atomic_store(&self.record->status.unwatched, HD_UNWATCHED_FILTER);
    }
    atomic_store(&self.filtered, true);
}
