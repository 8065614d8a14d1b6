// SPDX-License-Identifier: MIT
//
// Where the rectangles of a flame graph are: the outermost function at the top, the widest callee at the left. Pure.
import type { StackTree } from './tree';

/** Of each node: where it starts and how wide it is, as parts of the whole. */
export interface FlameIndex {
  start: Float64Array;
  width: Float64Array;
  depth: Int32Array;
  parent: Int32Array;
  widest: Int32Array; // the first callee, -1: none
  rows: Int32Array[]; // of each depth its nodes, from left to right
}

export interface View { // what is zoomed to, as parts of the whole
  from: number;
  to: number;
}

export interface Box { // in pixels; several nodes that are too small for one each are one box
  node: number;
  count: number;
  x: number;
  width: number;
  depth: number;
}

export type Step = 'in' | 'out' | 'left' | 'right' | 'first' | 'last';

const WHOLE: View = { from: 0, to: 1 };

function childrenOf(tree: StackTree): { roots: number[]; below: (number[] | undefined)[] } {
  const roots: number[] = [];
  const below: (number[] | undefined)[] = new Array<number[] | undefined>(tree.nodes.length);
  tree.nodes.forEach((node, at) => {
    if (node.parent < 0) roots.push(at);
    else (below[node.parent] ??= []).push(at);
  });
  return { roots, below };
}

export function makeIndex(tree: StackTree): FlameIndex {
  const count = tree.nodes.length;
  const index: FlameIndex = {
    start: new Float64Array(count), width: new Float64Array(count), depth: new Int32Array(count),
    parent: Int32Array.from(tree.nodes, (node) => node.parent), widest: new Int32Array(count).fill(-1), rows: [],
  };
  const { roots, below } = childrenOf(tree);
  const ms = (at: number): number => tree.nodes[at]?.ms ?? 0;
  // Callees share what their caller has, also where a report says that they took longer.
  const place = (nodes: number[], from: number, room: number, whole: number): void => {
    const sum = nodes.reduce((all, at) => all + ms(at), 0);
    const scale = sum > whole ? (sum > 0 ? room / sum : 0) : (whole > 0 ? room / whole : 0);
    let x = from;
    for (const at of nodes) {
      index.start[at] = x;
      index.width[at] = ms(at) * scale;
      x += ms(at) * scale;
    }
  };
  let row = roots.sort((a, b) => ms(b) - ms(a));
  place(row, 0, 1, tree.totalMs);
  for (let depth = 0; row.length > 0; depth += 1) {
    const next: number[] = [];
    for (const at of row) {
      index.depth[at] = depth;
      const callees = (below[at] ?? []).sort((a, b) => ms(b) - ms(a));
      index.widest[at] = callees[0] ?? -1;
      place(callees, index.start[at] ?? 0, index.width[at] ?? 0, ms(at));
      for (const callee of callees) next.push(callee);
    }
    index.rows.push(Int32Array.from(row));
    row = next;
  }
  return index;
}

// The first of a row that ends after `x`.
function firstAfter(index: FlameIndex, row: Int32Array, x: number): number {
  let low = 0;
  let high = row.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const at = row[middle] ?? 0;
    if ((index.start[at] ?? 0) + (index.width[at] ?? 0) <= x) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The boxes of one depth. No more than there are pixels, however many nodes. */
export function boxesOf(index: FlameIndex, depth: number, view: View, pixels: number, least = 2): Box[] {
  const row = index.rows[depth];
  const boxes: Box[] = [];
  if (!row) return boxes;
  const scale = pixels / (view.to - view.from);
  for (let i = firstAfter(index, row, view.from); i < row.length; i += 1) {
    const node = row[i] ?? 0;
    const start = index.start[node] ?? 0;
    if (start >= view.to) break;
    const x = Math.max(0, (start - view.from) * scale);
    const width = Math.min(pixels, (start + (index.width[node] ?? 0) - view.from) * scale) - x;
    const before = boxes[boxes.length - 1];
    if (width < least && before && before.width < least && x - (before.x + before.width) < least) {
      before.width = x + width - before.x;
      before.count += 1;
    } else if (width > 0) boxes.push({ node, count: 1, x, width, depth });
  }
  return boxes;
}

/** The node at a part of the view's width in a row, -1: none. */
export function nodeAt(index: FlameIndex, depth: number, view: View, part: number): number {
  const row = index.rows[depth];
  if (!row) return -1;
  const x = view.from + part * (view.to - view.from);
  const node = row[firstAfter(index, row, x)] ?? -1;
  return node >= 0 && (index.start[node] ?? 0) <= x ? node : -1;
}

export function viewOf(index: FlameIndex, node: number): View {
  const from = index.start[node];
  const width = index.width[node];
  return from === undefined || width === undefined || width <= 0 ? WHOLE : { from, to: from + width };
}

/** The node that a key leads to; the same one where there is no other. */
export function nextNode(index: FlameIndex, node: number, step: Step, view: View): number {
  if (node < 0) return index.rows[0]?.[0] ?? -1;
  if (step === 'in') return (index.widest[node] ?? -1) >= 0 ? index.widest[node] as number : node;
  if (step === 'out') return (index.parent[node] ?? -1) >= 0 ? index.parent[node] as number : node;
  const row = (index.rows[index.depth[node] ?? 0] ?? new Int32Array(0));
  const inView = (at: number): boolean => (index.start[at] ?? 0) < view.to && (index.start[at] ?? 0) + (index.width[at] ?? 0) > view.from;
  const at = row.indexOf(node);
  const first = firstAfter(index, row, view.from);
  if (step === 'first') return row[first] ?? node;
  if (step === 'last') {
    let last = at;
    while (last + 1 < row.length && inView(row[last + 1] ?? 0)) last += 1;
    return row[last] ?? node;
  }
  const next = row[at + (step === 'left' ? -1 : 1)];
  return next !== undefined && inView(next) ? next : node;
}

export interface Found {
  nodes: Uint8Array; // 1: its name or place has the words
  count: number;
  ms: number; // below any of them, once
}

export function find(tree: StackTree, words: string): Found {
  const found: Found = { nodes: new Uint8Array(tree.nodes.length), count: 0, ms: 0 };
  const wanted = words.trim().toLowerCase();
  if (!wanted) return found;
  const inside = new Uint8Array(tree.nodes.length);
  tree.nodes.forEach((node, at) => {
    const above = node.parent >= 0 && inside[node.parent] === 1;
    const hit = `${node.name} ${node.place}`.toLowerCase().includes(wanted);
    inside[at] = above || hit ? 1 : 0;
    if (!hit) return;
    found.nodes[at] = 1;
    found.count += 1;
    if (!above) found.ms += node.ms;
  });
  return found;
}
