import { join } from 'node:path';
import { readOwnProgram } from '../../agents/orch-command.ts';
import { listOwnLines } from '../../agents/settings/hook-entries.ts';
import { readHookFaults } from '../../hooks/faults.ts';
import { codexHooks, localSettings, sharedSettings } from '../../init/init-facts.ts';
import { inspectWriter } from '../../journal/writer.ts';
import { readTextIfThere, realPath, statIfThere } from '../../system/disk.ts';
import { isExecutable, isInstalled } from '../../system/process/spawn.ts';
import type { Millis } from '../../types.ts';
import { count, formatAge } from '../../units.ts';
import { type Check, type DoctorPorts, fail, listSome, ok, warn } from './finding.ts';

const identity: Check = {
  name: 'identity',
  run: ({ home, repository, caller, identifyWriter }) => {
    if (caller.pinnedWriter !== null)
      return ok(`pinned: ORCH_WRITER=${caller.pinnedWriter}; no other clone in use may have the same id`);
    const found = inspectWriter(home, repository.commonDir);
    if (found.kind === 'none') return ok('none yet; the first event creates one');
    if (found.kind === 'own')
      return ok(
        found.restoredFrom === null
          ? found.id
          : `${found.id}; was ${found.restoredFrom} until a sync found that this clone was restored from an older copy`,
      );
    const evidence =
      found.kind === 'copied'
        ? `${found.id} belongs to ${found.path}, and this clone is a copy of it`
        : `${found.id} was created for ${found.path}: this clone was moved, or comes from another machine`;
    return warn(
      evidence,
      'Nothing is lost. The next event gives this clone an id of its own; orch doctor --fix does it now',
      async () => {
        await identifyWriter();
      },
    );
  },
};

type Hooked = { readonly file: string; readonly line: string };

/** Do the hooks that `orch init` wrote still call an orch, and this one? */
const agentHooks: Check = {
  name: 'agent hooks',
  run: (ports) => {
    const hooked = readHooks(ports);
    if (hooked.length === 0) return ok('none; orch init adds them to Claude Code and Codex');
    for (const { file, line } of hooked) {
      const program = readOwnProgram(line);
      if (program === null) {
        if (!isInstalled('orch'))
          return warn(
            `${file} calls orch, which is not on the PATH: nothing is recorded`,
            'Put orch on the PATH of your agents, or run: orch init',
          );
        continue;
      }
      const missing = program.find((path) => /[\\/]/.test(path) && statIfThere(path) === null);
      if (missing !== undefined)
        return fail(`${file} calls ${missing}, which is gone: nothing is recorded`, 'Run: orch init');
      const [runner = ''] = program;
      if (/[\\/]/.test(runner) && !isExecutable(runner))
        return fail(
          `${file} calls ${runner}, which is not executable: nothing is recorded`,
          'Run: orch init',
        );
      const script = program.at(-1) ?? '';
      if (realPath(script) !== realPath(ports.caller.command.at(-1) ?? script))
        return warn(`${file} calls another orch: ${script}`, 'To use this one instead, run: orch init');
    }
    return ok(`${listSome([...new Set(hooked.map(({ file }) => file))])}: this orch`);
  },
};

function readHooks({ repository, caller }: DoctorPorts): Hooked[] {
  const { worktree } = repository;
  const claude = worktree === null ? [] : [localSettings, sharedSettings].map((name) => join(worktree, name));
  const own = (file: string, agent: string) =>
    listOwnLines(readTextIfThere(file), agent).map((line) => ({ file, line }));
  return [
    ...claude.flatMap((file) => own(file, 'claude')),
    ...(worktree === null ? [] : own(join(worktree, codexHooks), 'codex')),
    ...own(join(caller.folders.codexHome, 'hooks.json'), 'codex'),
  ];
}

/** Problems in the background are reported when they happen, and here for a day. */
const recent: Millis = 86_400_000;

const reports: Check = {
  name: 'reports',
  run: ({ home, clock }) => {
    const path = join(home, 'logs', 'orch.log');
    const lines = (readTextIfThere(path) ?? '')
      .split('\n')
      .filter((line) => /^\d{4}-\d\d-\d\dT\S+ /.test(line));
    const timeOf = (line: string) => Date.parse(line.slice(0, line.indexOf(' ')));
    const last = lines.at(-1);
    if (last === undefined) return ok('none');
    const message = last.slice(last.indexOf(' ') + 1).slice(0, 200);
    const age = clock.now() - timeOf(last);
    const fresh = lines.filter((line) => clock.now() - timeOf(line) < recent).length;
    if (fresh === 0) return ok(`${lines.length} in total, the last one ${formatAge(age)} ago`);
    return warn(`${count(fresh, 'report')} within a day, the last one: ${message}`, `Read ${path}`);
  },
};

/** Hooks never disturb an agent, so their failures show only here. */
const hookFaults: Check = {
  name: 'hook faults',
  run: ({ home, clock }) => {
    const faults = readHookFaults(home, clock.now());
    const [last] = faults;
    if (last === undefined) return ok('none');
    const { agent, event, message } = last;
    return warn(
      `${count(faults.length, 'kind')} of failure, the last one from ${agent} (${event.replaceAll('_', ' ')}): ${message}`,
      `Fix the cause: the next successful call of that kind clears it. See all of them: ${join(home, 'logs', 'orch.log')}`,
    );
  },
};

export const identityChecks: readonly Check[] = [identity, agentHooks, hookFaults, reports];
