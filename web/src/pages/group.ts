// SPDX-License-Identifier: MIT
//
// One group of hangs: where the time went, why, how long, in which versions and systems, and its newest reports.

import * as api from '../api';
import { make, type Child } from '../dom/element';
import { asTable, table } from '../dom/table';
import { ago, count, duration, moment, named, plural } from '../parts/format';
import { bars, cause, causeText, choice, figure, figures, flags, kindText, share } from '../parts/marks';
import { empty, loaded, say, section } from '../parts/states';
import { cutAt, pages } from '../parts/lists';
import { flameGraph } from '../pictures/flame';
import { histogram } from '../pictures/histogram';
import { readTree } from '../pictures/tree';
import { address, change, type Route } from '../router';
import type { Group, OriginRow, ReportRow, State } from '../types';
import { byDay } from './overview';
import type { View } from './page';

const DAYS = 30;
const LABELS_SHOWN = 10;
const PARTS_MAX = 50; // versions and systems of the collector's answer

function shares(title: string, rows: { count: number; total_ms: number; name: string }[]): HTMLElement {
  const most = Math.max(1, ...rows.map((row) => row.total_ms));
  return make('div', null, table(title, [
    { title, cell: (r: typeof rows[0]) => named(r.name) },
    { title: 'Hangs', number: true, cell: (r) => count(r.count) },
    { title: 'Lost', number: true, cell: (r) => duration(r.total_ms) },
    { title: 'Share', hidden: true, cell: (r) => share(r.total_ms / most) },
  ], rows), cutAt(rows, PARTS_MAX, 'those with the most time'));
}

// What the program said that it worked on, as shares of the group's time. Without a label: reports that have none.
function labelTable(one: Group): HTMLElement | null {
  const labels = (one.labels || []).map((row) => ({ ...row, name: row.label || 'all others' }));
  if (labels.length === 0) return null;
  const sum = (part: 'count' | 'total_ms') => one[part] - labels.reduce((all, row) => all + row[part], 0);
  const rows = sum('count') > 0 ? [...labels, { label: '', name: 'without a label', count: sum('count'), total_ms: Math.max(0, sum('total_ms')) }] : labels;
  const part = (shown: typeof rows) => table('Label', [
    { title: 'Label', cell: (r: typeof rows[0]) => (r.label ? make('span.code', null, r.name) : make('span.dim', null, r.name)) },
    { title: 'Hangs', number: true, cell: (r) => count(r.count) },
    { title: 'Lost', number: true, cell: (r) => duration(r.total_ms) },
    { title: 'Of all', number: true, cell: (r) => `${Math.round(100 * r.total_ms / Math.max(1, one.total_ms))} %` },
    { title: 'Share', hidden: true, cell: (r) => share(r.total_ms / Math.max(1, one.total_ms)) },
  ], shown);
  const more = rows.slice(LABELS_SHOWN);
  return section('For what', part(rows.slice(0, LABELS_SHOWN)),
    more.length ? make('details', null, make('summary', null, `${more.length} more`), part(more)) : null);
}

// `withApp`: of many groups. Then the function says what each is of.
export function reportTable(rows: ReportRow[], caption: string, withApp = false): HTMLElement {
  const link = (r: ReportRow, text: string) => make('a', { href: address('report', r.id) }, text);
  return table(caption, [
    ...(withApp ? [{ title: 'Function', cell: (r: ReportRow) => make('div.subject', null, make('span.code', null, link(r, r.function || '(no function)')),
      r.place ? make('div.dim', null, r.place) : null) }] : []),
    { title: 'When', cell: (r: ReportRow) => (withApp ? moment(r.started_ms) : link(r, moment(r.started_ms))) },
    { title: 'Duration', number: true, cell: (r) => duration(r.duration_ms) },
    { title: 'Kind', cell: (r) => r.kind + (r.brief ? ', a repeat' : '') },
    ...(withApp ? [{ title: 'Cause', cell: (r: ReportRow) => cause(r.cause) }, { title: 'App', cell: (r: ReportRow) => r.app || '' }] : []),
    { title: 'Version', cell: (r) => named(r.version) },
    { title: 'System', cell: (r) => r.system || '' },
    ...(rows.some((r) => r.host || r.unit || r.container) ? [{ title: 'Where', cell: (r: ReportRow) => [r.host, r.container || r.unit].filter(Boolean).join(', ') }] : []),
  ], rows, { wide: true });
}

// Where the programs ran. A name leads to all groups of it.
function originSections(one: Group): HTMLElement[] {
  const parts: [string, string, OriginRow[] | undefined][] = [['Hosts', 'host', one.hosts], ['Units', 'unit', one.units],
    ['Containers', 'container', one.containers], ['Images', 'image', one.images]];
  return parts.filter(([, , rows]) => rows?.length).map(([title, part, rows]) => section(title, table(title, [
    { title: title.slice(0, -1), cell: (r: OriginRow) => (r.name ? make('a', { href: address('overview', '', { [part]: r.name }) }, r.name) : make('span.dim', null, 'all others')) },
    { title: 'Hangs', number: true, cell: (r) => count(r.count) },
    { title: 'Lost', number: true, cell: (r) => duration(r.total_ms) },
    { title: 'Share', hidden: true, cell: (r) => share(r.total_ms / Math.max(1, one.total_ms)) },
  ], rows || []), cutAt(rows || [], PARTS_MAX, 'those with the most time')));
}

function stackSection(id: string, one: Group, route: Route): HTMLElement {
  const version = route.choices.get('version') || '';
  const versions = one.versions.map((row): [string, string] => [row.version, named(row.version)]).filter(([value]) => value);
  return section('Where the time went',
    versions.length > 1 ? make('div.controls', null, choice('version', 'Version', version, [['', 'All versions'], ...versions], (value) => change(route, { version: value }))) : null,
    loaded('the stacks', () => api.stack(id, version), (stack) => [
      make('p.dim', null, `${plural(stack.reports, 'report', 'reports')}, merged by time. Functions of the app are set off.`), flameGraph(readTree(stack))]));
}

function administer(id: string, one: Group, again: () => void): HTMLElement {
  const note = make<HTMLTextAreaElement>('textarea', { id: 'note', rows: 2, maxlength: 4000 });
  note.value = one.note || '';
  const error = make('p.state.error', { role: 'alert', hidden: true });
  const save = async (change: { state?: State; note?: string }, done: string) => {
    try {
      await api.setGroup(id, change);
      say(done);
      again();
    } catch (problem) {
      error.textContent = problem instanceof Error ? problem.message : String(problem);
      error.hidden = false;
    }
  };
  const form = make('form', null, make('label', { for: 'note' }, 'Note'), note, make('button', null, 'Save the note'));
  form.addEventListener('submit', (event) => { event.preventDefault(); void save({ note: note.value }, 'The note is saved'); });
  const now = one.state || 'open';
  const button = (state: State, text: string) => (state === now ? null
    : make('button', { type: 'button', click: () => void save({ state }, `The group is ${state}`) }, text));
  return make('div', null, make('div.controls', { role: 'group', 'aria-label': 'State' },
    button('resolved', 'Mark as resolved'), button('ignored', 'Ignore'), button('open', 'Open again')),
  make('details.note-form', null, make('summary', null, one.note ? 'Change the note' : 'Write a note'), form), error);
}

function stateSection(id: string, one: Group, again: () => void): HTMLElement {
  const plain: Child[] = [
    make('p', null, 'This group is ', make('b', null, one.state || 'open'), one.resolved_in ? `, resolved in ${one.resolved_in}` : '',
      one.regressed ? ', and came again' : '', '.'),
    one.note ? make('p.note', null, one.note) : null];
  return make('section.state-of', { 'aria-label': 'State' }, ...plain, loaded('', async () => (await api.me().catch(() => ({ use: 'read' }))).use,
    (use) => [use === 'admin' ? administer(id, one, again)
      : make('p.dim', null, 'A key for administering may change the state and the note.')]));
}

function ownerLine(one: Group): Child {
  return one.by_owner ? make('p', null, 'These hangs waited for a lock. They are grouped by what its owner did: it was in ',
    make('code', null, one.function), '.') : null;
}

function days(one: Group): HTMLElement {
  const values = byDay(one.days, DAYS);
  return make('div', null, bars(values, `Time lost on each of the last ${DAYS} days`), make('p.dim', null, `${DAYS} days, the last one is today`),
    asTable(() => table('Time lost a day', [
      { title: 'Day', cell: (r: Group['days'][0]) => new Date(r.day * 86400000).toLocaleDateString(undefined, { timeZone: 'UTC' }) },
      { title: 'Hangs', number: true, cell: (r) => count(r.count) }, { title: 'Lost', number: true, cell: (r) => duration(r.total_ms) }], one.days)));
}

export async function group(route: Route): Promise<View> {
  const id = route.id, one = await api.group(id), version = route.choices.get('version') || '';
  return {
    title: one.function,
    crumbs: [make('span.code', null, one.function)],
    content: [
      make('h1', null, make('span.code', null, one.function), ' ', flags(one)),
      make('p.dim', null, [one.place, one.app, one.kind && one.kind !== 'hang' ? kindText(one.kind) : ''].filter(Boolean).join(' · ')),
      make('p', null, cause(one.cause), ': ', causeText(one.cause)), ownerLine(one),
      figures(figure(duration(one.total_ms), 'Time lost'), figure(count(one.count), one.kind && one.kind !== 'hang' ? 'Reports' : 'Hangs'), figure(count(one.users), 'Users or runs'),
        one.host_count ? figure(count(one.host_count), 'Hosts') : null,
        figure(duration(one.max_ms), 'Worst'), figure(moment(one.first_ms), 'First', ago(one.first_ms), 'long'), figure(moment(one.last_ms), 'Last', ago(one.last_ms), 'long')),
      stateSection(id, one, () => window.dispatchEvent(new Event('hashchange'))),
      stackSection(id, one, route),
      labelTable(one),
      make('div.columns', null, section('Durations', histogram(one.durations)), section('Time lost a day', days(one)),
        section('Versions', shares('Version', one.versions.map((row) => ({ ...row, name: row.version })))),
        section('Systems', shares('System', one.systems.map((row) => ({ ...row, name: row.system })))), ...originSections(one)),
      section('Reports', one.reports.length
        ? pages(one.reports, async (offset) => (await api.groupReports(id, offset, version)).reports, (rows) => reportTable(rows, 'Newest reports'))
        : empty(make('p', null, 'Its reports are older than the collector keeps them.'))),
      section('Why these are one group', make('p', null, one.why || ''),
        make('pre', { tabindex: 0 }, one.path || '')),
    ],
  };
}
