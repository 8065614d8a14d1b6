# SPDX-License-Identifier: MIT
#
# The program of test_script_frames.py: a loop that selects, and once a function that computes.
use strict;
use warnings;
use IO::Select;
use IO::Socket::INET;

sub compute {
    my $end = time() + 2;
    my $x = 0;
    while (time() < $end) {
        $x = ($x * 31 + 7) % 1000003 for 1 .. 1000;
    }
    return $x;
}

my $listener = IO::Socket::INET->new(Listen => 1, LocalAddr => '127.0.0.1') or die "listen: $!";
my $select = IO::Select->new($listener);
for my $turn (1 .. 25) {
    $select->can_read(0.1);
    compute() if $turn == 20;
}
