// Builds dist: one CommonJS bundle per command (they start fast), the library as ESM, and its types.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import * as esbuild from 'esbuild';
import { addCodeCache } from './code-cache.mjs';
import { readPrices } from './prices.mjs';

/** The bundle with every command inside. Loading them one by one would load a copy of what they share with each. */
const allCommands = 'cli/all-commands.ts';

/** How a bundle that is loaded later is written until it is known which bundle loads it. */
const later = 'bundle:';

/** Every dynamic import of a source file is a bundle of its own: what a command doesn't need is not even read. */
function splitAtDynamicImports(source, entries) {
  return {
    name: 'split-at-dynamic-imports',
    setup(build) {
      build.onResolve({ filter: /^\.{1,2}\// }, (args) => {
        if (args.kind !== 'dynamic-import') return undefined;
        const target = relative(source, join(args.resolveDir, args.path)).replaceAll('\\', '/');
        if (entries.includes(allCommands) && target.startsWith('cli/commands/')) return undefined;
        return { path: `${later}${target.replace(/\.ts$/, '.cjs')}`, external: true };
      });
    },
  };
}

/** Writes bundles, each with the paths from itself to those it loads later. */
function writeBundles(dist, files) {
  for (const { path, text } of files) {
    const code = text.replaceAll(new RegExp(`"${later}([^"]+)"`, 'g'), (_, target) => {
      const way = relative(dirname(path), join(dist, target)).replaceAll('\\', '/');
      return JSON.stringify(way.startsWith('.') ? way : `./${way}`);
    });
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, code);
  }
}

/** Commander can start programs as subcommands. We have none, and loading what starts them takes time. */
const withoutSubprograms = {
  name: 'without-subprograms',
  setup(build) {
    build.onResolve({ filter: /^node:child_process$/ }, ({ importer }) =>
      /[\\/]commander[\\/]/.test(importer) ? { path: 'none', namespace: 'nothing' } : undefined,
    );
    build.onLoad({ filter: /.*/, namespace: 'nothing' }, () => ({ contents: 'module.exports = {};' }));
  },
};

/** The source files that are bundles: the command line's main, and whatever is imported dynamically. */
function findEntries(source) {
  const entries = new Set(['cli/main.ts']);
  const queue = ['cli/main.ts'];
  const seen = new Set(queue);
  for (const file of queue) {
    const text = readFileSync(join(source, file), 'utf8');
    for (const [, dynamic, path] of text.matchAll(/(?:from|(import\())\s*'(\.{1,2}\/[^']+\.ts)'/g)) {
      const target = join(dirname(file), path).replaceAll('\\', '/');
      if (dynamic) entries.add(target);
      if (!seen.has(target)) queue.push(target);
      seen.add(target);
    }
  }
  return [...entries];
}

/** What an agent says on stdin, for the commands that listen to it. */
const says = (event, fields = {}) => ({
  argv: ['hook', 'claude'],
  input: JSON.stringify({ session_id: 'a', hook_event_name: event, ...fields }),
});
const wroteFile = {
  tool_name: 'Write',
  tool_input: { file_path: 'file', content: 'one' },
  tool_response: { type: 'create', structuredPatch: [] },
};
const startsAgent = says('SessionStart', { source: 'startup' });
const asksAgent = says('UserPromptSubmit', { prompt: 'Begin' });
const contextWindow = { context_window_size: 200_000, current_usage: { input_tokens: 120_000 } };

/** The bundles that are started often, what is typed most (the command, then the rest), and what they load on the way. */
const warmUps = {
  'commands/agents/checkpoint/checkpoint-create': {
    calls: [
      ['checkpoint create', '--epic', 'e'],
      ['checkpoint create', '--epic', 'e', '--json'],
    ],
    loaded: ['git/snapshot/snapshot.cjs'],
  },
  'commands/agents/checkpoint/checkpoint-list': { calls: [['checkpoint list', '--epic', 'e']] },
  'commands/agents/record': {
    calls: [
      ['record note', 'a', '--epic', 'e'],
      ['record cost', '1', '--epic', 'e', '--json'],
    ],
  },
  'commands/agents/session/session-status': {
    calls: [
      ['session status', '--epic', 'e'],
      ['session status', '--epic', 'e', '--json'],
    ],
  },
  'commands/daily/status': { calls: [['status'], ['status', '--json']] },
  'direct/hook': {
    calls: [
      startsAgent,
      asksAgent,
      says('PreToolUse', { tool_name: 'Write', tool_input: {} }),
      says('PostToolUse', wroteFile),
      says('Stop', { last_assistant_message: 'Done' }),
      says('SessionEnd', { reason: 'other' }),
    ],
    loaded: ['cli/direct/hook-work.cjs', 'hooks/gates-after-turn.cjs'],
  },
  'direct/statusline': {
    // The session it tells of is there before.
    before: [startsAgent, asksAgent],
    calls: [
      { argv: ['statusline'], input: JSON.stringify({ session_id: 'a', context_window: contextWindow }) },
      { argv: ['statusline'], input: JSON.stringify({ session_id: 'a', context_window: contextWindow }) },
    ],
  },
};

function asCall(call) {
  if (!Array.isArray(call)) return call;
  const [command, ...rest] = call;
  const path = command.split(' ');
  return { path, argv: [...path, ...rest], input: '' };
}

export async function build(root) {
  const source = join(root, 'src');
  const dist = join(root, 'dist');
  rmSync(dist, { recursive: true, force: true });
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const common = {
    bundle: true,
    platform: 'node',
    target: 'node20.19',
    define: {
      __ORCH_VERSION__: JSON.stringify(version),
      __ORCH_PRICES__: JSON.stringify(readPrices(root)),
    },
    logLevel: 'warning',
    legalComments: 'none',
  };
  const bundle = async (entries) => {
    const { outputFiles } = await esbuild.build({
      ...common,
      entryPoints: entries.map((entry) => join(source, entry)),
      outbase: source,
      outdir: dist,
      outExtension: { '.js': '.cjs' },
      write: false,
      format: 'cjs',
      // Names stay, so that a stack trace in a bug report can be read.
      minifyWhitespace: true,
      minifySyntax: true,
      // The dynamic imports stay as they are written, except that CommonJS loads them with require.
      supported: { 'dynamic-import': false },
      // Its main file is UMD, whose requires cannot be bundled.
      alias: { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' },
      define: { ...common.define, 'import.meta.dirname': '__dirname' },
      plugins: [splitAtDynamicImports(source, entries), withoutSubprograms],
    });
    writeBundles(dist, outputFiles);
  };
  await Promise.all([
    bundle(findEntries(source).filter((entry) => entry !== allCommands)),
    bundle([allCommands]),
    esbuild.build({
      ...common,
      entryPoints: [join(source, 'index.ts')],
      outdir: dist,
      format: 'esm',
      splitting: true,
      packages: 'external',
      chunkNames: 'chunks/[name]-[hash]',
    }),
  ]);
  for (const [bundle, { before = [], calls, loaded = [] }] of Object.entries(warmUps)) {
    const others = loaded.map((path) => join(dist, path));
    addCodeCache(join(dist, 'cli', `${bundle}.cjs`), { before, calls: calls.map(asCall) }, others);
  }
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const args = ['--noEmit', 'false', '--declaration', '--emitDeclarationOnly', '--rootDir', 'src'];
  const types = spawnSync(
    process.execPath,
    [tsc, '-p', join(root, 'tsconfig.build.json'), ...args, '--outDir', join(dist, 'types')],
    { cwd: root, stdio: ['ignore', 2, 2] },
  );
  if (types.status !== 0) throw new Error('the types could not be built; the reasons are above');
}
