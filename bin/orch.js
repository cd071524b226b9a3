#!/usr/bin/env node
try {
  require('../dist/cli/main.cjs');
} catch (error) {
  require('node:fs').writeSync(2, `error: orch could not be loaded: ${error.message}\n`);
  process.exit(1);
}
