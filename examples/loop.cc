/* SPDX-License-Identifier: MIT
 *
 * A loop of one's own in C++, watched by Hangdog. Each line on standard input is a request: "slow" takes a
 * second, and is a hang. Type it, press Ctrl-D, and then: hangdog list
 *
 *   c++ -std=c++17 loop.cc $(pkg-config --cflags --libs hangdog) -o loop
 */
#include <chrono>
#include <cstdio>
#include <hangdog/hangdog.hpp>
#include <iostream>
#include <poll.h>
#include <string>
#include <thread>

static void handle(const std::string &request) {
    if (request == "slow") {
        std::this_thread::sleep_for(std::chrono::seconds(1));
    }
    std::cout << request << ": done" << std::endl;
}

int main() {
    hangdog::options options;
    options.set_thresholds(std::chrono::milliseconds(500));
    hangdog::session session(options);
    hangdog::loop loop("main");
    std::setvbuf(stdin, nullptr, _IONBF, 0); /* poll sees no line that is in a buffer */
    pollfd input{0, POLLIN, 0};
    for (std::string request;;) {
        loop.wait([&] { return poll(&input, 1, -1); });
        if (!std::getline(std::cin, request)) {
            return 0;
        }
        hangdog::label label(loop, request.c_str());
        handle(request);
    }
}
