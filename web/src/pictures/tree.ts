// SPDX-License-Identifier: MIT
//
// A call tree as the pictures take it: a list in which a parent stands before its children. Trees of the collector,
// and of one report, may be hostile. Pure.
import { cleanName, cleanNumber, fileName } from './text';

export interface StackNode {
  name: string;
  place: string; // "shop.c:13", or the module
  own: boolean; // the app's own function
  parent: number; // -1: outermost
  ms: number; // in it, or below it
}

export interface StackTree {
  nodes: StackNode[];
  totalMs: number;
}

const NODES_MAX = 60000;
const INVERTED_DEPTH_MAX = 128;
const INVERTED_STEPS_MAX = 1000000; // a hostile tree has as many callers as it may below each function

type Loose = Record<string, unknown>;

export const looseObject = (value: unknown): Loose => (typeof value === 'object' && value !== null ? value as Loose : {});
export const looseList = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

function placeOf(node: Loose): string {
  if (typeof node.place === 'string') return cleanName(node.place);
  if (typeof node.file === 'string') {
    const file = fileName(node.file);
    return cleanName(cleanNumber(node.line) > 0 ? `${file}:${cleanNumber(node.line)}` : file);
  }
  return cleanName(node.module);
}

const nodeOf = (node: Loose, parent: number): StackNode => ({
  name: cleanName(node.name) || '(no name)', place: placeOf(node), own: node.own === true, parent, ms: cleanNumber(node.ms),
});

function readList(list: unknown[]): StackNode[] {
  const nodes: StackNode[] = [];
  for (const entry of list.slice(0, NODES_MAX)) {
    const node = looseObject(entry);
    const { parent } = node;
    const whole = typeof parent === 'number' && Number.isInteger(parent) && parent >= 0 && parent < nodes.length;
    nodes.push(nodeOf(node, whole ? parent as number : -1));
  }
  return nodes;
}

// Without recursion: a stack of 10,000 frames is a tree of that depth.
function readNested(root: unknown): StackNode[] {
  const nodes: StackNode[] = [];
  const outermost = looseObject(root);
  const waiting: { node: Loose; parent: number }[] = typeof outermost.name === 'string' && outermost.name !== ''
    ? [{ node: outermost, parent: -1 }]
    : looseList(outermost.children).map((child) => ({ node: looseObject(child), parent: -1 }));
  for (let next = waiting.pop(); next && nodes.length < NODES_MAX; next = waiting.pop()) {
    nodes.push(nodeOf(next.node, next.parent));
    for (const child of looseList(next.node.children)) waiting.push({ node: looseObject(child), parent: nodes.length - 1 });
  }
  return nodes;
}

function outermostMs(nodes: StackNode[]): number {
  return nodes.reduce((sum, node) => (node.parent < 0 ? sum + node.ms : sum), 0);
}

/** The tree of an answer of the collector: {nodes: [...]}, {root: {...}}, or a node with children. */
export function readTree(answer: unknown): StackTree {
  const all = looseObject(answer);
  const nodes = Array.isArray(all.nodes) ? readList(all.nodes) : readNested(all.root ?? all);
  return { nodes, totalMs: outermostMs(nodes) };
}

/** Time in the function itself, of each node. */
export function selfTimes(tree: StackTree): Float64Array {
  const self = Float64Array.from(tree.nodes, (node) => node.ms);
  for (const node of tree.nodes) if (node.parent >= 0) self[node.parent] = Math.max(0, (self[node.parent] ?? 0) - node.ms);
  return self;
}

/** The same time from the inside: below each innermost function are its callers. */
export function invert(tree: StackTree): StackTree {
  const nodes: StackNode[] = [];
  const index = new Map<string, number>();
  const self = selfTimes(tree);
  let steps = 0;
  tree.nodes.forEach((leaf, at) => {
    const ms = self[at] ?? 0;
    if (ms <= 0 || steps > INVERTED_STEPS_MAX) return;
    let parent = -1;
    let from: StackNode | undefined = leaf;
    for (let depth = 0; from && depth < INVERTED_DEPTH_MAX; depth += 1, steps += 1) {
      const key = `${parent} ${from.name}`;
      let to = index.get(key);
      if (to === undefined) {
        if (nodes.length === NODES_MAX) return;
        to = nodes.push({ ...from, parent, ms: 0 }) - 1;
        index.set(key, to);
      }
      (nodes[to] as StackNode).ms += ms;
      parent = to;
      from = tree.nodes[from.parent];
    }
  });
  return { nodes, totalMs: outermostMs(nodes) };
}

export interface FunctionTime {
  name: string;
  place: string;
  own: boolean;
  selfMs: number;
  ms: number; // in it or below it, once where it calls itself
}

// True for the outermost of the calls of one function on a path: only it counts.
function outermostCalls(tree: StackTree): Uint8Array {
  const found = new Uint8Array(tree.nodes.length);
  const children: number[][] = tree.nodes.map(() => []);
  const roots: number[] = [];
  tree.nodes.forEach((node, at) => (children[node.parent] ?? roots).push(at));
  const onPath = new Map<string, number>();
  const steps = roots.map((node) => ({ node, leave: false }));
  for (let step = steps.pop(); step; step = steps.pop()) {
    const { name } = tree.nodes[step.node] as StackNode;
    const count = onPath.get(name) ?? 0;
    onPath.set(name, count + (step.leave ? -1 : 1));
    if (step.leave) continue;
    found[step.node] = count === 0 ? 1 : 0;
    steps.push({ node: step.node, leave: true });
    for (const node of children[step.node] ?? []) steps.push({ node, leave: false });
  }
  return found;
}

/** One row a function, the most time first: what the table for screen readers says. */
export function functionTimes(tree: StackTree): FunctionTime[] {
  const rows = new Map<string, FunctionTime>();
  const self = selfTimes(tree);
  const counts = outermostCalls(tree);
  tree.nodes.forEach((node, at) => {
    const row = rows.get(node.name) ?? { name: node.name, place: node.place, own: node.own, selfMs: 0, ms: 0 };
    row.selfMs += self[at] ?? 0;
    if (counts[at]) row.ms += node.ms;
    rows.set(node.name, row);
  });
  return [...rows.values()].sort((a, b) => b.ms - a.ms || b.selfMs - a.selfMs);
}
