// SPDX-License-Identifier: MIT
//
// A program with a loop that throws, in its ninth turn, what nobody catches: its argument says what.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <sys/timerfd.h>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace shop {
// Its text is std::runtime_error's.
struct DiskFull : std::runtime_error {
    explicit DiskFull(const std::string &disk) : std::runtime_error(disk + " is full"), where(disk) {}
    std::string where;
};

// Its text is its own function's.
struct Closed : std::logic_error {
    Closed() : std::logic_error("not this text") {}
    const char *what() const noexcept override { return "closed"; }
};

struct Plain {
    long number = 7;
};
} // namespace shop

namespace {

__attribute__((noinline)) void out_of_range() {
    throw std::out_of_range("behind the end");
}

__attribute__((noinline)) void within_noexcept() noexcept { // NOLINT(bugprone-exception-escape): the test
    out_of_range();
}

__attribute__((noinline)) void again() {
    std::exception_ptr kept;
    try {
        throw std::runtime_error("thrown twice");
    } catch (...) {
        kept = std::current_exception();
    }
    std::rethrow_exception(kept);
}

__attribute__((noinline)) void handle(const std::string &how) {
    if (how == "runtime") {
        throw std::runtime_error("disk is full");
    }
    if (how == "derived") {
        throw shop::DiskFull("/dev/sda1");
    }
    if (how == "own-what") {
        throw shop::Closed();
    }
    if (how == "plain") {
        throw shop::Plain();
    }
    if (how == "number") {
        throw 42;
    }
    if (how == "system") {
        throw std::system_error(std::make_error_code(std::errc::no_space_on_device), "cannot save");
    }
    if (how == "memory") {
        throw std::bad_alloc();
    }
    if (how == "long") {
        throw std::runtime_error("\x1b[31m\n" + std::string(100000, 'x'));
    }
    if (how == "noexcept") {
        within_noexcept();
    }
    if (how == "again") {
        again();
    }
    if (how == "thread") {
        std::thread([] { throw std::runtime_error("in a thread"); }).join();
    }
    if (how == "terminate") {
        std::terminate();
    }
    if (how == "caught") {
        try {
            throw std::runtime_error("caught");
        } catch (const std::runtime_error &) {
            std::abort();
        }
    }
}

} // namespace

int main(int argc, char **argv) { // NOLINT(bugprone-exception-escape): the test
    int timer = timerfd_create(CLOCK_MONOTONIC, 0);
    itimerspec every = {{0, 50000000}, {0, 50000000}};
    timerfd_settime(timer, 0, &every, nullptr);
    for (int turn = 0; turn < 20; turn++) {
        pollfd wait = {timer, POLLIN, 0};
        std::uint64_t times;
        if (poll(&wait, 1, -1) == 1 && read(timer, &times, sizeof times) > 0 && turn == 8 && argc > 1) {
            handle(argv[1]);
        }
    }
    return 0;
}
