# SPDX-License-Identifier: MIT
"""Requests to a real collector of the address sanitizer, changed at random: it must live on, leak nothing, and answer /healthz.

Run by scripts/fuzz http_requests [SECONDS].
"""

import argparse
import collections
import gzip
import json
import os
import random
import shutil
import socket
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[1:1] = [os.path.join(HERE, "..", "cli"), os.path.join(HERE, "..", "real")]

from support_fleet import Collector, small_report  # noqa: E402  pylint: disable=wrong-import-position

HEALTH_LIMIT_S = 5.0  # beside this driver, of an instrumented program
PATHS = ["/", "/healthz", "/metrics", "/api/v1/overview?app=shop&days=9", "/api/v1/kinds", "/api/v1/search?q=resize",
         "/api/v1/reports?kind=cpu&offset=3", "/api/v1/compare?app=shop&from=1.2&to=1.3", "/api/v1/groups/GROUP",
         "/api/v1/groups/GROUP/stack?inverted=1", "/api/v1/groups/GROUP/reports?version=1.2", "/api/v1/reports/ID", "/api/v1/reports/ID/text",
         "/api/v1/reports/ID/export/firefox", "/api/v1/reports/ID/export/pprof", "/api/v1/reports/ID/export/collapsed", "/api/v1/me",
         "/api/v1/settings", "/api/v1/keys", "/api/v1/symbols/aabbccdd"]
POSTS = [("/api/v1/reports", "application/json"), ("/api/v1/reports", "application/x-ndjson"), ("/api/1/envelope/?sentry_key=KEY", "application/json"),
         ("/api/1/store/?sentry_key=KEY", "application/json"), ("/api/v1/settings", "application/json"), ("/api/v1/groups/GROUP", "application/json"),
         ("/api/v1/keys", "application/json"), ("/api/v1/symbols/aabbccdd?offset=0&size=9", "application/octet-stream")]
PIECES = [b"", b"\0", b"\r\n", b"\r\n\r\n", b"%00", b"%2e%2e/", b"../", b"?", b"&", b"=", b"#", b"9" * 30, b"-1", b"0x7f", b"A" * 5000, b"\xff\xfe", b"chunked",
          b"Transfer-Encoding: chunked\r\n", b"Content-Length: 7\r\n", b"Connection: close\r\n", b"Expect: 100-continue\r\n", b"5\r\nhello\r\n0\r\n\r\n",
          b"HTTP/1.0", b"HTTP/0.9", b"[" * 100, b'{"a":', b"null", b"1e999", b"\xed\xa0\x80", b"Origin: http://elsewhere\r\n"]


def changed(rng, data):
    """The bytes with a few of them changed, removed, doubled, or with a piece put in."""
    data = bytearray(data)
    for _ in range(rng.choice((0, 1, 1, 2, 4, 16))):
        at = rng.randrange(len(data) + 1)
        length = rng.choice((1, 1, 4, 16, 200))
        kind = rng.randrange(5)
        if kind == 0 and at < len(data):
            data[at] = rng.randrange(256)
        elif kind == 1:
            del data[at:at + length]
        elif kind == 2:
            data[at:at] = data[at:at + length]
        elif kind == 3:
            data[at:at] = rng.choice(PIECES)
        else:
            data[at:at + length] = rng.choice(PIECES)
    return bytes(data)


class Requests:
    def __init__(self, rng, collector):
        self.rng = rng
        self.keys = [collector.send_key, collector.read_key, collector.admin_key, "hds_" + "0" * 32, ""]
        self.names = {b"KEY": collector.send_key.encode(), b"ID": small_report()["id"].encode(), b"GROUP": b"0" * 16}

    def learn(self, collector):
        """Addresses that are there."""
        report = small_report()
        collector.send([report, small_report(kind="cpu"), small_report("other")])
        groups = collector.get("overview?days=400")["groups"]
        self.names[b"ID"] = report["id"].encode()
        self.names[b"GROUP"] = groups[0]["fingerprint"].encode()

    def body(self, path):
        if "envelope" in path or "store" in path:
            event = json.dumps({"event_id": "a" * 32, "platform": "node", "exception": {"values": [{"type": "E", "value": "v"}]}})
            body = event if "store" in path else '{}\n{"type":"event"}\n%s\n' % event
        elif "settings" in path:
            body = '{"limits":{"report_bytes":8388608}}'
        elif "groups" in path:
            body = '{"state":"resolved","note":"done"}'
        elif "keys" in path:
            body = '{"use":"read"}'
        else:
            body = "\n".join(json.dumps(small_report("f%d" % i)) for i in range(self.rng.choice((1, 1, 3))))
        body = body.encode()
        body = changed(self.rng, body) if self.rng.random() < 0.7 else body
        encoding = self.rng.choice(("", "", "gzip", "zstd", "deflate", "other"))
        return (gzip.compress(body, 1) if encoding == "gzip" and self.rng.random() < 0.8 else body), encoding

    def one(self):
        rng = self.rng
        head = ["Host: x", "Authorization: Bearer " + rng.choice(self.keys[:3] if rng.random() < 0.9 else self.keys)]
        body = b""
        if rng.random() < 0.5:
            path, kind = rng.choice(POSTS)
            body, encoding = self.body(path)
            head += ["Content-Type: " + kind, "Content-Length: %d" % len(body)] + (["Content-Encoding: " + encoding] if encoding else [])
            method = "POST"
        else:
            path, method = rng.choice(PATHS), rng.choice(("GET", "GET", "GET", "HEAD", "PUT", "DELETE", "OPTIONS"))
        data = ("%s %s HTTP/1.1\r\n%s\r\n\r\n" % (method, path, "\r\n".join(head))).encode()
        for name, value in self.names.items():
            data = data.replace(name, value)
        return (changed(rng, data) if rng.random() < 0.6 else data) + body


def exchange(rng, port, data, answers):
    """Sends in pieces and reads what comes; the statuses are counted."""
    with socket.create_connection(("127.0.0.1", port), 10) as s:
        s.settimeout(0.2)
        try:
            while data:
                cut = len(data) if rng.random() < 0.7 else rng.randrange(1, len(data) + 1)
                s.sendall(data[:cut])
                data = data[cut:]
            if rng.random() < 0.1:
                return  # it goes away
            s.shutdown(socket.SHUT_WR)
            answer = s.recv(200)
            answers[answer[9:12].decode("latin-1") if answer else "end"] += 1
            while s.recv(65536):
                pass
        except OSError:
            answers["cut"] += 1


def health_s(port):
    begun = time.monotonic()
    with socket.create_connection(("127.0.0.1", port), 30) as s:
        s.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        if not s.recv(100).startswith(b"HTTP/1.1 200"):
            raise AssertionError("/healthz is not well")
    return time.monotonic() - begun


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--keep", help="folder for the collector's log, where there was a fault")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    os.environ.setdefault("ASAN_OPTIONS", "detect_leaks=1")
    collector = Collector("--per-address", "0", "--rate", "1000000")
    faults, answers, count, slowest = [], collections.Counter(), 0, 0.0
    try:
        requests = Requests(rng, collector)
        requests.learn(collector)
        end = time.monotonic() + options.seconds
        while time.monotonic() < end and collector.process.poll() is None:
            for _ in range(100):
                exchange(rng, collector.port, b"".join(requests.one() for _ in range(rng.choice((1, 1, 1, 3)))), answers)
                count += 1
            slowest = max(slowest, health_s(collector.port))
        status = collector.stop() if collector.process.poll() is None else collector.process.returncode
        if status != 0:
            faults.append("the collector ended with status %d: %s" % (status, collector.text()[-3000:]))
    except (OSError, AssertionError) as error:
        faults.append("%s; the log ends: %s" % (error, collector.text()[-3000:]))
    finally:
        if faults and options.keep:
            shutil.copy(collector.log, os.path.join(options.keep, "log-%d" % options.seed))
        collector.close()
    faults += ["status %s, %d times" % (status, times) for status, times in answers.items() if status.startswith("5") and status not in ("501", "503", "505", "507")]
    faults += ["/healthz took %.1f s" % slowest] if slowest > HEALTH_LIMIT_S else []
    print("seed %d: %d exchanges, answers %s; /healthz at most %.3f s" % (options.seed, count, dict(sorted(answers.items())), slowest))
    for fault in faults:
        print("FAULT: " + fault)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
