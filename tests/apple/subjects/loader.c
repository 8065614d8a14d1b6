/* SPDX-License-Identifier: MIT
 *
 * Checks the loader and its fakes, before a test of Hangdog may trust them. The same program runs on a Mac.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mach-o/dyld.h>
#include <os/lock.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysctl.h>
#include <sys/ucontext.h>
#include <unistd.h>

#include "subject.h"

/* The layouts that the fakes fill by number. */
_Static_assert(sizeof(struct stat) == 144 && offsetof(struct stat, st_size) == 96, "struct stat");
_Static_assert(offsetof(task_vm_info_data_t, phys_footprint) == 144, "TASK_VM_INFO");
_Static_assert(offsetof(task_vm_info_data_t, limit_bytes_remaining) == 336, "TASK_VM_INFO");
_Static_assert(sizeof(struct kinfo_proc) == 648 && offsetof(struct kinfo_proc, kp_proc.p_comm) == 243 &&
                   offsetof(struct kinfo_proc, kp_proc.p_flag) == 32 &&
                   offsetof(struct kinfo_proc, kp_proc.p_pid) == 40,
               "struct kinfo_proc");
_Static_assert(sizeof(siginfo_t) == 104 && sizeof(ucontext_t) == 56, "a signal's context");
_Static_assert(offsetof(struct dirent, d_name) == 21 && sizeof(pthread_attr_t) == 64, "libc");

static __thread int initialised = 7;
static __thread char zeroed[100];
static int constructed;
static volatile int stop;

__attribute__((constructor)) static void construct(void) {
    constructed = 1;
}

__attribute__((noinline)) static int leaf(int n) {
    volatile int x = n;
    while (!stop) {
        x++;
    }
    return x;
}

static void *spin(void *arg) {
    initialised++;
    CHECK_EQUAL(8, initialised);
    pthread_setname_np("spinner");
    leaf(1);
    nap_ms(300);
    return arg;
}

struct registers {
    uint64_t pc, sp, number;
};

static kern_return_t registers_of(thread_act_t thread, struct registers *r) {
#if defined(__aarch64__)
    arm_thread_state64_t s;
    mach_msg_type_number_t n = ARM_THREAD_STATE64_COUNT;
    kern_return_t result = thread_get_state(thread, ARM_THREAD_STATE64, (thread_state_t)&s, &n);
    *r = (struct registers){s.__pc, s.__sp, s.__x[16]};
#else
    x86_thread_state64_t s;
    mach_msg_type_number_t n = x86_THREAD_STATE64_COUNT;
    kern_return_t result = thread_get_state(thread, x86_THREAD_STATE64, (thread_state_t)&s, &n);
    *r = (struct registers){s.__rip, s.__rsp, 0};
#endif
    return result;
}

static const char *name_of(uint64_t pc) {
    Dl_info info = {0};
    return dladdr((void *)pc, &info) && info.dli_sname ? info.dli_sname : "?";
}

static void check_suspension(void) {
    pthread_t thread;
    CHECK_EQUAL(0, pthread_create(&thread, NULL, spin, &thread));
    nap_ms(100);
    thread_act_t port = pthread_mach_thread_np(thread);
    struct registers r = {0};
    CHECK_EQUAL(KERN_SUCCESS, thread_suspend(port));
    CHECK_EQUAL(KERN_SUCCESS, registers_of(port, &r));
    CHECK_EQUAL(KERN_SUCCESS, thread_resume(port));
    CHECK(!strcmp(name_of(r.pc), "leaf"));
    uint64_t word[2] = {0};
    vm_size_t got = 0;
    CHECK_EQUAL(KERN_SUCCESS, vm_read_overwrite(mach_task_self(), r.sp, 16, (vm_address_t)word, &got));
    CHECK_EQUAL(KERN_INVALID_ADDRESS, vm_read_overwrite(mach_task_self(), 16, 16, (vm_address_t)word, &got));
    stop = 1;
    nap_ms(100);
    CHECK_EQUAL(KERN_SUCCESS, registers_of(port, &r)); /* the thread sleeps in a stub of the system */
    CHECK(!strcmp(name_of(r.pc), "__semwait_signal"));
#if defined(__aarch64__)
    CHECK_EQUAL(334, r.number);
#endif
    void *result = NULL;
    CHECK_EQUAL(0, pthread_join(thread, &result));
    CHECK(result == &thread);
    CHECK(thread_suspend(port) != KERN_SUCCESS);
}

static void check_threads(void) {
    thread_act_array_t list;
    mach_msg_type_number_t count = 0;
    int names, before = port_references(&names);
    CHECK_EQUAL(KERN_SUCCESS, task_threads(mach_task_self(), &list, &count));
    CHECK(count >= 1);
    for (unsigned i = 0; i < count; i++) {
        mach_port_deallocate(mach_task_self(), list[i]);
    }
    vm_deallocate(mach_task_self(), (vm_address_t)list, count * sizeof *list);
    mach_port_deallocate(mach_task_self(), mach_thread_self());
    CHECK_EQUAL(before, port_references(&names));
    thread_identifier_info_data_t id;
    mach_msg_type_number_t n = THREAD_IDENTIFIER_INFO_COUNT;
    thread_info(pthread_mach_thread_np(pthread_self()), THREAD_IDENTIFIER_INFO, (thread_info_t)&id, &n);
    uint64_t same = 0;
    pthread_threadid_np(NULL, &same);
    CHECK_EQUAL(same, id.thread_id);
    char *here = (char *)&same, *top = pthread_get_stackaddr_np(pthread_self());
    CHECK(here < top && here > top - pthread_get_stacksize_np(pthread_self()));
}

static void check_files(const char *folder) {
    char path[512];
    snprintf(path, sizeof path, "%s/file", folder);
    int fd = open(path, O_CREAT | O_EXCL | O_RDWR, 0640);
    struct stat st;
    CHECK(fd >= 0 && write(fd, "12345", 5) == 5 && fstat(fd, &st) == 0);
    CHECK_EQUAL(5, st.st_size);
    CHECK_EQUAL(0640, st.st_mode & 07777);
    CHECK(open(path, O_CREAT | O_EXCL | O_RDWR, 0640) == -1 && errno == EEXIST);
    CHECK(open(folder, O_WRONLY) == -1 && errno == EISDIR);
    CHECK(fcntl(fd, F_DUPFD_CLOEXEC, 300) == 300);
    DIR *d = opendir(folder);
    int entries = 0;
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        entries += !strcmp(e->d_name, "file") && e->d_type == DT_REG;
    }
    CHECK_EQUAL(1, entries);
    closedir(d);
    unlink(path);
    char *page = mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
    CHECK(page != MAP_FAILED);
    page[0] = 1;
    CHECK_EQUAL(0, munmap(page, 16384));
}

static volatile uint64_t fault_pc, fault_address;
static void on_fault(int number, siginfo_t *info, void *context) {
    ucontext_t *c = context;
    fault_address = (uint64_t)info->si_addr;
#if defined(__aarch64__)
    fault_pc = c->uc_mcontext->__ss.__pc;
    c->uc_mcontext->__ss.__pc += 4;
#else
    fault_pc = c->uc_mcontext->__ss.__rip;
    c->uc_mcontext->__ss.__rip += 2; /* mov (%rdi), %eax */
#endif
    CHECK_EQUAL(SIGSEGV, number);
}

__attribute__((noinline)) static int load(const int *p) {
#if defined(__aarch64__)
    int value;
    __asm__ volatile("ldr %w0, [%1]" : "=r"(value) : "r"(p));
#else
    int value = 0;
    __asm__ volatile("movl (%%rdi), %%eax" : "=a"(value) : "D"(p));
#endif
    return value;
}

static void check_signals(void) {
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK}, old;
    action.sa_sigaction = on_fault;
    CHECK_EQUAL(0, sigaction(SIGSEGV, &action, NULL));
    CHECK_EQUAL(0, sigaction(SIGBUS, &action, NULL));
    load((const int *)0x4000);
    CHECK_EQUAL(0x4000, fault_address);
    CHECK(!strcmp(name_of(fault_pc), "load"));
    CHECK(sigaction(SIGSEGV, NULL, &old) == 0 && old.sa_sigaction == on_fault);
    signal(SIGSEGV, SIG_DFL);
    signal(SIGBUS, SIG_DFL);
}

static os_unfair_lock lock = OS_UNFAIR_LOCK_INIT;
static void *take(void *arg) {
    os_unfair_lock_lock(&lock);
    os_unfair_lock_unlock(&lock);
    return arg;
}

static void check_lock_owner(void) {
    pthread_t thread;
    os_unfair_lock_lock(&lock);
    pthread_create(&thread, NULL, take, NULL);
    nap_ms(100);
    uint32_t word;
    memcpy(&word, &lock, 4);
    CHECK_EQUAL(pthread_mach_thread_np(pthread_self()) | 3, word | 3);
    struct registers r = {0};
    registers_of(pthread_mach_thread_np(thread), &r);
    CHECK(!strcmp(name_of(r.pc), "__ulock_wait") || !strcmp(name_of(r.pc), "__ulock_wait2"));
    os_unfair_lock_unlock(&lock);
    pthread_join(thread, NULL);
}

/* The checker of calls between suspend and resume must see a fault. */
static void check_checker(void) {
    int (*violations)(const char **) = (int (*)(const char **))fake("fake_violations");
    if (!violations) {
        return;
    }
    const char *names = "";
    CHECK_EQUAL(0, violations(&names));
    pthread_t thread;
    stop = 0;
    pthread_create(&thread, NULL, spin, NULL);
    thread_act_t port = pthread_mach_thread_np(thread);
    thread_suspend(port);
    void *volatile memory = malloc(7);
    free(memory);
    thread_resume(port);
    stop = 1;
    pthread_join(thread, NULL);
    CHECK_EQUAL(2, violations(&names));
    CHECK(!strcmp(names, " _malloc _free"));
}

int main(int argc, char **argv) {
    CHECK(constructed && zeroed[99] == 0 && argc == 2);
    check_suspension();
    check_threads();
    check_files(argv[1]);
    check_signals();
    check_lock_owner();
    check_checker();
    CHECK_EQUAL(7, initialised);
    return failed_checks ? 1 : 0;
}
