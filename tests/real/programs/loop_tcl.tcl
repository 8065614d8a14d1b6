# SPDX-License-Identifier: MIT
#
# Tcl's loop with a timer, and a schedule as schedule.h has it; with `window` as the first argument a window of Tk.

set steps $argv
if {[lindex $steps 0] eq "window"} {
    package require Tk
    pack [button .b -text "a button"]
    set steps [lrange $steps 1 end]
}

proc next_step {} {
    set ::steps [lassign $::steps step]
    return $step
}

proc block_in_sleep {ms} {
    after $ms
}

proc block_in_compute {ms} {
    set end [expr {[clock milliseconds] + $ms}]
    while {[clock milliseconds] < $end} {}
}

proc block_in_child {ms} {
    exec sleep [expr {$ms / 1000.0}]
}

proc block_in_read {ms} {
    # of a pipe to which the program never writes
    lassign [chan pipe] reads writes
    gets $reads
}

proc on_timer {} {
    if {$::steps eq ""} exit
    lassign [split [next_step] :] kind ms
    if {$ms eq "forever"} {
        set ms 1000000000
    }
    puts freezes
    flush stdout
    set begin [clock microseconds]
    block_in_$kind $ms
    puts "froze [expr {([clock microseconds] - $begin) * 1000}]"
    flush stdout
    start_timer
}

proc start_timer {} {
    if {$::steps eq ""} exit
    after [next_step] on_timer
}

start_timer
vwait for_ever
