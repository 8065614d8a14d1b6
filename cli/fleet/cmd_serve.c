/* SPDX-License-Identifier: MIT
 *
 * hangdog serve: the options of the collector. `collector/` does the work.
 */
#include "cli/base/duration.h"
#include "cli/base/options.h"
#include "cli/commands.h"
#include "cli/fleet/fleet.h"

#include <stddef.h>

static int cmd_serve(int argc, char **argv);

#define TO(member) .to = offsetof(struct serve_options, member)

static const struct command_option serve_options[] = {
    {.name = "listen",
     .kind = OPTION_TEXT,
     TO(listen),
     .value = "ADDR:PORT",
     .help = "where to listen (127.0.0.1:8437)",
     .more =
         "An IPv6 address stands in brackets: [::1]:8437. :8437 is each address of this machine, localhost:8437 its own "
         "only. Beyond this machine, use TLS: --tls-cert, or a proxy in front."},
    {.name = "store",
     .kind = OPTION_TEXT,
     TO(store),
     .value = "URL",
     .help = "keep the reports in this SQLite file, or in ClickHouse",
     .more =
         "Without it: hangdog/collector.db below $STATE_DIRECTORY, $XDG_DATA_HOME or ~/.local/share. A file may "
         "also be written as sqlite:FILE. clickhouse://HOST:PORT,HOST:PORT/DATABASE?cluster=NAME names ClickHouse: "
         "a host of each shard, by its port of HTTP.",
     .completion = COMPLETE_FILE},
    {.name = "state",
     .kind = OPTION_TEXT,
     TO(state),
     .value = "URL",
     .help = "keep keys, settings and notes in a file or PostgreSQL",
     .more =
         "For a store in ClickHouse. Several collectors share postgresql://USER@HOST/DATABASE; its password stands "
         "in ~/.pgpass. Without it: the file that --store has when it is not given.",
     .completion = COMPLETE_FILE},
    {.name = "retention",
     .kind = OPTION_COUNT,
     TO(retention),
     .value = "DAYS",
     .max = 36500,
     .help = "remove reports after so many days (90; 0: never)",
     .more =
         "The store keeps the number: later starts need not say it again. A clock that jumps by more than a day "
         "removes nothing until it has stayed for a day. A minute removes a sixtieth of the store at most."},
    {.name = "limit",
     .kind = OPTION_COUNT,
     TO(limit),
     .value = "MIB",
     .max = 1 << 24,
     .help = "let the store take so many MiB (0: no limit)",
     .more = "A full store refuses reports with status 507; programs keep them and send them later."},
    {.name = "rate",
     .kind = OPTION_COUNT,
     TO(rate),
     .value = "N",
     .min = 1,
     .max = 1000000,
     .help = "take N reports a second from one key (5000)",
     .more = "In place of the store's setting, which the page of settings changes."},
    {.name = "regroup",
     .kind = OPTION_FLAG,
     TO(regroup),
     .help = "group all reports again by the present rule, and end",
     .more =
         "A collector may run meanwhile. The next start with this option continues one that was stopped."},
    {.name = "tls-cert",
     .kind = OPTION_TEXT,
     TO(tls_cert),
     .value = "FILE",
     .help = "take TLS only, with this certificate",
     .more =
         "A PEM file: the server's certificate first, then those that signed it. SIGHUP reads it again: connections "
         "from then on have the new one.",
     .completion = COMPLETE_FILE},
    {.name = "tls-key",
     .kind = OPTION_TEXT,
     TO(tls_key),
     .value = "FILE",
     .help = "the certificate's private key",
     .completion = COMPLETE_FILE},
    {.name = "log",
     .kind = OPTION_TEXT,
     TO(log),
     .value = "FORM",
     .words = "text|json",
     .help = "write a line for each request to stderr",
     .more = "No key is in it. Without it stderr has problems only."},
    {.name = "connections",
     .kind = OPTION_COUNT,
     TO(connections),
     .value = "N",
     .min = 4,
     .max = 100000,
     .help = "have N connections at once (2000)",
     .more =
         "With seven eighths of them the one that has waited longest without a whole head is cut for a new one. Where all "
         "are at work, others wait until one ends."},
    {.name = "per-address",
     .kind = OPTION_COUNT,
     TO(per_address),
     .value = "N",
     .max = 100000,
     .help = "have N connections from one address (100; 0: all)",
     .more =
         "With one more the address loses the one that has waited longest without a whole head. Behind a proxy all come "
         "from its address: use 0 there, and let the proxy limit them. Of IPv6 a network of 64 bits is one address."},
    {.name = "patience",
     .kind = OPTION_DURATION,
     TO(patience),
     .value = "TIME",
     .min = DURATION_S,
     .max = DURATION_D,
     .help = "wait so long for a request's head (30s)",
     .more = "Then the connection is closed, also where a byte came now and then. A body may take a minute."},
    {.name = "new-key",
     .kind = OPTION_TEXT,
     TO(new_key),
     .value = "USE",
     .help = "make a key (send:APP, send, read, admin) and end",
     .more =
         "It prints the key this once. A key made by send:APP sends reports of that app only, one made by send "
         "those of any app. A key for administering reads, too."},
    {.name = "keys", .kind = OPTION_FLAG, TO(keys), .help = "list the keys, and end"},
    {.name = "revoke",
     .kind = OPTION_COUNT,
     TO(revoke),
     .value = "KEY",
     .min = 1,
     .max = INT32_MAX,
     .help = "remove the key with this number, and end",
     .more = "A collector that runs notices it within a second."},
    {0},
};

const struct command command_serve = {
    .name = "serve",
    .group = "Fleet",
    .about = "Collect the reports of many machines, and show them on a page",
    .usage = "[OPTIONS]",
    .example = {{"serve", "prints the page's address"},
                {"serve --tls-cert c.pem --tls-key k.pem", "the same by TLS"},
                {"serve --new-key send:shop", "a key for the app shop"}},
    .description =
        "The collector takes reports from hangdog upload, stores them in a SQLite file or in ClickHouse, groups those of one bug, and serves a "
        "page of them. A report is acknowledged once it is on disk. The same report sent twice is stored once.\n\n"
        "The first start makes three keys and prints them: one sends, one reads, one administers and reads. Where stdout is no terminal, as "
        "in a service, it writes them into $STATE_DIRECTORY/first-keys, else into STORE.first-keys, for the owner only. The store has "
        "their hashes only, so no later start can print them again.\n\n"
        "SIGTERM and SIGINT end it: it takes no more, and answers what has begun to come, for ten seconds at most.\n\n"
        "GET /healthz says whether it works, GET /metrics has figures for Prometheus.\n\n",
    .environment = "STATE_DIRECTORY\tthe default store is collector.db in this folder: systemd sets it\n"
                   "XDG_DATA_HOME\telse the default store is hangdog/collector.db in this folder\n"
                   "HOME\telse it is .local/share/hangdog/collector.db in this folder\n",
    .no_spool = true,
    .options = serve_options,
    .run = cmd_serve,
};

static int cmd_serve(int argc, char **argv) {
    struct serve_options o = {.retention = -1};
    return fleet_check_and_start(&command_serve, &o, "hangdog-serve", argc, argv);
}
