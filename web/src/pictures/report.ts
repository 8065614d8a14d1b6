// SPDX-License-Identifier: MIT
//
// One report (docs/report.schema.json) as the pictures take it. Any member may be missing or of another type. Pure.
import { cleanName, cleanNumber, duration, fileName } from './text';
import { looseList, looseObject } from './tree';
import type { StackNode, StackTree } from './tree';

type Loose = Record<string, unknown>;

export interface NamedFrame {
  name: string;
  place: string;
  module: string;
  own: boolean;
  inlined: boolean;
  share: number; // of the hang's time; 0: not known
}

export interface ThreadLine {
  tid: number;
  name: string;
  watched: boolean;
  pool: boolean; // of the pool that has stalled
  doing: string;
  error: string;
  frames: NamedFrame[];
}

const NODES_MAX = 60000;

export class ReportModel {
  readonly whole: Loose;
  readonly cause: Loose;
  readonly durationMs: number;
  private readonly modules: unknown[];
  private readonly executable: string;
  private readonly marked: boolean; // frames say themselves whether they are the app's own

  constructor(report: unknown) {
    this.whole = looseObject(report);
    this.cause = looseObject(this.whole.cause);
    this.modules = looseList(this.whole.modules);
    this.executable = fileName(looseObject(this.whole.app).executable);
    this.durationMs = cleanNumber(this.whole.duration_ns) / 1e6;
    this.marked = looseObject(this.whole.page).own === true;
  }

  frame(value: unknown): NamedFrame {
    const frame = looseObject(value);
    const path = typeof frame.module === 'number' ? looseObject(this.modules[frame.module]).path : undefined;
    const module = fileName(path);
    const file = fileName(frame.file);
    const where = file && cleanNumber(frame.line) > 0 ? `${file}:${cleanNumber(frame.line)}` : file;
    const nameless = module ? `${module}+${typeof frame.offset === 'string' ? frame.offset : '?'}` : frame.pc;
    return {
      name: cleanName(frame.function) || cleanName(nameless) || '(no name)',
      place: cleanName(where || module),
      module: cleanName(module),
      own: this.marked ? frame.own === true : this.seemsOwn(frame, module),
      inlined: frame.inlined === true,
      share: Math.min(1, cleanNumber(frame.share)),
    };
  }

  // For a report that no program has marked: the code of the program's own file, and a script's that no package has.
  private seemsOwn(frame: Loose, module: string): boolean {
    if (typeof frame.language === 'string') return typeof frame.file === 'string' && !/^<|^node:|\/lib\/python|-packages\/|node_modules\//.test(frame.file);
    return module !== '' && module === this.executable && !/^(node|python|ruby|perl|php|java|deno|bun)[\d.-]*$/.test(module);
  }

  frames(stack: unknown): NamedFrame[] {
    return looseList(looseObject(stack).frames).map((frame) => this.frame(frame));
  }

  stack(at: number): NamedFrame[] {
    return this.frames(looseList(looseObject(this.whole.samples).stacks)[at]);
  }

  get hotStack(): NamedFrame[] {
    return this.frames(this.whole.hot_stack);
  }

  /** Every sample of the hang; of a report without samples its one stack. */
  get tree(): StackTree {
    const tree = looseObject(looseObject(this.whole.samples).tree);
    const names = looseList(tree.frames).map((frame) => this.frame(frame));
    const nodes: StackNode[] = [];
    for (const entry of looseList(tree.nodes).slice(0, NODES_MAX)) {
      const node = looseObject(entry);
      const parent = typeof node.parent === 'number' && node.parent >= 0 && node.parent < nodes.length ? Math.floor(node.parent) : -1;
      const { name, place, own } = names[typeof node.frame === 'number' ? node.frame : -1] ?? { name: '(no name)', place: '', own: false };
      nodes.push({ name, place, own, parent, ms: cleanNumber(node.time_ns) / 1e6 });
    }
    if (nodes.length === 0) {
      this.hotStack.reverse().forEach(({ name, place, own }, at) => nodes.push({ name, place, own, parent: at - 1, ms: this.durationMs }));
    }
    return { nodes, totalMs: nodes.reduce((sum, node) => (node.parent < 0 ? sum + node.ms : sum), 0) };
  }

  /** The pool of a pool stall: "libuv, 4 threads, 2 tasks waiting". */
  get pool(): string {
    const pool = looseObject(this.whole.pool);
    const threads = cleanNumber(pool.threads), queued = cleanNumber(pool.queued);
    return [cleanName(pool.name), threads ? `${threads} thread${threads > 1 ? 's' : ''}` : '',
      queued ? `${queued} task${queued > 1 ? 's' : ''} waiting` : ''].filter(Boolean).join(', ');
  }

  get threads(): ThreadLine[] {
    return looseList(this.whole.threads).map((entry) => {
      const thread = looseObject(entry);
      const waits = cleanNumber(thread.waits_for_tid), ns = cleanNumber(thread.for_ns);
      return {
        tid: cleanNumber(thread.tid),
        name: cleanName(thread.name) || 'thread',
        watched: thread.watched === true,
        pool: thread.pool === true,
        doing: [cleanName(thread.state), thread.syscall ? `in ${cleanName(thread.syscall)}` : '', ns ? `for ${duration(ns / 1e6)}` : '',
          waits ? `waits for thread ${waits}` : ''].filter(Boolean).join(', '),
        error: cleanName(thread.error),
        frames: this.frames(thread.stack),
      };
    });
  }
}
