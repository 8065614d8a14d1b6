/* SPDX-License-Identifier: MIT
 *
 * hangdog agent --check.
 */
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "cli/base/agent_places.h"
#include "cli/base/error.h"
#include "cli/base/proc.h"
#include "cli/base/sanitize.h"
#include "cli/live/process.h"
#include "os/os.h"

static void nothing(void *arg, struct host_process *of) {
    (void)arg;
    (void)of;
}

static void put_process(const struct rules *rules, pid_t pid) {
    char name[64];
    struct hd_origin origin;
    uid_t user = (uid_t)proc_number(pid, "Uid:", 10);
    live_process_name(pid, name, sizeof name);
    outside_origin(pid, false, &origin);
    const struct rule_facts facts = {name,         origin.unit, origin.container_id, origin.container_name,
                                     origin.image, user};
    const struct rule *rule = rules_find(rules, &facts);
    const char *container = origin.container_name[0] != '\0' ? origin.container_name : origin.container_id;
    printf("%-6s %7d  ", rules_watch(rule, name) ? "watch" : "ignore", (int)pid);
    sanitize_print(stdout, name);
    printf("  uid %u", (unsigned)user);
    if (origin.unit[0] != '\0') {
        printf("  ");
        sanitize_print(stdout, origin.unit);
    }
    if (container[0] != '\0') {
        printf("  container ");
        sanitize_print(stdout, container);
    }
    if (rule != NULL) {
        printf("  by line %u", rule->line);
    }
    printf("\n");
}

int agent_check(const struct agent_options *options) {
    struct rules rules;
    struct problem why;
    struct processes processes = {0};
    if (!rules_read(options->rules, strcmp(options->rules, AGENT_RULES) == 0, &rules, &why)) {
        return error_print(&why);
    }
    int rc = processes_scan(&processes, hd_os_now_ns(), nothing, NULL);
    for (size_t i = 0; i < processes.count; i++) {
        if (processes.process[i].is == PROCESS_NEW && process_waits(processes.process[i].pid)) {
            put_process(&rules, processes.process[i].pid);
        }
    }
    processes_free(&processes);
    rules_free(&rules);
    return rc == 0 ? error_check_stdout("the processes") : print_error("cannot list the processes");
}
