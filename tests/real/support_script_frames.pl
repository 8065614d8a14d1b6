# SPDX-License-Identifier: MIT
#
# The program of test_script_frames.py: a loop that selects, and once a function that computes.
use strict;
use warnings;
use IO::Select;

sub compute {
    my $end = time() + 2;
    my $x = 0;
    while (time() < $end) {
        $x = ($x * 31 + 7) % 1000003 for 1 .. 1000;
    }
    return $x;
}

pipe(my $reader, my $writer) or die "pipe: $!";
my $select = IO::Select->new($reader);
for my $turn (1 .. 25) {
    $select->can_read(0.1);
    compute() if $turn == 20;
}
