# SPDX-License-Identifier: MIT
"""The collector's keys: what each may do, how they are made and revoked, their limits, and that no log has them."""

import contextlib
import json
import os
import re
import socket
import stat
import subprocess
import tempfile
import time
import unittest

from support_fleet import Collector, need_fleet, small_report
from support_run import HANGDOG, PATIENCE, environment, main_side_by_side, wait_until

JSON = {"Content-Type": "application/json"}


class Program:
    """A process and all that it prints, to a pipe or to a terminal of its own."""

    def __init__(self, command, env, ends=os.pipe):
        self.read_end, write_end = ends()
        os.set_blocking(self.read_end, False)
        self.said = b""
        # pylint: disable=consider-using-with
        self.process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=write_end, stderr=write_end)
        os.close(write_end)

    def text(self):
        with contextlib.suppress(OSError):
            while piece := os.read(self.read_end, 65536):
                self.said += piece
        return self.said.decode()

    def ended(self):
        return self.process.poll() is not None

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.read_end)


class ProgramOnTerminal(Program):
    def __init__(self, command, env):
        super().__init__(command, env, os.openpty)


class Keys(unittest.TestCase):
    def start(self, *options):
        collector = Collector(*options)
        self.addCleanup(collector.close)
        return collector

    def command(self, collector, *options, status=0):
        done = subprocess.run([HANGDOG, "serve", "--store", collector.store, *options], capture_output=True, text=True,
                              timeout=PATIENCE, check=False, env=environment())
        self.assertEqual(status, done.returncode, done.stderr)
        return done.stdout if status == 0 else done.stderr

    def change(self, collector, method, path, body=None, key=None):
        status, _, answer = collector.request(method, "/api/v1/" + path, json.dumps(body) if body is not None else None, JSON,
                                              key or collector.admin_key)
        return status, json.loads(answer)

    def test_a_key_sends_reports_of_its_app_only(self):
        collector = self.start()
        key = self.command(collector, "--new-key", "send:shop").strip()
        other = small_report(app={"name": "mail", "pid": 1})
        wait_until(lambda: collector.send(small_report(), key=key)[0] == 200, "the collector to know the key")
        status, answer = collector.send([small_report(), other, small_report()], key=key)
        self.assertEqual((200, 2), (status, answer["accepted"]))
        (refused,) = answer["refused"]
        self.assertEqual((1, other["id"], "/app/name"), (refused["index"], refused["id"], refused["at"]))
        self.assertIn("another app", refused["reason"])
        self.assertEqual(400, collector.send(other, key=key)[0])
        self.assertEqual(200, collector.send(other)[0], "the first key is for all apps")

    def test_keys_are_listed_and_revoked(self):
        collector = self.start()
        key = self.command(collector, "--new-key", "send:shop").strip()
        wait_until(lambda: collector.send(small_report(), key=key)[0] == 200, "the collector to know the key")
        listed = self.command(collector, "--keys").splitlines()
        self.assertEqual(5, len(listed), listed)
        number, use = listed[4].split()[:2]
        self.assertEqual(("send", "shop"), (use, listed[4].split()[-1]))
        self.assertNotRegex("\n".join(listed), r"hd[sra]_")
        self.command(collector, "--revoke", number)
        wait_until(lambda: collector.request("POST", "/api/v1/reports", json.dumps(small_report()), JSON, key)[0] == 401,
                   "the collector to forget the key")
        self.assertIn("there is none", self.command(collector, "--revoke", number, status=1))
        self.assertIn("send:APP", self.command(collector, "--new-key", "read:shop", status=1))
        again = self.command(collector, "--new-key", "send").strip()
        self.assertNotIn(" %s  send" % number, self.command(collector, "--keys"), "a number was given again")
        self.assertTrue(again)

    def test_a_key_for_administering_makes_and_removes_keys(self):
        collector = self.start()
        for key in (None, collector.read_key, collector.send_key, "hda_" + "0" * 32):
            self.assertEqual(401, collector.request("POST", "/api/v1/keys", '{"use":"admin"}', JSON, key)[0])
            self.assertEqual(401, collector.request("GET", "/api/v1/keys", key=key)[0])
            self.assertEqual(401, collector.request("DELETE", "/api/v1/keys/1", key=key)[0])
        status, made = self.change(collector, "POST", "keys", {"use": "send", "app": "shop"})
        self.assertEqual(200, status)
        self.assertEqual(200, collector.send(small_report(), key=made["key"])[0], "it is valid at once")
        _, keys = self.change(collector, "GET", "keys")
        self.assertEqual({"id", "app", "use", "made_ms", "last_used_ms"}, set(keys[-1]))
        self.assertEqual((made["id"], "shop", "send"), tuple(keys[-1][name] for name in ("id", "app", "use")))
        self.assertNotIn(made["key"], json.dumps(keys))
        self.assertEqual(200, self.change(collector, "DELETE", "keys/%d" % made["id"])[0])
        self.assertEqual(401, collector.send(small_report(), key=made["key"])[0], "it is revoked at once")
        self.assertEqual(404, self.change(collector, "DELETE", "keys/%d" % made["id"])[0])
        for wrong in ({"use": "all"}, {}, {"use": "read", "app": "shop"}, {"use": "send", "app": "x" * 200}, {"use": "send:shop"}, []):
            self.assertEqual(400, self.change(collector, "POST", "keys", wrong)[0], wrong)
        self.assertEqual([("read", {"use": "read"}), ("admin", {"use": "admin"})],
                         [(name, self.change(collector, "GET", "me", key=getattr(collector, name + "_key"))[1])
                          for name in ("read", "admin")])

    def test_limits_are_settings(self):
        collector = self.start()
        status, settings = self.change(collector, "GET", "settings", key=collector.read_key)
        self.assertEqual((200, 90), (status, settings["retention_days"]))
        self.assertEqual({"limit_mib": 0, "rate": 0}, settings["options"])
        used = {key["use"]: key["last_used_ms"] for key in self.change(collector, "GET", "keys")[1]}
        self.assertLess(time.time() * 1000 - 60000, used["admin"], "the key that asks was never used")
        self.assertEqual(401, self.change(collector, "POST", "settings", {"retention_days": 1}, collector.read_key)[0])
        for wrong in ({"retention_days": -1}, {"limits": {"reports_per_day": "many"}}, {"limits": {"speed": 1}}, {"colour": 1}):
            self.assertEqual(400, self.change(collector, "POST", "settings", wrong)[0], wrong)
        self.assertEqual(90, self.change(collector, "GET", "settings")[1]["retention_days"], "a part of a wrong change was made")

        _, settings = self.change(collector, "POST", "settings", {"retention_days": 30, "limits": {"report_bytes": 3000}})
        self.assertEqual((30, 3000), (settings["retention_days"], settings["limits"]["report_bytes"]))
        large = small_report(host={"os": "linux", "arch": "x86_64", "kernel": "6" * 3000})
        status, answer = collector.send([large, small_report()])
        self.assertEqual((200, 1, 0), (status, answer["accepted"], answer["refused"][0]["index"]))
        self.assertIn("larger", answer["refused"][0]["reason"])

        self.change(collector, "POST", "settings", {"limits": {"group_reports_per_minute": 3}})
        answers = [collector.send(small_report("busy"))[0] for _ in range(5)]
        self.assertEqual([200, 200, 200, 429, 429], answers)
        self.assertEqual(200, collector.send(small_report("another_bug"))[0], "one bug's limit is not another's")

        day = self.change(collector, "POST", "settings", {"limits": {"reports_per_day": 12, "group_reports_per_minute": 0}})
        self.assertEqual(200, day[0])
        statuses = []
        for _ in range(20):
            status, headers, _ = collector.request("POST", "/api/v1/reports", json.dumps(small_report()), JSON, collector.send_key)
            statuses.append(status)
        self.assertEqual({200, 429}, set(statuses))
        self.assertEqual(429, statuses[-1])
        self.assertTrue(0 < int(headers["Retry-After"]) <= 86400)
        self.assertEqual(0, collector.stop())
        collector.start()
        self.assertEqual(429, collector.send(small_report())[0], "a restart gave the day's reports again")

    def test_no_log_and_no_store_has_a_key(self):
        for form in ("json", "text"):
            collector = self.start("--log", form)
            keys = [collector.send_key, collector.read_key, collector.admin_key]
            collector.send(small_report())
            collector.send(small_report(), key=keys[1])
            collector.get("overview")
            _, made = self.change(collector, "POST", "keys", {"use": "send"})
            keys.append(made["key"])
            for path in ("/api/v1/overview?key=" + keys[1], "/" + keys[0], "/api/v1/reports/" + keys[2], "/%20" + keys[3]):
                collector.request("GET", path, key=keys[1])
            collector.request("GET", "/\u001b[2J\"\\".encode("utf-8").decode("latin-1").replace("\u001b", "%1b").replace('"', "%22"))
            self.assertEqual(0, collector.stop())
            with open(collector.log, encoding="ascii") as log:
                lines = log.read().splitlines()
            log = [line for line in lines if not line.startswith("collecting at")]
            self.assertGreater(len(log), 8, lines)
            for key in keys:
                self.assertNotIn(key, "\n".join(log))
                self.assertNotIn(key[4:], "\n".join(log))
            for suffix in ("", "-wal"):
                if os.path.exists(collector.store + suffix):
                    with open(collector.store + suffix, "rb") as store:
                        data = store.read()
                    for key in keys:
                        self.assertNotIn(key.encode(), data)
                        self.assertNotIn(key[4:].encode(), data)
            if form == "json":
                events = [json.loads(line) for line in log if line.startswith("{")]
                # Each is logged when its connection's thread is done with it: the order is anyone's.
                (sent, denied) = sorted((event for event in events if event.get("path") == "/api/v1/reports"),
                                        key=lambda event: event["status"])
                self.assertEqual((200, 1, 1, "127.0.0.1"), tuple(sent[name] for name in ("status", "reports", "key", "address")))
                self.assertEqual((401, 0, 0), tuple(denied[name] for name in ("status", "reports", "key")))
                self.assertEqual(["start", "stop"], [event["event"] for event in events if event["event"] in ("start", "stop")])
            else:
                self.assertTrue(any(re.search(r"event=request .*path=\"/api/v1/reports\" status=200 ", line) for line in log), log)

    def first_start(self, *options, env=None, terminal=False):
        """What it prints until it listens."""
        command = [HANGDOG, "serve", *options]
        process = (ProgramOnTerminal if terminal else Program)(command, environment(env))
        try:
            wait_until(lambda: "collecting at" in process.text() or process.ended(), "its start")
            return process.text()
        finally:
            process.close()

    def test_first_keys_go_to_a_terminal_or_into_a_file(self):
        need_fleet()
        key = r"hd[sra]_[0-9a-f]{32}"
        with tempfile.TemporaryDirectory(prefix="hangdog-test-") as folder:
            store, state = os.path.join(folder, "my store.db"), os.path.join(folder, "state")
            for options, env, file, option in (
                    (["--store", store], None, store + ".first-keys", "--store '%s'" % store),
                    ([], {"STATE_DIRECTORY": state}, state + "/first-keys", "--store %s/collector.db" % state)):
                text = self.first_start("--listen", "localhost:0", *options, env=env)
                self.assertNotRegex(text, key)
                self.assertIn("are in %s, for its owner only" % file, text)
                self.assertIn("hangdog serve %s --new-key read" % option, text)
                self.assertEqual(0o600, stat.S_IMODE(os.stat(file).st_mode))
                with open(file, encoding="ascii") as keys:
                    self.assertEqual(["hdr", "hds", "hda"], [found[:3] for found in re.findall(key, keys.read())])
                self.assertNotIn("first keys", self.first_start("--listen", "localhost:0", *options, env=env), "a second start")
            text = self.first_start("--listen", ":0", "--store", os.path.join(folder, "b.db"), terminal=True)
            self.assertEqual(3, len(re.findall(key, text)), text)
            self.assertIn("hangdog serve --store %s --new-key read" % os.path.join(folder, "b.db"), text)
            self.assertFalse(os.path.exists(os.path.join(folder, "b.db.first-keys")))
            missing = os.path.join(folder, "c.db")
            os.mkdir(missing + ".first-keys")
            text = self.first_start("--listen", ":0", "--store", missing)
            self.assertIn("cannot write the first keys", text)
            os.rmdir(missing + ".first-keys")
            self.assertIn("first keys, to send", self.first_start("--listen", ":0", "--store", missing), "the next start makes them")

    def test_a_wrong_address_makes_no_store(self):
        need_fleet()
        with tempfile.TemporaryDirectory(prefix="hangdog-test-") as folder:
            store = os.path.join(folder, "a.db")
            for address in ("1", "127.0.0.1:99999", "nosuch.invalid:0", "::1:0", "192.0.2.1:0"):
                self.assertIn("cannot listen at", self.first_start("--listen", address, "--store", store))
                self.assertEqual([], os.listdir(folder), address)
            self.assertIn("first keys", self.first_start("--listen", "127.0.0.1:0", "--store", store))

    def test_a_signal_lets_come_what_has_begun(self):
        collector = self.start()
        body = json.dumps(small_report()).encode()
        with socket.create_connection(("127.0.0.1", collector.port), PATIENCE) as s:
            s.sendall(b"POST /api/v1/reports HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"
                      b"Authorization: Bearer %s\r\n\r\n%s" % (len(body), collector.send_key.encode(), body[:40]))
            time.sleep(0.3)
            collector.process.terminate()
            time.sleep(0.3)
            s.sendall(body[40:])
            self.assertIn(b'"accepted":1', s.recv(4096))
        self.assertEqual(0, collector.process.wait(PATIENCE))


if __name__ == "__main__":
    main_side_by_side()
