// SPDX-License-Identifier: MIT
//
// Two versions: what got slower, what got faster, each for an hour of use.

import * as api from '../api';
import { make, type Child } from '../dom/element';
import { table } from '../dom/table';
import { count, duration, named, rate, rateText } from '../parts/format';
import { cause, choice, figure, figures, groupName } from '../parts/marks';
import { empty, loaded, section } from '../parts/states';
import { cutAt } from '../parts/lists';
import { differenceGraph } from '../pictures/difference';
import { readTree } from '../pictures/tree';
import { appOf, change, type Route } from '../router';
import type { Compare, CompareRow, CompareSide } from '../types';
import { appNames } from './overview';
import { against, factor } from './overview_rate';
import type { View } from './page';

const GROUPS_MAX = 200; // of the collector's answer

// The colour says which of the two is better, and no more.
function sides(all: Compare): HTMLElement {
  const from = rate(all.from.total_ms, all.from.used_ms), to = rate(all.to.total_ms, all.to.used_ms);
  const than = against(to, from), look = than === 'worse' ? 'bad' : than === 'better' ? 'good' : '';
  const side = (one: CompareSide, value: number | null, kind: string) =>
    figure(rateText(value), `Hang rate of ${named(one.version)}`, `${count(one.count)} hangs, ${duration(one.total_ms)} lost`, kind);
  const more = from !== null && to !== null
    ? figure(than === 'same' ? 'as before' : `${to > from ? '+' : '−'}${rateText(Math.abs(to - from))}`, 'Change', than === 'same' ? '' : factor(to, from), look)
    : figure('not known', 'Change', 'one has no session reports');
  return figures(side(all.from, from, ''), side(all.to, to, look), more);
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
  ], all.groups, { wide: true });
  return [sides(all), make('p.dim', null, 'Of the whole life of both versions.'), section('Difference', difference(all)),
    section('Groups', all.groups.length ? rows : empty(make('p', null, 'No hangs in either version.')), cutAt(all.groups, GROUPS_MAX, 'those with the most time'))];
}

export async function compare(route: Route): Promise<View> {
  let all = await api.versions(appOf(route));
  const apps = appNames(all), app = appOf(route) || apps[0] || '';
  if (app && !appOf(route)) all = await api.versions(app);
  // The two newest versions, where the user has chosen none.
  const versions = all.versions.map((row) => row.version);
  const to = route.choices.get('to') || versions[0] || '', from = route.choices.get('from') || versions[1] || '';
  const options = versions.map((version): [string, string] => [version, named(version)]);
  const controls = make('div.controls', { role: 'group', 'aria-label': 'Versions' },
    choice('app', 'App', app, apps.map((name): [string, string] => [name, name]), (value) => change(route, { app: value, from: '', to: '' })),
    choice('from', 'From version', from, options, (value) => change(route, { app, from: value, to })),
    choice('to', 'To version', to, options, (value) => change(route, { app, from, to: value })));
  return {
    title: 'Compare versions',
    content: [make('div.head', null, make('h1', null, 'Compare versions'), controls),
      versions.length < 2 ? empty(make('p', null, app ? `${app} has fewer than two versions.` : 'No reports are here yet.'))
        : loaded('both versions', () => api.compare(app, from, to), content)],
  };
}
