// SPDX-License-Identifier: MIT
import { defineConfig } from 'vite';

// The collector answers each file at the top, by its name; it sends them all with no-store, so names need no hash.
export default defineConfig({
  base: './',
  build: {
    outDir: '../build/dashboard',
    emptyOutDir: true,
    assetsDir: '',
    assetsInlineLimit: 0,
    modulePreload: false,
    target: 'es2022',
    reportCompressedSize: true,
    rollupOptions: {
      output: { entryFileNames: 'app.js', chunkFileNames: '[name].js', assetFileNames: (asset) => (asset.names?.[0]?.endsWith('.css') || asset.name?.endsWith('.css') ? 'app.css' : '[name][extname]') },
    },
  },
});
