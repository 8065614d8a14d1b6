// SPDX-License-Identifier: MIT
//
// What to fix first: the hang rate over days and versions, and the groups that cost the most time.

import * as api from '../api';
import { chart, type Line } from '../parts/chart';
import { make, type Child } from '../parts/dom';
import { ago, count, day, duration, named, percent, plural, rate, rateText } from '../parts/format';
import { bars, cause, choice, figure, figures, groupName, kindText, TIMES } from '../parts/marks';
import { empty, loaded, section } from '../parts/states';
import { asTable, table } from '../parts/table';
import { address, appOf, change, daysOf, type Route } from '../router';
import type { GroupRow, Overview, SeriesRow, State } from '../types';
import type { View } from './page';
import { KINDS } from './reports';

const LINES_MAX = 8;

// One value for each of the last `days` days, today last.
export function byDay(rows: { day: number; total_ms: number }[], days: number): number[] {
  const today = Math.floor(Date.now() / 86400000);
  const values = new Array<number>(days).fill(0);
  for (const row of rows) {
    const at = days - 1 - (today - row.day);
    if (at >= 0 && at < days) values[at] += row.total_ms;
  }
  return values;
}

export const appNames = (all: Overview) => all.apps.map((app) => (typeof app === 'string' ? app : app.app));

// Datadog's bands: below 6 s lost in an hour of use is fine, above 12 s users feel it.
export function band(value: number | null): string {
  return value === null ? '' : value < 6 ? 'good' : value <= 12 ? 'fair' : 'bad';
}

function linesOf(series: SeriesRow[], oneApp: boolean): { days: number[]; lines: Line[] } {
  const days = [...new Set(series.map((row) => row.day))].sort((a, b) => a - b);
  const versions = new Map<string, { used: number; rows: SeriesRow[] }>();
  for (const row of series) {
    const name = (oneApp ? '' : row.app + ' ') + (row.version || 'others');
    const version = versions.get(name) || { used: 0, rows: [] };
    version.used += row.used_ms || row.total_ms;
    version.rows.push(row);
    versions.set(name, version);
  }
  const most = [...versions].sort((a, b) => b[1].used - a[1].used).slice(0, LINES_MAX);
  const lines = most.map(([name, version]) => ({
    name,
    values: days.map((at) => {
      const rows = version.rows.filter((row) => row.day === at);
      return rate(rows.reduce((sum, row) => sum + row.total_ms, 0), rows.reduce((sum, row) => sum + row.used_ms, 0));
    }),
  }));
  return { days, lines };
}

function rateChart(all: Overview, oneApp: boolean): HTMLElement {
  const { days, lines } = linesOf(all.series || [], oneApp);
  if (!lines.some((line) => line.values.some((value) => value !== null))) {
    return empty(make('p', null, 'No use is known in this time. It comes from session reports, which each watched run leaves.'));
  }
  const marks = all.versions.filter((row) => row.first_ms).sort((a, b) => (a.first_ms || 0) - (b.first_ms || 0))
    .map((row) => ({ day: Math.floor((row.first_ms || 0) / 86400000), name: named(row.version) }));
  const rows = () => table('Hang rate by day and version', [{ title: 'Day', cell: (at: number) => day(at) },
    ...lines.map((line) => ({ title: line.name, number: true, cell: (at: number) => rateText(line.values[days.indexOf(at)]) }))], days);
  return make('div', null,
    chart('Seconds lost in hangs for each hour of use, by day and version', days, lines, marks, 's/h'),
    make('p.dim', null, 'Seconds lost in hangs for each hour of use. A dashed line marks the first report of a version.'), asTable(rows));
}

function topHangs(all: Overview, days: number): Child {
  const of = new Map<string, { day: number; total_ms: number }[]>();
  for (const row of all.days) of.set(row.fingerprint, [...(of.get(row.fingerprint) || []), row]);
  const shown = Math.min(days, 30);
  return table('Hangs, the most time lost first', [
    { title: 'Function', cell: (g: GroupRow) => groupName(g) },
    { title: 'Cause', cell: (g) => cause(g.cause) },
    { title: 'Lost', number: true, cell: (g) => duration(g.total_ms) },
    { title: 'Hangs', number: true, cell: (g) => count(g.count) },
    { title: 'Users or runs', number: true, cell: (g) => count(g.users) },
    { title: 'Worst', number: true, cell: (g) => duration(g.max_ms) },
    { title: 'Last', cell: (g) => make('time', { datetime: new Date(g.last_ms).toISOString(), title: new Date(g.last_ms).toLocaleString() }, ago(g.last_ms)) },
    { title: 'Trend', cell: (g) => bars(byDay(of.get(g.fingerprint) || [], shown), `Time lost a day in ${g.function}`) },
  ], all.groups, true);
}

// Errors, crashes and the use of CPUs: their time is not hung time.
function otherGroups(rows: GroupRow[]): HTMLElement {
  return table('Other groups', [
    { title: 'Function', cell: (g: GroupRow) => groupName(g) },
    { title: 'Kind', cell: (g) => kindText(g.kind || '') },
    { title: 'Reports', number: true, cell: (g) => count(g.count) },
    { title: 'Users or runs', number: true, cell: (g) => count(g.users) },
    { title: 'Last', cell: (g) => make('time', { datetime: new Date(g.last_ms).toISOString(), title: new Date(g.last_ms).toLocaleString() }, ago(g.last_ms)) },
  ], rows, true);
}

const isHang = (group: GroupRow) => !group.kind || group.kind === 'hang';

function chosenGroups(all: Overview, state: string): GroupRow[] {
  return all.groups.filter((g) => state === 'all' || (g.state || 'open') === state || (state === 'open' && g.regressed));
}

function kindsStrip(app: string, days: number): HTMLElement {
  return loaded('other reports', () => api.kinds(app, days), (all) => {
    const rows = all.filter((row) => KINDS.includes(row.kind));
    return [rows.length ? make('ul.strip', null, ...rows.map((row) => make('li', null,
      make('a', { href: address('reports', '', { kind: row.kind, app }) }, kindText(row.kind)), ' ', count(row.count)))) : make('p.dim', null, 'None.')];
  });
}

function summary(all: Overview): HTMLElement {
  const lost = all.groups.reduce((sum, g) => sum + g.total_ms, 0);
  const hangs = all.groups.reduce((sum, g) => sum + g.count, 0);
  const used = all.used[0] || { used_ms: 0, runs: 0 };
  const now = rate(lost, used.used_ms);
  const runs = all.sessions?.runs || 0;
  return figures(
    figure(rateText(now), 'Hang rate', used.used_ms > 0 ? `over ${duration(used.used_ms)} of use` : 'no session reports', band(now)),
    figure(all.sessions && runs > 0 ? percent(all.sessions.hang_free / runs) : 'not known', 'Runs without a hang', runs > 0 ? `of ${plural(runs, 'run', 'runs')}` : ''),
    figure(duration(lost), 'Time lost'), figure(count(hangs), 'Hangs'), figure(count(all.groups.length), 'Groups'));
}

export async function overview(route: Route): Promise<View> {
  const app = appOf(route), days = daysOf(route), state = (route.choices.get('state') || 'open') as State | 'all';
  const whole = await api.overview(app, days);
  const all = { ...whole, groups: whole.groups.filter(isHang) };
  const groups = chosenGroups(all, state), others = chosenGroups(whole, state).filter((group) => !isHang(group));
  const versions = all.versions.map((row) => ({ ...row, rate: rate(row.total_ms, row.used_ms) }));
  const controls = make('div.controls', { role: 'group', 'aria-label': 'Filter' },
    choice('app', 'App', app, [['', 'All apps'], ...appNames(all).map((name): [string, string] => [name, name])], (value) => change(route, { app: value })),
    choice('days', 'Time', String(days), TIMES, (value) => change(route, { days: value })),
    choice('state', 'State', state, [['open', 'Open'], ['resolved', 'Resolved'], ['ignored', 'Ignored'], ['all', 'All']], (value) => change(route, { state: value })));
  const nothing = all.groups.length === 0
    ? empty(make('p', null, 'No hangs in this time.'), make('p', null, 'Send some: ', make('code', null, 'hangdog upload --to URL --key KEY')))
    : groups.length === 0 ? empty(make('p', null, `No ${state === 'all' ? '' : state + ' '}groups in this time.`)) : null;
  return {
    title: 'Overview',
    content: [
      make('div.head', null, make('h1', null, 'Hangs'), controls), summary(all),
      all.versions.length || all.series?.length ? section('Hang rate', rateChart(all, app !== '')) : null,
      section('Most time lost', nothing || topHangs({ ...all, groups }, days)),
      others.length ? section('Errors, crashes and use of CPUs', otherGroups(others)) : null,
      make('div.columns', null,
        versions.length ? section('Versions', table('Versions', [
          { title: 'Version', cell: (r: typeof versions[0]) => (app ? named(r.version) : `${r.app} ${named(r.version)}`) },
          { title: 'Hangs', number: true, cell: (r) => count(r.count) },
          { title: 'Lost', number: true, cell: (r) => duration(r.total_ms) },
          { title: 'Rate', number: true, cell: (r) => make('span.' + (band(r.rate) || 'none'), null, rateText(r.rate)) },
        ], versions)) : null,
        section('Other reports', kindsStrip(app, days))),
    ],
  };
}
