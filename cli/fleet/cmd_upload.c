/* SPDX-License-Identifier: MIT
 *
 * hangdog upload: the options of the uploader. `uploader/` does the work.
 */
#include "cli/base/duration.h"
#include "cli/base/options.h"
#include "cli/commands.h"
#include "cli/fleet/fleet.h"
#include "cli/fleet/send_options.h"

#include <stddef.h>

static int cmd_upload(int argc, char **argv);

#define TO(member) .to = offsetof(struct upload_options, member)

static const struct command_option upload_options[] = {
    OPTION_TO(upload_options),
    OPTION_KEY(upload_options, "sending"),
    OPTION_SPOOL(upload_options),
    {.name = "keep",
     .kind = OPTION_FLAG,
     TO(keep),
     .help = "leave the reports in the spool",
     .more = "The collector stores a report once, however often it comes."},
    {.name = "watch", .kind = OPTION_FLAG, TO(watch), .help = "stay, and send each new report"},
    {.name = "every",
     .kind = OPTION_DURATION,
     TO(every),
     .value = "TIME",
     .min = DURATION_S,
     .max = DURATION_D,
     .help = "look into the spool so often, with --watch (30s)"},
    OPTION_RETRIES(upload_options, ""),
    OPTION_CA(upload_options, ""),
    {.name = "metered",
     .kind = OPTION_FLAG,
     TO(metered),
     .help = "send on a metered network, too",
     .more = "NetworkManager says what the network is. Without it nothing is known, and reports go out."},
    {.name = "wifi-only", .kind = OPTION_FLAG, TO(wifi_only), .help = "send by Wi-Fi or a cable only"},
    {.name = "daily-bytes",
     .kind = OPTION_COUNT,
     TO(daily_bytes),
     .value = "N",
     .min = 1024,
     .max = INT64_C(1) << 40,
     .help = "send at most N bytes a day",
     .more = "Of compressed bodies; a day is one of UTC. The rest stays in the spool until the next day."},
    {.name = "no-symbols",
     .kind = OPTION_FLAG,
     TO(no_symbols),
     .help = "send modules and offsets in place of functions"},
    {0},
};

const struct command command_upload = {
    .name = "upload",
    .group = "Fleet",
    .about = "Send the reports of this machine to a collector",
    .usage = "--to URL [OPTIONS]",
    .example = {{"upload --to https://example.org", "HANGDOG_KEY has the key"},
                {"upload --to http://[::1]:8437 --keep", "leave them in the spool"},
                {"upload --to https://example.org --watch", "as a service"}},
    .description =
        "The reports go out in compressed batches. A report leaves the spool only after the collector has acknowledged "
        "it. Names of functions are looked up before, for the debug information is here.\n\n"
        "A report that the collector refuses stays in the spool, and an error says why. --watch sends it again when the "
        "collector says, else after a day. A hang that lasts is sent once it has ended.\n\n",
    .environment = "HANGDOG_COLLECTOR\tthe same as --to\n"
                   "HANGDOG_KEY\tthe same as --key: other users do not see it in the list of processes\n",
    .deep = true,
    .options = upload_options,
    .run = cmd_upload,
};

static int cmd_upload(int argc, char **argv) {
    struct upload_options o = {0};
    return fleet_check_and_start(&command_upload, &o, "hangdog-upload", argc, argv);
}
