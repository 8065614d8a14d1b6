/* SPDX-License-Identifier: MIT
 *
 * Ordinary code: the preload's constructor. It takes the runner's memory file, removes every trace of itself
 * from the environment, starts the monitor and watches the main thread. Whatever fails, the program runs as
 * it would without us.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "interpose.h"
#include "recognise.h"
#include "recorder.h"
#include "waits.h"

#define LINK_VARIABLE "HANGDOG_LINK="
#define RECORD_VARIABLE "HANGDOG_RECORD="
#define PRELOAD_VARIABLE "LD_PRELOAD="
#define PRELOAD_NAME "libhangdog-preload.so"
#define SAMPLE_LAUNCH_NS (60 * HD_NS_PER_S)

extern char **environ;

static char **find_variable(const char *name_and_equals) {
    size_t n = strlen(name_and_equals);
    for (char **e = environ; e != NULL && *e != NULL; e++) {
        if (strncmp(*e, name_and_equals, n) == 0) {
            return e;
        }
    }
    return NULL;
}

static void drop_variable(char **e) {
    for (; *e != NULL; e++) {
        e[0] = e[1];
    }
}

/* Ours leaves LD_PRELOAD, and what the runner put before it for our sake; the user's own stay, in their
 * order. The string is changed in place: no lock, no allocation. */
static void clean_preload(void) {
    char **e = find_variable(PRELOAD_VARIABLE);
    if (e == NULL) {
        return;
    }
    char *value = *e + strlen(PRELOAD_VARIABLE);
    char *own = strstr(value, PRELOAD_NAME);
    if (own == NULL) {
        return;
    }
    char *rest = own + strlen(PRELOAD_NAME);
    if (*rest == ':' || *rest == ' ') {
        memmove(value, rest + 1, strlen(rest + 1) + 1);
    } else {
        drop_variable(e);
    }
}

/* The runner's memory file, mapped; its descriptor is closed. NULL: there is none, or it is not ours. */
static struct hd_record *take_link(void) {
    char **e = find_variable(LINK_VARIABLE);
    if (e == NULL) {
        return NULL;
    }
    int fd = (int)strtol(*e + strlen(LINK_VARIABLE), NULL, 10);
    drop_variable(e);
    struct stat st;
    if (fd < 3 || fstat(fd, &st) != 0 || (uint64_t)st.st_size < sizeof(struct hd_record)) {
        return NULL;
    }
    struct hd_record *r = hd_os.map(NULL, sizeof *r, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (hd_os_map_error(r) != 0) {
        return NULL;
    }
    if (r->magic != HD_RECORD_MAGIC || r->bytes != sizeof *r) {
        hd_os.unmap(r, sizeof *r);
        return NULL;
    }
    hd_os.advise(r, sizeof *r, MADV_DONTFORK);
    hd_os.close(fd);
    return r;
}

static void start_recorder(void) {
    char **e = find_variable(RECORD_VARIABLE);
    if (e != NULL) {
        hd_recorder_start(*e + strlen(RECORD_VARIABLE));
        drop_variable(e);
    }
}

static void copy_string(char *to, size_t size, const char *from) {
    size_t n = strnlen(from, size - 1);
    memcpy(to, from, n);
    to[n] = '\0';
}

static struct hd_settings settings_of(const struct hd_record_options *o) {
    struct hd_settings s = hd_settings_default();
    s.held = true;
    s.interval_ns = o->interval_ns;
    s.threshold_ns[HANGDOG_STATE_LAUNCH] = o->launch_threshold_ns;
    s.threshold_ns[HANGDOG_STATE_FOREGROUND] = o->threshold_ns;
    s.reports_per_day = o->reports_per_day;
    s.reports_per_fingerprint = o->reports_per_fingerprint;
    s.spool_reports = UINT32_MAX;
    s.sample_launch_ns = SAMPLE_LAUNCH_NS;
    copy_string(s.app_name, sizeof s.app_name, o->app_name);
    copy_string(s.spool, sizeof s.spool, o->spool);
    return s;
}

/* The top of the main thread's stack: what the kernel laid there is above every frame. */
static uint64_t main_stack_top(void) {
    return getauxval(AT_EXECFN); /* the path that was executed: the last string on the stack but one */
}

static void watch_main_thread(struct hd_monitor *m, struct hd_record *r, struct hd_waits *t) {
    hd_left_stacks_init(&t->left);
    t->stack_top = main_stack_top() & ~7ULL;
    t->watch = hd_watch_add(m, "main", 0, r->options.started_ns);
    hd_waits_self = t;
}

/* The main thread ends by pthread_exit, and others go on: nothing is left to watch, and libc ends a process
 * with its last thread, so ours must be gone before. */
static void main_thread_ends(void *unused) {
    (void)unused;
    hd_waits_self = NULL;
    hd_monitor_leave();
}

static void leave_with_the_main_thread(void) {
    pthread_key_t key;
    if (pthread_key_create(&key, main_thread_ends) == 0) {
        pthread_setspecific(key, &key);
    }
}

static struct hd_waits *new_waits(struct hd_record *r) {
    struct hd_waits *t = hd_os_memory_take(sizeof *t + sizeof *t->recognition);
    if (t != NULL) {
        t->recognition = (struct hd_recognition *)(void *)(t + 1);
        hd_recognition_init(t->recognition, r, r->options.started_ns);
    }
    return t;
}

__attribute__((constructor(101))) static void begin(void) {
    int saved = errno;
    hd_interpose_resolve();
    hd_jump_resolve();
    struct hd_record *r = take_link();
    start_recorder();
    clean_preload();
    if (r != NULL) {
        atomic_store(&r->attached, 1);
        struct hd_settings settings = settings_of(&r->options);
        struct hd_waits *waits = new_waits(r);
        struct hd_monitor *m;
        settings.recogniser =
            (struct hd_recogniser){.due = hd_recognise_due, .run = hd_recognise, .ctx = waits};
        if (waits != NULL && hd_monitor_start(&settings, r, &m) == 0) {
            atomic_store(&r->attached, 2);
            watch_main_thread(m, r, waits);
            leave_with_the_main_thread();
        }
    }
    errno = saved;
}
