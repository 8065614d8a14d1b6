# SPDX-License-Identifier: MIT
#
# A window of GTK 3 with a timer, and a schedule as schedule.h has it.

use strict;
use warnings;
use Glib qw(TRUE FALSE);
use Gtk3 -init;
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC sleep);

my $window = Gtk3::Window->new('toplevel');
$window->add(Gtk3::Button->new('a button'));
$window->show_all;

sub on_timer {
    my $step = shift @ARGV;
    if (defined $step) {
        my ($ms) = $step =~ /^sleep:(\d+)$/ or die "no such step: $step\n";
        print "freezes\n";
        my $begin = clock_gettime(CLOCK_MONOTONIC);
        sleep $ms / 1000;
        printf "froze %d\n", (clock_gettime(CLOCK_MONOTONIC) - $begin) * 1e9;
        start_timer();
    }
    else {
        Gtk3->main_quit;
    }
    return FALSE;
}

sub start_timer {
    Glib::Timeout->add(shift @ARGV, \&on_timer);
    return;
}

start_timer();
Gtk3->main;
