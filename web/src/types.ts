// SPDX-License-Identifier: MIT
//
// What the collector answers (docs/collector-api.md). The pictures read reports and call trees, whose members may be of any kind.

export type State = 'open' | 'resolved' | 'ignored';

export interface GroupRow {
  fingerprint: string; app: string; function: string; place: string; cause: string; by_owner?: number | boolean;
  kind?: string; users: number; max_ms: number; first_ms: number; last_ms: number; count: number; total_ms: number; versions: number; hosts?: number;
  state?: State; is_new?: boolean; regressed?: boolean;
}
export interface GroupChoice {
  app?: string; version?: string; host?: string; unit?: string; container?: string; image?: string; days?: number; state?: string; seen?: string; kind?: 'hang' | 'other'; sort?: string; offset?: number;
}
export interface Totals { groups: number; count: number; total_ms: number }
export interface Groups { totals: Totals; groups: GroupRow[]; days: { day: number; fingerprint: string; total_ms: number }[] }
export interface SeriesRow { day: number; app: string; version: string; count: number; total_ms: number; used_ms: number }
export interface VersionRow { app: string; version: string; count: number; total_ms: number; used_ms: number; first_ms?: number }
export interface Versions { apps: { app: string }[]; versions: VersionRow[] }
export interface Overview extends Groups {
  apps: { app: string }[];
  hosts?: number; units?: number;
  used: { used_ms: number; runs: number }[];
  sessions?: { runs: number; hang_free: number };
  series?: SeriesRow[];
  versions: VersionRow[];
}

export interface ReportRow {
  id: string; kind: string; cause?: string; app?: string; version: string; system?: string; started_ms: number; duration_ms: number;
  fingerprint?: string; function?: string; place?: string; brief?: number | boolean;
  host?: string; unit?: string; container?: string;
}
export interface OriginRow { name: string; count: number; total_ms: number } // "": all others
export interface OriginSums extends OriginRow { apps: number; runs: number; used_ms: number; first_ms: number; last_ms: number }
export interface Origins { apps: { app: string }[]; rows: OriginSums[]; total: number }
export interface Group extends Omit<GroupRow, 'versions' | 'hosts'> {
  host_count?: number; hosts?: OriginRow[]; units?: OriginRow[]; containers?: OriginRow[]; images?: OriginRow[];
  path?: string; why?: string; note?: string; resolved_in?: string;
  versions: { version: string; count: number; total_ms: number }[];
  systems: { system: string; count: number; total_ms: number }[];
  labels?: { label: string; count: number; total_ms: number }[]; // "": all others
  kinds?: { kind: string; count: number }[];
  days: { day: number; count: number; total_ms: number }[];
  durations: { step: number; count: number }[];
  reports: ReportRow[];
}

export interface CompareSide { version: string; count: number; total_ms: number; used_ms: number }
export interface CompareRow {
  fingerprint: string; function: string; place: string; cause: string; from_ms: number; to_ms: number; from_count: number; to_count: number;
}
export interface Compare { from: CompareSide; to: CompareSide; groups: CompareRow[]; from_stack?: unknown; to_stack?: unknown }

export interface KindRow { kind: string; count: number; total_ms: number }
export interface Found { groups: GroupRow[]; reports: ReportRow[] }
export interface Key { id: number | string; app: string; use: string; made_ms: number; last_used_ms: number }
export interface Settings {
  retention_days: number;
  limits: { reports_per_minute: number; reports_per_day: number; group_reports_per_minute: number; report_bytes: number };
  options?: { limit_mib: number; rate: number }; // of `hangdog serve`
  grouping_version: number;
}
