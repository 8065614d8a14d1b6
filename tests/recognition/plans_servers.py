# SPDX-License-Identifier: MIT
"""Plans for servers and terminal programs, driven from outside. What their loops wait on is read off the
recording: the truth says by function or moment which waits are the loop's."""
import os
import pathlib
import pty
import signal
import socket
import subprocess
import threading
import time
import urllib.request

from plans import plan
from plans_made import build
from plans_scripts import mute_server, wayland_server, x_server


def connected(port):
    try:
        socket.create_connection(("127.0.0.1", port), 0.2).close()
        return True
    except OSError:
        return False


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def write(run, name, text):
    path = pathlib.Path(run.path(name))
    path.write_text(text, encoding="utf-8")
    return str(path)


def in_terminal(run, argv, **options):
    """Recorded on a terminal of its own, whose output is thrown away. Returns its write end."""
    master, slave = pty.openpty()
    process = run.record(argv, stdin=slave, stdout=slave, stderr=slave, **options)
    os.close(slave)

    def drain():
        try:
            while os.read(master, 65536):
                pass
        except OSError:
            pass

    threading.Thread(target=drain, daemon=True).start()
    return process, master


def talk(port, *commands):
    with socket.create_connection(("127.0.0.1", port), 10) as s:
        for command in commands:
            s.sendall(command + b"\r\n")
            s.recv(4096)


def epoll_is_the_loop(wait, letter):
    return letter if letter == "S" else "I" if wait.function.startswith("epoll") else "B"


@plan("redis", "redis-server", "PING, DEBUG SLEEP, a Lua script, MIGRATE to a peer that never answers", ["redis-server"],
      epoll_is_the_loop)
def redis(run):
    mute_server(run)
    port = free_port()
    server = run.record(["redis-server", "--port", str(port), "--save", "", "--enable-debug-command", "yes"])
    run.mark("from idle -")
    run.wait_for(lambda: connected(port))
    script = b"EVAL 'local t=0 for i=1,8000000 do t=t+i end return 1' 0"
    mute = f"MIGRATE 127.0.0.1 {run.env['MUTE_PORT']} key 0 600".encode()
    for _ in range(3):
        talk(port, b"PING", b"SET key value", b"DEBUG SLEEP 0.4", b"PING")
        time.sleep(0.3)
        talk(port, mute, b"PING")
        time.sleep(0.4)
        talk(port, script)
        time.sleep(0.3)
    run.end(server)


def in_use(run, port, seconds=3.0):
    """Requests, then idleness, then requests."""
    for _ in range(3):
        for _ in range(20):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=2).read()
            except OSError:
                pass
        run.pause(seconds / 3)


def pages(run):
    folder = pathlib.Path(run.path("pages"))
    folder.mkdir(mode=0o755)
    (folder / "index.html").write_text("hello\n" * 1000, encoding="ascii")
    return str(folder)


@plan("nginx", "nginx, without its master", "requests and idleness", ["nginx-light", "nginx"])
def nginx(run):
    port = free_port()
    conf = write(run, "nginx.conf", f"""
daemon off; master_process off; pid {run.path('pid')}; error_log {run.path('error')};
events {{ }}
http {{ access_log off; client_body_temp_path {run.path('b')}; proxy_temp_path {run.path('p')};
fastcgi_temp_path {run.path('f')}; uwsgi_temp_path {run.path('u')}; scgi_temp_path {run.path('s')};
server {{ listen 127.0.0.1:{port}; root {pages(run)}; }} }}
""")
    server = run.record(["nginx", "-c", conf, "-e", run.path("error")])
    run.wait_for(lambda: connected(port))
    run.mark("from idle -")
    in_use(run, port)
    run.end(server)


@plan("lighttpd", "lighttpd", "requests and idleness", ["lighttpd"])
def lighttpd(run):
    port = free_port()
    conf = write(run, "lighttpd.conf",
                 f'server.document-root = "{pages(run)}"\nserver.port = {port}\nserver.bind = "127.0.0.1"\n')
    server = run.record(["lighttpd", "-D", "-f", conf])
    run.wait_for(lambda: connected(port))
    run.mark("from idle -")
    in_use(run, port)
    run.end(server, signal.SIGINT)


@plan("http-server", "Python's http.server", "requests and idleness", ["python3.11"])
def http_server(run):
    port = free_port()
    server = run.record(["/usr/bin/python3", "-m", "http.server", "--bind", "127.0.0.1", "--directory", str(pages(run)), str(port)])
    run.wait_for(lambda: connected(port))
    run.mark("from idle -")
    in_use(run, port)
    run.end(server, signal.SIGINT)


@plan("haproxy", "haproxy, one thread", "requests to a backend that is there and one that is mute", ["haproxy"])
def haproxy(run):
    mute_server(run)
    port, backend = free_port(), free_port()
    run.start(["/usr/bin/python3", "-m", "http.server", "--bind", "127.0.0.1", str(backend)])
    conf = write(run, "haproxy.cfg", f"""
global
    nbthread 1
defaults
    mode http
    timeout connect 1s
    timeout client 2s
    timeout server 1s
listen a
    bind 127.0.0.1:{port}
    server s 127.0.0.1:{backend} check inter 500
    server m 127.0.0.1:{run.env['MUTE_PORT']} backup
""")
    run.wait_for(lambda: connected(backend))
    server = run.record(["haproxy", "-db", "-f", conf])
    run.wait_for(lambda: connected(port))
    run.mark("from idle -")
    in_use(run, port)
    run.end(server)


@plan("mosquitto", "mosquitto", "connections that say nothing and idleness", ["mosquitto"])
def mosquitto(run):
    port = free_port()
    conf = write(run, "mosquitto.conf", f"listener {port} 127.0.0.1\nallow_anonymous true\nuser root\n")
    server = run.record(["mosquitto", "-c", conf])
    run.wait_for(lambda: connected(port))
    run.mark("from idle -")
    for _ in range(6):
        connected(port)
        run.pause(0.5)
    run.end(server)


@plan("dbus-daemon", "dbus-daemon", "a session bus, calls and idleness", ["dbus-daemon"])
def dbus_daemon(run):
    bus = run.record(["dbus-daemon", "--session", "--nofork", "--print-address"], stdout=subprocess.PIPE)
    address = bus.stdout.readline().decode().strip()
    run.mark("from idle -")
    for _ in range(6):
        subprocess.run(["dbus-send", "--print-reply", "--dest=org.freedesktop.DBus", "/", "org.freedesktop.DBus.ListNames"],
                       env=dict(run.env, DBUS_SESSION_BUS_ADDRESS=address), check=False, stdout=subprocess.DEVNULL)
        run.pause(0.4)
    run.end(bus)


@plan("transmission", "transmission-daemon", "its own traffic, requests to its port, and idleness",
      ["transmission-daemon"])
def transmission(run):
    port = free_port()
    server = run.record(["transmission-daemon", "-f", "-g", run.path("conf"), "-p", str(port), "--no-portmap", "-a",
                         "127.0.0.1", "--no-dht", "--no-utp"])
    run.wait_for(lambda: connected(port))
    run.mark("from idle -")
    in_use(run, port)
    run.end(server)


@plan("tmux", "tmux's server", "a session with output and idleness", ["tmux"])
def tmux(run):
    path = run.path("tmux")
    server = run.record(["tmux", "-D", "-f", "/dev/null", "-S", path])
    run.wait_for(lambda: os.path.exists(path))
    run.mark("from idle -")
    for command in ("new-session -d -x 80 -y 24", "send-keys date Enter", "split-window", "send-keys seq Space 300 Enter",
                    "run-shell true", "kill-pane", "send-keys exit Enter"):
        subprocess.run(["tmux", "-S", path, *command.split()], env=run.env, check=False,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        run.pause(0.4)
    run.end(server)


@plan("tmux-client", "tmux's client", "attached to a session, keys and idleness", ["tmux"])
def tmux_client(run):
    path = run.path("tmux")
    run.start(["tmux", "-D", "-f", "/dev/null", "-S", path])
    run.wait_for(lambda: os.path.exists(path))
    client, keys = in_terminal(run, ["tmux", "-S", path, "new-session"], env={"TERM": "xterm"})
    run.mark("from idle -")
    for _ in range(5):
        run.pause(0.4)
        os.write(keys, b"date\r")
    run.end(client)


VIM = """
func Block()
  call ch_evalexpr(job_getchannel(g:job), 1, {'timeout': 600})
endfunc
let g:job = job_start(['sleep', '100'], {'mode': 'json'})
"""


def vim_truth(wait, letter):
    """Only the job's channel is waited for in ch_evalexpr; the loop always has the terminal too."""
    terminal = any(t.startswith("f") for t in wait.set)
    return letter if letter == "S" else "I" if terminal else "B"


@plan("vim", "vim on a terminal", "typing, a timer, ch_evalexpr to a job that never answers, system()", ["vim"], vim_truth)
def vim(run):
    script = write(run, "script.vim", VIM)
    editor, keys = in_terminal(run, ["vim", "-u", "NONE", "-N", "-S", script], env={"TERM": "xterm"})
    time.sleep(1)
    run.mark("from idle -")
    os.write(keys, b":call timer_start(150, {-> 0}, {'repeat': -1})\r")
    for _ in range(4):
        os.write(keys, b"ihello\x1b")
        time.sleep(0.5)
        os.write(keys, b":call Block()\r")
        time.sleep(1)
        os.write(keys, b":call system('sleep 0.4')\r")
        time.sleep(0.9)
    os.write(keys, b"\x1b:qa!\r")
    time.sleep(0.5)
    run.end(editor)


@plan("xvfb", "Xvfb", "a GTK program comes, draws, and goes", ["xvfb"])
def xvfb(run):
    run.marks.touch()
    server = x_server(run, recorded=True)
    run.mark("from idle -")
    for _ in range(3):
        subprocess.run(["xterm", "-e", "sh", "-c", "seq 50; sleep 0.5"], env=run.env, check=False, timeout=20,
                       stderr=subprocess.DEVNULL)
        run.pause(0.5)
    run.end(server)


@plan("weston", "weston, headless", "a client that draws, and idleness", ["weston"])
def weston(run):
    server = wayland_server(run, recorded=True)
    run.mark("from idle -")
    for _ in range(3):
        client = run.start(["weston-simple-shm"])
        time.sleep(0.7)
        run.end(client)
        run.pause(0.8)
    run.end(server)


@plan("weston-simple-shm", "weston-simple-shm", "draws at 60 frames a second; the compositor stops for half a second",
      ["weston"])
def simple_shm(run):
    wayland_server(run)
    client = run.record(["weston-simple-shm"])
    time.sleep(0.5)
    run.mark("from idle -")
    time.sleep(2.5)
    run.end(client, signal.SIGINT)


@plan("weston-flower", "a client of weston's own toolkit", "shown for some seconds", ["weston"])
def flower(run):
    wayland_server(run)
    client = run.record(["weston-flower"])
    time.sleep(0.5)
    run.mark("from idle -")
    time.sleep(3)
    run.end(client)


@plan("xterm", "xterm", "a shell that prints and sleeps", ["xterm"])
def xterm(run):
    x_server(run)
    terminal = run.record(["xterm", "-e", "sh", "-c", "sleep 1; seq 100; sleep 2; date; sleep 1"])
    time.sleep(1)
    run.mark("from idle -")
    terminal.wait(30)


@plan("xlib", "tests/recognition/programs/xlib.c: Xlib alone", "events, XIfEvent, XSync to a server that is stopped",
      ["libx11-6", "libxcb1"])
def xlib(run):
    x_server(run)
    run.run([build(run, "xlib.c", "gcc", "-lX11")])
