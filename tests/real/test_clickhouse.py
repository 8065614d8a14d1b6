# SPDX-License-Identifier: MIT
"""Two collectors on a ClickHouse cluster of two shards. While a shard is away nothing is acknowledged; afterwards each
report is there once. All runs on loopback, from Debian's packages, in a folder of the test."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../cli"))
from support_fleet import Collector, small_report
from support_run import PATIENCE, free_port, wait_until

SERVER = "/usr/sbin/clickhouse-server"
CONFIG = """<yandex><logger><level>warning</level><log>{at}/log</log><errorlog>{at}/errors</errorlog></logger>
<http_port>{http}</http_port><tcp_port>{tcp}</tcp_port><listen_host>127.0.0.1</listen_host><path>{at}/data/</path>
<tmp_path>{at}/tmp/</tmp_path><users_config>{at}/users.xml</users_config><default_profile>default</default_profile>
<default_database>default</default_database><mark_cache_size>268435456</mark_cache_size>
<remote_servers><pair>{shards}</pair></remote_servers></yandex>"""
SHARD = "<shard><replica><host>127.0.0.1</host><port>{}</port></replica></shard>"
USERS = """<yandex><profiles><default><max_threads>2</max_threads></default></profiles><users><default><password></password>
<networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default></users>
<quotas><default/></quotas></yandex>"""


class Shard:
    def __init__(self, folder, http, tcp, all_tcp):
        self.folder, self.http, self.process = folder, http, None
        os.makedirs(os.path.join(folder, "data"))
        os.makedirs(os.path.join(folder, "tmp"))
        shards = "".join(SHARD.format(port) for port in all_tcp)
        self.write("config.xml", CONFIG.format(at=folder, http=http, tcp=tcp, shards=shards))
        self.write("users.xml", USERS)
        self.start()

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    def start(self):
        with open(os.path.join(self.folder, "out"), "ab") as out:
            # pylint: disable=consider-using-with
            self.process = subprocess.Popen([SERVER, "--config-file=" + os.path.join(self.folder, "config.xml")],
                                            stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        wait_until(self.answers, "the start of ClickHouse")

    def answers(self):
        try:
            return self.ask("SELECT 1") == "1"
        except OSError:
            return False

    def ask(self, sql):
        with urllib.request.urlopen("http://127.0.0.1:%d/" % self.http, sql.encode(), PATIENCE) as answer:
            return answer.read().decode().strip()

    def stop(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


class ClickHouse(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not os.path.exists(SERVER):
            raise unittest.SkipTest("clickhouse-server is not installed")
        cls.folder = tempfile.mkdtemp(prefix="hangdog-test-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        ports = [free_port() for _ in range(4)]
        cls.shards = []
        for i in range(2):
            cls.shards.append(Shard(os.path.join(cls.folder, str(i)), ports[i], ports[2 + i], ports[2:]))
            cls.addClassCleanup(cls.shards[-1].stop)
        cls.url = "clickhouse://127.0.0.1:%d,127.0.0.1:%d/hangs?cluster=pair" % tuple(ports[:2])
        cls.collectors = []
        for i in range(2):
            cls.collectors.append(Collector("--store", cls.url, "--state", os.path.join(cls.folder, "state-%d.db" % i)))
            cls.addClassCleanup(cls.collectors[-1].close)

    def ids(self):
        return sorted(self.shards[0].ask("SELECT id FROM hangs.report").split())

    def send_all(self, collector, reports):
        """(the ids that were acknowledged, the statuses of the rest)"""
        lines = b"".join(json.dumps(report).encode() + b"\n" for report in reports)
        status, headers, _ = collector.request("POST", "/api/v1/reports", lines, {"Content-Type": "application/x-ndjson"},
                                               collector.send_key)
        return status, headers

    def test_1_pages(self):
        reports = [small_report("resize" if i % 3 else "blur") for i in range(30)]
        for i, collector in enumerate(self.collectors):
            self.assertEqual(collector.send(reports[15 * i:15 * i + 15])[1]["accepted"], 15)
        again = self.collectors[1].send(reports)[1]
        self.assertEqual((again["accepted"], again["repeated"]), (0, 30))
        for shard in self.shards:
            self.assertGreater(int(shard.ask("SELECT count() FROM hangs.report_local")), 0)
        collector = self.collectors[0]
        groups = collector.get("overview?days=400")["groups"]
        self.assertEqual([(group["function"], group["count"], group["total_ms"]) for group in groups],
                         [("resize", 20, 30000), ("blur", 10, 15000)])
        group = collector.get("groups/" + groups[0]["fingerprint"])
        self.assertEqual((group["count"], group["users"], group["versions"][0]["count"]), (20, 20, 20))
        self.assertEqual(len(group["reports"]), 20)
        self.assertEqual(collector.get("reports/" + reports[0]["id"]), reports[0])
        self.assertEqual(collector.get("groups/%s/stack" % groups[0]["fingerprint"])["reports"], 20)
        found = collector.get("search?q=blur")
        self.assertEqual([group["function"] for group in found["groups"]], ["blur"])

    def test_2_a_shard_is_away(self):
        before = self.ids()
        known = set(before)
        sent = [[small_report("fetch") for _ in range(20)] for _ in range(4)]
        self.shards[1].stop()
        for i, batch in enumerate(sent):
            status, headers = self.send_all(self.collectors[i % 2], batch)
            self.assertEqual(status, 503)
            self.assertGreater(int(headers["Retry-After"]), 0)
        self.shards[1].start()
        for i, batch in enumerate(sent):
            wait_until(lambda i=i, batch=batch: self.send_all(self.collectors[i % 2], batch)[0] == 200, "an answer")
            known |= {report["id"] for report in batch}
        self.assertEqual(self.ids(), sorted(known))
        groups = {group["function"]: group["count"] for group in self.collectors[1].get("overview?days=400")["groups"]}
        self.assertEqual(groups["fetch"], 80)


if __name__ == "__main__":
    unittest.main()
