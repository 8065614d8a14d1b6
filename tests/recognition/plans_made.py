# SPDX-License-Identifier: MIT
"""Plans for the programs that the tests make."""
import pathlib
import subprocess

from plans import plan

PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"


def build(run, source, compiler="gcc", *options):
    out = run.path(pathlib.Path(source).stem)
    subprocess.run([compiler, "-O1", "-g", "-fno-optimize-sibling-calls", "-D_GNU_SOURCE", "-o", out,
                    str(PROGRAMS / source), *options], check=True)
    return out


def made(name, what, did, wrong=""):
    @plan(f"made-{name}", f"tests/recognition/programs/made.c: {what}", did, wrong=wrong)
    def drive(run):
        run.run([build(run, "made.c"), name])


made("startup", "round trips to three servers before the loop", "every fourth callback polls a mute socket")
made("batch", "polls a hundred sockets, one after the other, with CPU time in between", "no loop")
made("batch-closing", "a hundred connections, each closed before the next, so that they have one number", "no loop")
made("reentered", "a loop left and entered again at other depths", "callbacks poll a mute socket")
made("private-epoll", "callbacks wait by an epoll instance of their own, in the loop's own function", "blocks")
made("rogue", "loop and blocking poll by one function, on one of the loop's descriptors", "blocks 400 ms")
made("jumping", "a loop left by longjmp", "blocks before it jumps")
made("signal-jumping", "a signal handler leaves the loop's wait by siglongjmp", "computes after it")
made("nested-late", "work of 170 ms, then the loop's wait at a place that is new", "never blocks")
made("long-first", "a loop that waits for longer than a launch may last before it is known", "then blocks")
made("resolver-start", "names asked for by a new socket each, round trips, then the loop", "callbacks poll a mute socket")
made("zero", "zero timeouts in the loop, and in a callback on another descriptor", "blocks after twenty of them")
made("in-turn", "two loops, one after the other", "blocks in both")
made("idle-elsewhere", "asks a data base by poll, and sleeps for longer in between", "no loop")
made("coroutine", "a loop on a stack of its own", "blocks there, then on the main stack")
made("coroutine-late", "sleeps, then a loop on a stack of its own", "blocks there, then on the main stack")
made("fibers", "callbacks run on a stack of their own", "blocks there")
made("early", "the first callbacks block before the loop is known", "blocks from the first turn on")
made("mostly-blocked", "callbacks block for longer than the loop waits", "blocks in every turn")
made("moving-set", "the loop's descriptors come and go", "blocks on one of the loop's")
made("transfer-start", "a download of 3 s by many short polls, then the loop", "callbacks poll a mute socket")
made("connection-start", "3 s of queries, then the loop, whose callbacks use the same connection", "blocks 300 ms",
     wrong="idle 1: the connection is taken for the loop until a callback that used it has returned")
made("transfer-callback", "downloads in callbacks, each longer than all that the loop has waited", "blocks 4 s")
made("sleepers", "sleeps by poll of no descriptor, at two places", "no loop")
made("outweighed", "four polls of one connection, then a longer one of another, and the end", "no loop")
made("parked", "four polls of one connection, then asleep, and the end", "no loop")
made("wide-frame", "a wait with a wide frame, callbacks run by its caller", "blocks at a shallower place")
made("remade", "all descriptors of a loop are replaced, twice", "callbacks poll a mute socket")
made("remade-elsewhere", "a loop is closed, and another made elsewhere", "callbacks poll a mute socket")
made("look-first", "a look at one of the loop's descriptors and work, then the loop", "never blocks")
made("query-start", "asks a server and computes, again and again, then the loop", "callbacks poll a mute socket")


@plan("made-parked-for-good", "the same, ended by a signal in its sleep", "no loop")
def parked_for_good(run):
    run.record([build(run, "made.c"), "parked-for-good"])
    run.pause(6)


@plan("made-computes-first", "computes before it is watched, since it may ask for a namespace, polls, and sleeps for longer", "no loop")
def computes_first(run):
    run.run([build(run, "made.c", "gcc", "-DMAY_UNSHARE"), "computes-first"])


@plan("made-throwing", "tests/recognition/programs/throwing.cc: a loop left by an exception", "blocks before it throws",
      ["libstdc++6"])
def throwing(run):
    run.run([build(run, "throwing.cc", "g++")])


@plan("made-pool", "tests/recognition/programs/pool.c: two threads serve one epoll instance in turns", "no loop")
def pool(run):
    run.run([build(run, "pool.c", "gcc", "-pthread")])


@plan("made-pool-busy", "tests/recognition/programs/pool.c busy: the same, and the other thread is busy at first when it should serve", "no loop")
def pool_busy(run):
    run.run([build(run, "pool.c", "gcc", "-pthread"), "busy"])


@plan("made-pool-handler", "tests/recognition/programs/pool_handler.c: a callback waits for a thread while another one waits by the loop's epoll instance",
      "blocks in callbacks")
def pool_handler(run):
    run.run([build(run, "pool_handler.c", "gcc", "-pthread")])


@plan("made-joins", "tests/recognition/programs/joins.c: a callback waits for a thread to end", "blocks in callbacks")
def joins(run):
    run.run([build(run, "joins.c", "gcc", "-pthread")])


@plan("glib", "tests/recognition/programs/glib.c: GLib's loop", "a thread, waited for where GLib calls the program back", ["libglib2.0-0"])
def glib(run):
    run.run([build(run, "glib.c", "gcc", *(f"-l:lib{name}-2.0.so.0" for name in ("gio", "gobject", "glib")))])
