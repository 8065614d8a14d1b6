# SPDX-License-Identifier: MIT
#
# The program of test_pipes.py: a loop of select, one callback of which reads the pipe of another process, in the way
# that its argument says.

use strict;
use warnings;
use IO::Socket::INET;

my ($way) = @ARGV;
my %commands = (
    backticks => sub { return `sleep 1` },
    pipeline  => sub { return `sleep 1 | cat` },
    behind    => sub { return `sleep 1 & exit` },    # the shell ends, what it has left has the pipe
);
my $service;
open($service, '-|', 'sleep 4; echo done') or die if $way eq 'before';
$commands{before} = sub { return scalar <$service> };
my $listener = IO::Socket::INET->new(Listen => 1, LocalAddr => '127.0.0.1') or die;
my $set = '';
vec($set, fileno($listener), 1) = 1;

for my $turn (1 .. 60) {
    select(my $ready = $set, undef, undef, 0.04);
    $commands{$way}->() if $turn == 50;
}
