// SPDX-License-Identifier: MIT
//
// Groups and reports by a word: function, place, version, id.

import * as api from '../api';
import { make } from '../dom/element';
import { table } from '../dom/table';
import { count, duration } from '../parts/format';
import { cause, groupName } from '../parts/marks';
import { empty, loaded, section } from '../parts/states';
import { cutAt, pages } from '../parts/lists';
import { appOf, type Route } from '../router';
import type { Found, GroupRow } from '../types';
import { reportTable } from './group';
import type { View } from './page';

const PAGE = 50; // of the collector's answers

const hits = (groups: GroupRow[]) => table('Groups', [
  { title: 'Function', cell: (g: GroupRow) => groupName(g) },
  { title: 'Cause', cell: (g) => cause(g.cause) },
  { title: 'Lost', number: true, cell: (g) => duration(g.total_ms) },
  { title: 'Hangs', number: true, cell: (g) => count(g.count) },
], groups, { wide: true });

export async function search(route: Route): Promise<View> {
  const words = (route.choices.get('q') || '').trim(), app = appOf(route);
  const show = (found: Found) => (found.groups.length + found.reports.length === 0
    ? [empty(make('p', null, 'Nothing has these words in a function, place, version or id.'))]
    : [found.groups.length ? section('Groups', pages(found.groups, async (offset) => (await api.search(words, app, offset)).groups, hits, PAGE)) : null,
      found.reports.length ? section('Reports', reportTable(found.reports, 'Reports', true), cutAt(found.reports, PAGE, 'more of the id finds fewer')) : null]);
  return {
    title: 'Search',
    content: [make('h1', null, words ? `Search: ${words}` : 'Search'),
      words ? loaded('what has these words', () => api.search(words, app, 0), show)
        : empty(make('p', null, 'Write a word of a function, a place, a version or a report’s id into the field above.'))],
  };
}
