# SPDX-License-Identifier: MIT
#
# A loop of libev, by Perl's EV. Requests are those of requests.h.

use strict;
use warnings;
use EV;
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);

sub now_ns { return sprintf "%.0f", clock_gettime(CLOCK_MONOTONIC) * 1e9 }

sub compute {
    my $end = clock_gettime(CLOCK_MONOTONIC) + $_[0];
    while (clock_gettime(CLOCK_MONOTONIC) < $end) { }
}

sub block { select undef, undef, undef, $_[0] }

sub on_input {
    sysread STDIN, my $line, 64;
    my ($kind, $ms) = split ' ', $line // '';
    if (!length($ms // '')) {
        syswrite STDOUT, "interrupted 0\n";
        EV::break();
        return;
    }
    my $start = now_ns();
    $kind eq 'cpu' ? compute($ms / 1000) : block($ms / 1000);
    syswrite STDOUT, "stall $kind $start " . now_ns() . "\n";
}

my $input = EV::io(*STDIN, EV::READ, \&on_input);
my $timer = $ARGV[0] ? EV::timer($ARGV[0] / 1000, $ARGV[0] / 1000, sub { }) : undef;
syswrite STDOUT, "ready\n";
EV::run();
