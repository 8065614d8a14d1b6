// SPDX-License-Identifier: MIT
//
// Lines over days, by uPlot: a line a version, and a mark where a version was first seen.

import uPlot from 'uplot';
import { make } from '../dom/element';

export interface Line { name: string; values: (number | null)[] }
export interface Mark { day: number; name: string }

const HEIGHT = 220;
const FONT = '12px system-ui, sans-serif';
const LABEL_MAX = 24; // characters of a mark
const DAY_S = 86400;
const DAYS_APART = [1, 2, 4, 7, 14, 28, 56, 91, 182, 364]; // labels of the x axis: less than a day would repeat one
const DASHES = [[], [6, 3], [2, 3], [8, 3, 2, 3]];

// A host for a chart. A chart measures its host, so `draw` runs once the host is on the page.
function hostOf(label: string, draw: (host: HTMLElement) => void): HTMLElement {
  const host = make('div.chart', { role: 'group', 'aria-label': label });
  const start = new ResizeObserver(() => {
    if (host.clientWidth === 0) return;
    start.disconnect();
    draw(host);
  });
  start.observe(host);
  return host;
}

// A colour of the style sheet, as the present scheme (light or dark) has it.
const colour = (name: string) => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();

// Redraws when the user's scheme changes, as long as the element is on the page.
function onScheme(element: Element, redraw: () => void): void {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const change = () => {
    if (element.isConnected) redraw();
    else dark.removeEventListener('change', change);
  };
  dark.addEventListener('change', change);
}

// As wide as the longest label of the y axis.
function axisSize(plot: uPlot, labels: string[] | null): number {
  if (!labels || labels.length === 0) return 40;
  const { ctx } = plot;
  ctx.save();
  ctx.font = FONT;
  const width = Math.max(...labels.map((text) => ctx.measureText(text).width));
  ctx.restore();
  return Math.ceil(width) + 18;
}

function drawMarks(plot: uPlot, marks: Mark[]): void {
  const { ctx, bbox } = plot;
  const ratio = devicePixelRatio;
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = colour('dim');
  ctx.font = `${11 * ratio}px system-ui, sans-serif`;
  ctx.setLineDash([3 * ratio, 3 * ratio]);
  ctx.textAlign = 'left';
  ctx.textBaseline = 'middle';
  let free = -Infinity;
  for (const mark of marks) {
    const x = plot.valToPos(mark.day * DAY_S, 'x', true);
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    const text = mark.name.length > LABEL_MAX ? `${mark.name.slice(0, LABEL_MAX - 1)}…` : mark.name;
    const width = ctx.measureText(text).width;
    const left = Math.min(x + 3 * ratio, bbox.left + bbox.width - width);
    if (left < free) continue;
    ctx.fillText(text, left, bbox.top + 7 * ratio);
    free = left + width + 6 * ratio;
  }
  ctx.restore();
}

export function chart(label: string, days: number[], lines: Line[], marks: Mark[], unit: string): HTMLElement {
  const data = [days.map((day) => day * DAY_S), ...lines.map((line) => line.values)] as uPlot.AlignedData;
  return hostOf(label, (host) => {
    const draw = () => {
      const axis = { stroke: colour('dim'), grid: { stroke: colour('line'), width: 1 }, ticks: { stroke: colour('line'), width: 1 }, font: FONT };
      const plot = new uPlot({
        width: host.clientWidth, height: HEIGHT, tzDate: (s) => uPlot.tzDate(new Date(s * 1000), 'UTC'),
        cursor: { points: { size: 7 } },
        scales: { y: { range: (_, __, most) => [0, Math.max(most || 0, 0.1) * 1.1] } },
        axes: [{ ...axis, incrs: DAYS_APART.map((days) => days * DAY_S), values: (_, all) => all.map((s) => new Date(s * 1000).toLocaleDateString(undefined, { timeZone: 'UTC', month: 'short', day: 'numeric' })) },
          { ...axis, size: axisSize, values: (_, all) => all.map((v) => `${v.toLocaleString()} ${unit}`) }],
        series: [{ value: (_, s) => (s === null ? '–' : new Date(s * 1000).toLocaleDateString(undefined, { timeZone: 'UTC' })) },
          ...lines.map((line, i) => ({
            label: line.name, stroke: colour(`line${i % 6}`), width: 2, dash: DASHES[Math.floor(i / 6) % DASHES.length], spanGaps: true, points: { size: 5, show: days.length < 45 },
            value: (_: uPlot, v: number | null) => (v === null || v === undefined ? '–' : `${v.toFixed(1)} ${unit}`),
          }))],
        hooks: { draw: [(self) => drawMarks(self, marks)] },
      }, data, host);
      return plot;
    };
    let plot = draw();
    const again = () => { plot.destroy(); plot = draw(); };
    onScheme(host, again);
    new ResizeObserver(() => { if (host.clientWidth > 0 && host.clientWidth !== plot.width) plot.setSize({ width: host.clientWidth, height: HEIGHT }); }).observe(host);
  });
}
