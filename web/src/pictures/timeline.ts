// SPDX-License-Identifier: MIT
//
// What the thread did over the time of a hang: a lane for each, and the stack of the sample under the pointer.
import { make } from '../dom/element';
import { asTable, table } from '../dom/table';
import { Surface } from './surface';
import type { Pen } from './surface';
import { duration, percent } from './text';
import { DOINGS, DOING_WORDS, piecesOf, readTimeline, sampleAt, ticks, totals } from './timeline_layout';
import type { Doing, Timeline } from './timeline_layout';

const LANE = 26;
const NARROW_LANE = 38;
const NARROW = 560;
const GUTTER = 190;
const AXIS = 22;
const ROWS_MAX = 500;

/** `stackOf` makes the list of frames of a stack of the report. */
export function timelinePicture(report: unknown, stackOf: (stack: number) => HTMLElement): HTMLElement {
  const timeline = readTimeline(report);
  return timeline.at.length > 0 ? new Lanes(timeline, stackOf).root : make('p.dim', {}, 'This report has no samples over time.');
}

class Lanes {
  readonly root = make('figure.picture.timeline');
  private readonly lanes: Doing[];
  private readonly sums: Map<Doing, number>;
  private readonly surface: Surface;
  private readonly says = make('p.picture-says', { role: 'status' });
  private readonly stack = make('div.timeline-stack');
  private sample = -1;
  private shownStack = -2;
  private pieces: { width: number; of: ReturnType<typeof piecesOf>[] } = { width: -1, of: [] };

  constructor(private readonly timeline: Timeline, private readonly stackOf: (stack: number) => HTMLElement) {
    this.sums = totals(timeline);
    this.lanes = DOINGS.filter((doing) => this.sums.has(doing));
    const place = make('div.timeline-place');
    this.surface = new Surface(place, (pen) => this.paint(pen));
    const { canvas } = this.surface;
    canvas.tabIndex = 0;
    canvas.setAttribute('role', 'application');
    canvas.setAttribute('aria-roledescription', 'timeline');
    canvas.setAttribute('aria-label', `Timeline of ${duration(timeline.endMs)}, ${timeline.at.length.toLocaleString('en')} samples: ${this.words()}. Left and right walk from sample to sample. A table follows.`);
    place.append(canvas);
    this.root.append(place, this.says, this.stack, asTable(() => this.table()));
    this.surface.setHeight(this.lanes.length * (window.innerWidth < NARROW ? NARROW_LANE : LANE) + AXIS);
    this.listen();
    this.say();
  }

  private words(): string {
    return this.lanes.map((doing) => `${DOING_WORDS[doing]} ${duration(this.sums.get(doing) ?? 0)}`).join(', ');
  }

  private listen(): void {
    const { canvas } = this.surface;
    const follow = (event: PointerEvent): void => {
      const { left } = canvas.getBoundingClientRect();
      const { gutter, wide } = this.room(this.surface.size.width);
      this.choose(sampleAt(this.timeline, ((event.clientX - left - gutter) / wide) * this.timeline.endMs));
    };
    canvas.addEventListener('pointermove', follow);
    canvas.addEventListener('pointerdown', follow);
    canvas.addEventListener('focus', () => this.choose(Math.max(0, this.sample)));
    canvas.addEventListener('keydown', (event) => {
      const last = this.timeline.at.length - 1;
      const page = Math.max(1, Math.round(last / 20));
      const steps: Record<string, number> = {
        ArrowLeft: this.sample - 1, ArrowRight: this.sample + 1, PageUp: this.sample - page, PageDown: this.sample + page, Home: 0, End: last,
      };
      const to = steps[event.key];
      if (to === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
      event.preventDefault();
      this.choose(Math.min(last, Math.max(0, to)));
    });
  }

  private choose(sample: number): void {
    if (sample === this.sample) return;
    this.sample = sample;
    const stack = this.timeline.stack[sample] ?? -1;
    if (stack !== this.shownStack) {
      this.shownStack = stack;
      this.stack.replaceChildren(stack >= 0 ? this.stackOf(stack) : make('p.dim', {}, 'This sample has no stack.'));
    }
    this.say();
    this.surface.redraw();
  }

  private say(): void {
    const { at, end, doing, syscall } = this.timeline;
    const i = this.sample;
    this.says.textContent = i < 0 ? 'Point at a time, or use the arrow keys, for the stack of a sample.'
      : [`at ${at[i] > 0 ? duration(at[i]) : '0 ms'}`, `for ${duration(end[i] - at[i])}`, DOING_WORDS[DOINGS[doing[i]]], syscall[i] ? `in ${syscall[i]}` : '',
        `sample ${(i + 1).toLocaleString('en')} of ${at.length.toLocaleString('en')}`].filter(Boolean).join(' · ');
  }

  private room(width: number): { gutter: number; wide: number; lane: number } {
    const lane = (this.surface.size.height - AXIS) / Math.max(1, this.lanes.length);
    const gutter = lane > LANE ? 0 : Math.min(GUTTER, width / 3);
    return { gutter, wide: Math.max(1, width - gutter), lane };
  }

  private paint({ context, width, colour }: Pen): void {
    const { gutter, wide, lane } = this.room(width);
    if (this.pieces.width !== wide) this.pieces = { width: wide, of: this.lanes.map((doing) => piecesOf(this.timeline, doing, wide)) };
    const bar = 18;
    context.font = '13px system-ui, sans-serif';
    this.lanes.forEach((doing, row) => {
      const top = row * lane;
      const y = top + (lane > LANE ? lane - bar - 2 : (lane - bar) / 2);
      context.fillStyle = colour('track');
      context.fillRect(gutter, y, wide, bar);
      context.fillStyle = colour(doing);
      for (const piece of this.pieces.of[row]) context.fillRect(gutter + piece.x, y, piece.width, bar);
      context.fillStyle = colour('text');
      const label = `${DOING_WORDS[doing]}  ${percent(this.sums.get(doing) ?? 0, this.timeline.endMs)}`;
      context.fillText(label, 0, lane > LANE ? top + 8 : y + bar / 2, gutter > 0 ? gutter - 8 : wide);
    });
    this.paintAxis(context, colour, gutter, wide, this.lanes.length * lane);
    if (this.sample < 0) return;
    const x = gutter + (this.timeline.at[this.sample] / Math.max(1e-9, this.timeline.endMs)) * wide;
    context.fillStyle = colour('focus');
    context.fillRect(Math.min(width - 2, Math.max(0, x - 1)), 0, 2, this.lanes.length * lane);
  }

  private paintAxis(context: CanvasRenderingContext2D, colour: Pen['colour'], gutter: number, wide: number, y: number): void {
    context.font = '12px system-ui, sans-serif';
    const times = ticks(this.timeline.endMs, Math.max(1, Math.floor(wide / 90)));
    for (const ms of times) {
      const x = gutter + (ms / Math.max(1e-9, this.timeline.endMs)) * wide;
      context.fillStyle = colour('line');
      context.fillRect(Math.min(gutter + wide - 1, x), 0, 1, y + 4);
      const text = ms > 0 ? duration(ms).replace('.0 ', ' ') : '0';
      const room = context.measureText(text).width;
      context.fillStyle = colour('dim');
      context.fillText(text, Math.min(gutter + wide - room, Math.max(gutter, x - room / 2)), y + 13);
    }
  }

  private table(): HTMLElement {
    const { at, end, doing, syscall } = this.timeline;
    const rows: { from: number; until: number; doing: number; syscall: string; count: number }[] = [];
    for (let i = 0; i < at.length; i += 1) {
      const last = rows[rows.length - 1];
      if (last && last.doing === doing[i] && last.syscall === syscall[i]) {
        last.until = end[i];
        last.count += 1;
      } else rows.push({ from: at[i], until: end[i], doing: doing[i], syscall: syscall[i], count: 1 });
    }
    return table('What the thread did over time', [
      { title: 'At', number: true, cell: (r) => duration(r.from) },
      { title: 'For', number: true, cell: (r) => duration(r.until - r.from) },
      { title: 'The thread', cell: (r) => DOING_WORDS[DOINGS[r.doing]] },
      { title: 'System call', cell: (r) => r.syscall },
      { title: 'Samples', number: true, cell: (r) => r.count.toLocaleString('en') },
    ], rows, { most: ROWS_MAX });
  }
}
