#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# What a person types first to see whether `hangdog run` works: a timer, one freeze of 2 s, the end; in many languages, with no
# options. Each is seen, with the function that froze and how long it did.

import contextlib
import http.client
import os
import subprocess
import time

from support_plans import missing
from support_run import PATIENCE, S, free_port, main, wait_until
from support_seen import PYTHON, SeenCase, Try, add_tests, built, froze_ns, run_all

# Printed by the program itself, with its own clock.
PYTHON_SLOW = """
import time

def slow_function(*_):
    begin = time.monotonic_ns()
    time.sleep(2)
    print("froze", time.monotonic_ns() - begin, flush=True)
"""
ASYNCIO = PYTHON_SLOW + """
import asyncio

async def main():
    await asyncio.sleep(1)
    slow_function()
    await asyncio.sleep(0.5)

asyncio.run(main())
"""
CALL_LATER = PYTHON_SLOW + """
import asyncio
loop = asyncio.new_event_loop()
loop.call_later(0.5, slow_function)
loop.call_later(3, loop.stop)
loop.run_forever()
"""
SELECTORS = PYTHON_SLOW + """
import selectors, socket
selector = selectors.DefaultSelector()
selector.register(socket.create_server(("127.0.0.1", 0)), selectors.EVENT_READ)
for turn in range(10):
    selector.select(timeout=0.1)
    if turn == 5:
        slow_function()
"""
HTTP_SERVER = PYTHON_SLOW + """
import http.server, sys

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        slow_function()
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.send_response(200)
        self.end_headers()

    def do_DELETE(self):
        sys.exit(0)

http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
GLIB = PYTHON_SLOW + """
from gi.repository import GLib
loop = GLib.MainLoop()
GLib.timeout_add(500, slow_function)
GLib.timeout_add_seconds(3, loop.quit)
loop.run()
"""
QT = PYTHON_SLOW + """
from %s.QtCore import QCoreApplication, QTimer
application = QCoreApplication([])
QTimer.singleShot(500, slow_function)
QTimer.singleShot(3000, application.quit)
application.exec()
"""
TWISTED = PYTHON_SLOW + """
from twisted.internet import reactor
reactor.callLater(0.5, slow_function)
reactor.callLater(3, reactor.stop)
reactor.run()
"""
TORNADO = PYTHON_SLOW + """
import asyncio, tornado.ioloop

async def main():
    tornado.ioloop.IOLoop.current().call_later(0.5, slow_function)
    await asyncio.sleep(3)

asyncio.run(main())
"""
GEVENT = PYTHON_SLOW + """
import gevent
gevent.spawn_later(0.5, slow_function)
gevent.sleep(3)
"""
NODE_BUSY = """
setTimeout(() => {
  const begin = process.hrtime.bigint();
  while (process.hrtime.bigint() - begin < 2000000000n);
  console.log('froze ' + (process.hrtime.bigint() - begin));
}, 500);
setTimeout(() => {}, 3000);
"""
NODE_CHILD = """
setTimeout(() => {
  const begin = process.hrtime.bigint();
  require('child_process').execSync('sleep 2');
  console.log('froze ' + (process.hrtime.bigint() - begin));
}, 500);
setTimeout(() => {}, 3000);
"""
NODE_SERVER = """
const server = require('http').createServer((request, response) => {
  if (request.url === '/slow') {
    const begin = process.hrtime.bigint();
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2000);
    console.log('froze ' + (process.hrtime.bigint() - begin));
    setTimeout(() => process.exit(), 500);
  }
  response.end();
});
const ask = (path) => require('http').get({host: '127.0.0.1', port: server.address().port, path: path}, (r) => r.resume());
server.listen(0, '127.0.0.1', () => { ask('/quick'); setTimeout(ask, 500, '/slow'); });
"""
TCL = """
proc slow_function {} {
    set begin [clock microseconds]
    after 2000
    puts "froze [expr {([clock microseconds] - $begin) * 1000}]"
}
after 500 slow_function
after 3000 {set done 1}
vwait done
"""
PERL_SLOW = """
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);
sub slow_function {
    my $begin = clock_gettime(CLOCK_MONOTONIC);
    sleep 2;
    printf "froze %d\\n", (clock_gettime(CLOCK_MONOTONIC) - $begin) * 1e9;
}
"""
EV = """
use EV;
my $slow = EV::timer 0.5, 0, \\&slow_function;
my $end = EV::timer 3, 0, sub { EV::break };
EV::run;
""" + PERL_SLOW
ANYEVENT = """
use AnyEvent;
my $done = AnyEvent->condvar;
my $slow = AnyEvent->timer(after => 0.5, cb => \\&slow_function);
my $end = AnyEvent->timer(after => 3, cb => sub { $done->send });
$done->recv;
""" + PERL_SLOW
RUBY = """
require 'socket'
server = TCPServer.new('127.0.0.1', 0)
6.times do |turn|
  IO.select([server], nil, nil, 0.2)
  next unless turn == 3
  begun = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
  system('sleep 2')
  puts "froze #{Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond) - begun}"
end
"""
LUA = """
local uv = require('luv')
uv.new_timer():start(500, 0, function()
  local begin = uv.hrtime()
  uv.sleep(2000)
  print(string.format('froze %d', uv.hrtime() - begin))
end)
uv.new_timer():start(3000, 0, uv.stop)
uv.run()
"""
SLEEP, COMPUTE = "500 sleep:2000 500", "500 compute:2000 500"
SLOW = "slow_function"

TRIES = {
    "asyncio": Try("first.py", text=ASYNCIO, function=SLOW),
    "asyncio_call_later": Try("first.py", text=CALL_LATER, function=SLOW),
    "selectors": Try("first.py", text=SELECTORS, function=SLOW),
    "glib": Try("first.py", text=GLIB, function=SLOW, imports="gi"),
    "qt5": Try("first.py", text=QT % "PyQt5", function=SLOW, imports="PyQt5.QtCore"),
    "qt6": Try("first.py", text=QT % "PyQt6", function=SLOW, imports="PyQt6.QtCore"),
    "twisted": Try("first.py", text=TWISTED, function=SLOW, imports="twisted"),
    "tornado": Try("first.py", text=TORNADO, function=SLOW, imports="tornado"),
    "gevent": Try("first.py", text=GEVENT, function=SLOW, imports="gevent"),
    "node_busy": Try("first.js", text=NODE_BUSY),
    "node_child": Try("first.js", text=NODE_CHILD),
    "node_server": Try("first.js", text=NODE_SERVER),
    "tcl": Try("first.tcl", text=TCL),
    "perl_ev": Try("first.pl", text=EV, imports="EV"),
    "perl_anyevent": Try("first.pl", text=ANYEVENT, imports="AnyEvent"),
    "ruby": Try("first.rb", text=RUBY),
    "lua": Try("first.lua", text=LUA, imports="luv"),
    "c_epoll": Try("loop_epoll.c", SLEEP),
    "c_poll": Try("loop_poll.c", COMPUTE),
    "c_glib": Try("loop_glib.c", COMPUTE),
    "c_libuv": Try("loop_libuv.c", SLEEP),
    "c_libevent": Try("loop_libevent.c", COMPUTE),
    "c_libev": Try("loop_libev.c", SLEEP),
    "c_sd_event": Try("loop_sd_event.c", SLEEP),
}
EVERY = None


class FirstTries(SeenCase):
    pass


add_tests(FirstTries, TRIES, lambda: EVERY, SeenCase.assert_seen)


class Servers(SeenCase):
    """Those that a person asks from a second terminal."""

    def test_http_server(self):
        port = free_port()
        script = os.path.join(self.folder(), "first.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write(HTTP_SERVER)
        program = self.program([PYTHON, script, str(port)])

        def ask(method):
            with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)) as connection:
                with contextlib.suppress(ConnectionError, http.client.HTTPException):
                    connection.request(method, "/")
                    return connection.getresponse().status
            return 0

        wait_until(lambda: ask("HEAD"), "the server")
        time.sleep(0.5)
        self.assertEqual(200, ask("GET"))
        time.sleep(0.5)
        ask("DELETE")
        program.wait()
        self.assert_reported(program, froze_ns(program), ["slow_function"])

    def test_redis(self):
        if missing("redis-server", "redis-cli"):
            self.skipTest("no redis-server and redis-cli: scripts/install-dependencies test")
        port = free_port()
        program = self.program(["/usr/bin/redis-server", "--port", str(port), "--enable-debug-command", "local"])

        def ask(*words):
            return subprocess.run(["redis-cli", "-p", str(port), *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  check=False, timeout=PATIENCE).stdout
        wait_until(lambda: ask("PING") == b"PONG\n", "the server")
        ask("DEBUG", "SLEEP", "2")
        time.sleep(0.5)
        ask("SHUTDOWN", "NOSAVE")
        program.wait()
        self.assert_reported(program, [2 * S], ["debugCommand"])


def setUpModule():
    global EVERY  # pylint: disable=global-statement
    EVERY = run_all(TRIES, built(TRIES))


if __name__ == "__main__":
    main()
