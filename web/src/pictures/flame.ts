// SPDX-License-Identifier: MIT
//
// The flame graph: a canvas with a flame's boxes, led by pointer and keyboard. What a box looks like and says is its
// skin's: that of one tree is here, that of two is in difference.ts.
import { make } from '../dom/element';
import { asTable, table } from '../dom/table';
import { boxesOf, find, makeIndex, nextNode, nodeAt, viewOf } from './flame_layout';
import type { Box, FlameIndex, Found, Step, View } from './flame_layout';
import { Surface } from './surface';
import type { Pen } from './surface';
import { duration, fitted, percent } from './text';
import { functionTimes, invert } from './tree';
import type { StackTree } from './tree';

const ROWS_MAX = 100; // of the table

export interface Skin {
  name: string; // "Flame graph"
  legend: { sign: string; text: string }[];
  fill: (node: number) => string; // a colour's name
  ink: (node: number) => string;
  bold: (node: number) => boolean;
  mark: (node: number) => string; // a sign before the name, which stays where the name is cut
  label: (node: number) => string;
  describe: (node: number) => string; // one line for a person
  table: () => HTMLElement;
}

export interface FlameOptions {
  skin?: (tree: StackTree) => Skin;
  invertible?: boolean;
  empty?: string;
}

const ROW = 20;
const HEIGHT_MAX = 560;
const PADDING = 4;
const KEYS: Record<string, Step> = {
  ArrowDown: 'in', ArrowUp: 'out', ArrowLeft: 'left', ArrowRight: 'right', Home: 'first', End: 'last',
};

/** The skin of one tree: the app's own functions are set off by colour and by weight. */
export function plainSkin(tree: StackTree): Skin {
  const node = (at: number) => tree.nodes[at];
  return {
    name: 'Flame graph',
    legend: [{ sign: 'own', text: 'function of the app' }, { sign: 'other', text: 'library, runtime or system' }],
    fill: (at) => (node(at)?.own ? 'own' : 'other'),
    ink: (at) => (node(at)?.own ? 'own-ink' : 'other-ink'),
    bold: (at) => node(at)?.own === true,
    mark: () => '',
    label: (at) => node(at)?.name ?? '',
    describe: (at) => {
      const n = node(at);
      if (!n) return '';
      return [n.name, n.place, `${duration(n.ms)}, ${percent(n.ms, tree.totalMs)}`, n.own ? 'of the app' : ''].filter(Boolean).join(' · ');
    },
    table: () => table('Time by function', [
      { title: 'Function', cell: (r) => make('code', { dir: 'ltr' }, r.name) },
      { title: 'Place', cell: (r) => r.place },
      { title: 'Of the app', cell: (r) => (r.own ? 'yes' : 'no') },
      { title: 'In it', number: true, cell: (r) => duration(r.selfMs) },
      { title: 'In it or below', number: true, cell: (r) => duration(r.ms) },
      { title: 'Share', number: true, cell: (r) => percent(r.ms, tree.totalMs) },
    ], functionTimes(tree), { most: ROWS_MAX }),
  };
}

/** Its element; a page puts it where it wants it. */
export function flameGraph(tree: StackTree, options: FlameOptions = {}): HTMLElement {
  if (!(tree.totalMs > 0)) return make('p.dim', {}, options.empty ?? 'No report of this group has a stack.');
  return new Flame(tree, options).root;
}

// The sign, and what of the name has room.
function labelIn(context: CanvasRenderingContext2D, mark: string, name: string, room: number): string {
  const before = mark ? `${mark} ` : '';
  const left = room - context.measureText(before).width;
  let text = name.slice(0, 400);
  if (context.measureText(text).width <= left) return before + text;
  text = fitted(text, Math.floor(left / (context.measureText('0').width || 7)));
  while (text && context.measureText(text).width > left) text = fitted(text, text.length - 1);
  return (before + text).trim();
}

class Flame {
  readonly root = make('figure.picture.flame');
  private tree!: StackTree;
  private index!: FlameIndex;
  private skin!: Skin;
  private found!: Found;
  private view: View = { from: 0, to: 1 };
  private zoomed = -1;
  private current = -1; // the keyboard's
  private hovered = -1;
  private boxes: Box[] = [];
  private readonly surface: Surface;
  private readonly scroll = make('div.flame-scroll');
  private readonly tall = make('div.flame-tall');
  private readonly says = make('p.picture-says', { role: 'status' });
  private readonly matches = make('output.dim');
  private readonly search = make('input', { type: 'search', placeholder: 'Search functions', 'aria-label': 'Search functions', autocomplete: 'off', spellcheck: 'false' });
  private readonly reset = make('button', { type: 'button', disabled: '' }, 'Reset zoom');
  private below: HTMLElement = make('div');

  constructor(private readonly whole: StackTree, private readonly options: FlameOptions) {
    this.surface = new Surface(this.scroll, (pen) => this.paint(pen));
    const { canvas } = this.surface;
    canvas.tabIndex = 0;
    canvas.setAttribute('role', 'application');
    canvas.setAttribute('aria-roledescription', 'flame graph');
    this.tall.append(canvas);
    this.scroll.append(this.tall);
    const bar = make('div.picture-bar', {}, this.search, this.options.invertible === false ? null : this.inverter(), this.reset, this.matches);
    this.take(whole);
    this.root.append(bar, this.legend(), this.scroll, this.says, this.below);
    this.listen();
  }

  /** Coloured signs with their words. */
  private legend(): HTMLElement {
    return make('ul.picture-legend', {}, ...this.skin.legend.map((entry) =>
      make('li', {}, make(`span.sign.${entry.sign}`, { 'aria-hidden': 'true' }), entry.text)));
  }

  private inverter(): HTMLElement {
    const box = make('input', { type: 'checkbox' });
    box.addEventListener('change', () => this.take(box.checked ? invert(this.whole) : this.whole));
    return make('label.picture-check', { title: 'Innermost functions at the top, their callers below' }, box, 'Inverted');
  }

  private take(tree: StackTree): void {
    this.tree = tree;
    this.index = makeIndex(tree);
    this.skin = (this.options.skin ?? plainSkin)(tree);
    this.current = -1;
    this.hovered = -1;
    const rows = this.index.rows.length;
    const height = Math.min(rows * ROW, HEIGHT_MAX) + 1;
    this.tall.style.height = `${rows * ROW + 1}px`;
    this.scroll.style.height = `${height}px`;
    this.scroll.scrollTop = 0;
    this.surface.setHeight(height);
    this.surface.canvas.setAttribute('aria-label', `${this.skin.name}, ${duration(tree.totalMs)}, ${rows} levels. Arrow keys walk, Enter zooms, Escape resets. A table follows.`);
    const below = asTable(() => this.skin.table());
    this.below.replaceWith(below);
    this.below = below;
    this.zoom(-1);
    this.lookUp();
  }

  private listen(): void {
    const { canvas } = this.surface;
    this.search.addEventListener('input', () => this.lookUp());
    this.search.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape') return;
      this.search.value = '';
      this.lookUp();
    });
    this.reset.addEventListener('click', () => {
      this.zoom(-1);
      canvas.focus();
    });
    this.scroll.addEventListener('scroll', () => this.surface.redraw(), { passive: true });
    canvas.addEventListener('pointermove', (event) => this.hover(this.nodeUnder(event)));
    canvas.addEventListener('pointerleave', () => this.hover(-1));
    canvas.addEventListener('click', (event) => {
      const node = this.nodeUnder(event);
      if (node < 0) return;
      this.current = node;
      this.zoom(node === this.zoomed ? -1 : node);
    });
    canvas.addEventListener('keydown', (event) => this.press(event));
    canvas.addEventListener('focus', () => {
      if (this.current < 0) this.walk('first');
      this.surface.redraw();
    });
    canvas.addEventListener('blur', () => this.surface.redraw());
  }

  private nodeUnder(event: PointerEvent | MouseEvent): number {
    const { left, top } = this.surface.canvas.getBoundingClientRect();
    const { width } = this.surface.size;
    return nodeAt(this.index, Math.floor((event.clientY - top + this.scroll.scrollTop) / ROW), this.view, (event.clientX - left) / Math.max(1, width));
  }

  private hover(node: number): void {
    if (node === this.hovered) return;
    this.hovered = node;
    this.surface.canvas.classList.toggle('over', node >= 0);
    this.say();
    this.surface.redraw();
  }

  private press(event: KeyboardEvent): void {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const step = KEYS[event.key];
    if (step) this.walk(step);
    else if (event.key === 'Enter' || event.key === ' ') this.zoom(this.current === this.zoomed ? -1 : this.current);
    else if (event.key === 'Escape' && this.zoomed >= 0) this.zoom(-1);
    else if (event.key === '/') this.search.focus();
    else return;
    event.preventDefault();
  }

  private walk(step: Step): void {
    this.hovered = -1;
    this.current = nextNode(this.index, this.current, step, this.view);
    const top = (this.index.depth[this.current] ?? 0) * ROW;
    const seen = this.surface.size.height;
    if (top < this.scroll.scrollTop) this.scroll.scrollTop = top;
    if (top + ROW > this.scroll.scrollTop + seen) this.scroll.scrollTop = top + ROW - seen + 1;
    this.say();
    this.surface.redraw();
  }

  private zoom(node: number): void {
    this.zoomed = node;
    this.view = viewOf(this.index, node);
    this.reset.disabled = node < 0;
    this.say();
    this.surface.redraw();
  }

  private lookUp(): void {
    this.found = find(this.tree, this.search.value);
    const any = this.search.value.trim() !== '';
    this.matches.textContent = any ? `${this.found.count.toLocaleString('en')} found, ${percent(this.found.ms, this.tree.totalMs)} of the time` : '';
    this.surface.redraw();
  }

  private say(): void {
    const node = this.hovered >= 0 ? this.hovered : this.current >= 0 ? this.current : this.zoomed;
    this.says.textContent = node >= 0 ? this.skin.describe(node) : 'Point at a box, or use the arrow keys. A click or Enter zooms.';
  }

  private paint(pen: Pen): void {
    const first = Math.floor(this.scroll.scrollTop / ROW);
    const last = Math.min(this.index.rows.length - 1, Math.floor((this.scroll.scrollTop + pen.height) / ROW));
    this.boxes = [];
    for (let depth = first; depth <= last; depth += 1) this.boxes.push(...boxesOf(this.index, depth, this.view, pen.width));
    const searching = this.search.value.trim() !== '';
    const above = this.zoomed >= 0 ? this.index.depth[this.zoomed] ?? 0 : 0;
    for (const box of this.boxes) this.paintBox(pen, box, searching, box.depth < above);
    const focused = document.activeElement === this.surface.canvas;
    for (const box of this.boxes) {
      if (box.node === this.hovered || (focused && box.node === this.current)) this.frameBox(pen, box);
    }
  }

  private paintBox({ context, colour }: Pen, box: Box, searching: boolean, above: boolean): void {
    const { node, x } = box;
    const y = box.depth * ROW - this.scroll.scrollTop;
    const match = searching && this.found.nodes[node] === 1;
    const merged = box.count > 1;
    context.globalAlpha = (searching && !match) || above ? 0.45 : 1;
    context.fillStyle = colour(match ? 'found' : merged ? 'merged' : this.skin.fill(node));
    context.fillRect(x, y, Math.max(0.5, box.width - (box.width > 3 ? 1 : 0)), ROW - 1);
    if (box.width < 2 * PADDING + 12 || merged) return;
    const bold = this.skin.bold(node);
    context.globalAlpha = (searching && !match) || above ? 0.75 : 1;
    context.fillStyle = colour(match ? 'found-ink' : this.skin.ink(node));
    context.font = `${bold ? '600 ' : ''}12px ui-monospace, monospace`;
    const text = labelIn(context, this.skin.mark(node), this.skin.label(node), box.width - 2 * PADDING - 1);
    context.fillText(text, x + PADDING, y + ROW / 2);
    context.globalAlpha = 1;
  }

  private frameBox({ context, colour }: Pen, box: Box): void {
    context.globalAlpha = 1;
    context.strokeStyle = colour('focus');
    context.lineWidth = 2;
    context.strokeRect(box.x + 1, box.depth * ROW - this.scroll.scrollTop + 1, Math.max(2, box.width - 3), ROW - 3);
  }
}
