# SPDX-License-Identifier: MIT
"""`hangdog doctor --unit`: units of Debian and made ones, by their files; no systemd runs them."""

import os
import pathlib
import re
import shutil
import unittest

from support_run import HANGDOG, main, need_build_of_all
from test_cli import Command, run

PRELOAD = os.path.join(os.path.dirname(HANGDOG), "../lib/libhangdog-preload.so")
DEBIANS = "/lib/systemd/system"


class Units(Command):
    def setUp(self):
        need_build_of_all()
        super().setUp()
        self.units = self.path / "units"
        self.units.mkdir()

    def unit(self, name, *lines):
        path = self.units / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("[Unit]\nExecStart=/wrong/section\n[Service]\n" + "\n".join(lines) + "\n")

    def doctor(self, *arguments, units=None):
        return run("doctor", *arguments, env={"SYSTEMD_UNIT_PATH": str(units or self.units)})

    def drop_in(self, name, units=None):
        done = self.doctor("--unit", name, "--drop-in", units=units)
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        self.assertTrue(done.stdout.startswith("# By: hangdog doctor --unit "), done.stdout)
        return [line for line in done.stdout.splitlines() if not line.startswith("#")]

    def command(self, name, *options, app=None):
        return f"{HANGDOG} run --exec {' '.join([*options, ''])}--name {app or name} --spool /var/lib/hangdog/{name} -- "

    def fails(self, name, words, fix=""):
        done = self.doctor("--unit", name, "--drop-in")
        self.assertEqual((1, ""), (done.returncode, done.stdout))
        self.assertRegex(done.stderr, r"\Afail +\w+ +.*" + words)
        self.assertIn(fix, done.stderr)

    def debians(self, name):
        if not os.path.exists(os.path.join(DEBIANS, name + ".service")):
            self.skipTest(name + " is not installed")
        return self.drop_in(name, units=DEBIANS)

    def test_debians_redis(self):
        self.assertEqual(["[Service]", "StateDirectory=hangdog/redis-server", f"ExecPaths={HANGDOG} {os.path.realpath(PRELOAD)}", "ExecStart=",
                          "ExecStart=" + self.command("redis-server")
                          + "/usr/bin/redis-server /etc/redis/redis.conf --supervised systemd --daemonize no"],
                         [line.replace(" --follow", "") for line in self.debians("redis-server")])  # it may run here, in two machines
        self.assertEqual(self.debians("redis-server")[1:], self.drop_in("redis-server.service", units=DEBIANS)[1:])

    def test_debians_nginx_does_not_run(self):
        if not os.path.exists(DEBIANS + "/nginx.service"):
            self.skipTest("nginx is not installed")
        shutil.copy(DEBIANS + "/nginx.service", self.units / "hangdog-nginx.service")  # of this name none runs
        self.fails("hangdog-nginx", "it starts as root and does not run", "sudo systemctl start hangdog-nginx")
        self.unit("hangdog-nginx.service.d/user.conf", "User=www-data")
        self.assertEqual("ExecStart=" + self.command("hangdog-nginx", "--follow") + "/usr/sbin/nginx -g 'daemon on; master_process on;'",
                         self.drop_in("hangdog-nginx")[-1])

    def test_debians_postgresql(self):
        clusters = list(pathlib.Path("/etc/postgresql").glob("*/*/postgresql.conf"))
        if not clusters or not os.path.exists(DEBIANS + "/postgresql@.service"):
            self.skipTest("postgresql is not installed")
        version, name = clusters[0].parts[-3:-1]
        lines = self.drop_in(f"postgresql@{version}-{name}", units=DEBIANS)
        for line in ("Type=notify", "PIDFile=", "User=postgres", f"StateDirectory=hangdog/postgresql@{version}-{name}"):
            self.assertIn(line, lines)
        self.assertEqual("ExecStart=" + self.command(f"postgresql@{version}-{name}", "--follow", app="postgresql")
                         + f"/usr/lib/postgresql/{version}/bin/postgres -c config_file={clusters[0]}", lines[-1])
        done = self.doctor("--unit", "postgresql", "--drop-in", units=DEBIANS)
        self.assertEqual((1, ""), (done.returncode, done.stdout))
        self.assertIn("systemctl list-units 'postgresql@*'", done.stderr)

    def test_how_a_unit_is_read(self):
        self.unit("a.service", "; a comment", "User = daemon", "ExecStart=/bin/sleep 1", "ExecStart=", "ExecStart=-+@/bin/sleep  other \\",
                  "# between", "  'two  words' %i $HOME")
        self.assertEqual("ExecStart=-+" + self.command("a") + "/bin/sleep    'two  words' %i $HOME", self.drop_in("a")[-1])
        self.unit("a.service.d/20.conf", "ExecStart=", "ExecStart=/bin/cat")
        self.unit("a.service.d/10.conf", "ExecStart=", "ExecStart=/bin/tac")
        self.unit("a.service.d/hangdog.conf", "ExecStart=", f"ExecStart={HANGDOG} run -- /bin/cat")
        self.assertEqual("ExecStart=" + self.command("a") + "/bin/cat", self.drop_in("a")[-1])
        self.assertRegex(self.doctor("--unit", "a").stdout, r"ok +unit +a.service, Type=simple: \S+/a.service and 2 drop-ins\n(.*\n)*ok +watch")
        self.unit("a.service.d/20.conf", "ExecStart=", "ExecStart=/bin/cat -v")  # an upgrade
        self.assertRegex(self.doctor("--unit", "a").stdout, r"warn +watch +\S+/hangdog.conf starts another command than the unit")
        self.unit("a.service.d/20.conf", "ExecStart=", "ExecStart=/bin/cat")
        (self.units / "alias.service").symlink_to("a.service")
        self.assertIn("StateDirectory=hangdog/a", self.drop_in("alias"))
        self.unit("t@.service", "DynamicUser=yes", "ExecStart=/bin/sleep %i")
        self.assertEqual("ExecStart=" + self.command("t@7", app="t") + "/bin/sleep %i", self.drop_in("t@7")[-1])
        self.unit("t@7.service.d/x.conf", "ExecStart=", "ExecStart=/bin/cat")
        self.assertTrue(self.drop_in("t@7")[-1].endswith(" /bin/cat"))
        self.assertTrue(self.drop_in("t@8")[-1].endswith(" /bin/sleep %i"))
        self.unit(r"odd\x2dname.service", "User=daemon", "ExecStart=/bin/cat")
        self.assertIn("StateDirectory=hangdog/odd_x2dname", self.drop_in(r"odd\x2dname"))

    def test_sandboxes(self):
        home = "ProtectHome=yes" if re.match("/(home|root)/", HANGDOG) else "InaccessiblePaths=-" + os.path.dirname(HANGDOG)
        self.unit("a.service", "User=daemon", "ExecStart=/bin/cat", home)
        self.fails("a", "the unit's .*= hides", "sudo make install")
        self.unit("a.service", "User=daemon", "ExecStart=/bin/cat", "RootDirectory=/srv/root")
        self.fails("a", "the unit's RootDirectory= hides")
        self.unit("a.service", "User=daemon", "ExecStart=/bin/cat", "NoExecPaths=/ /nowhere", "ExecPaths=/usr", "ExecPaths=" + os.path.dirname(HANGDOG))
        self.assertIn("ExecPaths=%s %s" % (HANGDOG, os.path.realpath(PRELOAD)), self.drop_in("a"))  # the library is elsewhere
        self.unit("a.service", "User=daemon", "ExecStart=/bin/cat", "NoExecPaths=/", "ExecPaths=/")
        self.assertFalse([line for line in self.drop_in("a") if "ExecPaths" in line])
        self.assertIn("forbids it", self.doctor("--unit", "redis-server", units=DEBIANS).stdout + "forbids it" * (not os.path.exists(DEBIANS + "/redis-server.service")))

    def test_what_cannot_be_watched(self):
        self.fails("none", "there is no unit none.service", "systemctl list-unit-files --type=service")
        self.fails("../none", "there is no unit")
        self.unit("empty.service", "User=daemon")
        self.fails("empty", "it has no ExecStart= of one command")
        self.unit("lost.service", "User=daemon", "ExecStart=/bin/sh -c x", "ExecStart=/bin/cat")
        self.fails("lost", "it has no ExecStart= of one command")
        if shutil.which("busybox"):
            self.unit("static.service", "User=daemon", "ExecStart=/bin/busybox httpd")
            self.fails("static", "static")
        for arguments, words in ((["--drop-in"], "--drop-in of which service?"), (["--unit", "a", "4"], "unexpected '4'")):
            self.assert_error(run("doctor", *arguments), words, status=2)


if __name__ == "__main__":
    main()
