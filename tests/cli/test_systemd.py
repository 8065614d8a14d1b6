# SPDX-License-Identifier: MIT
"""Services of Debian and our own under a real systemd: each by the drop-in that `hangdog doctor` prints, and redis by the README."""

import functools
import pathlib
import re
import shutil
import unittest

from support_run import SANITIZER, SOURCE, main
from support_systemd import run_machine, why_no_machine
from test_readme import blocks

OTHER = """\
import asyncio, signal, time

async def serve():
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, time.sleep, 1.1)
    while True:
        await asyncio.sleep(0.05)

asyncio.run(serve())
"""
LOG = """\
server { listen 127.0.0.1:8088; access_log /run/log.fifo; location / { return 200 "ok"; } }
"""
FUNCTIONS = r"""
sudo() { "$@"; }
part() { printf '\n@@ %s\n' "$1"; }
# wait_for SECONDS COMMAND...
wait_for() { local n=$(($1 * 10)); shift; until "$@" >/dev/null 2>&1; do ((n-- > 0)) || return 1; sleep 0.1; done; }
hangs() { hangdog list --spool "/var/lib/hangdog/$1" 2>&1 | grep -E ' hang +1\.'; }
watch() {
    hangdog doctor --unit "$1" --drop-in >/tmp/hangdog.conf || return
    install -D -m 644 /tmp/hangdog.conf "/etc/systemd/system/$1.service.d/hangdog.conf"
    systemctl daemon-reload
    systemctl restart "$1"
}
folder() { stat -L -c '%U %F' "/var/lib/hangdog/$1"; }
state() { systemctl is-active "$1"; systemctl show --value -p NRestarts "$1"; }
"""
REDIS = r"""
part redis
%s
wait_for 10 redis-cli PING
state redis-server
readlink "/proc/$(systemctl show --value -p MainPID redis-server)/exe"
redis-cli DEBUG SLEEP 1.2
wait_for 10 hangs redis-server
%s
folder redis-server
hangdog doctor --unit redis-server | grep '^ok *watch'
mkdir -p /tmp/tree/build /tmp/tree/scripts
echo /usr/local/bin/hangdog >/tmp/tree/build/installed.txt
cp "%s/scripts/uninstall" /tmp/tree/scripts
/tmp/tree/scripts/uninstall || ls /usr/local/bin/hangdog
"""
NGINX = r"""
part nginx
mkfifo /run/log.fifo
(exec 3</run/log.fifo; while [ ! -e /run/full ]; do sleep 0.1; done; sleep 1.2; cat <&3 >/dev/null) &
hangdog doctor --unit nginx --drop-in
systemctl start nginx
watch nginx
state nginx
for i in 1 2 3; do curl -s http://127.0.0.1:8088/; sleep 0.2; done
path=$(printf '%03000d' 0)
for i in $(seq 40); do curl -s -m 0.3 "http://127.0.0.1:8088/$path" || { touch /run/full; break; }; done
wait_for 20 hangs nginx
hangs nginx
folder nginx
"""
POSTGRES = r"""
part postgres
unit=postgresql@$(cd /etc/postgresql && echo */* | cut -d' ' -f1 | tr / -)
hangdog doctor --unit postgresql | grep '^fail'
watch "$unit"
state "$unit"
query() { (echo 'select 1;'; sleep 0.3; echo 'select 2;'; sleep 0.3; echo "do \$\$ declare t timestamptz := clock_timestamp();
    begin while clock_timestamp() < t + interval '1.2 s' loop null; end loop; end \$\$;"; sleep 0.3) | runuser -u postgres -- psql -q -h /var/run/postgresql; }
query >/dev/null
wait_for 20 hangs "$unit"
hangs "$unit"
systemctl stop "$unit"
systemctl is-failed "$unit"
"""
# After redis: both start later, and nothing of redis' changes.
OTHERS = r"""
part others
for name in one two; do
    printf '[Service]\nExecStart=/usr/bin/python3 /opt/other.py\n' >/etc/systemd/system/$name.service
done
cat >/etc/systemd/system/later.service <<'UNIT'
[Service]
ExecStart=/usr/bin/python3 -c "import os, time; time.sleep(1.5); os.setuid(33); time.sleep(60)"
UNIT
echo User=www-data >>/etc/systemd/system/one.service
echo DynamicUser=yes >>/etc/systemd/system/two.service
systemctl daemon-reload
systemctl start later
hangdog doctor --unit later --drop-in | grep '^ExecStartPre'
watch one
watch two
sleep 1
hang() { systemctl kill -s USR1 "$1"; sleep 2; hangs "$1"; }
for i in 1 2 3; do hang one && break; done
for i in 1 2 3; do hang two && break; done
folder redis-server
folder one
stat -c '%U %a %F' /var/lib/hangdog
runuser -u www-data -- sh -c 'cat /var/lib/hangdog/redis-server/*.json' 2>&1 | grep -c 'Permission denied'
rm /var/lib/hangdog/redis-server/*.json
redis-cli DEBUG SLEEP 1.2
wait_for 10 hangs redis-server
hangs redis-server
systemctl stop one two
"""
FLEET = r"""
part fleet
reports() { find /var/lib/hangdog/ /var/lib/private/hangdog/ -name '*.json' | wc -l; }
systemctl start hangdog-serve
store=/var/lib/hangdog-collector/collector.db
wait_for 20 test -s $store
mkdir -p /etc/hangdog
key() { hangdog serve --new-key "$1" --store $store 2>&1 | grep -oE 'hd[a-z]_[0-9a-f]+' | tail -n 1; }
printf 'HANGDOG_COLLECTOR=http://127.0.0.1:8437\nHANGDOG_KEY=%s\n' "$(key send)" >/etc/hangdog/upload.env
read_key=$(key read)
systemctl restart hangdog-serve
echo "before: $(reports)"
systemctl start hangdog-upload
empty() { [ "$(reports)" = 0 ]; }
wait_for 30 empty
echo "left: $(reports)"
groups() { curl -s -H "Authorization: Bearer $read_key" 'http://127.0.0.1:8437/api/v1/groups?app=redis-server' | head -c 200; }
groups
systemctl restart hangdog-upload hangdog-serve
wait_for 20 curl -s http://127.0.0.1:8437/healthz
echo
groups
echo
state hangdog-serve
state hangdog-upload
folder redis-server
nsenter -t "$(systemctl show --value -p MainPID hangdog-upload)" -m sh -c 'cat /var/lib/private/hangdog-collector/*' 2>&1
journalctl -u hangdog-serve -u hangdog-upload | grep -E 'migrating|previously had|cannot'
echo "first keys: $(grep -cE 'hd[sra]_' /var/lib/hangdog-collector/first-keys) $(stat -L -c %a /var/lib/hangdog-collector/first-keys)"
echo "keys in the journal: $(journalctl -u hangdog-serve | grep -cE 'hd[sra]_')"
journalctl -o cat -u hangdog-serve | grep 'first keys'
"""
# Backup, restore and encryption as docs/operate.md has them.
OPERATE = r"""
part operate
store=/var/lib/private/hangdog-collector/collector.db
{backup}
stat -c 'backup %a' /var/backups/hangdog.db
{restore}
wait_for 20 curl -sf http://127.0.0.1:8437/healthz
groups
echo
drop_in=/etc/systemd/system/hangdog-serve.service.d
mkdir -p /etc/ssl/private $drop_in
openssl req -x509 -newkey rsa:2048 -nodes -keyout /etc/ssl/private/hangs.example.org.key -out /etc/ssl/hangs.example.org.pem -days 2 \
    -subj /CN=localhost -addext subjectAltName=DNS:localhost 2>/dev/null
cat >$drop_in/override.conf <<'UNIT'
{encryption}
UNIT
systemctl daemon-reload
systemctl restart hangdog-serve
wait_for 20 curl -sf --cacert /etc/ssl/hangs.example.org.pem https://localhost:8437/healthz && echo 'by TLS'
rm -r $drop_in
systemctl daemon-reload
systemctl restart hangdog-serve
"""
JOURNAL = r"""
part journal
chown -R www-data /var/lib/hangdog/redis-server
chmod 700 /var/lib/hangdog/redis-server
for i in 1 2; do redis-cli DEBUG SLEEP 1; sleep 0.5; done
chown -R root /var/lib/hangdog/nginx
systemctl stop nginx
sleep 1
journalctl -o cat -t hangdog
"""


def operate():
    """Empty where a program of the page is missing."""
    page = (pathlib.Path(SOURCE) / "docs/operate.md").read_text()
    backup, restore = re.findall(r"(?s)```sh\n(.*?)```", page[page.index("## Backup"):page.index("## Upgrade")])
    (encryption,) = re.findall(r"(?s)```ini\n(.*?)```", page)
    return OPERATE.format(backup=backup, restore=restore, encryption=encryption) if shutil.which("sqlite3") and shutil.which("openssl") else ""


@functools.lru_cache
def parts():
    """What each part of the script printed; a part whose program is not installed is left out."""
    (recipe,) = [block for block in blocks("sh") if "doctor --unit redis-server" in block]
    lines = recipe.splitlines()
    files = {"/etc/nginx/conf.d/test.conf": LOG, "/opt/other.py": OTHER}
    script = FUNCTIONS
    if shutil.which("redis-server"):
        config = pathlib.Path("/etc/redis/redis.conf")
        files[str(config)] = config.read_text() + "\nenable-debug-command yes\nsave \"\"\n"
        script += REDIS % ("\n".join(lines[:-1]), lines[-1], SOURCE)
    if shutil.which("nginx", path="/usr/sbin"):
        script += NGINX
    if list(pathlib.Path("/etc/postgresql").glob("*/*/postgresql.conf")):
        script += POSTGRES
    if shutil.which("redis-server"):
        script += OTHERS + FLEET + operate() + JOURNAL
    said = run_machine(script, files)
    return dict(re.findall(r"^@@ (\w+)\n(.*?)(?=^@@ |\Z)", said, re.MULTILINE | re.DOTALL))


@unittest.skipIf(SANITIZER, "the services have no sanitizer's runtime")
@unittest.skipIf(why_no_machine(), why_no_machine())
class Systemd(unittest.TestCase):
    def part(self, name):
        said = parts().get(name)
        if said is None:
            self.skipTest("its program is not installed: scripts/install-dependencies test")
        return said

    def assert_lines(self, said, *patterns):
        """In this order."""
        self.assertRegex(said, re.compile(".*".join("^%s$" % pattern for pattern in patterns), re.MULTILINE | re.DOTALL))

    def test_redis_by_the_readme(self):
        self.assert_lines(self.part("redis"), "active", "0", r"/usr/bin/redis-(server|check-rdb)", "OK",
                          r".*  redis-server  hang +1\.2 s .*debugCommand.*", "redis directory", "ok +watch .*",
                          " +sudo rm /etc/systemd/system/redis-server.service.d/hangdog.conf && .*", "/usr/local/bin/hangdog")

    def test_nginx_whose_workers_are_another_users(self):
        said = self.part("nginx")
        self.assert_lines(said, "fail +spool +it starts as root and does not run: .*", " +sudo systemctl start nginx", "active", "0",
                          r".*  nginx  hang +1\.\d s .*", "www-data directory")

    def test_postgresql_whose_helper_empties_the_environment(self):
        self.assert_lines(self.part("postgres"), "fail +program +its Type=oneshot.*", "active", "0", r".*  postgres\w*  hang +1\.\d s .*",
                          "inactive")

    def test_services_keep_their_folders(self):
        self.assert_lines(self.part("others"), r"ExecStartPre=\+/usr/bin/install -d -o www-data .*", r".*  (one|python3)  hang +1\.1 s .*", r".*  (two|python3)  hang +1\.1 s .*",
                          "redis directory", "www-data directory", "root 755 directory", "[1-9].*", "OK", r".*  redis-server  hang +1\.2 s .*")

    def test_uploader_and_collector_on_one_machine(self):
        said = self.part("fleet")
        self.assert_lines(said, "before: [1-9].*", "left: 0")
        groups = re.findall(r'^\{"totals".*"app":"redis-server".*$', said, re.MULTILINE)
        self.assertEqual(2, len(groups), said)  # before and after both started again
        self.assertEqual(groups[0], groups[1])
        self.assert_lines(said, "active", "0", "active", "0", "redis directory")
        self.assertRegex(said, r"cat: .*(Permission denied|No such file)")
        self.assertNotRegex(said, "migrating|previously had")
        self.assert_lines(said, "first keys: 3 600", "keys in the journal: 0", "the first keys, .* are in /var/lib/.*/first-keys, .*")

    def test_backup_restore_and_encryption_by_the_page(self):
        self.assert_lines(self.part("operate"), "backup 600", r'\{"totals".*"app":"redis-server".*', "by TLS")

    def test_a_folder_that_another_user_took_is_said_once(self):
        if "nginx" in parts():  # each of its workers fails to write its session
            self.assertEqual(1, self.part("journal").count("cannot write reports of nginx to '/var/lib/hangdog/nginx': permission denied"))
        self.assertEqual(1, self.part("journal").count("hangdog: cannot write reports of redis-server to "
                                                       "'/var/lib/hangdog/redis-server': permission denied"), self.part("journal"))


if __name__ == "__main__":
    main()
