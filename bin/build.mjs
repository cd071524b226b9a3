// Builds dist: one CommonJS bundle a command group (they start fast), the library as ESM, and its types.
import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import * as esbuild from 'esbuild';
import { addCodeCache } from './code-cache.mjs';
import { assembleDigest } from './digest.mjs';
import { readPrices } from './prices.mjs';

/**
 * Every dynamic import of a source file is a bundle of its own, loaded when used:
 * what a command does not need is not even read.
 */
function splitAtDynamicImports(source, entry) {
  return {
    name: 'split-at-dynamic-imports',
    setup(build) {
      build.onResolve({ filter: /^\.{1,2}\// }, (args) => {
        if (args.kind !== 'dynamic-import') return undefined;
        const target = relative(source, join(args.resolveDir, args.path)).replace(/\.ts$/, '.cjs');
        const path = relative(dirname(entry), target).replaceAll('\\', '/');
        return { path: path.startsWith('.') ? path : `./${path}`, external: true };
      });
    },
  };
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

/** The command groups that are started often, what is typed most, and the bundles that loads on the way. */
const warmUps = {
  checkpoint: {
    argvs: [
      ['checkpoint', 'create', '--epic', 'e'],
      ['checkpoint', 'create', '--epic', 'e', '--json'],
      ['checkpoint', 'list', '--epic', 'e'],
    ],
    loaded: ['git/snapshot.cjs'],
  },
  hook: {
    argvs: [
      startsAgent,
      asksAgent,
      says('PreToolUse', { tool_name: 'Write', tool_input: {} }),
      says('PostToolUse', wroteFile),
      says('Stop', { last_assistant_message: 'Done' }),
      says('SessionEnd', { reason: 'other' }),
    ],
    loaded: ['cli/hook-gates.cjs'],
  },
  statusline: {
    // The session it tells of is there before.
    before: [startsAgent, asksAgent],
    argvs: [
      { argv: ['statusline'], input: JSON.stringify({ session_id: 'a', context_window: contextWindow }) },
      { argv: ['statusline'], input: JSON.stringify({ session_id: 'a', context_window: contextWindow }) },
    ],
    loaded: [],
  },
  record: {
    argvs: [
      ['record', 'note', 'a', '--epic', 'e'],
      ['record', 'cost', '1', '--epic', 'e', '--json'],
    ],
    loaded: [],
  },
  session: {
    argvs: [
      ['session', 'status', '--epic', 'e'],
      ['session', 'status', '--epic', 'e', '--json'],
    ],
    loaded: [],
  },
  status: { argvs: [['status'], ['status', '--json']], loaded: [] },
};

/** A call is a list of arguments, or that and what comes on stdin. */
function asCall(call) {
  return Array.isArray(call) ? { argv: call, input: '' } : call;
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
      __ORCH_DIGEST__: JSON.stringify(await assembleDigest(root)),
    },
    logLevel: 'warning',
    legalComments: 'none',
  };
  await Promise.all([
    ...findEntries(source).map((entry) =>
      esbuild.build({
        ...common,
        entryPoints: [join(source, entry)],
        outfile: join(dist, entry.replace(/\.ts$/, '.cjs')),
        format: 'cjs',
        // Names stay, so that a stack trace in a bug report can be read.
        minifyWhitespace: true,
        minifySyntax: true,
        // The dynamic imports stay as they are written, except that CommonJS loads them with require.
        supported: { 'dynamic-import': false },
        define: { ...common.define, 'import.meta.dirname': '__dirname' },
        plugins: [splitAtDynamicImports(source, entry), withoutSubprograms],
      }),
    ),
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
  for (const [group, { before = [], argvs, loaded }] of Object.entries(warmUps)) {
    const bundles = loaded.map((bundle) => join(dist, bundle));
    addCodeCache(join(dist, 'cli', `${group}.cjs`), { before, calls: argvs.map(asCall) }, bundles);
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
