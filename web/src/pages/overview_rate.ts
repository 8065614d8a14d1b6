// SPDX-License-Identifier: MIT
//
// The hang rate of versions: the lines of the chart, and whether a version is better than the one before it. Pure.

import { rate } from '../parts/format';
import type { SeriesRow, VersionRow } from '../types';

const LINES_MAX = 8;
// One hang in a run of a minute is a rate of thousands: a day of a version counts with so much use, or with a tenth of the largest day.
const LEAST_USE_MS = 600000;
const SAME = 1.1; // rates that differ by less are the same

export interface RateLine { name: string; app: string; version: string; values: (number | null)[]; all: (number | null)[] }
export interface RateLines { days: number[]; lines: RateLine[]; left_out: boolean }

export const leastUse = (series: SeriesRow[]) => Math.min(LEAST_USE_MS, Math.max(0, ...series.map((row) => row.used_ms)) / 10);

// An app's versions without a line of their own come as "", as does an app that has no version.
function nameOf(row: SeriesRow, series: SeriesRow[], oneApp: boolean): string {
  const others = series.some((other) => other.app === row.app && other.version !== '');
  const version = row.version || (others ? 'other versions' : oneApp ? row.app : '');
  return oneApp ? version : row.version || !others ? `${row.app} ${version}`.trim() : `${row.app}, ${version}`;
}

export function linesOf(series: SeriesRow[], oneApp: boolean): RateLines {
  const days = [...new Set(series.map((row) => row.day))].sort((a, b) => a - b), least = leastUse(series);
  const versions = new Map<string, { used: number; rows: Map<number, SeriesRow>; first: SeriesRow }>();
  let leftOut = false;
  for (const row of series) {
    const name = nameOf(row, series, oneApp);
    const version = versions.get(name) || { used: 0, rows: new Map(), first: row };
    version.used += row.used_ms || row.total_ms;
    version.rows.set(row.day, row);
    versions.set(name, version);
  }
  const known = [...versions].filter(([, { rows }]) => [...rows.values()].some((row) => row.used_ms > 0));
  const lines = known.sort((a, b) => b[1].used - a[1].used).slice(0, LINES_MAX).map(([name, { rows, first }]) => {
    const all = days.map((at) => { const row = rows.get(at); return row ? rate(row.total_ms, row.used_ms) : null; });
    const values = all.map((value, i) => (value !== null && (rows.get(days[i])?.used_ms || 0) < least ? null : value));
    leftOut ||= values.some((value, i) => value !== all[i]);
    return { name, app: first.app, version: first.version, values, all };
  });
  return { days, lines, left_out: leftOut };
}

// Datadog's bands: below 6 s lost in an hour of use is fine, above 12 s users feel it.
export function band(value: number | null): string {
  return value === null ? '' : value < 6 ? 'good' : value <= 12 ? 'fair' : 'bad';
}

/** "worse", "better" or "same" than `before`; "": one of them is not known. */
export function against(value: number | null, before: number | null): '' | 'worse' | 'better' | 'same' {
  if (value === null || before === null) return '';
  if (value > before * SAME && value - before > 0.005) return 'worse';
  return value * SAME < before && before - value > 0.005 ? 'better' : 'same';
}

/** "2.5 times as much": how two rates compare; "": one of them is 0. */
export function factor(value: number, before: number): string {
  if (before <= 0 || value <= 0) return '';
  const times = value > before ? value / before : before / value;
  return times >= SAME ? `${times >= 10 ? Math.round(times) : times.toFixed(1)} times as ${value > before ? 'much' : 'little'}` : 'the same';
}

/** The rate of the app's version that was first seen before this one; null: there is none, or its rate is not known. */
export function rateBefore(row: VersionRow, all: VersionRow[]): number | null {
  const before = all.filter((other) => other.app === row.app && other.version !== row.version && other.used_ms > 0 && (other.first_ms || 0) < (row.first_ms || 0))
    .sort((a, b) => (b.first_ms || 0) - (a.first_ms || 0))[0];
  return before ? rate(before.total_ms, before.used_ms) : null;
}
