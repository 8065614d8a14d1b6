# SPDX-License-Identifier: MIT
"""Senders at full load, which remember what the collector has acknowledged."""

import itertools
import json
import threading
import time
from http.client import HTTPConnection, HTTPException

from support_fleet import small_report
from support_run import PATIENCE

BATCH = 100
SENDERS = 3


class Sender(threading.Thread):
    """Batches as fast as they are taken, each second one twice: as after a lost answer."""

    def __init__(self, collector, number):
        super().__init__()
        self.collector, self.number, self.acknowledged, self.statuses, self.ending = collector, number, [], set(), threading.Event()
        self.line = json.dumps(small_report("load", id="ID")).replace("%", "%%").replace("ID", "%s").encode()

    def is_acknowledged(self, connection, body):
        try:
            connection.request("POST", "/api/v1/reports", body, {
                "Content-Type": "application/x-ndjson", "Authorization": "Bearer " + self.collector.send_key})
            answer = connection.getresponse()
            answer.read()
            self.statuses.add(answer.status)
            return answer.status == 200
        except (OSError, ValueError, HTTPException):
            connection.close()
            time.sleep(0.01)
            return False

    def run(self):
        connection = HTTPConnection("127.0.0.1", self.collector.port, timeout=PATIENCE)
        for batch in itertools.count():
            if self.ending.is_set():
                break
            ids = [("%08x-0000-7000-8000-%012x" % (self.number, batch * BATCH + one)).encode() for one in range(BATCH)]
            body = b"\n".join(self.line % one for one in ids)
            answers = [self.is_acknowledged(connection, body) for _ in range(1 + batch % 2)]
            if True in answers:
                self.acknowledged += ids
        connection.close()


class Load:
    """`with Load(collector):` sends meanwhile."""

    def __init__(self, collector):
        self.senders = [Sender(collector, number) for number in range(SENDERS)]

    def __enter__(self):
        for sender in self.senders:
            sender.start()
        return self

    def __exit__(self, *_):
        for sender in self.senders:
            sender.ending.set()
        for sender in self.senders:
            sender.join()

    def count(self):
        """Reports that were acknowledged."""
        return sum(len(sender.acknowledged) for sender in self.senders)

    def acknowledged(self):
        return {one.decode() for sender in self.senders for one in sender.acknowledged}

    def statuses(self):
        """All that came since the last call."""
        found = set()
        for sender in self.senders:
            seen, sender.statuses = sender.statuses, set()
            found |= seen
        return found
