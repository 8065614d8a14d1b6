// SPDX-License-Identifier: MIT
//
// Reports of one kind: frames, CPU, crashes and the others.

import * as api from '../api';
import { make } from '../dom/element';
import { count } from '../parts/format';
import { choice, kindText, kindWords, TIMES } from '../parts/marks';
import { empty, loaded } from '../parts/states';
import { pages } from '../parts/lists';
import { address, appOf, change, daysOf, type Route } from '../router';
import { TABS } from '../words';
import { reportTable } from './group';
import { appNames } from './overview';
import type { View } from './page';

const PAGE = 200; // of the collector's answers

export async function reports(route: Route): Promise<View> {
  const wanted = route.choices.get('kind') || TABS[0], app = appOf(route), days = daysOf(route);
  const kind = TABS.includes(wanted) ? wanted : TABS[0];
  const [all, kinds] = await Promise.all([api.versions(''), api.kinds(app, days).catch(() => [])]);
  const counts = new Map(kinds.map((row) => [row.kind, row.count]));
  const tabs = make('nav.tabs', { 'aria-label': 'Kinds' }, ...TABS.map((one) => make('a', {
    href: address('reports', '', { kind: one, app, days: route.choices.get('days') || '' }), 'aria-current': one === kind ? 'page' : null,
  }, kindText(one), counts.has(one) ? make('span.dim', null, ' ' + count(counts.get(one) || 0)) : null)));
  return {
    title: kindText(kind),
    content: [
      make('div.head', null, make('h1', null, kindText(kind)), make('div.controls', { role: 'group', 'aria-label': 'Filter' },
        choice('app', 'App', app, [['', 'All apps'], ...appNames(all).map((name): [string, string] => [name, name])], (value) => change(route, { app: value })),
        choice('days', 'Time', String(days), TIMES, (value) => change(route, { days: value })))),
      tabs,
      make('section', null, make('p.dim', null, kindWords(kind)), loaded('the reports', () => api.reports(kind, app, days, 0), (first) => [first.reports.length
        ? pages(first.reports, async (offset) => (await api.reports(kind, app, days, offset)).reports, (rows) => reportTable(rows, kindText(kind), true), PAGE)
        : empty(make('p', null, 'No reports of this kind in this time.'))])),
    ],
  };
}
