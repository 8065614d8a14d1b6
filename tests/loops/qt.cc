/* SPDX-License-Identifier: MIT
 *
 * Qt's loop, by hangdog/qt.hpp. WITHOUT_GLIB: on Qt's own dispatcher. TEXTBOOK: by Qt's signals of a wait, as
 * people do it.
 */
#include <QtCore/QCoreApplication>
#include <QtCore/QEventLoop>
#include <QtCore/QSocketNotifier>
#include <QtCore/QTimer>
#include <cstdio>
#include <memory>
#include <vector>

#include "hangdog/qt.hpp"
#include "loops.h"

const char *const loop_never_nests = nullptr;

#ifdef TEXTBOOK
struct watch : hangdog::loop {
    explicit watch(const char *name) : loop(name) {
        QAbstractEventDispatcher *dispatcher = QAbstractEventDispatcher::instance();
        QObject::connect(dispatcher, &QAbstractEventDispatcher::aboutToBlock, &context,
                         [this] { hangdog_before_wait(get()); });
        QObject::connect(dispatcher, &QAbstractEventDispatcher::awake, &context,
                         [this] { hangdog_after_wait(get()); });
    }
    QObject context;
};
#else
using watch = hangdog::qt_loop;
#endif

struct loop {
    QEventLoop outermost; /* makes the thread's dispatcher */
    std::vector<QEventLoop *> running;
    std::unique_ptr<watch> watched;
    std::unique_ptr<QSocketNotifier> input;
};

/* Before main(), so that it is of the main thread. */
static const QCoreApplication *const application = [] {
    static int argc = 1;
    static char program[] = "qt", *argv[] = {program, nullptr};
#ifdef WITHOUT_GLIB
    qputenv("QT_NO_GLIB", "1");
#endif
    return new QCoreApplication(argc, argv);
}();

struct loop *loop_make(const char *name) {
    auto *made = new struct loop;
    if (name != nullptr) {
        made->watched = std::make_unique<watch>(name);
        if (!*made->watched || application == nullptr) {
            puts("without GLib only the loop of the main thread is watched");
            exit(77);
        }
    }
    return made;
}

void loop_run(struct loop *loop) {
    QEventLoop nested;
    QEventLoop *one = loop->running.empty() ? &loop->outermost : &nested;
    loop->running.push_back(one);
    one->exec();
    loop->running.pop_back();
}

void loop_quit(struct loop *loop) {
    loop->running.back()->quit();
}

void loop_on_input(struct loop *loop, int fd, struct call call) {
    loop->input = std::make_unique<QSocketNotifier>(fd, QSocketNotifier::Read);
    QObject::connect(loop->input.get(), &QSocketNotifier::activated, [=] { call.run(loop, call.argument); });
}

void loop_after(struct loop *loop, unsigned ms, struct call call) {
    QTimer::singleShot(static_cast<int>(ms), Qt::PreciseTimer, [=] { call.run(loop, call.argument); });
}

/* Qt's idle work is a timer of no time. */
void loop_on_idle(struct loop *loop, struct call call) {
    QTimer::singleShot(0, [=] { call.run(loop, call.argument); });
}

void loop_free(struct loop *loop) {
    delete loop;
}
