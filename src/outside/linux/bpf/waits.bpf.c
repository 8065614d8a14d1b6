/* SPDX-License-Identifier: MIT
 *
 * The BPF programs of both ways: they see the waits of watched threads in the kernel, and write them to the
 * threads' slots. The programs run on the watched thread, or as it gives up or gets its CPU.
 */
#include "kinds.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define GETEVENTS 1u /* IORING_ENTER_GETEVENTS */
#define SLEEPS 1u    /* TASK_INTERRUPTIBLE: the state in which all wait calls block */

/* ---- turns -------------------------------------------------------------------------------------- */

/* How the start of a turn is known at `now`; the hook has the same function. */
static __always_inline __u64 certain_start(const struct hd_slot *s, __u64 now) {
    __u64 since = s->since_ns, suspect = s->suspect_ns;
    if (all_calls || (suspect != 0 && suspect <= since)) {
        return since;
    }
    if (suspect == 0) {
        return s->blocked ? since : now;
    }
    bool exact = s->blocked && s->usual_ns <= HD_USUAL_EXACT_NS && now - suspect >= suspect - since;
    return exact ? since : suspect;
}

static __always_inline void end_turn(struct hd_slot *s, __u64 now) {
    __u64 since = s->since_ns;
    if (since == 0) {
        return;
    }
    __u64 start = certain_start(s, now), turn = now - start;
    s->turns++;
    s->busy_ns += now - since;
    if (turn > s->longest_ns) {
        s->longest_ns = turn;
    }
    if (turn < long_ns) {
        s->usual_ns += now - since > s->usual_ns ? (now - since - s->usual_ns) / 16
                                                 : -((s->usual_ns - (now - since)) / 16);
    } else {
        struct hd_record_head head = {.type = HD_RECORD_TURN, .tid = s->tid, .at_ns = start, .end_ns = now};
        head.earlier_ns = start - since;
        send(&head, BPF_RB_FORCE_WAKEUP);
    }
}

static __always_inline void begin_wait(struct hd_slot *s, struct pt_regs *regs, bool by_call, __u64 now) {
    __u32 nr = call_number(regs);
    __u32 class = nr < HD_CALLS ? call_class[nr] : HD_CALL_NO_WAIT;
    __u64 args[6];
    if (class == HD_CALL_NO_WAIT) {
        return;
    }
    call_args(regs, args);
    if (class == HD_CALL_URING && ((args[3] & GETEVENTS) == 0 || args[2] == 0)) {
        return;
    }
    struct call c = {.pc = call_pc(regs), .sp = call_sp(regs), .nr = nr, .class = class};
    if (class == HD_CALL_URING || class == HD_CALL_EPOLL_MS || class == HD_CALL_EPOLL_AT) {
        c.arg = args[0];
        c.object = object_of(c.arg);
    }
    int i = find_kind(s, &c);
    if (i < 0) {
        i = add_kind(s, &c, now);
        if (i < 0) {
            return;
        }
    }
    i %= HD_SLOT_KINDS;
    struct hd_slot_kind *k = &s->kind[i];
    k->object = c.object;
    s->last = i;
    s->by_call = by_call;
    s->blocks = !by_call || may_block(class, args);
    if (k->first_ns == 0 && s->blocks) {
        k->first_ns = now;
    }
    if (is_idle(k)) {
        end_turn(s, now);
    }
    s->in = now << 5 | (i + 1);
}

/* The suspect has been seen in its loop's wait: its calls need no look any more. */
static __always_inline void clear_suspect(struct hd_slot *s) {
    if (s->suspect_ns != 0) {
        struct hd_record_head head = {.type = HD_RECORD_CLEARED, .tid = s->tid};
        s->suspect_ns = 0;
        send(&head, 0);
    }
}

static __always_inline void end_wait(struct hd_slot *s, bool by_call, __u64 now) {
    __u64 in = s->in;
    if (in == 0) {
        return;
    }
    struct hd_slot_kind *k = &s->kind[(in - 1) % 32 % HD_SLOT_KINDS];
    if (s->blocks) {
        k->waits++;
        k->waited_ns += now - (in >> 5);
    }
    k->order = ++s->order;
    k->ended_ns = now;
    if (is_idle(k)) {
        s->blocked = !by_call;
        s->since_ns = now;
        clear_suspect(s);
    }
    s->in = 0;
}

/* ---- fentry ------------------------------------------------------------------------------------- */

static __noinline int enter_call(void) {
    struct task_struct *t = bpf_get_current_task_btf();
    struct hd_slot *s = slot_of(t);
    if (s != 0) {
        s->seeded = 0;
        begin_wait(s, (struct pt_regs *)bpf_task_pt_regs(t), true, bpf_ktime_get_ns());
    }
    return 0;
}

static __noinline int leave_call(void) {
    struct hd_slot *s = slot_of(bpf_get_current_task_btf());
    if (s != 0) {
        s->seeded = 0;
        end_wait(s, true, bpf_ktime_get_ns());
    }
    return 0;
}

/* The loader attaches enter_X and leave_X to the kernel's function of the call X, if it has one. */
#define WAIT_CALL(name)                        \
    SEC("fentry") int BPF_PROG(enter_##name) { \
        return enter_call();                   \
    }                                          \
    SEC("fexit") int BPF_PROG(leave_##name) {  \
        return leave_call();                   \
    }
WAIT_CALL(poll)
WAIT_CALL(ppoll)
WAIT_CALL(select)
WAIT_CALL(pselect6)
WAIT_CALL(epoll_wait)
WAIT_CALL(epoll_pwait)
WAIT_CALL(epoll_pwait2)
WAIT_CALL(io_uring_enter)
WAIT_CALL(restart_syscall)

/* ---- switches, and all calls while a thread is suspect ------------------------------------------ */

/* The slot of a thread whose switches count. */
static __always_inline struct hd_slot *switched(struct task_struct *t) {
    struct hd_slot *s = slot_of(t);
    return s == 0 || (all_calls && !s->seeded) ? 0 : s;
}

static __always_inline void gives_up(struct hd_slot *s, struct task_struct *prev, __u64 now) {
    s->off_ns = now;
    if ((prev->__state & 0xff) != SLEEPS || is_call_of_32_bits(prev)) {
        return;
    }
    if (s->in == 0) {
        begin_wait(s, (struct pt_regs *)bpf_task_pt_regs(prev), false, now);
    } else if (s->by_call) {
        /* The wait blocks. From here the switches are exact. */
        s->by_call = 0;
        clear_suspect(s);
    }
}

static __always_inline void gets_cpu(struct hd_slot *s, __u64 now) {
    if (s->suspect_ns > s->off_ns && s->off_ns != 0) {
        s->suspect_ns = s->off_ns; /* there was no call while the thread had no CPU */
    }
    s->off_ns = 0;
    if (!s->by_call) {
        end_wait(s, false, now);
    }
}

SEC("tp_btf/sched_switch")
int BPF_PROG(switch_threads, bool preempted, struct task_struct *prev, struct task_struct *next) {
    struct hd_slot *s = !preempted && prev->__state != 0 ? switched(prev) : 0;
    if (s != 0) {
        gives_up(s, prev, bpf_ktime_get_ns());
    }
    s = switched(next);
    if (s != 0) {
        gets_cpu(s, bpf_ktime_get_ns());
    }
    return 0;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(enter_any, struct pt_regs *regs, long nr) {
    if ((unsigned long)nr >= HD_CALLS || call_class[nr] == HD_CALL_NO_WAIT) {
        return 0;
    }
    struct task_struct *t = bpf_get_current_task_btf();
    struct hd_slot *s = slot_of(t);
    if (s != 0 && s->suspect_ns != 0 && !is_call_of_32_bits(t)) {
        begin_wait(s, (struct pt_regs *)bpf_task_pt_regs(t), true, bpf_ktime_get_ns());
    }
    return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(leave_any, struct pt_regs *regs, long result) {
    __u32 nr = call_number(regs);
    if (nr >= HD_CALLS || call_class[nr] == HD_CALL_NO_WAIT) {
        return 0;
    }
    struct hd_slot *s = slot_of(bpf_get_current_task_btf());
    if (s != 0 && s->by_call) {
        s->by_call = 0;
        end_wait(s, true, bpf_ktime_get_ns());
    }
    return 0;
}

/* ---- threads and processes ---------------------------------------------------------------------- */

/* The watcher reads these records at its next look: a program may start others without end. */

SEC("tp_btf/sched_process_fork")
int BPF_PROG(thread_began, struct task_struct *parent, struct task_struct *child) {
    if (slot_of(parent) != 0) {
        struct hd_record_head head = {.type = HD_RECORD_BEGAN, .at_ns = bpf_ktime_get_ns()};
        head.tid = number_of(child);
        head.pid = number_of(child->group_leader);
        send(&head, BPF_RB_NO_WAKEUP);
    }
    return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(thread_ended, struct task_struct *t) {
    __u32 number = number_of(t);
    struct hd_slot *s = slot_of(t);
    if (s != 0) {
        struct hd_record_head head = {.type = HD_RECORD_ENDED, .tid = number, .at_ns = bpf_ktime_get_ns()};
        s->ended_ns = head.at_ns;
        bpf_map_delete_elem(&tids, &number); /* a thread with the same number is another one */
        send(&head, BPF_RB_NO_WAKEUP);
    }
    return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(program_began, struct task_struct *t, int old_tid) {
    struct hd_record_head head = {.type = HD_RECORD_EXEC, .at_ns = bpf_ktime_get_ns()};
    head.tid = head.pid = number_of(t);
    if (head.tid != 0) {
        send(&head, BPF_RB_NO_WAKEUP);
    }
    return 0;
}
