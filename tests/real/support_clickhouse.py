# SPDX-License-Identifier: MIT
"""A ClickHouse cluster of two shards on loopback, from Debian's package, in a folder of the test."""

import os
import signal
import subprocess
import unittest
import urllib.request

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
        self.launch()

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    def launch(self):
        with open(os.path.join(self.folder, "out"), "ab") as out:
            # pylint: disable=consider-using-with
            self.process = subprocess.Popen([SERVER, "--config-file=" + os.path.join(self.folder, "config.xml")],
                                            stdin=subprocess.DEVNULL, stdout=out, stderr=out)

    def start(self):
        self.launch()
        self.wait()

    def wait(self):
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


class Cluster:
    """Skips the tests where ClickHouse is not installed."""

    def __init__(self, folder):
        if not os.path.exists(SERVER):
            raise unittest.SkipTest("clickhouse-server is not installed")
        ports = [free_port() for _ in range(4)]
        self.shards = []
        for i in range(2):
            self.shards.append(Shard(os.path.join(folder, str(i)), ports[i], ports[2 + i], ports[2:]))
        for shard in self.shards:
            shard.wait()
        self.url = self.url_of("hangs")

    def url_of(self, database):
        hosts = ",".join("127.0.0.1:%d" % shard.http for shard in self.shards)
        return "clickhouse://%s/%s?cluster=pair" % (hosts, database)

    def stop(self):
        for shard in self.shards:
            shard.stop()
