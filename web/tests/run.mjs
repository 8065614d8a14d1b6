// SPDX-License-Identifier: MIT
//
// The unit tests of web/src: esbuild makes JavaScript of them in a folder that goes away, and node runs it.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
const tests = readdirSync(here, { recursive: true }).filter((name) => name.endsWith('.test.mjs'));
const out = mkdtempSync(join(tmpdir(), 'hangdog-test-'));
try {
  buildSync({
    entryPoints: tests.map((name) => join(here, name)), outdir: out, bundle: true, platform: 'node', format: 'esm',
    outExtension: { '.js': '.mjs' }, logLevel: 'error',
  });
  const built = readdirSync(out, { recursive: true }).filter((name) => name.endsWith('.mjs')).map((name) => join(out, name));
  process.exitCode = spawnSync(process.execPath, ['--test', ...built], { stdio: 'inherit' }).status ?? 1;
} finally {
  rmSync(out, { recursive: true, force: true });
}
