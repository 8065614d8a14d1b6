// SPDX-License-Identifier: MIT
//
// How long hangs took: a bar for each doubling of the time.
import { make } from '../dom/element';
import { asTable, table } from '../dom/table';
import { barsOf, medianBin, ticks, readBins } from './histogram_layout';
import type { Bin } from './histogram_layout';
import { Surface } from './surface';
import type { Pen } from './surface';
import { duration, percent } from './text';

const HEIGHT = 180;
const AXIS = 22;
const TOP = 18;

/** `what` is what is counted: "hangs". */
export function histogram(durations: unknown, what = 'hangs'): HTMLElement {
  const bins = readBins(durations);
  return bins.length > 0 ? new Histogram(bins, what).root : make('p.dim', {}, `There are no ${what}.`);
}

class Histogram {
  readonly root = make('figure.picture.histogram');
  private readonly surface: Surface;
  private readonly says = make('p.picture-says', { role: 'status' });
  private readonly total: number;
  private readonly median: number;
  private current = -1;

  constructor(private readonly bins: Bin[], private readonly what: string) {
    this.total = bins.reduce((sum, bin) => sum + bin.count, 0);
    this.median = medianBin(bins);
    const place = make('div');
    this.surface = new Surface(place, (pen) => this.paint(pen));
    const { canvas } = this.surface;
    canvas.tabIndex = 0;
    canvas.setAttribute('role', 'application');
    canvas.setAttribute('aria-roledescription', 'histogram');
    canvas.setAttribute('aria-label', `Durations of ${this.total.toLocaleString('en')} ${what}, from ${duration(bins[0].from)} to ${duration(bins[bins.length - 1].to)}. Left and right walk. A table follows.`);
    place.append(canvas);
    this.root.append(place, this.says, asTable(() => table('Durations', [
      { title: 'Duration', cell: (r) => `${duration(r.from)} to ${duration(r.to)}` },
      { title: `Number of ${what}`, number: true, cell: (r) => r.count.toLocaleString('en') },
      { title: 'Share', number: true, cell: (r) => percent(r.count, this.total) },
    ], bins)));
    this.surface.setHeight(HEIGHT);
    const under = (event: PointerEvent): void => this.choose(Math.floor(((event.clientX - canvas.getBoundingClientRect().left) / Math.max(1, this.surface.size.width)) * bins.length));
    canvas.addEventListener('pointermove', under);
    canvas.addEventListener('pointerdown', under);
    canvas.addEventListener('pointerleave', () => this.choose(-1));
    canvas.addEventListener('focus', () => this.choose(Math.max(0, this.median)));
    canvas.addEventListener('blur', () => this.choose(-1));
    canvas.addEventListener('keydown', (event) => {
      const steps: Record<string, number> = { ArrowLeft: this.current - 1, ArrowRight: this.current + 1, Home: 0, End: bins.length - 1 };
      const to = steps[event.key];
      if (to === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
      event.preventDefault();
      this.choose(Math.max(0, to));
    });
    this.say();
  }

  private choose(bin: number): void {
    this.current = Math.min(this.bins.length - 1, bin);
    this.say();
    this.surface.redraw();
  }

  private say(): void {
    const middle = this.bins[this.median];
    const bin = this.bins[this.current];
    this.says.textContent = bin
      ? `${duration(bin.from)} to ${duration(bin.to)} · ${bin.count.toLocaleString('en')} ${this.what} · ${percent(bin.count, this.total)}`
      : middle ? `Half of the ${this.what} took ${duration(middle.to)} or less.` : '';
  }

  private paint({ context, width, height, colour }: Pen): void {
    const ground = height - AXIS;
    context.fillStyle = colour('line');
    context.fillRect(0, ground, width, 1);
    context.font = '12px system-ui, sans-serif';
    barsOf(this.bins, width).forEach((bar, at) => {
      const high = bar.height * (ground - TOP);
      context.fillStyle = colour(at === this.current ? 'focus' : 'bar');
      context.fillRect(bar.x + 1, ground - high, Math.max(1, bar.width - 2), high);
      const count = bar.count.toLocaleString('en');
      const room = context.measureText(count).width;
      context.fillStyle = colour('text');
      if (bar.count > 0 && room < bar.width) context.fillText(count, bar.x + (bar.width - room) / 2, ground - high - 8);
    });
    let free = -Infinity;
    for (const { ms, x } of ticks(this.bins, width)) {
      const text = duration(ms).replace('.0 ', ' ');
      const room = context.measureText(text).width;
      const left = Math.min(width - room, Math.max(0, x - room / 2));
      context.fillStyle = colour('line');
      context.fillRect(Math.min(width - 1, x), ground, 1, 5);
      if (left < free + 8) continue;
      context.fillStyle = colour('dim');
      context.fillText(text, left, ground + 14);
      free = left + room;
    }
  }
}
