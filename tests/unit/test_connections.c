/* SPDX-License-Identifier: MIT
 *
 * Which connection goes where there are too many, and how much the clients may leave unread.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "collector/base/monotonic.h"
#include "collector/http/connections.h"

#define MIB ((size_t)1 << 20)

struct client {
    int end[2]; /* ours is the first */
    struct connection *c;
};

static void open_client(struct connections *all, struct client *client, const char *from) {
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    const struct sockaddr *at = inet_pton(AF_INET, from, &v4.sin_addr) == 1
                                    ? (const struct sockaddr *)(const void *)&v4
                                    : (const struct sockaddr *)(const void *)&v6;
    assert_true(v4.sin_addr.s_addr != 0 || inet_pton(AF_INET6, from, &v6.sin6_addr) == 1);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, client->end), 0);
    client->c = connection_begin(all, client->end[0], at);
    assert_non_null(client->c);
}

static bool is_cut(const struct client *client) {
    char byte;
    return recv(client->end[1], &byte, 1, 0) == 0;
}

static void end_clients(struct client *clients, int count) {
    for (int i = 0; i < count; i++) {
        connection_end(clients[i].c);
        close(clients[i].end[0]);
        close(clients[i].end[1]);
    }
}

static struct connections *start(long all, long per_address) {
    struct connections *c = connections_start(
        &(struct connection_limits){.patience_ns = 60 * MONOTONIC_S, .all = all, .per_address = per_address});
    assert_non_null(c);
    return c;
}

static void an_address_loses_its_longest_waiting(void **state) {
    struct connections *all = start(100, 3);
    struct client c[8];
    (void)state;
    for (int i = 0; i < 3; i++) {
        open_client(all, &c[i], "192.0.2.1");
    }
    connection_set(c[0].c, CONNECTION_SENDS); /* a request: the next one waits for longer */
    open_client(all, &c[3], "192.0.2.1");
    open_client(all, &c[4], "192.0.2.2");
    open_client(all, &c[5], "::ffff:192.0.2.1"); /* the same as IPv6 has it */
    const bool want[] = {false, true, true, false, false, false};
    for (int i = 0; i < 6; i++) {
        assert_int_equal(is_cut(&c[i]), want[i]);
    }
    connection_set(c[3].c, CONNECTION_SERVED);
    connection_set(c[5].c, CONNECTION_ANSWERED);
    open_client(all, &c[6], "192.0.2.1"); /* none of them waits but the new one */
    assert_true(is_cut(&c[6]));
    connection_set(c[0].c, CONNECTION_WAITS);
    open_client(all, &c[7], "192.0.2.1");
    assert_true(is_cut(&c[0]));
    assert_false(is_cut(&c[7]));
    assert_int_equal(connections_cut(all), 4);
    assert_int_equal(connections_at_work(all), 2);
    end_clients(c, 8);
    connections_stop(all);
}

static void a_network_of_ipv6_is_one_address(void **state) {
    struct connections *all = start(100, 1);
    struct client c[3];
    (void)state;
    open_client(all, &c[0], "2001:db8::1");
    open_client(all, &c[1], "2001:db8::ffff:1:2");
    open_client(all, &c[2], "2001:db8:0:1::1");
    assert_true(is_cut(&c[0]));
    assert_false(is_cut(&c[1]));
    assert_false(is_cut(&c[2]));
    end_clients(c, 3);
    connections_stop(all);
}

static void the_longest_waiting_of_all_goes_before_the_limit(void **state) {
    struct connections *all = start(8, 0);
    struct client c[12];
    (void)state;
    for (int i = 0; i < 7; i++) {
        open_client(all, &c[i], "192.0.2.1");
        assert_false(is_cut(&c[i]));
    }
    connection_set(c[0].c, CONNECTION_SERVED);
    for (int i = 7; i < 12; i++) {
        open_client(all, &c[i], "192.0.2.9");
        assert_true(is_cut(&c[i - 6]));
    }
    assert_false(is_cut(&c[0]));
    assert_false(is_cut(&c[11]));
    end_clients(c, 12);
    connections_stop(all);
}

static void unread_answers_have_a_bound(void **state) {
    struct connections *all = start(8, 0);
    (void)state;
    assert_true(connections_take_answer(all, 1 << 30)); /* one alone is sent, whatever its size */
    assert_true(connections_take_answer(all, 1000));
    assert_false(connections_take_answer(all, MIB));
    connections_end_answer(all, 1 << 30);
    for (size_t i = 0; i < CONNECTIONS_ANSWERS_MAX / (8 * MIB); i++) {
        assert_true(connections_take_answer(all, 8 * MIB));
    }
    assert_false(connections_take_answer(all, 8 * MIB));
    connections_end_answer(all, 8 * MIB);
    assert_true(connections_take_answer(all, 8 * MIB));
    connections_stop(all);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_loses_its_longest_waiting),
        cmocka_unit_test(a_network_of_ipv6_is_one_address),
        cmocka_unit_test(the_longest_waiting_of_all_goes_before_the_limit),
        cmocka_unit_test(unread_answers_have_a_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
