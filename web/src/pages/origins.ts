// SPDX-License-Identifier: MIT
//
// Hosts, systemd units, containers and images: where the time was lost.

import * as api from '../api';
import { make } from '../dom/element';
import { table } from '../dom/table';
import { ago, count, duration, rate, rateText } from '../parts/format';
import { choice, WORDS } from '../parts/marks';
import { empty } from '../parts/states';
import { pager } from '../parts/lists';
import { address, appOf, change, offsetOf, type Route } from '../router';
import type { OriginSums } from '../types';
import { appNames } from './overview';
import { band } from './overview_rate';
import type { View } from './page';

const PAGE = 200; // of the collector's answers
// The collector's word, the title, and one of them in a sentence.
const ORIGINS: [string, string, string][] = [['host', 'Hosts', 'a host'], ['unit', 'Units', 'a systemd unit'], ['container', 'Containers', 'a container'], ['image', 'Images', 'an image']];

// A name leads to its groups.
function originTable(title: string, part: string, app: string, rows: OriginSums[]): HTMLElement {
  return table(title, [
    { title: title.slice(0, -1), cell: (r: OriginSums) => make('div.subject', null, make('a', { href: address('overview', '', { [part]: r.name, app }) }, r.name)) },
    ...(app ? [] : [{ title: 'Apps', number: true, cell: (r: OriginSums) => count(r.apps) }]),
    { title: 'Lost', number: true, explain: WORDS['Time lost'], cell: (r) => duration(r.total_ms) },
    { title: 'Hangs', number: true, cell: (r) => count(r.count) },
    { title: 'Runs', number: true, cell: (r) => count(r.runs) },
    { title: 'Use', number: true, cell: (r) => (r.used_ms > 0 ? duration(r.used_ms) : '') },
    { title: 'Hang rate', number: true, explain: WORDS['Hang rate'], cell: (r) => { const now = rate(r.total_ms, r.used_ms); return make('span.' + (band(now) || 'none'), null, rateText(now)); } },
    { title: 'Last', cell: (r) => make('time', { datetime: new Date(r.last_ms).toISOString(), title: new Date(r.last_ms).toLocaleString() }, ago(r.last_ms)) },
  ], rows, { wide: true });
}

export async function origins(route: Route): Promise<View> {
  const app = appOf(route), offset = offsetOf(route);
  const [part, title, one] = ORIGINS.find(([name]) => name === route.choices.get('part')) || ORIGINS[0];
  const all = await api.origins(part, app, offset);
  const tabs = make('nav.tabs', { 'aria-label': 'Where' }, ...ORIGINS.map(([name, text]) => make('a', {
    href: address('origins', '', { part: name, app }), 'aria-current': name === part ? 'page' : null }, text)));
  return {
    title,
    content: [
      make('div.head', null, make('h1', null, title, ' ', make('span.dim', null, count(all.total))), make('div.controls', { role: 'group', 'aria-label': 'Filter' },
        choice('app', 'App', app, [['', 'All apps'], ...appNames(all).map((name): [string, string] => [name, name])], (value) => change(route, { app: value, offset: '' })))),
      tabs,
      make('section', null, make('p.dim', null, 'Of all reports that the collector has, those with the most time first.'),
        all.rows.length ? originTable(title, part, app, all.rows) : empty(make('p', null, `No report names ${one}.`)),
        pager(offset, all.rows.length, all.total, PAGE, (to) => address('origins', '', { part, app, offset: to || '' }))),
    ],
  };
}
