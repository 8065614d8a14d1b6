// SPDX-License-Identifier: MIT
//
// The shop: templates, lambdas, function pointers and locks. Each command is a bug. Two by other steps of one
// replay: undo, redo. Two by one function of zlib: open, close; two by one function of the shop that calls
// it: send, store. Two that wait for one lock: price, stock. usage: shop COMMAND
#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <numeric>
#include <shared_mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <zlib.h>

#include "../versions.h"

namespace shop {

volatile unsigned sink;
std::chrono::steady_clock::time_point deadline;

bool over() {
    return std::chrono::steady_clock::now() >= deadline;
}

struct Item {
    std::string name;
    unsigned number, price;
};

std::vector<Item> make_items(unsigned count) {
    std::vector<Item> items;
    for (unsigned i = 0; i < count; i++) {
        items.push_back({"item " + std::to_string(i * 7919 % count), i, i * 31 % 997});
    }
    return items;
}

#if VERSION >= 2
struct Wishes {
    std::vector<std::string> names;
    bool has(const std::string &name) const {
        return std::find(names.begin(), names.end(), name) != names.end();
    }
} wishes;
#endif

/* ---- templates and lambdas ---- */

template <typename Row> class Table {
  public:
    explicit Table(std::vector<Row> r) : rows(std::move(r)) {}
    template <typename Value, typename Get> Value total(Get get MORE) const {
        unsigned n = 0;
        USE(n);
        return std::accumulate(rows.begin(), rows.end(), Value(n),
                               [&get](Value sum, const Row &row) { return sum + get(row); });
    }

  private:
    std::vector<Row> rows;
};

void on_report() {
    Table<Item> table(make_items(2000));
    while (!over()) {
        sink = sink + table.total<unsigned>([](const Item &item) {
            unsigned tax = item.price;
            for (int year = 0; year < 60; year++) {
                tax = tax * 119 / 100 + unsigned(year);
            }
            return tax;
        } GIVE);
    }
}

template <typename Key> struct ByKey {
    Key key;
    bool operator()(const Item &a, const Item &b) const {
        unsigned x = 0, y = 0;
        for (int i = 0; i < 30; i++) {
            x = x * 17 + a.*key;
            y = y * 17 + b.*key;
        }
        return x < y;
    }
};

template <typename Key> void rank_items(std::vector<Item> &items, Key key MORE) {
    unsigned n = 0;
    USE(n);
    std::stable_sort(items.begin(), items.end(), ByKey<Key>{key});
    sink = sink + n + items[0].number;
}

void on_rank() {
    const std::vector<Item> all = make_items(800);
    while (!over()) {
        std::vector<Item> items = all;
        rank_items(items, &Item::price GIVE);
    }
}

/* A search that goes back: a recursion with a predicate. */
using Fits = bool (*)(const std::vector<unsigned> &, unsigned);

bool fits_box(const std::vector<unsigned> &box, unsigned size) {
    unsigned sum = size;
    for (int turn = 0; turn < 40; turn++) {
        for (unsigned other : box) {
            sum += other * unsigned(turn & 1);
        }
    }
    return sum % 3 != 0 || box.size() < 6;
}

bool pack_box(std::vector<unsigned> &box, unsigned left, Fits fits MORE) {
    unsigned n = left;
    USE(n);
    if (left == 0 || over()) {
        return n > 1000;
    }
    for (unsigned size = 1; size <= 3; size++) {
        if (fits(box, size)) {
            box.push_back(size);
            if (pack_box(box, left - 1, fits PASS)) {
                return true;
            }
            box.pop_back();
        }
    }
    return false;
}

void on_pack() {
    std::vector<unsigned> box;
    while (!over()) {
        sink = sink + pack_box(box, 9, fits_box GIVE);
    }
}

/* ---- function pointers: one replay, two kinds of steps ---- */

struct Step {
    void (*apply)(unsigned);
    unsigned argument;
};

void undo_step(unsigned n) {
    for (unsigned i = 0; i < 20000; i++) {
        n = n * 5 + i;
    }
    sink = sink ^ n;
}

void redo_step(unsigned n) {
    for (unsigned i = 0; i < 20000; i++) {
        n = (n << 3) ^ (n >> 5) ^ i;
    }
    sink = sink + n;
}

void apply_steps(const std::vector<Step> &steps MORE) {
    unsigned n = 0;
    USE(n);
    for (const Step &step : steps) {
        step.apply(step.argument + n);
    }
}

void replay_history(void (*apply)(unsigned)) {
    std::vector<Step> steps;
    for (unsigned i = 0; i < 50; i++) {
        steps.push_back({apply, i});
    }
    while (!over()) {
        apply_steps(steps GIVE);
    }
}

void on_undo() {
    replay_history(undo_step);
}

void on_redo() {
    replay_history(redo_step);
}

/* ---- one function of a library, from two places ---- */

std::vector<unsigned char> bytes_of_catalog() {
    std::vector<unsigned char> bytes(200000);
    unsigned n = 1;
    for (unsigned char &byte : bytes) {
        n = n * 1103515245 + 12345;
        byte = (unsigned char)(n >> 28);
    }
    return bytes;
}

void load_catalog(const std::vector<unsigned char> &bytes MORE) {
    std::vector<unsigned char> out(compressBound(bytes.size()));
    uLongf size = out.size();
    unsigned n = 0;
    USE(n);
    compress2(out.data(), &size, bytes.data(), bytes.size(), 9);
    sink = sink + n + unsigned(size);
}

void on_open() {
    const auto bytes = bytes_of_catalog();
    while (!over()) {
        load_catalog(bytes GIVE);
    }
}

void save_catalog(const std::vector<unsigned char> &bytes MORE) {
    std::vector<unsigned char> out(compressBound(bytes.size()) + 100);
    uLongf size = out.size();
    unsigned n = 1;
    USE(n);
    compress2(out.data(), &size, bytes.data(), bytes.size(), 9);
    sink = sink ^ (n * unsigned(size));
}

void on_close() {
    const auto bytes = bytes_of_catalog();
    while (!over()) {
        save_catalog(bytes GIVE);
    }
}

/* ---- one function of the shop, from two places ---- */

unsigned long squeeze(const std::vector<unsigned char> &bytes MORE) {
    std::vector<unsigned char> out(compressBound(bytes.size()));
    uLongf size = out.size();
    unsigned n = 8;
    USE(n);
    compress2(out.data(), &size, bytes.data(), bytes.size(), n % 2 == 0 ? 8 : 9);
    return size;
}

void send_order(const std::vector<unsigned char> &bytes) {
    while (!over()) {
        sink = sink + unsigned(squeeze(bytes GIVE));
    }
}

void on_send() {
    send_order(bytes_of_catalog());
}

void store_backup(const std::vector<unsigned char> &bytes) {
    for (unsigned n = 1; !over(); n++) {
        sink = sink ^ (n + unsigned(squeeze(bytes GIVE)));
    }
}

void on_store() {
    store_backup(bytes_of_catalog());
}

/* ---- locks: a mutex, whose owner is known, and one for readers and writers ---- */

class Stock {
  public:
    std::mutex lock;
    std::shared_mutex readers;
    std::unordered_map<unsigned, unsigned> count;
    volatile bool is_locked = false;
} stock;

unsigned count_boxes(unsigned seed MORE) {
    USE(seed);
    for (unsigned i = 0; i < 300; i++) {
        stock.count[i * seed % 4099] += i;
    }
    return seed + 1;
}

void take_inventory() {
    std::lock_guard<std::mutex> guard(stock.lock);
    stock.is_locked = true;
    for (unsigned seed = 1; !over();) {
        seed = count_boxes(seed GIVE);
    }
}

void merge_orders() {
    std::lock_guard<std::mutex> guard(stock.lock);
    std::vector<unsigned> orders(3000);
    stock.is_locked = true;
    for (unsigned round = 1; !over(); round++) {
        std::iota(orders.begin(), orders.end(), round);
        std::sort(orders.begin(), orders.end(), [round](unsigned a, unsigned b) {
            return (a * 2654435761u ^ round) < (b * 2654435761u ^ round);
        });
        sink = sink + orders[round % 3000];
    }
}

void read_price(unsigned number MORE) {
    USE(number);
    std::lock_guard<std::mutex> guard(stock.lock);
    sink = sink + stock.count[number];
}

void behind(void (*work)()) {
    std::thread worker(work);
    while (!stock.is_locked) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    read_price(7 GIVE);
    worker.join();
}

void on_price() {
    behind(take_inventory);
}

void on_stock() {
    behind(merge_orders);
}

void show_shelf(unsigned number MORE) {
    USE(number);
    std::shared_lock<std::shared_mutex> guard(stock.readers);
    sink = sink + stock.count[number];
}

void on_shelf() {
    std::thread worker([] {
        std::unique_lock<std::shared_mutex> guard(stock.readers);
        stock.is_locked = true;
        std::this_thread::sleep_for(std::chrono::milliseconds(BUG_MS));
    });
    while (!stock.is_locked) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    show_shelf(9 GIVE);
    worker.join();
}

const std::unordered_map<std::string, void (*)()> commands = {
    {"report", on_report}, {"rank", on_rank},   {"pack", on_pack},   {"undo", on_undo},
    {"redo", on_redo},     {"open", on_open},   {"close", on_close}, {"send", on_send},
    {"store", on_store},   {"price", on_price}, {"stock", on_stock}, {"shelf", on_shelf},
};

} // namespace shop

int main(int argc, char **argv) {
    auto command = shop::commands.find(argc > 1 ? argv[1] : "");
    if (command == shop::commands.end()) {
        return 2;
    }
#if VERSION >= 2
    shop::sink = shop::sink + shop::wishes.has(argv[1]);
#endif
    const int loop = epoll_create1(0), bell = eventfd(0, EFD_NONBLOCK);
    struct epoll_event event = {};
    event.events = EPOLLIN;
    epoll_ctl(loop, EPOLL_CTL_ADD, bell, &event);
    for (int turn = 0; turn < 18; turn++) {
        const uint64_t one = 1;
        uint64_t times;
        std::thread ringer([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
            shop::sink = shop::sink + unsigned(write(bell, &one, sizeof one));
        });
        epoll_wait(loop, &event, 1, -1);
        if (read(bell, &times, sizeof times) > 0 && turn == 12) {
            shop::deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(BUG_MS);
            command->second();
        }
        ringer.join();
    }
    return 0;
}
