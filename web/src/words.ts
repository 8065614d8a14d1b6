// SPDX-License-Identifier: MIT
//
// Made by scripts/words-made --write of the lines in src/base/words.def: change those.

// Kinds of reports. noun: in a report's heading. plural: of a tab.
export const KINDS: Record<string, { noun: string; plural: string; sentence: string }> = {
  hang: { noun: 'hang', plural: 'Hangs', sentence: 'A turn of a loop took longer than the threshold.' },
  launch: { noun: 'slow launch', plural: 'Slow launches', sentence: 'The program\'s start, up to its loop\'s first wait, took longer than the threshold of a launch.' },
  'background-hang': { noun: 'background-hang', plural: 'Hangs in the background', sentence: 'The same as a hang, while the program was in the background.' },
  'too-many-threads': { noun: 'hang', plural: 'Too many threads', sentence: 'A hang of a process with more than 64 threads.' },
  cpu: { noun: 'cpu', plural: 'CPU', sentence: 'A process used over 80 % of a CPU for a period, and its busiest thread for the next.' },
  'frame-drop': { noun: 'long frame', plural: 'Frames', sentence: 'A frame of a game took longer than the option frame_drop_ns, and less than a hang.' },
  'fatal-hang': { noun: 'fatal hang', plural: 'Fatal hangs', sentence: 'The process ended while its loop hung: another process killed it.' },
  crash: { noun: 'crash', plural: 'Crashes', sentence: 'A signal of a fault ended the process; on by an option.' },
  live: { noun: 'live', plural: 'Live', sentence: 'The threads of a process as they are now, on request.' },
  'pool-stall': { noun: 'pool stall', plural: 'Pool stalls', sentence: 'All threads of a pool were busy for longer than the threshold, while the loop waited.' },
  session: { noun: 'session', plural: 'Sessions', sentence: 'The run as a whole, when it has ended.' },
  error: { noun: 'error', plural: 'Errors', sentence: 'An error that a Sentry client sent.' },
};

// The kinds that the page of reports has a tab for. It lists no hangs, which have groups, and no sessions.
export const TABS = ['frame-drop', 'cpu', 'crash', 'error', 'fatal-hang', 'launch', 'background-hang', 'too-many-threads', 'live', 'pool-stall'];

// Causes of hangs. lane: of the timeline, for a call that does not name its cause.
export const CAUSES: Record<string, { label: string; lane: string }> = {
  cpu: { label: 'ran on a CPU', lane: '' },
  lock: { label: 'waited for a lock', lane: 'lock' },
  disk: { label: 'waited for the disk', lane: 'disk' },
  network: { label: 'waited for the network', lane: 'network' },
  sleep: { label: 'slept', lane: 'sleep' },
  child: { label: 'waited for a child', lane: 'child' },
  'page-fault': { label: 'waited for memory from disk', lane: 'disk' },
  starved: { label: 'no CPU was free', lane: 'starved' },
  ui: { label: 'waited for the display', lane: 'network' },
  output: { label: 'waited for a reader', lane: 'network' },
  gil: { label: 'waited for Python\'s GIL', lane: '' },
  gc: { label: 'collected garbage', lane: '' },
  unknown: { label: 'not known', lane: '' },
};

// Formats that a report is downloaded in.
export const FORMATS = [
  { name: 'firefox', label: 'Firefox Profiler', suffix: '.firefox.json' },
  { name: 'speedscope', label: 'speedscope', suffix: '.speedscope.json' },
  { name: 'collapsed', label: 'Collapsed stacks', suffix: '.collapsed.txt' },
  { name: 'pprof', label: 'pprof', suffix: '.pb.gz' },
  { name: 'sentry', label: 'Sentry event', suffix: '.envelope' },
  { name: 'otlp', label: 'OTLP', suffix: '.otlp.json' },
  { name: 'text', label: 'Text', suffix: '.txt' },
];
