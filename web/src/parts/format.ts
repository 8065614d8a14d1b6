// SPDX-License-Identifier: MIT
//
// Numbers and times as people read them.

export const DAY_MS = 86400000;

const fixed = (value: number, digits: number) => value.toLocaleString(undefined, { minimumFractionDigits: digits, maximumFractionDigits: digits });

export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60000) return `${fixed(ms / 1000, 1)} s`;
  const minutes = Math.floor(ms / 60000);
  const seconds = Math.floor((ms % 60000) / 1000);
  if (minutes < 60) return seconds > 0 ? `${minutes} min ${seconds} s` : `${minutes} min`;
  if (minutes < 60 * 48) return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, '0')} min`;
  return `${count(Math.floor(minutes / 1440))} days`;
}

export const count = (value: number) => Math.round(value).toLocaleString();
export const plural = (value: number, one: string, many: string) => `${count(value)} ${value === 1 ? one : many}`;
export const percent = (share: number) => `${fixed(share * 100, share > 0.995 && share < 1 ? 2 : 1)} %`;
export const moment = (ms: number) => new Date(ms).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' });
export const day = (number: number) => new Date(number * DAY_MS).toLocaleDateString(undefined, { timeZone: 'UTC', month: 'short', day: 'numeric' });
export const bytes = (n: number) => (n < 1024 ? `${n} B` : n < 1048576 ? `${fixed(n / 1024, 0)} KB` : `${fixed(n / 1048576, 1)} MB`);
export const named = (text: string) => text || '(none)';

// Seconds lost in hangs for each hour of use. Null: no use is known.
export const rate = (lost_ms: number, used_ms: number) => (used_ms > 0 ? lost_ms / 1000 / (used_ms / 3600000) : null);
export const rateText = (value: number | null) => (value === null ? 'not known' : `${fixed(value, value < 1 ? 2 : value < 10 ? 1 : 0)} s/h`);

export function ago(ms: number, now = Date.now()): string {
  const minutes = Math.max(0, Math.floor((now - ms) / 60000));
  if (minutes < 1) return 'just now';
  if (minutes < 60) return `${minutes} min ago`;
  if (minutes < 1440) return `${Math.floor(minutes / 60)} h ago`;
  return minutes < 2880 ? 'yesterday' : `${count(Math.floor(minutes / 1440))} days ago`;
}
