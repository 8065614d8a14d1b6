// SPDX-License-Identifier: MIT
//
// Durations on a logarithmic axis. Pure.
import { cleanNumber } from './text';
import { looseList, looseObject } from './tree';

export interface Bin {
  from: number; // ms
  to: number;
  count: number;
}

export interface Bar extends Bin {
  x: number;
  width: number;
  height: number; // of 0 to 1
}

const STEPS_MAX = 52;

/** The bins of an answer of the collector: [{step, count}], where step n is 2^n to 2^(n+1) ms. Empty ones between are there. */
export function readBins(durations: unknown): Bin[] {
  const counts = new Map<number, number>();
  for (const entry of looseList(durations)) {
    const { step, count } = looseObject(entry);
    if (typeof step !== 'number' || !Number.isInteger(step) || step < -10 || step > STEPS_MAX || cleanNumber(count) === 0) continue;
    counts.set(step, (counts.get(step) ?? 0) + cleanNumber(count));
  }
  if (counts.size === 0) return [];
  const steps = [...counts.keys()];
  const bins: Bin[] = [];
  for (let step = Math.min(...steps); step <= Math.max(...steps); step += 1) bins.push({ from: 2 ** step, to: 2 ** (step + 1), count: counts.get(step) ?? 0 });
  return bins;
}

/** A count that is there is seen, however small it is beside the largest. */
export function barsOf(bins: Bin[], pixels: number): Bar[] {
  const most = bins.reduce((all, bin) => Math.max(all, bin.count), 0);
  const width = bins.length > 0 ? pixels / bins.length : 0;
  return bins.map((bin, at) => ({ ...bin, x: at * width, width, height: bin.count > 0 ? Math.max(0.02, bin.count / most) : 0 }));
}

const EDGES_MAX = 5; // bars

/** Where the axis has words, and its pixel: each edge of few bars, else each power of ten. */
export function ticks(bins: Bin[], pixels: number): { ms: number; x: number }[] {
  const first = bins[0];
  const last = bins[bins.length - 1];
  if (!first || !last) return [];
  if (bins.length <= EDGES_MAX) return [...bins.map((bin) => bin.from), last.to].map((ms, at) => ({ ms, x: (at / bins.length) * pixels }));
  const range = Math.log2(last.to) - Math.log2(first.from);
  const found: { ms: number; x: number }[] = [];
  for (let power = Math.ceil(Math.log10(first.from) - 1e-9); 10 ** power <= last.to; power += 1) {
    found.push({ ms: 10 ** power, x: ((Math.log2(10 ** power) - Math.log2(first.from)) / range) * pixels });
  }
  return found;
}

/** The bin in which the middle one of all is, -1: there is none. */
export function medianBin(bins: Bin[]): number {
  const half = bins.reduce((sum, bin) => sum + bin.count, 0) / 2;
  let sum = 0;
  return bins.findIndex((bin) => {
    sum += bin.count;
    return bin.count > 0 && sum >= half;
  });
}
