/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Hangdog for the event loop of Qt 5 and Qt 6 on Linux.
 *
 * @code
 * hangdog::session session;
 * QApplication app(argc, argv);
 * hangdog::qt_loop loop("main");
 * return app.exec();
 * @endcode
 *
 * The signals aboutToBlock and awake enclose more than the wait: handlers of sockets and timers run between
 * them. So this header wraps the poll function of GLib, on which Qt's loop usually runs. It takes GLib from
 * the process, and needs no header of GLib. Without GLib (QT_NO_GLIB=1), the wait lasts from aboutToBlock to
 * the first event that Qt delivers. Nested loops, such as QDialog::exec(), have turns of their own.
 */
#ifndef HANGDOG_QT_HPP
#define HANGDOG_QT_HPP

#include <QtCore/QAbstractEventDispatcher>
#include <QtCore/QCoreApplication>
#include <QtCore/QObject>
#include <QtCore/QThread>
#include <dlfcn.h>

#include "hangdog/hangdog.hpp"

namespace hangdog {

/** Watches Qt's event loop of the calling thread, from the constructor to the destructor. Make the object
 * when the thread has its event dispatcher: after the QCoreApplication, or in QThread::run(). */
class qt_loop : public loop {
  public:
    /**
     * Watches the loop, once. Without GLib only the loop of the main thread can be watched.
     * @param name The loop's name in reports.
     * @param threshold The loop's threshold in the foreground state; 0: that of the session.
     */
    explicit qt_loop(const char *name, std::chrono::nanoseconds threshold = {})
        : loop(current_ == nullptr && (runs_on_glib() || is_main())
                   ? hangdog_loop_watch(name, static_cast<uint64_t>(threshold.count()))
                   : nullptr),
          filter_(get()) {
        if (*this && runs_on_glib()) {
            wrap_poll();
        } else if (*this) {
            filter_.watch();
        }
    }
    /** Ends the watch. */
    ~qt_loop() {
        if (context_ != nullptr) {
            symbol<set_poll>("g_main_context_set_poll_func")(context_, next_);
            current_ = nullptr;
        }
    }
    qt_loop(const qt_loop &) = delete;
    qt_loop &operator=(const qt_loop &) = delete;

  private:
    using poll_function = int (*)(void *, unsigned, int);
    using context_of = void *(*)();
    using get_poll = poll_function (*)(void *);
    using set_poll = void (*)(void *, poll_function);

    /* The waits without GLib. The filter sees each event of the main thread before its receiver does. */
    struct filter : QObject {
        explicit filter(hangdog_loop *of) : handle(of) {}
        filter(const filter &) = delete;
        filter &operator=(const filter &) = delete;
        void watch() {
            QAbstractEventDispatcher *dispatcher = QAbstractEventDispatcher::instance();
            connect(dispatcher, &QAbstractEventDispatcher::aboutToBlock, this, [this] {
                waits = true;
                hangdog_before_wait(handle);
            });
            connect(dispatcher, &QAbstractEventDispatcher::awake, this, [this] { end_wait(); });
            QCoreApplication::instance()->installEventFilter(this);
        }
        bool eventFilter(QObject *, QEvent *) override {
            end_wait();
            return false;
        }
        void end_wait() {
            if (waits) {
                waits = false;
                hangdog_after_wait(handle);
            }
        }
        hangdog_loop *handle;
        bool waits = false;
    };

    static bool is_main() {
        return QAbstractEventDispatcher::instance() != nullptr && QCoreApplication::instance() != nullptr &&
               QThread::currentThread() == QCoreApplication::instance()->thread();
    }
    static bool runs_on_glib() {
        const QAbstractEventDispatcher *dispatcher = QAbstractEventDispatcher::instance();
        return dispatcher != nullptr && dispatcher->inherits("QEventDispatcherGlib") &&
               symbol<set_poll>("g_main_context_set_poll_func") != nullptr;
    }

    template <class Function> static Function symbol(const char *name) {
        static void *glib = dlopen("libglib-2.0.so.0", RTLD_LAZY | RTLD_NOLOAD);
        return reinterpret_cast<Function>(glib != nullptr ? dlsym(glib, name) : nullptr);
    }

    void wrap_poll() {
        context_ = symbol<context_of>("g_main_context_get_thread_default")();
        context_ = context_ != nullptr ? context_ : symbol<context_of>("g_main_context_default")();
        next_ = symbol<get_poll>("g_main_context_get_poll_func")(context_);
        current_ = this;
        symbol<set_poll>("g_main_context_set_poll_func")(context_, marked_poll);
    }

    static int marked_poll(void *descriptors, unsigned count, int timeout) {
        const qt_loop *of = current_;
        if (of == nullptr) { /* another thread runs the context */
            return symbol<poll_function>("g_poll")(descriptors, count, timeout);
        }
        if (timeout == 0) {
            of->turn();
            return of->next_(descriptors, count, timeout);
        }
        const waiting mark(*of);
        return of->next_(descriptors, count, timeout);
    }

    filter filter_;
    void *context_ = nullptr;
    poll_function next_ = nullptr;
    inline static thread_local qt_loop *current_ = nullptr;
};

} // namespace hangdog

#endif
