# SPDX-License-Identifier: MIT
#
# EventMachine's loop, with a server. Requests are those of requests.h.
require 'eventmachine'

def now_ns
  Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
end

def compute(seconds)
  finish = now_ns + seconds * 1e9
  nil while now_ns < finish
end

def block(seconds)
  sleep seconds
end

module Input
  def notify_readable
    kind, ms = ($stdin.read_nonblock(64, exception: false) || '').split
    if ms.nil?
      $stdout.syswrite("interrupted 0\n")
      return EM.stop
    end
    start = now_ns
    kind == 'cpu' ? compute(ms.to_i / 1000.0) : block(ms.to_i / 1000.0)
    $stdout.syswrite("stall #{kind} #{start} #{now_ns}\n")
  end
end

EM.run do
  EM.start_server('127.0.0.1', 0, EM::Connection)
  EM.watch($stdin, Input) { |connection| connection.notify_readable = true }
  EM.add_periodic_timer(ARGV[0].to_i / 1000.0) {} if ARGV[0] != '0'
  $stdout.syswrite("ready\n")
end
