/* SPDX-License-Identifier: MIT
 *
 * A program of Qt 5 or Qt 6, watched by Hangdog. Each line on standard input is a request: "slow" takes a
 * second, and is a hang. Type it, press Ctrl-D, and then: hangdog list
 *
 *   c++ -std=c++17 -fPIC qt.cc $(pkg-config --cflags --libs hangdog Qt5Core) -o qt
 */
#include <QtCore/QCoreApplication>
#include <QtCore/QFile>
#include <QtCore/QSocketNotifier>
#include <QtCore/QTextStream>
#include <QtCore/QThread>
#include <hangdog/qt.hpp>

static void handle(const QByteArray &request) {
    if (request == "slow") {
        QThread::sleep(1);
    }
    QTextStream(stdout) << request << ": done\n";
}

int main(int argc, char **argv) {
    hangdog::options options;
    options.set_thresholds(std::chrono::milliseconds(500));
    hangdog::session session(options);
    QCoreApplication app(argc, argv); /* a QApplication is watched in the same way */
    hangdog::qt_loop loop("main");

    QFile input;
    input.open(stdin, QIODevice::ReadOnly | QIODevice::Unbuffered);
    QSocketNotifier notifier(0, QSocketNotifier::Read);
    QObject::connect(&notifier, &QSocketNotifier::activated, &app, [&] {
        const QByteArray request = input.readLine().trimmed();
        if (request.isEmpty()) {
            app.quit();
            return;
        }
        hangdog::label label(loop, request.constData());
        handle(request);
    });
    return app.exec();
}
