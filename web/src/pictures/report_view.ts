// SPDX-License-Identifier: MIT
//
// The page of one report: in the dashboard, and in the file of `hangdog show --html`.
import { make, save } from '../dom/element';
import { unfold } from '../dom/table';
import { CAUSES, KINDS } from '../words';
import { flameGraph } from './flame';
import { ReportModel } from './report';
import type { NamedFrame, ThreadLine } from './report';
import { cleanName, cleanNumber, duration, percent, visibleText } from './text';
import { timelinePicture } from './timeline';
import { looseObject } from './tree';

export interface ReportWords {
  text?: string; // as hangdog show prints it
  function?: string; // the app's own function that stands for the report
  place?: string;
}

const FRAMES_MAX = 200;
const THREADS_MAX = 300;
const TEXT_MAX = 100000; // characters: more takes a browser seconds to lay out

// A kind of a later version stays as it is.
const nounOf = (kind: unknown): string => (typeof kind === 'string' && Object.hasOwn(KINDS, kind) ? KINDS[kind].noun : cleanName(kind) || 'report');

const section = (title: string, ...children: (Node | null)[]): HTMLElement => make('section', {}, make('h2', {}, title), ...children);

/** A list of frames, innermost first; the app's own are set off. */
export function frameList(frames: NamedFrame[]): HTMLElement {
  const list = make('ol.frames', {}, ...frames.slice(0, FRAMES_MAX).map((frame) =>
    make(frame.own ? 'li.own' : 'li', {},
      frame.share > 0 ? make('span.share', {}, percent(frame.share, 1)) : null,
      make('code', { dir: 'ltr' }, frame.name), ' ',
      make('span.dim', {}, [frame.place, frame.inlined ? 'inlined' : ''].filter(Boolean).join(', ')))));
  const left = frames.length - FRAMES_MAX;
  if (left <= 0) return list;
  return make('div', {}, list, make('p.dim', {}, `${left.toLocaleString('en')} more frames are in the JSON.`));
}

function threadDetails(thread: ThreadLine): HTMLElement {
  const doing = [thread.watched ? 'watched' : '', thread.pool ? 'of the pool' : '', thread.doing].filter(Boolean).join(', ');
  return unfold('details', [make('b', {}, thread.name), ` ${thread.tid || ''} `, make('span.dim', {}, doing)],
    () => (thread.frames.length > 0 ? frameList(thread.frames) : make('p.dim', {}, thread.error || 'It has no stack.')));
}

function figures(model: ReportModel): HTMLElement {
  const process = looseObject(model.whole.process);
  const samples = looseObject(model.whole.samples);
  const figure = (value: string, what: string): HTMLElement | null => (value ? make('div.figure', {}, make('b', {}, value), make('span', {}, what)) : null);
  const cpu = cleanNumber(process.cpu_percent);
  return make('div.figures', {},
    figure(duration(model.durationMs), 'long'),
    figure(cleanNumber(model.whole.threshold_ns) ? duration(cleanNumber(model.whole.threshold_ns) / 1e6) : '', 'threshold'),
    figure(cleanNumber(samples.taken) ? cleanNumber(samples.taken).toLocaleString('en') : '', 'samples'),
    figure(typeof process.cpu_percent === 'number' ? `${cpu.toFixed(0)} %` : '', 'CPU of the process'),
    figure(cleanNumber(process.rss_bytes) ? `${(cleanNumber(process.rss_bytes) / 1048576).toFixed(0)} MiB` : '', 'memory'),
    figure(cleanNumber(process.thread_count) ? cleanNumber(process.thread_count).toLocaleString('en') : '', 'threads'));
}

function causeLine(model: ReportModel): HTMLElement | null {
  const kind = typeof model.cause.kind === 'string' ? model.cause.kind : '';
  if (!kind) return null;
  const known = Object.hasOwn(CAUSES, kind);
  const badge = make('span.cause', {}, known ? CAUSES[kind].label : cleanName(kind));
  if (known) badge.classList.add(kind);
  const share = cleanNumber(model.cause.share);
  const detail = cleanName(model.cause.detail, 2000);
  return make('p', {}, badge, share ? ` ${percent(share, 1)} of the time` : '', detail ? `: ${detail}` : '');
}

function systemRows(model: ReportModel): HTMLElement {
  const app = looseObject(model.whole.app);
  const host = looseObject(model.whole.host);
  const container = looseObject(host.container);
  const loop = looseObject(model.whole.loop);
  const process = looseObject(model.whole.process);
  const memory = cleanNumber(host.memory_bytes);
  const rows: [string, string][] = [
    ['App', `${cleanName(app.name)} ${cleanName(app.version)}`.trim()], ['Environment', cleanName(app.environment)], ['Executable', cleanName(app.executable)],
    ['Process', cleanNumber(app.pid) ? String(cleanNumber(app.pid)) : ''], ['Pool', model.pool], ['Loop', cleanName(loop.name)], ['State', cleanName(loop.state)],
    ['Host', cleanName(host.name)], ['Unit', cleanName(host.unit)], ['Container', cleanName(container.name) || cleanName(container.id).slice(0, 12)],
    ['Image', cleanName(container.image)], ['Pod', cleanName(container.pod)],
    ['System', [host.os_version ?? host.os, host.arch].map((value) => cleanName(value)).filter(Boolean).join(', ')], ['Kernel', cleanName(host.kernel)], ['Device', cleanName(host.model)],
    ['CPUs', cleanNumber(host.cpus) ? String(cleanNumber(host.cpus)) : ''], ['Memory', memory ? `${(memory / 2 ** 30).toFixed(1)} GiB` : ''],
    ['Role', cleanName(process.role)], ['Memory pressure', cleanName(process.memory_pressure)], ['Thermal state', cleanName(process.thermal_state)],
    ['Report', cleanName(model.whole.id)], ['Fingerprint', cleanName(model.whole.fingerprint)],
  ];
  return make('dl.facts', {}, ...rows.filter(([, value]) => value).flatMap(([name, value]) => [make('dt', {}, name), make('dd', {}, value)]));
}

function jsonSection(model: ReportModel): HTMLElement {
  const { page: _page, ...report } = model.whole;
  const text = (): string => JSON.stringify(report, (name, value: unknown) => (name === 'own' ? undefined : value), 2);
  const raw = unfold('details', 'Show the JSON', () => longText(text()));
  const id = typeof report.id === 'string' && /^[\w-]{1,64}$/.test(report.id) ? report.id : 'report';
  const file = (): Blob => new Blob([text()], { type: 'application/json' });
  const button = make('button', { type: 'button', click: () => save(file(), `${id}.json`) }, 'Download the JSON');
  return section('JSON', make('p', {}, button), raw);
}

function longText(text: string): HTMLElement {
  const start = make('pre', { tabindex: 0, dir: 'ltr' }, visibleText(text.slice(0, TEXT_MAX)));
  return text.length <= TEXT_MAX ? start : make('div', {}, start, make('p.dim', {}, `${(text.length - TEXT_MAX).toLocaleString('en')} more characters are left out here.`));
}

/** The elements of a report's page, for its main part. */
export function reportView(report: unknown, words: ReportWords = {}): HTMLElement[] {
  const model = new ReportModel(report);
  const hot = model.hotStack;
  const first = hot.find((frame) => frame.own) ?? hot[0];
  const name = cleanName(words.function) || first?.name || '';
  const { kind, started_at: started } = model.whole;
  const date = typeof started === 'string' ? new Date(started) : null;
  const when = date && !Number.isNaN(date.getTime()) ? date.toLocaleString() : '';
  const app = looseObject(model.whole.app);
  const owner = cleanNumber(model.cause.lock_owner_tid);
  const threads = [...model.threads].sort((a, b) => Number(b.pool) - Number(a.pool));
  const holder = owner ? threads.find((thread) => thread.tid === owner) : undefined;
  const stackOf = (at: number): HTMLElement => frameList(model.stack(at));
  return [
    make('header.report-title', {},
      make('h1', {}, `${nounOf(kind).replace(/^./, (c) => c.toUpperCase())} of ${duration(model.durationMs)}`, model.pool ? ` (${model.pool})` : null,
        name ? ' in ' : null, name ? make('code', { dir: 'ltr' }, name) : null),
      make('p.dim', {}, [cleanName(words.place) || first?.place, `${cleanName(app.name)} ${cleanName(app.version)}`.trim(), when].filter(Boolean).join(' · '))),
    causeLine(model),
    figures(model),
    section('Where the time went', flameGraph(model.tree, { empty: 'This report has no stack.' })),
    model.pool ? null : section('What the thread did over time', timelinePicture(report, stackOf)),
    hot.length > 0 ? section('The stack with the most time', make('p.dim', {}, 'Innermost function first; functions of the app are set off.'), frameList(hot)) : null,
    holder ? section(`The lock's owner: thread ${holder.name} ${holder.tid}`, holder.frames.length > 0 ? frameList(holder.frames) : make('p.dim', {}, holder.error || 'It has no stack.')) : null,
    threads.length > 0 ? section(`All threads (${threads.length.toLocaleString('en')})`, make('div.threads', {}, ...threads.slice(0, THREADS_MAX).map(threadDetails)),
      threads.length > THREADS_MAX ? make('p.dim', {}, `${(threads.length - THREADS_MAX).toLocaleString('en')} more threads are in the JSON.`) : null) : null,
    section('Program and system', systemRows(model)),
    words.text ? section('As hangdog show prints it', longText(words.text)) : null,
    jsonSection(model),
  ].filter((part): part is HTMLElement => part !== null);
}
