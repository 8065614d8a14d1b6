// SPDX-License-Identifier: MIT
//
// The samples of one hang over time: what the thread did at each, and the pieces that a lane shows. Pure.
import { CAUSES } from '../words';
import { cleanName, cleanNumber } from './text';
import { looseList, looseObject } from './tree';

export const DOINGS = ['cpu', 'starved', 'lock', 'disk', 'network', 'sleep', 'child', 'wait', 'stopped', 'unknown'] as const;
export type Doing = typeof DOINGS[number];

export const DOING_WORDS: Record<Doing, string> = {
  cpu: CAUSES.cpu.label, starved: CAUSES.starved.label, lock: CAUSES.lock.label, disk: CAUSES.disk.label, network: CAUSES.network.label,
  sleep: CAUSES.sleep.label, child: CAUSES.child.label, wait: 'waited in the kernel', stopped: 'was stopped', unknown: CAUSES.unknown.label,
};

export interface Timeline {
  at: Float64Array; // ms since the start
  end: Float64Array;
  doing: Uint8Array; // index into DOINGS
  stack: Int32Array; // index into the report's stacks, -1: none
  syscall: string[];
  endMs: number;
}

export interface Piece {
  x: number; // pixels
  width: number;
}

const SAMPLES_MAX = 1000000;
const CALLS: [Doing, RegExp][] = [
  ['lock', /^(futex|flock|semop|semtimedop)/],
  ['sleep', /^(nanosleep|clock_nanosleep|pause|rt_sigtimedwait)/],
  ['child', /^(wait|waitpid|wait4|waitid|vfork)/],
  ['disk', /^(pread|pwrite|preadv|pwritev|fsync|fdatasync|sync|syncfs|sync_file_range|msync|open|openat|stat|fstat|lstat|newfstatat|statx|getdents|rename|unlink|mkdir|ftruncate|fallocate|io_getevents|readahead)/],
  ['network', /^(recv|send|connect|accept|poll|ppoll|select|pselect|epoll|shutdown)/],
];
// What a report's cause says of calls that wait for many things (read, ioctl).
const laneOf = (cause: unknown): Doing | undefined => (typeof cause === 'string' && Object.hasOwn(CAUSES, cause)
  ? DOINGS.find((doing) => doing === CAUSES[cause].lane) : undefined);

/** What the thread did at a sample; `cause` is the kind that the report's hang has. */
export function doingOf(state: unknown, syscall: unknown, cause: unknown): Doing {
  if (state === 'running') return 'cpu';
  if (state === 'runnable') return 'starved';
  if (state === 'stopped') return 'stopped';
  const call = typeof syscall === 'string' ? syscall : '';
  for (const [doing, pattern] of CALLS) if (pattern.test(call)) return doing;
  if (state === 'uninterruptible') return 'disk';
  if (state !== 'blocked') return 'unknown';
  return laneOf(cause) ?? 'wait';
}

/** The timeline of a report; samples that go back in time are left out. */
export function readTimeline(report: unknown): Timeline {
  const whole = looseObject(report);
  const list = looseList(looseObject(whole.samples).timeline).slice(0, SAMPLES_MAX);
  const { kind } = looseObject(whole.cause);
  const at: number[] = [];
  const end: number[] = [];
  const doing: number[] = [];
  const stack: number[] = [];
  const syscall: string[] = [];
  let last = 0;
  for (const entry of list) {
    const sample = looseObject(entry);
    const from = cleanNumber(sample.at_ns) / 1e6;
    const until = from + cleanNumber(sample.for_ns) / 1e6;
    if (from < last) continue;
    last = from;
    at.push(from);
    end.push(until);
    doing.push(DOINGS.indexOf(doingOf(sample.state, sample.syscall, kind)));
    stack.push(typeof sample.stack === 'number' && Number.isInteger(sample.stack) && sample.stack >= 0 ? Math.min(sample.stack, 2 ** 31 - 1) : -1);
    syscall.push(cleanName(sample.syscall, 40));
  }
  const endMs = Math.max(cleanNumber(whole.duration_ns) / 1e6, end.reduce((most, value) => Math.max(most, value), 0));
  return {
    at: Float64Array.from(at), end: Float64Array.from(end), doing: Uint8Array.from(doing), stack: Int32Array.from(stack), syscall, endMs,
  };
}

/** How long the thread did each. */
export function totals(timeline: Timeline): Map<Doing, number> {
  const sums = new Map<Doing, number>();
  for (let i = 0; i < timeline.at.length; i += 1) {
    const doing = DOINGS[timeline.doing[i]];
    sums.set(doing, (sums.get(doing) ?? 0) + Math.max(0, timeline.end[i] - timeline.at[i]));
  }
  return sums;
}

/** The pieces of one lane: samples that touch are one, none is narrower than a pixel. */
export function piecesOf(timeline: Timeline, doing: Doing, pixels: number): Piece[] {
  const wanted = DOINGS.indexOf(doing);
  const scale = timeline.endMs > 0 ? pixels / timeline.endMs : 0;
  const pieces: Piece[] = [];
  for (let i = 0; i < timeline.at.length; i += 1) {
    if (timeline.doing[i] !== wanted) continue;
    const x = timeline.at[i] * scale;
    const until = Math.max(x + 1, timeline.end[i] * scale);
    const before = pieces[pieces.length - 1];
    if (before && x <= before.x + before.width + 0.25) before.width = Math.max(before.width, until - before.x);
    else pieces.push({ x, width: until - x });
  }
  return pieces;
}

/** The sample at a time, else the last one before it; -1: there is none. */
export function sampleAt(timeline: Timeline, ms: number): number {
  let low = 0;
  let high = timeline.at.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (timeline.at[middle] <= ms) low = middle + 1;
    else high = middle;
  }
  return low > 0 ? low - 1 : Math.min(0, timeline.at.length - 1);
}

/** Round times for an axis: no more than `most`, the first one is 0. */
export function ticks(endMs: number, most: number): number[] {
  if (!(endMs > 0) || most < 1) return [0];
  const rough = endMs / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((by) => by * power).find((by) => by >= rough) ?? rough;
  const times: number[] = [];
  for (let i = 0; i * step <= endMs * 1.0001 && i <= most + 1; i += 1) times.push(i * step);
  return times;
}
