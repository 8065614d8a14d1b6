/* SPDX-License-Identifier: MIT
 *
 * The calls of Mach for exceptions, and the layout of the messages. tvOS and watchOS have no such calls.
 */
#include <errno.h>
#include <stdatomic.h>

#include "crash/darwin/mach_exceptions.h"

/* The compiler defines one of these for tvOS and for watchOS. */
#if defined(__ENVIRONMENT_TV_OS_VERSION_MIN_REQUIRED__) || \
    defined(__ENVIRONMENT_WATCH_OS_VERSION_MIN_REQUIRED__)

static int take_ports(hd_port *port) {
    (void)port;
    return -ENOSYS;
}

static void restore_ports(void) {}

static int receive_exception(hd_port port, struct hd_mach_exception *out) {
    (void)port;
    (void)out;
    return -ENOSYS;
}

static void refuse_exception(const struct hd_mach_exception *exception) {
    (void)exception;
}

static void close_port(hd_port port) {
    (void)port;
}

#else

#include <mach/mach.h>

/* EXC_MASK_CRASH would deadlock the kernel if the process itself receives it. */
#define TAKEN (EXC_MASK_BAD_ACCESS | EXC_MASK_BAD_INSTRUCTION | EXC_MASK_ARITHMETIC | EXC_MASK_BREAKPOINT)
#define RAISE 2405 /* mach_exception_raise: the number of the message */
#define ANSWER (RAISE + 100)

/* The messages of mach_exc.defs, whose header not every SDK has. */
#pragma pack(push, 4)
struct raised {
    mach_msg_header_t head;
    mach_msg_body_t body;
    mach_msg_port_descriptor_t thread, task;
    NDR_record_t ndr;
    int32_t exception;
    uint32_t codes;
    int64_t code[2];
};
struct answer {
    mach_msg_header_t head;
    NDR_record_t ndr;
    int32_t result;
};
#pragma pack(pop)

static struct {
    exception_mask_t mask[EXC_TYPES_COUNT];
    exception_handler_t port[EXC_TYPES_COUNT];
    exception_behavior_t behavior[EXC_TYPES_COUNT];
    thread_state_flavor_t flavor[EXC_TYPES_COUNT];
    mach_msg_type_number_t count;
    atomic_bool taken;
} before;

static void restore_ports(void) {
    if (!atomic_exchange(&before.taken, false)) {
        return;
    }
    for (mach_msg_type_number_t i = 0; i < before.count; i++) {
        (void)task_set_exception_ports(mach_task_self(), before.mask[i], before.port[i], before.behavior[i],
                                       before.flavor[i]);
        if (before.port[i] != MACH_PORT_NULL) {
            (void)mach_port_deallocate(mach_task_self(), before.port[i]);
        }
    }
}

static void close_port(hd_port port) {
    (void)mach_port_mod_refs(mach_task_self(), port, MACH_PORT_RIGHT_RECEIVE, -1);
    (void)mach_port_deallocate(mach_task_self(), port);
}

static bool are_free(void) {
    for (mach_msg_type_number_t i = 0; i < before.count; i++) {
        if (before.port[i] != MACH_PORT_NULL) {
            return false;
        }
    }
    return true;
}

static int take_ports(hd_port *port) {
    mach_port_t own = MACH_PORT_NULL;
    if (mach_port_allocate(mach_task_self(), MACH_PORT_RIGHT_RECEIVE, &own) != KERN_SUCCESS) {
        return -ENOMEM;
    }
    before.count = EXC_TYPES_COUNT;
    if (mach_port_insert_right(mach_task_self(), own, own, MACH_MSG_TYPE_MAKE_SEND) != KERN_SUCCESS ||
        task_swap_exception_ports(mach_task_self(), TAKEN, own,
                                  (exception_behavior_t)(EXCEPTION_DEFAULT | MACH_EXCEPTION_CODES),
                                  THREAD_STATE_NONE, before.mask, &before.count, before.port, before.behavior,
                                  before.flavor) != KERN_SUCCESS) {
        close_port(own);
        return -EPERM;
    }
    atomic_store(&before.taken, true);
    if (!are_free()) {
        restore_ports();
        close_port(own);
        return -EBUSY;
    }
    *port = own;
    return 0;
}

/* Skips messages of other kinds: any process with a right to the port may send one. */
static int receive_exception(hd_port port, struct hd_mach_exception *out) {
    struct {
        struct raised message;
        uint8_t trailer[128];
    } in;
    for (;;) {
        in.message.head = (mach_msg_header_t){.msgh_size = sizeof in};
        kern_return_t rc = mach_msg(&in.message.head, MACH_RCV_MSG, 0, sizeof in, port, MACH_MSG_TIMEOUT_NONE,
                                    MACH_PORT_NULL);
        if (rc != KERN_SUCCESS && rc != MACH_RCV_INTERRUPTED && rc != MACH_RCV_TOO_LARGE) {
            return -EIO;
        }
        if (rc != KERN_SUCCESS) {
            continue;
        }
        if (in.message.head.msgh_id == RAISE && in.message.head.msgh_size >= sizeof in.message &&
            in.message.codes == 2) {
            break;
        }
        mach_msg_destroy(&in.message.head);
    }
    *out = (struct hd_mach_exception){.thread = in.message.thread.name,
                                      .type = in.message.exception,
                                      .code = {in.message.code[0], in.message.code[1]},
                                      .reply = in.message.head.msgh_remote_port,
                                      .message = in.message.head.msgh_id};
    (void)mach_port_deallocate(mach_task_self(), in.message.task.name);
    return 0;
}

static void refuse_exception(const struct hd_mach_exception *exception) {
    struct answer out = {.head = {.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_MOVE_SEND_ONCE, 0),
                                  .msgh_size = sizeof out,
                                  .msgh_remote_port = exception->reply,
                                  .msgh_id = ANSWER},
                         .ndr = {.int_rep = NDR_INT_LITTLE_ENDIAN},
                         .result = KERN_FAILURE};
    (void)mach_msg(&out.head, MACH_SEND_MSG, sizeof out, 0, MACH_PORT_NULL, MACH_MSG_TIMEOUT_NONE,
                   MACH_PORT_NULL);
}

#endif

struct hd_mach_exception_calls hd_mach_exception_calls = {.take = take_ports,
                                                          .restore = restore_ports,
                                                          .receive = receive_exception,
                                                          .refuse = refuse_exception,
                                                          .close = close_port};
