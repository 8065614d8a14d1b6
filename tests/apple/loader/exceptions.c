/* SPDX-License-Identifier: MIT
 *
 * One message at a time: a second thread that fails waits until the first one is answered.
 */
#include "exceptions.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "import.h"
#include "mach.h"
#include "port.h"
#include "thread.h"

enum {
    RAISE = 2405, /* mach_exception_raise */
    MACH_SEND = 1,
    MACH_RECEIVE = 2,
    RECEIVE_DIED = 0x10004009, /* MACH_RCV_PORT_DIED */
};

enum {
    NONE,
    FILLED,   /* a thread has failed, and waits */
    RECEIVED, /* the receiver has the message */
    ANSWERED,
};

#pragma pack(push, 4)
struct head {
    uint32_t bits, bytes, remote, local, voucher;
    int32_t id;
};
struct descriptor {
    uint32_t name, padding, kind;
};
struct message {
    struct head head;
    uint32_t descriptors;
    struct descriptor thread, task;
    uint8_t ndr[8];
    int32_t exception;
    uint32_t codes;
    int64_t code[2];
};
struct answer {
    struct head head;
    uint8_t ndr[8];
    int32_t result;
};
#pragma pack(pop)
_Static_assert(sizeof(struct message) == 84, "mach_exception_raise");

static struct {
    uint32_t mask, port;
    int32_t behavior, flavor;
} taken;
static int answered;

static struct {
    _Atomic uint32_t state, died, sender; /* `sender`: 1 while a thread has the message */
    uint32_t port;
    struct message message;
    int32_t result;
} mail;

static int fake_task_swap_exception_ports(uint32_t task, uint32_t mask, uint32_t port, int32_t behavior,
                                          int32_t flavor, uint32_t *masks, uint32_t *count, uint32_t *ports,
                                          int32_t *behaviors, int32_t *flavors) {
    (void)task;
    *count = 1;
    masks[0] = mask;
    ports[0] = taken.port ? port_retain(taken.port) : 0;
    behaviors[0] = taken.behavior;
    flavors[0] = taken.flavor;
    mail.died = port ? 0 : mail.died;
    taken.mask = mask;
    taken.port = port;
    taken.behavior = behavior;
    taken.flavor = flavor;
    return KERN_SUCCESS;
}

static int fake_task_set_exception_ports(uint32_t task, uint32_t mask, uint32_t port, int32_t behavior,
                                         int32_t flavor) {
    uint32_t masks[1], count, ports[1];
    int32_t behaviors[1], flavors[1];
    fake_task_swap_exception_ports(task, mask, port, behavior, flavor, masks, &count, ports, behaviors,
                                   flavors);
    if (ports[0]) {
        port_drop(ports[0]);
    }
    return KERN_SUCCESS;
}

static int fake_mach_port_insert_right(uint32_t task, uint32_t name, uint32_t right, uint32_t kind) {
    (void)task;
    (void)right;
    (void)kind;
    port_retain(name);
    return KERN_SUCCESS;
}

static int exception_of(int darwin) {
    static const int of[12] = {[4] = 2, [5] = 6, [8] = 3, [10] = 1, [11] = 1};
    return darwin < 12 ? of[darwin] : 0;
}

int exceptions_raise(int darwin, int code, uint64_t address, struct gate_registers *at) {
    struct thread *t = thread_self;
    int exception = exception_of(darwin);
    if (!exception || !taken.port || !(taken.mask & 1u << exception) || !t || t->depth >= THREAD_DEPTH) {
        return 0;
    }
    while (atomic_exchange(&mail.sender, 1)) {
        futex_wait(&mail.sender, 1, NULL);
    }
    mail.port = taken.port;
    mail.message = (struct message){.head = {.bits = 0x80000000u,
                                             .bytes = sizeof mail.message,
                                             .remote = port_retain(port_new(PORT_RECEIVE, NULL)),
                                             .local = mail.port,
                                             .id = RAISE},
                                    .descriptors = 2,
                                    .thread = {.name = port_retain(t->port)},
                                    .task = {.name = port_retain(PORT_TASK_SELF)},
                                    .exception = exception,
                                    .codes = 2,
                                    .code = {darwin == 11 && code == 1 ? 1 : 2, (int64_t)address}};
    t->frames[t->depth++] = at; /* a reader of the thread's state finds the fault */
    thread_block();
    mail.state = FILLED;
    futex_wake(&mail.state, 1000);
    for (uint32_t state = mail.state; state != ANSWERED; state = mail.state) {
        futex_wait(&mail.state, state, NULL);
    }
    int32_t result = mail.result;
    mail.state = NONE;
    thread_unblock();
    t->depth--;
    mail.sender = 0;
    futex_wake(&mail.sender, 1000);
    return result == KERN_SUCCESS;
}

void exceptions_port_died(uint32_t port) {
    mail.died = port;
    futex_wake(&mail.state, 1000);
}

static int receive(struct message *to, uint32_t port) {
    thread_block();
    for (uint32_t state = mail.state; (state != FILLED || mail.port != port) && mail.died != port;
         state = mail.state) {
        futex_wait(&mail.state, state, NULL);
    }
    bool found = mail.state == FILLED && mail.port == port;
    if (found) {
        *to = mail.message;
        mail.state = RECEIVED;
    }
    thread_unblock();
    return found ? KERN_SUCCESS : RECEIVE_DIED;
}

static int fake_mach_msg(struct head *head, int32_t option, uint32_t send_bytes, uint32_t receive_bytes,
                         uint32_t port) {
    if (option & MACH_SEND) {
        const struct answer *answer = (const struct answer *)head;
        if (send_bytes != sizeof *answer || head->id != RAISE + 100 || mail.state != RECEIVED ||
            head->remote != mail.message.head.remote) {
            return KERN_INVALID_ARGUMENT;
        }
        port_release_name(head->remote);
        mail.result = answer->result;
        answered++;
        mail.state = ANSWERED;
        futex_wake(&mail.state, 1000);
    }
    if (option & MACH_RECEIVE) {
        return receive_bytes < sizeof(struct message) ? KERN_INVALID_ARGUMENT
                                                      : receive((struct message *)head, port);
    }
    return KERN_SUCCESS;
}

static void fake_mach_msg_destroy(struct head *head) {
    (void)head;
}

/* For tests: how many exceptions have been answered, and whether a port is taken. */
static int fake_test_exceptions(int *is_taken) {
    *is_taken = taken.port != 0;
    return answered;
}

const struct import imports_of_exception[] = {
    KERNEL("task_swap_exception_ports", fake_task_swap_exception_ports, 0),
    KERNEL("task_set_exception_ports", fake_task_set_exception_ports, 0),
    KERNEL("mach_port_insert_right", fake_mach_port_insert_right, -21),
    KERNEL("mach_msg", fake_mach_msg, -31),
    LIBRARY("mach_msg_destroy", fake_mach_msg_destroy),
    LIBRARY("fake_exceptions", fake_test_exceptions),
    IMPORT_END,
};
