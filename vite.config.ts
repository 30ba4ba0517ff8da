import { defineConfig } from "vite";

/** The inbox's page: three files with fixed names, so that the server knows exactly what it serves. */
export default defineConfig({
  root: "src/inbox/page",
  publicDir: false,
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "../../../dist/inbox/page",
    emptyOutDir: true,
    target: "es2022",
    sourcemap: false,
    cssCodeSplit: false,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      output: {
        entryFileNames: "app.js",
        assetFileNames: "app[extname]",
        postBanner: "/*! Contains Preact, MIT License, Copyright (c) 2015-present Jason Miller. */",
      },
    },
  },
});
