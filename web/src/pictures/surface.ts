// SPDX-License-Identifier: MIT
//
// A canvas that is as sharp as the screen, as wide as its place, and of the page's colours. It draws once a frame at most.

export interface Pen {
  context: CanvasRenderingContext2D;
  width: number; // CSS pixels
  height: number;
  colour: (name: string) => string; // of the style sheet: colour('own') is --picture-own
}

export class Surface {
  readonly canvas: HTMLCanvasElement;
  private readonly colours = new Map<string, string>();
  private width = 0;
  private height = 0;
  private frame = 0;
  private readonly ends: (() => void)[] = [];

  constructor(private readonly host: HTMLElement, private readonly draw: (pen: Pen) => void) {
    this.canvas = document.createElement('canvas');
    this.canvas.className = 'picture-canvas';
    const sizes = new ResizeObserver(() => this.fit());
    sizes.observe(host);
    const themes = new MutationObserver(() => this.restyle());
    themes.observe(document.documentElement, { attributes: true });
    this.ends.push(() => sizes.disconnect(), () => themes.disconnect());
    for (const query of ['(prefers-color-scheme: dark)', '(forced-colors: active)', `(resolution: ${window.devicePixelRatio}dppx)`, 'print']) {
      const media = window.matchMedia(query);
      const changed = (): void => this.restyle();
      media.addEventListener('change', changed);
      this.ends.push(() => media.removeEventListener('change', changed));
    }
  }

  setHeight(height: number): void {
    if (height === this.height) return;
    this.height = height;
    this.fit();
  }

  get size(): { width: number; height: number } {
    return { width: this.width, height: this.height };
  }

  redraw(): void {
    if (this.frame === 0) this.frame = requestAnimationFrame(() => this.paint());
  }

  private restyle(): void {
    this.colours.clear();
    this.fit();
  }

  private fit(): void {
    if (this.width > 0 && !this.canvas.isConnected) { // the page shows another view
      for (const end of this.ends.splice(0)) end();
      return;
    }
    this.width = this.host.clientWidth;
    const ratio = window.devicePixelRatio || 1;
    const wide = Math.max(1, Math.round(this.width * ratio));
    const high = Math.max(1, Math.round(this.height * ratio));
    if (this.canvas.width !== wide || this.canvas.height !== high) {
      this.canvas.width = wide;
      this.canvas.height = high;
      this.canvas.style.height = `${this.height}px`;
      this.paint(); // at once: a canvas of another size is empty
    } else this.redraw();
  }

  private colour(name: string): string {
    let value = this.colours.get(name);
    if (value === undefined) {
      value = getComputedStyle(this.host).getPropertyValue(`--picture-${name}`).trim() || '#888';
      this.colours.set(name, value);
    }
    return value;
  }

  private paint(): void {
    if (this.frame !== 0) cancelAnimationFrame(this.frame);
    this.frame = 0;
    const context = this.canvas.getContext('2d');
    if (!context || this.width === 0) return;
    const ratio = this.canvas.width / this.width;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    context.direction = 'ltr';
    context.textBaseline = 'middle';
    this.draw({ context, width: this.width, height: this.height, colour: (name) => this.colour(name) });
  }
}
