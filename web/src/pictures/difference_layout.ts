// SPDX-License-Identifier: MIT
//
// Two call trees as one: what each function took before and after. Pure.
import type { StackNode, StackTree } from './tree';

export interface Side {
  tree: StackTree;
  label: string; // "1.2"
  per: number; // what its time is divided by: hours of use, hangs, or its own total
}

export interface Change {
  before: number; // time, divided by `per`
  after: number;
}

export interface Difference {
  tree: StackTree; // `ms` is the mean of both sides: no function vanishes, and callees fit their caller
  changes: Change[]; // of each node
  before: number;
  after: number;
}

const NODES_MAX = 60000;

/** The nodes of both, merged by name on the same path. */
export function difference(from: Side, to: Side): Difference {
  const nodes: StackNode[] = [];
  const changes: Change[] = [];
  const index = new Map<string, number>();
  const add = (side: Side, which: 'before' | 'after'): void => {
    const per = side.per > 0 ? side.per : 1;
    const merged = new Int32Array(side.tree.nodes.length).fill(-1);
    side.tree.nodes.forEach((node, at) => {
      const parent = node.parent < 0 ? -1 : merged[node.parent];
      if (node.parent >= 0 && parent < 0) return; // its caller was left out
      const key = `${parent} ${node.name}`;
      let to_ = index.get(key);
      if (to_ === undefined) {
        if (nodes.length === NODES_MAX) return;
        to_ = nodes.push({ ...node, parent, ms: 0 }) - 1;
        changes.push({ before: 0, after: 0 });
        index.set(key, to_);
      }
      merged[at] = to_;
      changes[to_][which] += node.ms / per;
      nodes[to_].ms += node.ms / per / 2;
    });
  };
  add(from, 'before');
  add(to, 'after');
  const sum = (which: 'before' | 'after'): number => nodes.reduce((all, node, at) => (node.parent < 0 ? all + changes[at][which] : all), 0);
  const totals = { before: sum('before'), after: sum('after') };
  return { tree: { nodes, totalMs: (totals.before + totals.after) / 2 }, changes, ...totals };
}

/** -1: it is gone, 0: as before, 1: it is new. */
export function tendency({ before, after }: Change): number {
  return before + after > 0 ? (after - before) / (before + after) : 0;
}

/** The sign of a change in words and in a colour's name: five steps, so that no colour is needed to tell them apart. */
export function stepOf(change: Change): { colour: string; mark: string } {
  const by = tendency(change);
  if (change.before === 0 && change.after > 0) return { colour: 'worse-much', mark: '✚' };
  if (change.after === 0 && change.before > 0) return { colour: 'better-much', mark: '✖' };
  if (by > 1 / 3) return { colour: 'worse-much', mark: '▲▲' };
  if (by > 0.05) return { colour: 'worse', mark: '▲' };
  if (by < -1 / 3) return { colour: 'better-much', mark: '▼▼' };
  if (by < -0.05) return { colour: 'better', mark: '▼' };
  return { colour: 'same', mark: '' };
}
