import { resolve } from 'node:path';
import { OrchError, writeFailed } from '../errors.ts';
import { writeAtomically } from '../system/files.ts';
import { cleanUpStorage } from '../upkeep/cleanup.ts';
import { describeCleanup } from '../upkeep/cleanup-describe.ts';
import type { Retention } from '../upkeep/cleanup-plan.ts';
import { showCleanup, writeReport } from './cleanup-view.ts';
import { refuseUnwritable } from './result-file.ts';
import { runCommands } from './run.ts';
import { type CommandSpec, textOf } from './spec.ts';

const day = 86_400_000;

export const cleanupSpec: CommandSpec = {
  name: 'cleanup',
  summary: 'remove what is past its retention',
  description:
    'Remove what is past its retention: snapshots of ended sessions, logs of failed ones, epics whose every session failed (to the trash, first), and what crashes left. Epics that were completed 30 days ago are archived. The newest snapshot of an epic, the last green one, and whatever ended less than a day ago always stay.',
  options: [
    { flags: '--dry-run', description: 'say what would go, and remove nothing' },
    {
      flags: '--max-age-days <n>',
      description: 'keep snapshots and what failed this long, whatever the config says',
    },
    { flags: '--report <file>', description: 'also write what went, what stayed and why, as Markdown' },
  ],
  examples: ['orch cleanup --dry-run', 'orch cleanup --max-age-days 14 --report cleanup.md'],
  run: async (context, call) => {
    const { out, json } = context;
    const maxAge = textOf(call, 'max-age-days');
    const given = maxAge === undefined ? null : parseDays(maxAge);
    const report = textOf(call, 'report');
    if (report !== undefined) refuseUnwritable(context.cwd, report, '--report');
    await context.withOrch(async (orch) => {
      const { retention } = await orch.readConfig();
      const rules: Retention = given === null ? retention : { ...retention, failed: given, snapshots: given };
      const done = await cleanUpStorage(orch, rules, call.options['dry-run'] === true);
      if (json) out.print(JSON.stringify(describeCleanup(done, orch.home)));
      else out.print(showCleanup(out, done, orch.home));
      if (report === undefined) return;
      const text = writeReport(done, orch.home, orch.clock.now());
      try {
        await writeAtomically(orch.disk, resolve(context.cwd, report), Buffer.from(text), orch.random.id(8));
      } catch (error) {
        throw writeFailed(`the report ${report} could not be written`, error);
      }
    });
    return 0;
  },
};

function parseDays(text: string): number {
  if (/^\d{1,5}$/.test(text)) return Number(text) * day;
  throw new OrchError(
    'USAGE',
    `--max-age-days takes a whole number of days, not ${JSON.stringify(text.slice(0, 80))}`,
    { hint: 'Try --max-age-days 14' },
  );
}

export function run(argv: readonly string[]): Promise<number> {
  return runCommands(argv, [cleanupSpec]);
}
