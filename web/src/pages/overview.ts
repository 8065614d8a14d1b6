// SPDX-License-Identifier: MIT
//
// What to fix first: the hang rate over days and versions, and the groups that cost the most time.

import * as api from '../api';
import { chart } from '../parts/chart';
import { make, type Child } from '../dom/element';
import { asTable, table } from '../dom/table';
import { ago, count, day, duration, named, percent, plural, rate, rateText } from '../parts/format';
import { bars, cause, choice, figure, figures, groupName, kindText, kindWords, TIMES, WORDS } from '../parts/marks';
import { empty, loaded, section } from '../parts/states';
import { cutAt, pager, pages } from '../parts/lists';
import { address, appOf, change, daysOf, offsetOf, type Route } from '../router';
import type { GroupChoice, GroupRow, Groups, Overview, State, VersionRow } from '../types';
import { TABS } from '../words';
import { against, band, leastUse, linesOf, rateBefore } from './overview_rate';
import type { View } from './page';

const PAGE = 200, VERSIONS_MAX = 50, DAYS_MAX = 400; // of the collector's answers
const SORTS: [string, string, string][] = [['', 'Time lost', 'Most time lost'], ['hangs', 'Number of hangs', 'Most hangs'],
  ['users', 'Users or runs', 'Most users or runs'], ['last', 'Last seen', 'Last seen first'], ['first', 'First seen', 'Newest first']];
const SEEN: [string, string][] = [['', 'All'], ['new', 'New'], ['regressed', 'Regressed']];

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

// Of an app only. The sums of a version are of its whole life: then no time is chosen.
// A host, unit, container or image: its sums are of all days, too.
const ORIGINS = ['host', 'unit', 'container', 'image'] as const;
function originOf(route: Route): Partial<Record<typeof ORIGINS[number], string>> {
  const part = ORIGINS.find((name) => route.choices.get(name));
  return part && !versionOf(route) ? { [part]: route.choices.get(part) } : {};
}

const versionOf = (route: Route) => (appOf(route) ? route.choices.get('version') || '' : '');

export const appNames = (all: { apps: { app: string }[] }) => all.apps.map((app) => app.app);

function rateChart(all: Overview, oneApp: boolean, filter: string): HTMLElement {
  const series = all.series || [], { days, lines, left_out: leftOut } = linesOf(series, oneApp);
  const shown = lines.filter((line) => line.values.some((value) => value !== null));
  if (shown.length === 0) {
    return empty(make('p', null, 'No use is known in this time. It comes from session reports, which each watched run leaves.'));
  }
  const drawn = (row: VersionRow) => shown.some((line) => line.app === row.app && line.version === row.version);
  const marks = all.versions.filter((row) => row.first_ms && row.version && drawn(row)).sort((a, b) => (a.first_ms || 0) - (b.first_ms || 0))
    .map((row) => ({ day: Math.floor((row.first_ms || 0) / 86400000), name: oneApp ? row.version : `${row.app} ${row.version}` }));
  const rows = () => table('Hang rate by day and version', [{ title: 'Day', cell: (at: number) => day(at) },
    ...lines.map((line) => ({ title: line.name, number: true, cell: (at: number) => rateText(line.all[days.indexOf(at)]) }))], days);
  return make('div', null,
    chart('Seconds lost in hangs for each hour of use, by day and version', days, shown, marks, 's/h'),
    make('p.dim', null, 'Seconds lost in hangs for each hour of use', filter ? ', of all groups' : '', '. A dashed line marks the first report of a version.',
      leftOut ? ` Days on which a version was used for less than ${duration(leastUse(series))} are only in the table.` : ''), asTable(rows));
}

const lastSeen = (g: GroupRow) => make('time', { datetime: new Date(g.last_ms).toISOString(), title: new Date(g.last_ms).toLocaleString() }, ago(g.last_ms));

function hangTable(all: Groups, days: number, route: Route): HTMLElement {
  const of = new Map<string, { day: number; total_ms: number }[]>();
  for (const row of all.days) of.set(row.fingerprint, [...(of.get(row.fingerprint) || []), row]);
  const shown = Math.min(days, 30), now = route.choices.get('sort') || '', version = versionOf(route);
  const sort = (by: string) => ({ href: address('overview', '', { ...Object.fromEntries(route.choices), sort: by, offset: '' }), now: by === now });
  return table(`Hangs: ${SORTS.find(([by]) => by === now)?.[2] || ''}`, [
    { title: 'Function', cell: (g: GroupRow) => groupName(g) },
    { title: 'Cause', cell: (g) => cause(g.cause) },
    { title: 'Lost', number: true, sort: sort(''), explain: WORDS['Time lost'], cell: (g) => duration(g.total_ms) },
    { title: 'Hangs', number: true, sort: sort('hangs'), cell: (g) => count(g.count) },
    { title: 'Users or runs', number: true, sort: sort('users'), explain: WORDS['Users or runs'], cell: (g) => count(g.users) },
    ...(all.groups.some((g) => g.hosts) ? [{ title: 'Hosts', number: true, cell: (g: GroupRow) => count(g.hosts || 0) }] : []),
    { title: 'Worst', number: true, explain: WORDS.Worst, cell: (g) => duration(g.max_ms) },
    { title: 'Last', sort: sort('last'), cell: lastSeen },
    ...(version ? [] : [{ title: 'Trend', explain: WORDS.Trend, cell: (g: GroupRow) => bars(byDay(of.get(g.fingerprint) || [], shown), `Time lost a day in ${g.function}`) }]),
  ], all.groups, { wide: true });
}

// Errors, crashes, stalls of pools and the use of CPUs: their time is not hung time.
function otherGroups(choices: GroupChoice): HTMLElement {
  const draw = (rows: GroupRow[]) => table('Other groups', [
    { title: 'Function', cell: (g: GroupRow) => groupName(g) },
    { title: 'Kind', cell: (g) => kindText(g.kind || '') },
    { title: 'Reports', number: true, cell: (g) => count(g.count) },
    { title: 'Users or runs', number: true, explain: WORDS['Users or runs'], cell: (g) => count(g.users) },
    { title: 'Last', cell: lastSeen },
  ], rows, { wide: true });
  const others: GroupChoice = { ...choices, kind: 'other', offset: 0 };
  return loaded('other groups', () => api.groups(others), (all) => [all.groups.length === 0 ? make('p.dim', null, 'None.') : make('div', null,
    make('p.dim', null, plural(all.totals.groups, 'group', 'groups')),
    pages(all.groups, async (offset) => (await api.groups({ ...others, offset })).groups, draw, PAGE))]);
}

function hangSection(all: Overview, days: number, route: Route): HTMLElement {
  const state = (route.choices.get('state') || 'open') as State | 'all', sort = route.choices.get('sort') || '', seen = route.choices.get('seen') || '';
  const again = (to: Record<string, string>) => change(route, { ...to, offset: '' });
  const controls = make('div.controls', { role: 'group', 'aria-label': 'The list' },
    choice('seen', 'Show', seen, SEEN, (value) => again({ seen: value })),
    choice('sort', 'Order', sort, SORTS.map(([by, text]): [string, string] => [by, text]), (value) => again({ sort: value })));
  const to = (offset: number) => address('overview', '', { ...Object.fromEntries(route.choices), offset: offset || '' });
  const any = all.versions.some((row) => row.count > 0);
  const words = [state === 'all' ? '' : state, SEEN.some(([name]) => name === seen) ? seen : ''].filter(Boolean).join(', ');
  return make('section', null,
    make('div.head', null, make('h2', null, SORTS.find(([by]) => by === sort)?.[2] || 'Hangs', ' ', make('span.dim', null, plural(all.totals.groups, 'group', 'groups'))), any ? controls : null),
    all.groups.length ? hangTable(all, days, route)
      : !any ? empty(make('p', null, 'No hangs in this time.'), make('p', null, 'Send some: ', make('code', null, 'hangdog upload --to URL --key KEY')))
        : empty(make('p', null, `No ${words ? words + ' ' : ''}groups in this time.`)),
    pager(offsetOf(route), all.groups.length, all.totals.groups, PAGE, to));
}

function kindsStrip(app: string, days: number): HTMLElement {
  return loaded('other reports', () => api.kinds(app, days), (all) => {
    const rows = all.filter((row) => TABS.includes(row.kind));
    return [rows.length ? make('ul.strip', null, ...rows.map((row) => make('li', null,
      make('a', { href: address('reports', '', { kind: row.kind, app, days }), title: kindWords(row.kind) || null }, kindText(row.kind)), ' ', count(row.count)))) : make('p.dim', null, 'None.')];
  });
}

function summary(all: Overview, app: string, filter: string, version: string, part: string): HTMLElement {
  const { totals } = all, used = part ? { used_ms: 0 } : (version ? all.versions.find((row) => row.version === version) : all.used[0]) || { used_ms: 0 };
  const now = rate(totals.total_ms, used.used_ms), runs = all.sessions?.runs || 0;
  return figures(
    figure(rateText(now), 'Hang rate', used.used_ms > 0 ? [`over ${duration(used.used_ms)} of use`, filter].filter(Boolean).join(', ') : part ? `not known for one ${part}` : 'no session reports', band(now)),
    version ? figure(named(version), 'Version') : figure(all.sessions && runs > 0 ? percent(all.sessions.hang_free / runs) : 'not known', 'Runs without a hang', runs > 0 ? `of ${plural(runs, 'run', 'runs')}` : ''),
    figure(duration(totals.total_ms), 'Time lost', filter), figure(count(totals.count), 'Hangs', filter), figure(count(totals.groups), 'Groups', filter),
    all.hosts ? figure(make('a', { href: address('origins', '', { app }) }, count(all.hosts)), 'Hosts', all.units ? plural(all.units, 'unit', 'units') : '') : null);
}

function versionLink(row: VersionRow, app: string): Child {
  const text = app ? named(row.version) : `${row.app} ${named(row.version)}`;
  return row.version ? make('a', { href: address('overview', '', { app: row.app, version: row.version }) }, text) : text;
}

function versionNames(all: Overview, app: string, now: string): [string, string][] {
  const names = new Set(all.versions.filter((row) => row.app === app && row.version).map((row) => row.version));
  if (now) names.add(now);
  return [...names].sort((a, b) => b.localeCompare(a, undefined, { numeric: true })).map((name) => [name, name]);
}

function versionRate(row: VersionRow, all: VersionRow[]): HTMLElement {
  const value = rate(row.total_ms, row.used_ms), than = against(value, rateBefore(row, all));
  const look = than === 'worse' ? 'bad' : than === 'better' && band(value) !== 'bad' ? 'good' : band(value) === 'good' ? 'none' : band(value) || 'none';
  const words = { worse: ' ▲', better: ' ▼', same: '', '': '' }[than];
  return make('span.' + look, { title: than && than !== 'same' ? `${than} than the version before it` : null }, rateText(value), words);
}

export async function overview(route: Route): Promise<View> {
  const app = appOf(route), version = versionOf(route), days = version ? DAYS_MAX : daysOf(route), state = route.choices.get('state') || 'open';
  const origin = originOf(route), [[part, place] = ['', '']] = Object.entries(origin);
  const choices: GroupChoice = { app, version, ...origin, days, state: state === 'all' ? '' : state, seen: route.choices.get('seen') || '' };
  const all = await api.overview({ ...choices, kind: 'hang', sort: route.choices.get('sort') || '', offset: offsetOf(route) });
  const again = (to: Record<string, string>) => change(route, { ...to, offset: '' });
  const controls = make('div.controls', { role: 'group', 'aria-label': 'Filter' },
    choice('app', 'App', app, [['', 'All apps'], ...appNames(all).map((name): [string, string] => [name, name])], (value) => again({ app: value, version: '' })),
    app ? choice('version', 'Version', version, [['', 'All versions'], ...versionNames(all, app, version)], (value) => again({ version: value })) : null,
    part ? make('button', { type: 'button', click: () => again({ [part]: '' }) }, `${part} ${place} ✕`) : null,
    version || part ? null : choice('days', 'Time', String(days), TIMES, (value) => again({ days: value })),
    choice('state', 'State', state, [['open', 'Open'], ['resolved', 'Resolved'], ['ignored', 'Ignored'], ['all', 'All']], (value) => again({ state: value })));
  const ofVersion = all.series?.filter((row) => row.version === version);
  const filter = [version || part ? 'of its whole life' : '', part ? `of ${part} ${place}` : '', state === 'all' ? '' : `of ${state} groups`, choices.seen ? `only ${choices.seen}` : ''].filter(Boolean).join(', ');
  return {
    title: 'Overview',
    content: [
      make('div.head', null, make('h1', null, 'Hangs'), controls), summary(all, app, filter, version, part),
      all.versions.length || all.series?.length ? section('Hang rate', rateChart(version ? { ...all, series: ofVersion } : all, app !== '', filter)) : null,
      hangSection(all, days, route),
      section('Errors, crashes, frames, pool stalls and use of CPUs', otherGroups(choices)),
      make('div.columns', null,
        all.versions.length ? section('Versions', table('Versions', [
          { title: 'Version', cell: (r: VersionRow) => versionLink(r, app) },
          { title: 'Hangs', number: true, cell: (r) => count(r.count) },
          { title: 'Lost', number: true, cell: (r) => duration(r.total_ms) },
          { title: 'Rate', number: true, explain: WORDS['Hang rate'], cell: (r) => versionRate(r, all.versions) },
        ], all.versions), cutAt(all.versions, VERSIONS_MAX, 'those with the most time'), make('p.dim', null, filter ? 'Of all groups. ' : '', '▲ worse, ▼ better than the app’s version before it.')) : null,
        version ? null : section('Other reports', kindsStrip(app, days))),
    ],
  };
}
