/* SPDX-License-Identifier: MIT */
#include "fake_mach.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "crash/darwin/crash_handler.h"
#include "os/os.h"

#define SLOTS 300u
#define FIRST_PORT 0x103u
#define PORT_STEP 0x100u
#define STOP_SIGNAL SIGUSR2

struct fake_mach fake_mach;
static struct fake_thread slots[SLOTS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- a real thread ----------------------------------------------------------------------------- */

static struct fake_thread *stopping; /* atomic */
static uint32_t stopped, go_on;

static volatile int *volatile nothing = (volatile int *)8;

void hd_crash_context_registers(const void *interrupted, struct hd_mach_registers *to) {
    const ucontext_t *context = interrupted;
    if (fake_mach.context_fails) {
        *nothing = 1;
    }

#if defined(__x86_64__)
    static const int place[16] = {REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RDI, REG_RSI, REG_RBP, REG_RSP,
                                  REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    for (unsigned i = 0; i < 16; i++) {
        to->general[i] = (uint64_t)context->uc_mcontext.gregs[place[i]];
    }
    to->pc = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
    to->sp = (uint64_t)context->uc_mcontext.gregs[REG_RSP];
#else
    for (unsigned i = 0; i < 31; i++) {
        to->general[i] = context->uc_mcontext.regs[i];
    }
    to->pc = context->uc_mcontext.pc;
    to->sp = context->uc_mcontext.sp;
#endif
}

static void on_stop(int signal, siginfo_t *info, void *context) {
    (void)signal;
    (void)info;
    hd_crash_context_registers(context, &__atomic_load_n(&stopping, __ATOMIC_SEQ_CST)->registers);
    __atomic_store_n(&stopped, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&go_on, __ATOMIC_SEQ_CST) == 0) {
        hd_os_nap(10 * HD_NS_PER_US);
    }
    __atomic_store_n(&stopped, 0, __ATOMIC_SEQ_CST);
}

static void wait_for(const uint32_t *word, uint32_t value) {
    while (__atomic_load_n(word, __ATOMIC_SEQ_CST) != value) {
        hd_os_nap(10 * HD_NS_PER_US);
    }
}

static void stop_real(struct fake_thread *t) {
    const struct sigaction action = {.sa_sigaction = on_stop, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigaction(STOP_SIGNAL, &action, NULL);
    __atomic_store_n(&stopping, t, __ATOMIC_SEQ_CST);
    __atomic_store_n(&go_on, 0, __ATOMIC_SEQ_CST);
    pthread_kill(t->pthread, STOP_SIGNAL);
    wait_for(&stopped, 1);
}

static void resume_real(void) {
    __atomic_store_n(&go_on, 1, __ATOMIC_SEQ_CST);
    wait_for(&stopped, 0);
}

/* ---- calls ------------------------------------------------------------------------------------- */

/* Writes the call into the log. Returns 0, or the error with which it must fail. */
static int call(char letter) {
    pthread_mutex_lock(&lock);
    unsigned n = ++fake_mach.calls;
    bool fails =
        fake_mach.fail_at != 0 && (n == fake_mach.fail_at || (fake_mach.fail_after && n > fake_mach.fail_at));
    if (n < FAKE_LOG_BYTES) {
        fake_mach.log[n - 1] = fails ? '!' : letter;
        fake_mach.log[n] = '\0';
    }
    pthread_mutex_unlock(&lock);
    return fails ? fake_mach.fail_rc : 0;
}

struct fake_thread *fake_mach_thread(hd_port port) {
    for (unsigned i = 0; i < SLOTS; i++) {
        if (port != 0 && slots[i].port == port) {
            return &slots[i];
        }
    }
    return NULL;
}

static int fake_suspend(hd_port port) {
    struct fake_thread *t = fake_mach_thread(port);
    int rc = t == NULL ? -ESRCH : call('S');
    if (rc != 0) {
        return rc;
    }
    if (t->real) {
        stop_real(t);
    }
    if (fake_mach.suspend_ns != 0) {
        hd_os_nap(fake_mach.suspend_ns);
    }
    t->facts.user_ns += fake_mach.runs_ns;
    t->suspended++;
    int now = (int)__atomic_add_fetch(&fake_mach.now_suspended, 1, __ATOMIC_SEQ_CST);
    fake_mach.most_suspended = now > fake_mach.most_suspended ? now : fake_mach.most_suspended;
    return 0;
}

static int fake_resume(hd_port port) {
    struct fake_thread *t = fake_mach_thread(port);
    int rc = t == NULL ? -ESRCH : call('U');
    if (rc != 0) {
        return rc;
    }
    __atomic_sub_fetch(&fake_mach.now_suspended, 1, __ATOMIC_SEQ_CST);
    t->suspended--;
    if (t->real) {
        resume_real();
    }
    return 0;
}

static int fake_registers(hd_port port, struct hd_mach_registers *out) {
    const struct fake_thread *t = fake_mach_thread(port);
    int rc = t == NULL ? -ESRCH : call('R');
    if (rc == 0) {
        *out = t->registers;
    }
    return rc;
}

static int fake_read(uint64_t addr, void *to, size_t n) {
    int rc = call('r');
    fake_mach.largest_read = n > fake_mach.largest_read ? n : fake_mach.largest_read;
    if (rc != 0) {
        return rc;
    }
    return hd_os.read_memory(hd_os.get_pid(), addr, to, n) == (long)n ? 0 : -EFAULT;
}

static int fake_facts(hd_port port, char letter, struct hd_mach_thread *out) {
    const struct fake_thread *t = fake_mach_thread(port);
    int rc = t == NULL ? -ESRCH : call(letter);
    if (rc == 0) {
        *out = t->facts;
    }
    return rc;
}

static int fake_info(hd_port port, struct hd_mach_thread *out) {
    return fake_facts(port, 'i', out);
}

static int fake_times(hd_port port, struct hd_mach_thread *out) {
    return fake_facts(port, 't', out);
}

static int fake_threads(hd_port *list, uint32_t max) {
    int rc = call('l');
    uint32_t count = 0;
    for (unsigned i = 0; rc == 0 && i < SLOTS; i++) {
        if (slots[i].port != 0) {
            if (count < max) {
                slots[i].rights++;
                list[count] = slots[i].port;
            }
            count++;
        }
    }
    return rc != 0 ? rc : (int)count;
}

static hd_port fake_self(void) {
    uint64_t id = (uint64_t)syscall(SYS_gettid);
    (void)call('s');
    for (unsigned i = 0; i < SLOTS; i++) {
        if (slots[i].facts.id == id) {
            __atomic_add_fetch(&slots[i].rights, 1, __ATOMIC_SEQ_CST);
            return slots[i].port;
        }
    }
    return 0;
}

static void fake_release(hd_port port) {
    struct fake_thread *t = fake_mach_thread(port);
    (void)call('d');
    if (t != NULL) {
        __atomic_sub_fetch(&t->rights, 1, __ATOMIC_SEQ_CST);
    }
}

/* The members that these tests do not use stay NULL. */
struct hd_mach_calls hd_mach = {.suspend = fake_suspend,
                                .resume = fake_resume,
                                .registers = fake_registers,
                                .read = fake_read,
                                .thread = fake_info,
                                .thread_times = fake_times,
                                .threads = fake_threads,
                                .self = fake_self,
                                .release = fake_release};

/* ---- for the test ------------------------------------------------------------------------------ */

void fake_mach_clear(void) {
    memset(&fake_mach, 0, sizeof fake_mach);
}

void fake_mach_reset(void) {
    memset(slots, 0, sizeof slots);
    fake_mach_clear();
}

struct fake_thread *fake_mach_add(uint64_t id) {
    pthread_mutex_lock(&lock);
    unsigned i = 0;
    while (i < SLOTS - 1 && slots[i].port != 0) {
        i++;
    }
    slots[i] = (struct fake_thread){.port = FIRST_PORT + i * PORT_STEP,
                                    .facts = {.id = id, .state = HD_MACH_WAITING, .user_ns = 1000}};
    pthread_mutex_unlock(&lock);
    return &slots[i];
}

struct fake_thread *fake_mach_add_self(void) {
    struct fake_thread *t = fake_mach_add((uint64_t)syscall(SYS_gettid));
    t->real = true;
    t->pthread = pthread_self();
    return t;
}

int fake_mach_rights(void) {
    int sum = 0;
    for (unsigned i = 0; i < SLOTS; i++) {
        sum += slots[i].rights;
    }
    return sum;
}

/* ---- of Darwin's pthread.h --------------------------------------------------------------------- */

void *pthread_get_stackaddr_np(pthread_t thread);
size_t pthread_get_stacksize_np(pthread_t thread);

static void stack_of(pthread_t thread, char **begin, size_t *bytes) {
    pthread_attr_t attributes;
    void *start = NULL;
    *bytes = 0;
    if (pthread_getattr_np(thread, &attributes) == 0) {
        pthread_attr_getstack(&attributes, &start, bytes);
        pthread_attr_destroy(&attributes);
    }
    *begin = start;
}

void *pthread_get_stackaddr_np(pthread_t thread) {
    char *begin;
    size_t bytes;
    stack_of(thread, &begin, &bytes);
    return begin + bytes;
}

size_t pthread_get_stacksize_np(pthread_t thread) {
    char *begin;
    size_t bytes;
    stack_of(thread, &begin, &bytes);
    return bytes;
}
