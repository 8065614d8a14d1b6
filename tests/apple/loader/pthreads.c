/* SPDX-License-Identifier: MIT
 *
 * pthread: threads, attributes, names, stack bounds, keys.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "errors.h"
#include "gate.h"
#include "images.h"
#include "import.h"
#include "mach.h"
#include "port.h"
#include "thread.h"

struct attributes { /* 64 bytes on Darwin */
    uint64_t signature, stack, stack_bytes;
    int32_t detached, unused[9];
};
_Static_assert(sizeof(struct attributes) == 64, "pthread_attr_t");

static uint64_t hook; /* pthread_introspection_hook_install */

static void call_hook(unsigned event, struct thread *t) {
    if (hook) {
        gate_call_darwin(hook, event, (uint64_t)t, t->stack_top - t->stack_bytes, images_symbol("start"));
    }
}

/* ---- keys --------------------------------------------------------------------------------- */

static _Atomic int next_key = 1;
static uint64_t destructors[THREAD_KEYS];

static int fake_key_create(uint64_t *key, uint64_t destructor) {
    int k = next_key++;
    if (k >= THREAD_KEYS) {
        return errors_darwin(EAGAIN);
    }
    destructors[k] = destructor;
    *key = (uint64_t)k;
    return 0;
}

static int fake_key_delete(uint64_t key) {
    destructors[key] = 0;
    return 0;
}

static int fake_setspecific(uint64_t key, void *value) {
    thread_self->keys[key] = value;
    return 0;
}

static void *fake_getspecific(uint64_t key) {
    return thread_self->keys[key];
}

static void run_destructors(struct thread *t) {
    for (int k = 1; k < THREAD_KEYS; k++) {
        void *value = t->keys[k];
        t->keys[k] = NULL;
        if (value && destructors[k]) {
            gate_call_darwin(destructors[k], (uint64_t)value, 0, 0, images_symbol("_thread_start"));
        }
    }
}

/* ---- create and join ---------------------------------------------------------------------- */

static void end(struct thread *t, uint64_t result) {
    t->result = result;
    run_destructors(t);
    call_hook(3, t);
    thread_ended(t);
}

static void *body(void *arg) {
    struct thread *t = arg;
    thread_started(t);
    call_hook(2, t);
    uint64_t result = gate_call_darwin(t->run, t->argument, 0, 0, images_symbol("_thread_start"));
    end(t, result);
    return NULL;
}

static void fake_exit_thread(uint64_t result) {
    end(thread_self, result);
    pthread_exit(NULL);
}

static int start(struct thread *t, const struct attributes *a) {
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    if (a && a->stack) {
        pthread_attr_setstack(&attr, (void *)a->stack, a->stack_bytes);
    } else {
        pthread_attr_setstacksize(&attr, a && a->stack_bytes ? a->stack_bytes + 65536 : 512 * 1024);
    }
    t->detached = a && a->detached == 2;
    if (t->detached) {
        pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    }
    pthread_t host;
    kernel_enter();
    int error = pthread_create(&host, &attr, body, t);
    kernel_leave();
    pthread_attr_destroy(&attr);
    return error;
}

static int fake_create(struct thread **out, const struct attributes *a, uint64_t run, uint64_t argument) {
    struct thread *t = thread_new();
    t->run = run;
    t->argument = argument;
    *out = t;
    int error = start(t, a);
    if (error) {
        port_object_ended(t->port);
        t->life = THREAD_FREE;
        return errors_darwin(error);
    }
    while (t->life == THREAD_STARTS) { /* its host id is known at return */
        sched_yield();
    }
    return 0;
}

static int fake_join(struct thread *t, uint64_t *result) {
    thread_block();
    uint32_t *exit_gate = (uint32_t *)(void *)((char *)t + 52); /* tl_exit_gate of struct pthread_s */
    *exit_gate = t->port;
    gate_show("___ulock_wait", 0x1000002, (uint64_t)exit_gate, t->port, 0);
    int error = pthread_join(t->host, NULL);
    thread_unblock();
    if (result) {
        *result = t->result;
    }
    t->life = THREAD_FREE;
    return errors_darwin(error);
}

static int fake_detach(struct thread *t) {
    t->detached = true;
    return errors_darwin(pthread_detach(t->host));
}

/* ---- about a thread ----------------------------------------------------------------------- */

static struct thread *fake_self(void) {
    return thread_self;
}
static int fake_equal(const struct thread *a, const struct thread *b) {
    return a == b;
}
static int fake_main_np(void) {
    return thread_self == thread_at(0);
}
static int fake_threadid_np(const struct thread *t, uint64_t *id) {
    *id = (t ? t : thread_self)->id;
    return 0;
}
static uint32_t fake_mach_thread_np(const struct thread *t) {
    return t->port; /* no reference */
}
static struct thread *fake_from_mach_thread_np(uint32_t port) {
    return thread_of_port(port);
}
static int fake_setname_np(const char *name) {
    size_t n = strnlen(name, sizeof thread_self->name);
    if (n == sizeof thread_self->name) {
        return errors_darwin(ENAMETOOLONG);
    }
    memcpy(thread_self->name, name, n + 1);
    return 0;
}
static int fake_getname_np(const struct thread *t, char *out, size_t n) {
    strncpy(out, t->name, n - 1);
    out[n - 1] = 0;
    return 0;
}
static uint64_t fake_get_stackaddr_np(const struct thread *t) {
    return t->stack_top;
}
static uint64_t fake_get_stacksize_np(const struct thread *t) {
    return t->stack_bytes;
}
static int fake_nothing(void) {
    return 0;
}
static int fake_kill(const struct thread *t, int number) {
    extern int signals_send(int tid, int darwin);
    return signals_send(t->tid, number);
}
static uint64_t fake_hook_install(uint64_t new_hook) {
    uint64_t old = hook;
    hook = new_hook;
    return old;
}

/* ---- attributes and once ------------------------------------------------------------------ */

static int fake_attr_init(struct attributes *a) {
    memset(a, 0, sizeof *a);
    a->signature = 0x54484441;
    a->detached = 1;
    return 0;
}
static int fake_attr_setstacksize(struct attributes *a, size_t n) {
    if (n < 16384 || n % 4096 != 0) {
        return errors_darwin(EINVAL);
    }
    a->stack_bytes = n;
    return 0;
}
static int fake_attr_setstack(struct attributes *a, uint64_t low, size_t n) {
    if (low % 4096 != 0) {
        return errors_darwin(EINVAL);
    }
    a->stack = low;
    return fake_attr_setstacksize(a, n);
}
static int fake_attr_setdetachstate(struct attributes *a, int state) {
    a->detached = state;
    return 0;
}

static int fake_once(_Atomic uint64_t *control, uint64_t run) {
    uint64_t state = control[1];
    if (state == 0 && atomic_compare_exchange_strong(&control[1], &state, 1)) {
        gate_call_darwin(run, 0, 0, 0, images_symbol("start"));
        control[1] = 2;
    }
    while (control[1] != 2) {
        sched_yield();
    }
    return 0;
}

const struct import imports_of_pthread[] = {
    LIBRARY("pthread_create", fake_create),
    LIBRARY("pthread_join", fake_join),
    LIBRARY("pthread_detach", fake_detach),
    LIBRARY("pthread_exit", fake_exit_thread),
    PURE("pthread_self", fake_self),
    PURE("pthread_equal", fake_equal),
    LIBRARY("pthread_main_np", fake_main_np),
    LIBRARY("pthread_threadid_np", fake_threadid_np),
    LIBRARY("pthread_mach_thread_np", fake_mach_thread_np),
    LIBRARY("pthread_from_mach_thread_np", fake_from_mach_thread_np),
    LIBRARY("pthread_setname_np", fake_setname_np),
    LIBRARY("pthread_getname_np", fake_getname_np),
    LIBRARY("pthread_get_stackaddr_np", fake_get_stackaddr_np),
    LIBRARY("pthread_get_stacksize_np", fake_get_stacksize_np),
    LIBRARY("pthread_set_qos_class_self_np", fake_nothing),
    LIBRARY("pthread_attr_set_qos_class_np", fake_nothing),
    LIBRARY("pthread_setcancelstate", fake_nothing),
    LIBRARY("pthread_kill", fake_kill),
    LIBRARY("pthread_introspection_hook_install", fake_hook_install),
    LIBRARY("pthread_attr_init", fake_attr_init),
    LIBRARY("pthread_attr_destroy", fake_nothing),
    LIBRARY("pthread_attr_setstack", fake_attr_setstack),
    LIBRARY("pthread_attr_setstacksize", fake_attr_setstacksize),
    LIBRARY("pthread_attr_setdetachstate", fake_attr_setdetachstate),
    LIBRARY("pthread_once", fake_once),
    LIBRARY("pthread_key_create", fake_key_create),
    LIBRARY("pthread_key_delete", fake_key_delete),
    LIBRARY("pthread_setspecific", fake_setspecific),
    LIBRARY("pthread_getspecific", fake_getspecific),
    IMPORT_END,
};
