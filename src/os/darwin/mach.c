/* SPDX-License-Identifier: MIT
 *
 * The table of Mach's calls. Most are messages to the kernel, which need a reply port of the calling thread:
 * the first call of a thread makes it. So the monitor makes a call before it suspends a thread.
 */
#include "os/darwin/mach.h"

#include <errno.h>
#include <mach/mach.h>
#include <mach/task_policy.h>
#include <string.h>

#include <TargetConditionals.h>
#if TARGET_OS_OSX
#include <libproc.h>
#include <mach/mach_time.h>
#endif

#include "os/os.h"

static int of_kernel(kern_return_t rc) {
    switch (rc) {
    case KERN_SUCCESS:
        return 0;
    case KERN_INVALID_ADDRESS:
    case KERN_PROTECTION_FAILURE:
    case KERN_MEMORY_FAILURE:
    case KERN_MEMORY_ERROR:
        return -EFAULT;
    case KERN_TERMINATED:
    case KERN_INVALID_NAME:
    case KERN_INVALID_RIGHT:
    case MACH_SEND_INVALID_DEST:
        return -ESRCH;
    case KERN_OPERATION_TIMED_OUT:
        return -ETIMEDOUT;
    case KERN_ABORTED:
        return -EINTR;
    case KERN_NO_SPACE:
    case KERN_RESOURCE_SHORTAGE:
        return -ENOMEM;
    case KERN_INVALID_ARGUMENT:
        return -EINVAL;
    default:
        return -EIO;
    }
}

/* ---- one thread ------------------------------------------------------------------------------- */

/* A port of a thread that has ended is no argument for these calls: the kernel takes it for invalid. */
static int of_thread(kern_return_t rc) {
    return rc == KERN_INVALID_ARGUMENT ? -ESRCH : of_kernel(rc);
}

static int mach_suspend(hd_port thread) {
    return of_thread(thread_suspend(thread));
}

static int mach_resume(hd_port thread) {
    return of_thread(thread_resume(thread));
}

#if defined(__aarch64__)
static int mach_registers(hd_port thread, struct hd_mach_registers *out) {
    arm_thread_state64_t s;
    mach_msg_type_number_t count = ARM_THREAD_STATE64_COUNT;
    int rc = of_thread(thread_get_state(thread, ARM_THREAD_STATE64, (thread_state_t)&s, &count));
    if (rc == 0) {
        memcpy(out->general, s.__x, sizeof s.__x);
        out->general[29] = (uint64_t)arm_thread_state64_get_fp(s);
        out->general[30] = (uint64_t)arm_thread_state64_get_lr(s);
        out->pc = (uint64_t)arm_thread_state64_get_pc(s);
        out->sp = (uint64_t)arm_thread_state64_get_sp(s);
    }
    return rc;
}
#elif defined(__x86_64__)
static int mach_registers(hd_port thread, struct hd_mach_registers *out) {
    x86_thread_state64_t s;
    mach_msg_type_number_t count = x86_THREAD_STATE64_COUNT;
    int rc = of_thread(thread_get_state(thread, x86_THREAD_STATE64, (thread_state_t)&s, &count));
    if (rc == 0) {
        const uint64_t general[] = {s.__rax, s.__rbx, s.__rcx, s.__rdx, s.__rdi, s.__rsi, s.__rbp, s.__rsp,
                                    s.__r8,  s.__r9,  s.__r10, s.__r11, s.__r12, s.__r13, s.__r14, s.__r15};
        memcpy(out->general, general, sizeof general);
        out->pc = s.__rip;
        out->sp = s.__rsp;
    }
    return rc;
}
#else
#error "no thread state known for this machine: add it here"
#endif

static int mach_read(uint64_t addr, void *to, size_t n) {
    vm_size_t got = 0;
    int rc = of_kernel(vm_read_overwrite(mach_task_self(), (vm_address_t)addr, n, (vm_address_t)to, &got));
    return rc == 0 && got != n ? -EFAULT : rc == -EINVAL ? -EFAULT : rc;
}

static int mach_thread_times(hd_port thread, struct hd_mach_thread *out) {
    thread_extended_info_data_t info;
    mach_msg_type_number_t count = THREAD_EXTENDED_INFO_COUNT;
    int rc = of_thread(thread_info(thread, THREAD_EXTENDED_INFO, (thread_info_t)&info, &count));
    if (rc == 0) {
        out->user_ns = info.pth_user_time;
        out->system_ns = info.pth_system_time;
        out->state = info.pth_run_state;
        out->cpu_usage = info.pth_cpu_usage;
        out->priority = info.pth_curpri;
        memcpy(out->name, info.pth_name, sizeof out->name);
        out->name[sizeof out->name - 1] = '\0';
    }
    return rc;
}

static int mach_thread(hd_port thread, struct hd_mach_thread *out) {
    thread_identifier_info_data_t info;
    mach_msg_type_number_t count = THREAD_IDENTIFIER_INFO_COUNT;
    int rc = of_thread(thread_info(thread, THREAD_IDENTIFIER_INFO, (thread_info_t)&info, &count));
    if (rc != 0) {
        return rc;
    }
    out->id = info.thread_id;
    out->handle = info.thread_handle;
    out->queue = info.dispatch_qaddr;
    return mach_thread_times(thread, out);
}

/* ---- all threads ------------------------------------------------------------------------------ */

static void mach_release(hd_port port) {
    if (port != MACH_PORT_NULL) {
        (void)mach_port_deallocate(mach_task_self(), port);
    }
}

static int mach_threads(hd_port *list, uint32_t max) {
    thread_act_array_t all = NULL;
    mach_msg_type_number_t count = 0;
    int rc = of_kernel(task_threads(mach_task_self(), &all, &count));
    if (rc != 0) {
        return rc;
    }
    uint32_t skipped = count > max ? count - max : 0;
    for (uint32_t i = 0; i < count; i++) {
        if (i >= skipped) {
            list[i - skipped] = all[i];
        } else {
            mach_release(all[i]);
        }
    }
    (void)vm_deallocate(mach_task_self(), (vm_address_t)all, count * sizeof *all);
    return (int)count;
}

static hd_port mach_self(void) {
    return mach_thread_self();
}

/* ---- the process ------------------------------------------------------------------------------ */

static int mach_images(uint64_t *address) {
    task_dyld_info_data_t info;
    mach_msg_type_number_t count = TASK_DYLD_INFO_COUNT;
    int rc = of_kernel(task_info(mach_task_self(), TASK_DYLD_INFO, (task_info_t)&info, &count));
    if (rc == 0) {
        *address = info.all_image_info_addr;
    }
    return rc;
}

static int32_t role_of_task(void) {
    task_category_policy_data_t policy;
    mach_msg_type_number_t count = TASK_CATEGORY_POLICY_COUNT;
    boolean_t by_default = FALSE;
    kern_return_t rc =
        task_policy_get(mach_task_self(), TASK_CATEGORY_POLICY, (task_policy_t)&policy, &count, &by_default);
    return rc == KERN_SUCCESS ? (int32_t)policy.role : -1;
}

/* The times of the kernel's answer are in its ticks. A thread that runs counts as ready, too. */
static uint64_t cpu_wait_of_task(void) {
#if TARGET_OS_OSX
    struct rusage_info_v4 usage = {0};
    mach_timebase_info_data_t base = {0};
    if (proc_pid_rusage(hd_os.get_pid(), RUSAGE_INFO_V4, (rusage_info_t *)&usage) == 0 &&
        mach_timebase_info(&base) == KERN_SUCCESS && base.denom != 0) {
        uint64_t ran = usage.ri_user_time + usage.ri_system_time;
        return usage.ri_runnable_time > ran ? (usage.ri_runnable_time - ran) / base.denom * base.numer : 0;
    }
#endif
    return 0;
}

static int mach_task(struct hd_mach_task *out) {
    task_vm_info_data_t vm = {0};
    task_events_info_data_t events = {0};
    mach_msg_type_number_t count = TASK_VM_INFO_COUNT;
    memset(out, 0, sizeof *out);
    int rc = of_kernel(task_info(mach_task_self(), TASK_VM_INFO, (task_info_t)&vm, &count));
    if (rc != 0) {
        return rc;
    }
    out->footprint_bytes = vm.phys_footprint;
    out->limit_remaining_bytes = count >= TASK_VM_INFO_REV4_COUNT ? vm.limit_bytes_remaining : 0;
    count = TASK_EVENTS_INFO_COUNT;
    if (task_info(mach_task_self(), TASK_EVENTS_INFO, (task_info_t)&events, &count) == KERN_SUCCESS) {
        out->page_ins = (uint64_t)events.pageins;
        out->switches = (uint64_t)events.csw;
    }
    out->cpu_wait_ns = cpu_wait_of_task();
    out->role = role_of_task();
    return 0;
}

/* ---- semaphores ------------------------------------------------------------------------------- */

static int mach_semaphore_new(hd_port *out) {
    return of_kernel(semaphore_create(mach_task_self(), out, SYNC_POLICY_FIFO, 0));
}

static int mach_semaphore_wait(hd_port semaphore, uint64_t until_ns) {
    if (until_ns == UINT64_MAX) {
        return of_kernel(semaphore_wait(semaphore));
    }
    uint64_t now_ns = hd_os_now_ns();
    uint64_t left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
    uint64_t s = left_ns / HD_NS_PER_S;
    mach_timespec_t left = {.tv_sec = s < UINT32_MAX ? (unsigned)s : UINT32_MAX,
                            .tv_nsec = (clock_res_t)(left_ns % HD_NS_PER_S)};
    return of_kernel(semaphore_timedwait(semaphore, left));
}

static int mach_semaphore_signal(hd_port semaphore) {
    return of_kernel(semaphore_signal(semaphore));
}

static void mach_semaphore_free(hd_port semaphore) {
    (void)semaphore_destroy(mach_task_self(), semaphore);
}

struct hd_mach_calls hd_mach = {
    .suspend = mach_suspend,
    .resume = mach_resume,
    .registers = mach_registers,
    .read = mach_read,
    .thread = mach_thread,
    .thread_times = mach_thread_times,
    .threads = mach_threads,
    .self = mach_self,
    .release = mach_release,
    .images = mach_images,
    .task = mach_task,
    .semaphore_new = mach_semaphore_new,
    .semaphore_wait = mach_semaphore_wait,
    .semaphore_signal = mach_semaphore_signal,
    .semaphore_free = mach_semaphore_free,
};
