#!/usr/bin/env node
try {
  require('../dist/cli/main.cjs');
} catch (error) {
  const { existsSync, writeSync } = require('node:fs');
  const { dirname, join } = require('node:path');
  const root = dirname(__dirname);
  const isBuilt = existsSync(join(root, 'dist', 'cli', 'main.cjs'));
  writeSync(
    2,
    isBuilt
      ? `error: orch could not be loaded: ${error.message}\n`
      : `error: orch is not built yet. Build it: npm run build --prefix ${JSON.stringify(root)}\n`,
  );
  process.exit(1);
}
