// SPDX-License-Identifier: MIT
//
// Small pieces that many pages share: a figure, a cause, a state, a choice, a line of bars.

import type { GroupRow, State } from '../types';
import { address } from '../router';
import { CAUSES, KINDS } from '../words';
import { make, svg, type Child } from '../dom/element';

/** What the pages' words mean: tooltips, and the list in the help. */
export const WORDS = {
  'Hang rate': 'Seconds lost in hangs for each hour that the programs were in use (s/h).',
  'Time lost': 'The durations of all hangs, added up.',
  'Runs without a hang': 'The part of the programs’ runs in which no hang was seen.',
  Groups: 'A group has the hangs of one bug: the same functions, for the same reason.',
  'Users or runs': 'How many users met it. A program that names no user counts as one for each run.',
  Worst: 'The longest one.',
  Trend: 'Time lost on each of the last days; the last bar is today.',
  Share: 'Its part of the largest.',
} as const;

const of = <T>(words: Record<string, T>, word: string): T | undefined => (Object.hasOwn(words, word) ? words[word] : undefined);

export const kindWords = (kind: string) => of(KINDS, kind)?.sentence ?? '';
export const causeText = (kind: string) => of(CAUSES, kind)?.label ?? CAUSES.unknown.label;
export const kindText = (kind: string) => of(KINDS, kind)?.plural ?? kind;

export function cause(kind: string | undefined): HTMLElement {
  const known = kind && Object.hasOwn(CAUSES, kind) ? kind : 'unknown';
  return make('span.cause.' + known, { title: causeText(known) }, known === 'unknown' ? 'not known' : known);
}

export function figure(value: Child, what: string, note?: Child, kind = ''): HTMLElement {
  const explain = (WORDS as Record<string, string>)[what];
  return make('div.figure' + (kind && '.' + kind), { title: explain }, make('dt', null, what), make('dd', null, value), note ? make('dd.dim', null, note) : null);
}

export const figures = (...children: (HTMLElement | null)[]) => make('dl.figures', null, ...children);

const STATES: Record<State, string> = { open: 'open', resolved: 'resolved', ignored: 'ignored' };

export function flags(group: { is_new?: boolean; regressed?: boolean; state?: State }): HTMLElement | null {
  const all = [
    group.regressed ? make('span.flag.regressed', { title: 'It came back after it was resolved' }, 'regressed') : null,
    group.is_new ? make('span.flag.new', { title: 'First seen in the last 7 days' }, 'new') : null,
    group.state && group.state !== 'open' && group.state in STATES ? make('span.flag', null, STATES[group.state]) : null,
  ].filter((flag) => flag !== null);
  return all.length ? make('span.flags', null, ...all) : null;
}

export function groupName(group: Pick<GroupRow, 'fingerprint' | 'function' | 'place'> & Partial<GroupRow>, withApp = true): HTMLElement {
  return make('div.subject', null, make('a.code', { href: address('group', group.fingerprint) }, group.function || '(no function)'), flags(group),
    make('div.dim', null, [group.place, withApp ? group.app : ''].filter(Boolean).join(' · ')));
}

export function choice(id: string, label: string, value: string, options: [string, string][], change: (value: string) => void): HTMLElement {
  const select = make<HTMLSelectElement>('select', { id }, ...options.map(([v, text]) => make('option', { value: v, selected: v === value }, text)));
  select.addEventListener('change', () => change(select.value));
  return make('div.field', null, make('label', { for: id }, label), select);
}

export const TIMES: [string, string][] = [['1', 'Last day'], ['7', 'Last 7 days'], ['30', 'Last 30 days'], ['90', 'Last 90 days'], ['365', 'Last year']];

// A bar for each value; the highest fills the height.
export function bars(values: number[], label: string): Element {
  const most = Math.max(1, ...values);
  const all = values.map((value, i) => {
    const height = value > 0 ? Math.max(1.5, (value / most) * 24) : 0.5;
    return svg('rect', { x: i * 4, y: 24 - height, width: 3, height, class: value > 0 ? '' : 'none' });
  });
  return svg('svg', { class: 'bars', viewBox: `0 0 ${Math.max(1, values.length) * 4} 24`, preserveAspectRatio: 'none', role: 'img', 'aria-label': label }, ...all);
}

export function share(value: number): HTMLElement {
  const meter = make<HTMLMeterElement>('meter', { min: 0, max: 1, 'aria-hidden': 'true' });
  meter.value = Number.isFinite(value) ? Math.min(1, value) : 0;
  return meter;
}
