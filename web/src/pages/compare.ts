// SPDX-License-Identifier: MIT
//
// Two versions: what got slower, what got faster, each for an hour of use.

import * as api from '../api';
import { make, type Child } from '../parts/dom';
import { count, duration, named, rate, rateText } from '../parts/format';
import { cause, choice, figure, figures, groupName, TIMES } from '../parts/marks';
import { empty, loaded, section } from '../parts/states';
import { table } from '../parts/table';
import { differenceGraph } from '../pictures/difference';
import { readTree } from '../pictures/tree';
import { appOf, change, daysOf, type Route } from '../router';
import type { Compare, CompareRow, CompareSide, VersionRow } from '../types';
import { appNames, band } from './overview';
import type { View } from './page';

function side(one: CompareSide): HTMLElement[] {
  const value = rate(one.total_ms, one.used_ms);
  return [figure(rateText(value), `Hang rate of ${named(one.version)}`, `${count(one.count)} hangs, ${duration(one.total_ms)} lost`, band(value))];
}

function changed(row: CompareRow, all: Compare): HTMLElement {
  const from = rate(row.from_ms, all.from.used_ms), to = rate(row.to_ms, all.to.used_ms);
  if (from !== null && to !== null) {
    const more = to - from;
    if (Math.abs(more) < 0.005) return make('span.dim', null, 'as before');
    return make(more > 0 ? 'span.bad' : 'span.good', null, `${more > 0 ? '+' : '−'}${rateText(Math.abs(more))}`);
  }
  const more = row.to_ms - row.from_ms;
  return make(more > 0 ? 'span.bad' : 'span.good', null, `${more > 0 ? '+' : '−'}${duration(Math.abs(more))}`);
}

// Both for an hour of use where that is known, else for a hang.
function difference(all: Compare): HTMLElement {
  const known = all.from.used_ms > 0 && all.to.used_ms > 0;
  const of = (one: CompareSide, tree: unknown) => ({
    tree: readTree(tree), label: named(one.version), per: known ? one.used_ms / 3600000 : Math.max(1, one.count),
  });
  return differenceGraph(of(all.from, all.from_stack), of(all.to, all.to_stack), known ? 'an hour of use' : 'a hang');
}

function content(all: Compare): Child[] {
  const rows = table('Groups of both versions', [
    { title: 'Function', cell: (r: CompareRow) => groupName(r, false) },
    { title: 'Cause', cell: (r) => cause(r.cause) },
    { title: named(all.from.version), number: true, cell: (r) => duration(r.from_ms) },
    { title: named(all.to.version), number: true, cell: (r) => duration(r.to_ms) },
    { title: 'Change', number: true, cell: (r) => changed(r, all) },
  ], all.groups, true);
  return [figures(...side(all.from), ...side(all.to)), section('Difference', difference(all)),
    section('Groups', all.groups.length ? rows : empty(make('p', null, 'No hangs in either version.')))];
}

// The two newest versions of the app, where the user has chosen none.
function newest(versions: VersionRow[], app: string): string[] {
  return versions.filter((row) => row.app === app).sort((a, b) => (b.first_ms || 0) - (a.first_ms || 0) ||
    b.version.localeCompare(a.version, undefined, { numeric: true })).map((row) => row.version);
}

export async function compare(route: Route): Promise<View> {
  const days = daysOf(route), all = await api.overview('', days), apps = appNames(all);
  const app = appOf(route) || apps[0] || '', versions = newest(all.versions, app);
  const to = route.choices.get('to') || versions[0] || '', from = route.choices.get('from') || versions[1] || '';
  const options = versions.map((version): [string, string] => [version, named(version)]);
  const controls = make('div.controls', { role: 'group', 'aria-label': 'Versions' },
    choice('app', 'App', app, apps.map((name): [string, string] => [name, name]), (value) => change(route, { app: value, from: '', to: '' })),
    choice('from', 'From version', from, options, (value) => change(route, { app, from: value, to })),
    choice('to', 'To version', to, options, (value) => change(route, { app, from, to: value })),
    choice('days', 'Time', String(days), TIMES, (value) => change(route, { days: value })));
  return {
    title: 'Compare versions',
    content: [make('div.head', null, make('h1', null, 'Compare versions'), controls),
      versions.length < 2 ? empty(make('p', null, app ? `${app} has fewer than two versions in this time.` : 'No reports are here yet.'))
        : loaded('both versions', () => api.compare(app, from, to, days), content)],
  };
}
