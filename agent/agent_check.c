/* SPDX-License-Identifier: MIT
 *
 * hangdog agent --check.
 */
#include <errno.h>
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

/* `used`: for each rule, whether it has decided for a process. */
static void put_process(const struct rules *rules, bool *used, pid_t pid) {
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
        used[rule - rules->rule] = true;
    }
    printf("\n");
}

static void put_unused(const struct rules *rules, const bool *used) {
    for (size_t i = 0; i < rules->count; i++) {
        const struct rule *rule = &rules->rule[i], *first = rules_covering(rules, rule);
        if (first != NULL) {
            printf("line %u has no effect: line %u matches all of its processes\n", rule->line, first->line);
        } else if (!used[i]) {
            printf("line %u decides for no process now\n", rule->line);
        }
    }
}

int agent_check(const struct agent_options *options) {
    struct rules rules;
    struct problem why;
    struct processes processes = {0};
    if (!rules_read(options->rules, strcmp(options->rules, AGENT_RULES) == 0, &rules, &why)) {
        return error_print(&why);
    }
    bool *used = calloc(rules.count + 1, sizeof *used);
    int rc = used != NULL ? processes_scan(&processes, hd_os_now_ns(), nothing, NULL) : -ENOMEM;
    for (size_t i = 0; i < processes.count; i++) {
        if (processes.process[i].is == PROCESS_NEW && process_waits(processes.process[i].pid)) {
            put_process(&rules, used, processes.process[i].pid);
        }
    }
    if (rc == 0) {
        put_unused(&rules, used);
    }
    free(used);
    processes_free(&processes);
    rules_free(&rules);
    return rc == 0 ? error_check_stdout("the processes") : print_error("cannot list the processes");
}
