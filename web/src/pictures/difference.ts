// SPDX-License-Identifier: MIT
//
// The difference flame graph: two versions in one picture. Signs before the names say what the colours say.
import { make } from '../dom/element';
import { table } from '../dom/table';
import { difference, stepOf } from './difference_layout';
import type { Change, Side } from './difference_layout';
import { flameGraph } from './flame';
import type { Skin } from './flame';
import { duration } from './text';

const ROWS_MAX = 100;

function changeText({ before, after }: Change): string {
  if (before === 0) return 'new';
  if (after === 0) return 'gone';
  const part = after / before - 1;
  if (Math.abs(part) < 0.005) return 'as before';
  return part > 9 ? `× ${(part + 1).toFixed(0)}` : `${part > 0 ? '+' : '−'}${Math.abs(part * 100).toFixed(0)} %`;
}

/** `unit` ends the times: "an hour of use", "a hang". */
export function differenceGraph(from: Side, to: Side, unit = ''): HTMLElement {
  const both = difference(from, to);
  const { nodes } = both.tree;
  const time = (ms: number): string => [duration(ms), unit].filter(Boolean).join(' ');
  const step = (at: number) => stepOf(both.changes[at]);
  const largest = nodes.map((node, at) => ({ node, change: both.changes[at] }))
    .sort((a, b) => Math.abs(b.change.after - b.change.before) - Math.abs(a.change.after - a.change.before));
  const skin = (): Skin => ({
    name: `Difference of ${from.label} and ${to.label}`,
    legend: [
      { sign: 'worse-much', text: '▲▲ twice the time or more, ✚ new' }, { sign: 'worse', text: '▲ more' }, { sign: 'same', text: 'as before' },
      { sign: 'better', text: '▼ less' }, { sign: 'better-much', text: '▼▼ half the time or less, ✖ gone' },
    ],
    fill: (at) => step(at).colour,
    ink: (at) => `${step(at).colour}-ink`,
    bold: (at) => nodes[at].own,
    mark: (at) => step(at).mark,
    label: (at) => nodes[at].name,
    describe: (at) => {
      const change = both.changes[at];
      const { name, place, own } = nodes[at];
      return [name, place, `${from.label}: ${time(change.before)}, ${to.label}: ${time(change.after)}`, changeText(change), own ? 'of the app' : ''].filter(Boolean).join(' · ');
    },
    table: () => table('Largest changes first', [
      { title: 'Function', cell: (r) => make('code', { dir: 'ltr' }, r.node.name) },
      { title: 'Place', cell: (r) => r.node.place },
      { title: from.label, number: true, cell: (r) => time(r.change.before) },
      { title: to.label, number: true, cell: (r) => time(r.change.after) },
      { title: 'Change', number: true, cell: (r) => changeText(r.change) },
    ], largest, { most: ROWS_MAX }),
  });
  return flameGraph(both.tree, { skin, invertible: false, empty: 'No report of these versions has a stack.' });
}
