# SPDX-License-Identifier: MIT
"""The agent's unit under a real systemd: it starts and watches with its few rights, reads its rules again, stops and starts again."""

import functools
import os
import re
import sys
import unittest

from support_run import BUILD, SANITIZER, main
from support_systemd import run_machine, why_no_machine

SHOP = """\
import asyncio, signal, time

async def serve():
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, time.sleep, 1.1)
    while True:
        await asyncio.sleep(0.05)

asyncio.run(serve())
"""
UNIT = "[Service]\nUser=www-data\nExecStart=/usr/bin/python3 /opt/shop.py\n"
SOON = "[Service]\nRestartSec=500ms\n"
SCRIPT = r"""
part() { printf '\n@@ %s\n' "$1"; }
# wait_for SECONDS COMMAND...
wait_for() { local n=$(($1 * 10)); shift; until "$@" >/dev/null 2>&1; do ((n-- > 0)) || return 1; sleep 0.1; done; }
state() { systemctl is-active hangdog-agent; systemctl show -p StatusText,NRestarts --value hangdog-agent; }
seen() { hangdog top --once | grep -E "^shop.py .* www-data .* shop.service"; }
not() { ! "$@"; }
hangs() { runuser -u www-data -- hangdog list 2>&1 | grep -E ' shop.py +hang +1\.'; }
main_pid() { systemctl show --value -p MainPID hangdog-agent; }

part start
systemctl start shop hangdog-agent
wait_for 20 seen
state
seen
# The first rules are known when it is ready.
grep -E '^(CapEff|NoNewPrivs|Seccomp):' "/proc/$(main_pid)/status"

part hang
for i in 1 2 3 4 5; do systemctl kill -s USR1 shop; sleep 1.5; wait_for 2 hangs && break; done
hangs
stat -c '%U %a' /var/lib/hangdog-agent/33/shop.py/*.json
hangdog show --spool /var/lib/hangdog-agent | grep -E 'hang of|shop.py:4|place'

part reload
first=$(main_pid)
mkdir -p /etc/hangdog
echo 'ignore unit=shop' >/etc/hangdog/agent.conf
systemctl reload hangdog-agent
wait_for 10 not seen && echo 'left out'
echo nonsense >/etc/hangdog/agent.conf
systemctl reload hangdog-agent
sleep 1
seen || echo 'still left out'
rm /etc/hangdog/agent.conf
systemctl reload hangdog-agent
wait_for 10 seen && echo 'watched again'
[ "$first" = "$(main_pid)" ] && echo 'the same process'

part killed
systemctl kill -s KILL --kill-who=main hangdog-agent
sleep 1
wait_for 20 seen
state

part stop
time systemctl stop hangdog-agent
systemctl show -p Result --value hangdog-agent
systemctl is-active shop
ls /run/hangdog-agent /var/lib/hangdog-agent/33
cd /var/lib/hangdog-agent && find . -name '*.json' | wc -l

part journal
journalctl -o cat -u hangdog-agent | grep hangdog:
"""


@functools.lru_cache
def parts():
    said = run_machine(SCRIPT, {"/opt/shop.py": SHOP, "/etc/systemd/system/shop.service": UNIT,
                                "/etc/systemd/system/hangdog-agent.service.d/soon.conf": SOON})
    return dict(re.findall(r"^@@ (\w+)\n(.*?)(?=^@@ |\Z)", said, re.MULTILINE | re.DOTALL))


@unittest.skipIf(SANITIZER, "the release watches real programs")
@unittest.skipIf(why_no_machine(), why_no_machine())
class AgentUnit(unittest.TestCase):
    maxDiff = None

    def assert_lines(self, part, *patterns):
        """In this order."""
        said = parts()[part]
        self.assertRegex(said, re.compile(".*".join("^%s$" % pattern for pattern in patterns), re.MULTILINE | re.DOTALL), said)

    def test_it_starts_with_its_rights_only(self):
        self.assert_lines("start", "active", r"watches \d+ programs \(\w+\)", "0", r"shop\.py .*", r"CapEff:\s+000000c000080005", r"NoNewPrivs:\s+1",
                          r"Seccomp:\s+2")

    def test_it_reports_a_hang_to_the_services_user(self):
        self.assert_lines("hang", r".* shop\.py +hang +1\.\d s .*", "www-data 600", r".*hang of 1\.\d s .*", r".* shop\.service .*")
        self.assertRegex(parts()["journal"], r"(?m)^hangdog: hang of 1\.\d s, shop\.py\[\d+\]; more: hangdog show \w+$")

    def test_it_reads_its_rules_again(self):
        self.assert_lines("reload", "left out", "still left out", "watched again", "the same process")
        self.assertIn("agent.conf: line 1: want 'watch' or 'ignore', not 'nonsense'", parts()["journal"])

    def test_it_starts_again_and_stops(self):
        self.assert_lines("killed", "active", r"watches \d+ programs \(\w+\)", "1")
        self.assert_lines("stop", r"real\s+0m[0-4]\..*", "success", "active", "ls: cannot access '/run/hangdog-agent': No such file or directory", r"[1-9]\d*")


if __name__ == "__main__":
    if not os.path.exists(os.path.join(BUILD, "libexec/hangdog/hangdog-agent")):
        sys.exit(77)
    main()
