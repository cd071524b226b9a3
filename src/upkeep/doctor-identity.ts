import { join } from 'node:path';
import { listOwnLines } from '../integration/agent-hooks.ts';
import { readOwnProgram } from '../integration/orch-command.ts';
import { readHookFaults } from '../session/hook-faults.ts';
import { codexHooks, localSettings, sharedSettings } from '../session/init-facts.ts';
import { lookAtWriter } from '../session/writer.ts';
import { readTextIfThere, realPath, statIfThere } from '../system/files.ts';
import { isExecutable, isInstalled } from '../system/spawn.ts';
import type { Millis } from '../types.ts';
import { count, formatAge } from '../units.ts';
import { type Check, type DoctorPorts, fail, listSome, ok, warn } from './doctor-types.ts';

/* Who writes here, and who calls orch. */

const identity: Check = {
  name: 'identity',
  look: ({ home, repository, caller, identifyWriter }) => {
    if (caller.pinnedWriter !== null)
      return ok(`pinned: ORCH_WRITER=${caller.pinnedWriter}; no other clone that lives may have the same`);
    const found = lookAtWriter(home, repository.commonDir);
    if (found.kind === 'none') return ok('none yet; the first thing recorded makes one');
    if (found.kind === 'own')
      return ok(
        found.restoredFrom === null
          ? found.id
          : `${found.id}; it was ${found.restoredFrom} until a sync showed that this clone was restored from an older copy`,
      );
    const evidence =
      found.kind === 'copied'
        ? `${found.id} belongs to ${found.path}: this clone is a copy of it`
        : `${found.id} was made for ${found.path}: this clone was moved, or came from another machine`;
    return warn(
      evidence,
      'This clone gets an id of its own with the next thing recorded; nothing is lost',
      async () => {
        await identifyWriter();
      },
    );
  },
};

type Hooked = { readonly file: string; readonly line: string };

/** Do the hooks that `orch init` wrote still lead to an orch, and to this one? */
const agentHooks: Check = {
  name: 'agent hooks',
  look: (ports) => {
    const hooked = readHooks(ports);
    if (hooked.length === 0) return ok('none; orch init hooks into Claude Code and Codex');
    for (const { file, line } of hooked) {
      const program = readOwnProgram(line);
      if (program === null) {
        if (!isInstalled('orch'))
          return warn(
            `${file} calls orch, which is not on the path: nothing is recorded`,
            'Put orch on the PATH of the agents, or run: orch init',
          );
        continue;
      }
      const missing = program.find((path) => /[\\/]/.test(path) && statIfThere(path) === null);
      if (missing !== undefined)
        return fail(`${file} calls ${missing}, which is gone: nothing is recorded`, 'Run: orch init');
      const [runner = ''] = program;
      if (/[\\/]/.test(runner) && !isExecutable(runner))
        return fail(`${file} calls ${runner}, which may not be run: nothing is recorded`, 'Run: orch init');
      const script = program.at(-1) ?? '';
      if (realPath(script) !== realPath(ports.caller.command.at(-1) ?? script))
        return warn(`${file} calls another orch: ${script}`, 'If this one is meant, run: orch init');
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

/** What went wrong behind the scenes is told when it happens, and once more here, for a day. */
const recent: Millis = 86_400_000;

const reports: Check = {
  name: 'reports',
  look: ({ home, clock }) => {
    const path = join(home, 'logs', 'orch.log');
    const lines = (readTextIfThere(path) ?? '')
      .split('\n')
      .filter((line) => /^\d{4}-\d\d-\d\dT\S+ /.test(line));
    const timeOf = (line: string) => Date.parse(line.slice(0, line.indexOf(' ')));
    const last = lines.at(-1);
    if (last === undefined) return ok('none');
    const said = last.slice(last.indexOf(' ') + 1).slice(0, 200);
    const age = clock.now() - timeOf(last);
    const fresh = lines.filter((line) => clock.now() - timeOf(line) < recent).length;
    if (fresh === 0) return ok(`${lines.length} in all, the last ${formatAge(age)} ago`);
    return warn(`${count(fresh, 'report')} within a day, the last: ${said}`, `Read ${path}`);
  },
};

/** Hooks never disturb an agent, so nobody sees them fail. */
const hookFaults: Check = {
  name: 'hook faults',
  look: ({ home, clock }) => {
    const faults = readHookFaults(home, clock.now());
    const [last] = faults;
    if (last === undefined) return ok('none');
    const { agent, event, message } = last;
    return warn(
      `${count(faults.length, 'kind')} of them, the last of ${agent} (${event.replaceAll('_', ' ')}): ${message}`,
      `Put right what it says; the next call of its kind that works clears it. All of them: ${join(home, 'logs', 'orch.log')}`,
    );
  },
};

export const identities: readonly Check[] = [identity, agentHooks, hookFaults, reports];
