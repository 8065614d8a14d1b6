// SPDX-License-Identifier: MIT
//
// The template of `hangdog show --html`: one file with its script and its style sheet in it. Its policy names both by
// their hashes, so that nothing else runs, and nothing is loaded.
import { createHash } from 'node:crypto';
import { defineConfig } from 'vite';

const MARKER = '@HANGDOG_REPORT@';
const hash = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

function oneFile() {
  return {
    name: 'hangdog-one-file',
    enforce: 'post',
    generateBundle(_, bundle) {
      const files = Object.values(bundle);
      const page = files.find((file) => file.fileName.endsWith('.html'));
      const script = files.filter((file) => file.type === 'chunk').map((file) => file.code.trim()).join('\n');
      const style = files.filter((file) => file.fileName.endsWith('.css')).map((file) => String(file.source).trim()).join('\n');
      if (/<\/script|<!--/i.test(script) || /<\/style/i.test(style)) throw new Error('the script or the style sheet would end its element');
      const policy = `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; img-src data:; base-uri 'none'; form-action 'none'`;
      const html = String(page.source)
        .replace(/\s*<script type="module"[^>]*><\/script>/, '')
        .replace(/\s*<link rel="stylesheet"[^>]*>/g, '')
        .replace('<meta charset="utf-8">', () => `<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="${policy}">`)
        .replace('</head>', () => `<style>${style}</style>\n<script>${script}</script>\n</head>`);
      if (html.split(MARKER).length !== 2 || /(src|href)="(?!data:)/.test(html.replace(script, ''))) throw new Error('the page has no place for a report, or names another file');
      for (const file of files) if (file !== page) delete bundle[file.fileName];
      page.source = html;
    },
  };
}

export default defineConfig({
  publicDir: false,
  plugins: [oneFile()],
  build: {
    outDir: '../build/report-page', emptyOutDir: true, target: 'es2022', modulePreload: false, cssCodeSplit: false,
    rollupOptions: { input: 'report.html', output: { format: 'iife', inlineDynamicImports: true } },
  },
});
