// SPDX-License-Identifier: MIT
//
// The viewer: a C++ program with templates, lambdas, virtual functions and the standard library. usage:
// viewer EVENT
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "versions.h"

namespace {

volatile unsigned sink;
std::chrono::steady_clock::time_point deadline;

bool over() {
    return std::chrono::steady_clock::now() >= deadline;
}

#if VERSION >= 2
struct Recent {
    std::vector<std::string> names;
    void add(const std::string &name) { names.push_back(name); }
} recent;
#endif

template <typename Pixel> class Scaler {
  public:
    explicit Scaler(size_t n) : pixels(n, Pixel(3)) {}
    void scale(unsigned factor MORE) {
        unsigned n = factor;
        USE(n);
        for (size_t i = 0; i < pixels.size(); i++) {
            pixels[i] = sample(i * n % pixels.size());
        }
        sink = sink + unsigned(pixels[1]);
    }

  private:
    Pixel sample(size_t at) const {
        Pixel sum = 0;
        for (size_t i = 0; i < 8; i++) {
            sum += pixels[(at + i) % pixels.size()] * Pixel(i);
        }
        return sum;
    }
    std::vector<Pixel> pixels;
};

void on_zoom() {
    Scaler<float> scaler(20000);
    while (!over()) {
        scaler.scale(7 GIVE);
    }
}

struct Photo {
    std::string name;
    unsigned date;
};

void arrange(std::vector<Photo> &photos MORE) {
    unsigned n = 1;
    USE(n);
    std::sort(photos.begin(), photos.end(), [n](const Photo &a, const Photo &b) {
        unsigned x = n, y = n;
        for (int i = 0; i < 50; i++) {
            x = x * 31 + a.date + unsigned(i);
            y = y * 31 + b.date + unsigned(i);
        }
        return x < y;
    });
}

void on_arrange() {
    for (unsigned round = 0; !over(); round++) {
        std::vector<Photo> photos;
        for (unsigned i = 0; i < 500; i++) {
            photos.push_back({"photo", i * 7919 + round});
        }
        arrange(photos GIVE);
    }
}

struct Folder {
    std::vector<std::unique_ptr<Folder>> folders;
    unsigned photos = 5;
};

std::unique_ptr<Folder> make_folders(int depth) {
    auto folder = std::make_unique<Folder>();
    for (int i = 0; depth > 0 && i < 3; i++) {
        folder->folders.push_back(make_folders(depth - 1));
    }
    return folder;
}

void visit(const Folder &folder, const std::function<void(const Folder &)> &call) {
    call(folder);
    for (const auto &inner : folder.folders) {
        visit(*inner, call);
    }
}

void on_tag() {
    auto root = make_folders(5);
    while (!over()) {
        visit(*root, [](const Folder &folder) {
            unsigned n = folder.photos;
            for (int i = 0; i < 5000; i++) {
                n = n * 1664525 + 1013904223;
            }
            sink = sink + n;
        });
    }
}

void find_dates(const std::string &text MORE) {
    static const std::regex date("([0-9]+[a-z]*)+-([0-9]+)x");
    unsigned n = 0;
    USE(n);
    std::smatch match;
    n += std::regex_search(text, match, date);
    sink = sink + n;
}

void on_find() {
    const std::string text = "photos of 2026a12b31 and of 2025-12-24 and of 20260131";
    while (!over()) {
        find_dates(text GIVE);
    }
}

class Effect {
  public:
    virtual ~Effect() = default;
    void apply(std::vector<unsigned> &image) {
        while (!over()) {
            run(image);
        }
    }

  protected:
    virtual void run(std::vector<unsigned> &image) = 0;
};

class Blur : public Effect {
    void run(std::vector<unsigned> &image) override {
        for (size_t i = 2; i + 2 < image.size(); i++) {
            image[i] = kernel(&image[i]);
        }
    }
    unsigned kernel(const unsigned *at) const {
        unsigned sum = 0;
        for (int i = -2; i <= 2; i++) {
            sum += at[i] / (unsigned(i + 3));
        }
        return sum;
    }
};

void on_blur() {
    std::vector<unsigned> image(20000, 77);
    std::unique_ptr<Effect> effect = std::make_unique<Blur>();
    effect->apply(image);
    sink = sink + image[100];
}

class Cache {
  public:
    unsigned get(unsigned key MORE) {
        USE(key);
        std::lock_guard<std::mutex> guard(lock);
        return thumbs[key];
    }
    void rebuild() {
        std::lock_guard<std::mutex> guard(lock);
        started = true;
        while (!over()) {
            shrink_thumbs();
        }
    }
    std::atomic<bool> started{false};

  private:
    void shrink_thumbs() {
        for (unsigned i = 0; i < 500; i++) {
            thumbs[i * 31 % 499] += i;
        }
    }
    std::mutex lock;
    std::map<unsigned, unsigned> thumbs;
};

void on_thumb() {
    static Cache cache;
    std::thread worker([] { cache.rebuild(); });
    while (!cache.started) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    sink = sink + cache.get(7 GIVE);
    worker.join();
}

unsigned fetch_album(unsigned n MORE) {
    USE(n);
    auto album = std::async(std::launch::async, [n] {
        std::this_thread::sleep_for(std::chrono::milliseconds(BUG_MS));
        return n;
    });
    return album.get();
}

void on_album() {
    sink = sink + fetch_album(4 GIVE);
}

const std::map<std::string, void (*)()> handlers = {
    {"zoom", on_zoom}, {"arrange", on_arrange}, {"tag", on_tag},     {"find", on_find},
    {"blur", on_blur}, {"thumb", on_thumb},     {"album", on_album},
};

} // namespace

int main(int argc, char **argv) {
    auto handler = handlers.find(argc > 1 ? argv[1] : "");
    if (handler == handlers.end()) {
        return 2;
    }
#if VERSION >= 2
    recent.add(argv[1]);
#endif
    struct pollfd timer = {timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK), POLLIN, 0};
    for (int turn = 0; turn < 18; turn++) {
        const struct itimerspec when = {{0, 0}, {0, 10000000}};
        uint64_t times;
        timerfd_settime(timer.fd, 0, &when, nullptr);
        poll(&timer, 1, -1);
        if (read(timer.fd, &times, sizeof times) > 0 && turn == 12) {
            deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(BUG_MS);
            handler->second();
        }
    }
}
