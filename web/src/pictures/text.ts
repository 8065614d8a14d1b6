// SPDX-License-Identifier: MIT
//
// Texts of reports are hostile: what a person reads here is what the text is. Pure.

const SHORT = 300;

// Control characters, those that turn the direction of a line or have no width, and halves of a character.
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\ufff9-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** A name in which nothing is invisible: "a\u{202e}b". A longer one than `limit` is truncated. */
export function cleanName(text: unknown, limit = SHORT): string {
  if (typeof text !== 'string') return '';
  const short = text.length > limit ? `${text.slice(0, limit)}…` : text;
  return short.replace(UNSEEN, (c) => `\\u{${c.charCodeAt(0).toString(16)}}`);
}

/** The same of a text with lines, as long as it is. */
export function visibleText(text: string): string {
  return text.replace(UNSEEN, (c) => (c === '\n' || c === '\t' ? c : `\\u{${c.charCodeAt(0).toString(16)}}`));
}

/** A number that a picture can use: not negative, finite, within what dates can express. */
export function cleanNumber(value: unknown): number {
  const most = 8.64e15;
  return typeof value === 'number' && value > 0 ? Math.min(value, most) : 0;
}

/** "0.4 ms", "12 ms", "1.5 s", "3 min 20 s", "2 h 05 min", "40 days" */
export function duration(ms: number): string {
  if (!(ms > 0)) return '0 ms';
  if (ms < 0.01) return 'under 0.01 ms';
  if (ms < 10) return `${Number(ms.toPrecision(2))} ms`;
  if (Math.round(ms) < 1000) return `${Math.round(ms)} ms`;
  if (ms < 59950) return `${(ms / 1000).toFixed(1)} s`;
  const minutes = Math.floor(ms / 60000);
  if (minutes < 60) return `${minutes} min ${Math.floor((ms % 60000) / 1000)} s`;
  if (minutes < 60 * 48) return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, '0')} min`;
  return `${Math.floor(minutes / 1440).toLocaleString('en')} days`;
}

/** "34 %", "0.3 %" of a part of a whole. */
export function percent(part: number, whole: number): string {
  const share = whole > 0 ? Math.min(1, Math.max(0, part / whole)) * 100 : 0;
  if (share > 0 && share < 0.1) return 'under 0.1 %';
  return share > 0 && share < 9.95 ? `${share.toFixed(1)} %` : `${Math.round(share)} %`;
}

/** The name in at most `room` characters: its end says more than its start. */
export function fitted(name: string, room: number): string {
  if (name.length <= room) return name;
  return room < 3 ? '' : `…${name.slice(name.length - room + 1)}`;
}

/** The last part of a path, with its folder where a source file's name says nothing: "requests/__init__.py". */
export function fileName(path: unknown): string {
  if (typeof path !== 'string') return '';
  const folder = /(?:^|\/)([^/]+\/(?:__init__\.py|__main__\.py|index\.[cm]?[jt]sx?|mod\.rs))$/.exec(path);
  return folder?.[1] ?? path.slice(path.lastIndexOf('/') + 1);
}
