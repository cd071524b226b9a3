// Loaded before a program by `node --require`: leaves its largest size, in kilobytes, in a file.
const { writeFileSync } = require('node:fs');

process.on('exit', () => {
  writeFileSync(process.env.PEAK_MEMORY_FILE, String(process.resourceUsage().maxRSS));
});
