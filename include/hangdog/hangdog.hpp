/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Hangdog for C++17: the functions of hangdog/hangdog.h as objects that end by themselves.
 *
 * @code
 * hangdog::session session;
 * hangdog::loop loop("main");
 * for (;;) {
 *     int n = loop.wait([&] { return epoll_wait(epoll, events, 64, -1); });
 *     dispatch(events, n);
 * }
 * @endcode
 *
 * A destructor marks the end also if an exception passes. No function throws, except for what a callback of
 * the program throws. If Hangdog does not run, each object does nothing.
 */
#ifndef HANGDOG_HPP
#define HANGDOG_HPP

#include <chrono>
#include <utility>

#include "hangdog/hangdog.h"

/** Hangdog for C++17. */
namespace hangdog {

/** The options of a session: hangdog_options with `size` set. */
struct options : hangdog_options {
    /** All defaults. */
    options() noexcept : hangdog_options{} { size = sizeof(hangdog_options); }

    /**
     * Sets the threshold of each state.
     * @param threshold The duration from which on a turn is a hang.
     */
    void set_thresholds(std::chrono::nanoseconds threshold) noexcept {
        for (auto &one : threshold_ns) {
            one = static_cast<uint64_t>(threshold.count());
        }
    }
};

/** Runs Hangdog from the constructor to the destructor. */
class session {
  public:
    /** Calls hangdog_start() with all defaults. */
    session() noexcept : status_(hangdog_start(nullptr)) {}
    /**
     * Calls hangdog_start().
     * @param o The options.
     */
    explicit session(const hangdog_options &o) noexcept : status_(hangdog_start(&o)) {}
    /** Calls hangdog_stop(), unless the start failed. */
    ~session() {
        if (status_ == 0) {
            hangdog_stop();
        }
    }
    session(const session &) = delete;
    session &operator=(const session &) = delete;
    /** Returns 0 or the negative errno value of hangdog_start(). */
    int status() const noexcept { return status_; }

  private:
    int status_;
};

/** Watches the event loop of the calling thread. That thread makes and destroys the object. */
class loop {
  public:
    /**
     * Calls hangdog_loop_watch().
     * @param name The loop's name in reports.
     * @param threshold The loop's threshold in the foreground state; 0: that of the session.
     */
    explicit loop(const char *name, std::chrono::nanoseconds threshold = {}) noexcept
        : handle_(hangdog_loop_watch(name, static_cast<uint64_t>(threshold.count()))) {}
    /** Calls hangdog_loop_unwatch(). */
    ~loop() { hangdog_loop_unwatch(handle_); }
    loop(const loop &) = delete;
    loop &operator=(const loop &) = delete;

    /** Returns the handle for functions of hangdog/hangdog.h. NULL: the loop is not watched. */
    hangdog_loop *get() const noexcept { return handle_; }
    /** Returns true if the loop is watched. */
    explicit operator bool() const noexcept { return handle_ != nullptr; }

    /**
     * Calls a function that waits for the loop's events, between the marks of a wait.
     * @param function The function. Its turn starts also if the function throws.
     * @return The result of the function.
     */
    template <class Function> decltype(auto) wait(Function &&function) const;

    /** Marks a wait with a zero timeout: hangdog_turn(). */
    void turn() const noexcept { hangdog_turn(handle_); }
    /** Marks a presented frame: hangdog_frame(). */
    void frame() const noexcept { hangdog_frame(handle_); }

  protected:
    /**
     * Takes over a handle.
     * @param handle The handle of a loop of the calling thread; NULL: none.
     */
    explicit loop(hangdog_loop *handle) noexcept : handle_(handle) {}

  private:
    hangdog_loop *handle_;
};

/** Marks a wait of the loop, from the constructor to the destructor. */
class waiting {
  public:
    /**
     * Calls hangdog_before_wait().
     * @param of The loop.
     */
    explicit waiting(const loop &of) noexcept : handle_(of.get()) { hangdog_before_wait(handle_); }
    /** Calls hangdog_after_wait(). */
    ~waiting() { hangdog_after_wait(handle_); }
    waiting(const waiting &) = delete;
    waiting &operator=(const waiting &) = delete;

  private:
    hangdog_loop *handle_;
};

template <class Function> decltype(auto) loop::wait(Function &&function) const {
    const waiting mark(*this);
    return std::forward<Function>(function)();
}

/** Labels the loop's work from the constructor to the destructor: hangdog_label(). */
class label {
  public:
    /**
     * Sets the label.
     * @param of The loop.
     * @param text The label, such as "GET /cart".
     * @param traceparent The W3C trace context of the request; NULL: none.
     */
    label(const loop &of, const char *text, const char *traceparent = nullptr) noexcept : handle_(of.get()) {
        hangdog_label(handle_, text, traceparent);
    }
    /** Clears the label. */
    ~label() { hangdog_label(handle_, nullptr, nullptr); }
    label(const label &) = delete;
    label &operator=(const label &) = delete;

  private:
    hangdog_loop *handle_;
};

/** A block of the loop that the program expects, such as a modal dialog of the system: no hang counts. */
class expected_block {
  public:
    /**
     * Calls hangdog_expect_block().
     * @param of The loop.
     */
    explicit expected_block(const loop &of) noexcept : handle_(of.get()) { hangdog_expect_block(handle_); }
    /** Calls hangdog_expect_block_end(). */
    ~expected_block() { hangdog_expect_block_end(handle_); }
    expected_block(const expected_block &) = delete;
    expected_block &operator=(const expected_block &) = delete;

  private:
    hangdog_loop *handle_;
};

/** Pauses the watch of all loops, from the constructor to the destructor. */
class pause {
  public:
    /** Calls hangdog_pause(). */
    pause() noexcept { hangdog_pause(); }
    /** Calls hangdog_resume(). */
    ~pause() { hangdog_resume(); }
    pause(const pause &) = delete;
    pause &operator=(const pause &) = delete;
};

} // namespace hangdog

#endif
