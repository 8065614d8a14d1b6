/* SPDX-License-Identifier: MIT
 *
 * A hand-written loop on poll, by hangdog/hangdog.hpp.
 */
#include <algorithm>
#include <chrono>
#include <memory>
#include <poll.h>
#include <vector>

#include "hangdog/hangdog.hpp"
#include "loops.h"

using clock_of_loop = std::chrono::steady_clock;

const char *const loop_never_nests = nullptr;

struct timer {
    clock_of_loop::time_point due;
    struct call call;
};

struct loop {
    std::unique_ptr<hangdog::loop> watched;
    std::vector<timer> timers;
    pollfd input{-1, POLLIN, 0};
    struct call on_input {};
    struct call idle {};
    bool quits = false;
};

struct loop *loop_make(const char *name) {
    auto *made = new struct loop;
    if (name != nullptr) {
        made->watched = std::make_unique<hangdog::loop>(name);
    }
    return made;
}

static int timeout_of(const struct loop *loop) {
    if (loop->idle.run != nullptr) {
        return 0;
    }
    auto next = clock_of_loop::now() + std::chrono::hours(1);
    for (const timer &one : loop->timers) {
        next = std::min(next, one.due);
    }
    auto ms = std::chrono::ceil<std::chrono::milliseconds>(next - clock_of_loop::now()).count();
    return static_cast<int>(std::max<long>(ms, 0));
}

static int wait(struct loop *loop) {
    int timeout = timeout_of(loop);
    if (!loop->watched) {
        return poll(&loop->input, 1, timeout);
    }
    if (timeout == 0) {
        loop->watched->turn();
        return poll(&loop->input, 1, 0);
    }
    return loop->watched->wait([&] { return poll(&loop->input, 1, timeout); });
}

static void run_due(struct loop *loop) {
    auto due = std::find_if(loop->timers.begin(), loop->timers.end(),
                            [](const timer &one) { return one.due <= clock_of_loop::now(); });
    if (due != loop->timers.end()) {
        struct call call = due->call;
        loop->timers.erase(due);
        call.run(loop, call.argument);
    }
}

void loop_run(struct loop *loop) {
    while (!loop->quits) {
        if (wait(loop) == 1) {
            loop->on_input.run(loop, loop->on_input.argument);
        } else if (loop->idle.run != nullptr) {
            struct call idle = loop->idle;
            loop->idle.run = nullptr;
            idle.run(loop, idle.argument);
        }
        run_due(loop);
    }
    loop->quits = false;
}

void loop_quit(struct loop *loop) {
    loop->quits = true;
}

void loop_on_input(struct loop *loop, int fd, struct call call) {
    loop->input.fd = fd;
    loop->on_input = call;
}

void loop_after(struct loop *loop, unsigned ms, struct call call) {
    loop->timers.push_back({clock_of_loop::now() + std::chrono::milliseconds(ms), call});
}

void loop_on_idle(struct loop *loop, struct call call) {
    loop->idle = call;
}

void loop_free(struct loop *loop) {
    delete loop;
}
