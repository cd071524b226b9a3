import { OrchError } from '../../../errors.ts';
import { type BatchStatus, batchStatus, findSpec, recoverBatches, type TaskFromGit } from '../../../index.ts';
import { cleanLine } from '../../../text.ts';
import { type Output, printJson } from '../../output.ts';
import { defineCommand } from '../../run-command.ts';
import { readText } from '../../spec.ts';
import { printDifferences, showNext, specOption } from './batch.ts';

export const command = defineCommand({
  description: 'Show the progress of a spec, and what has changed since its last batch.',
  options: [
    specOption,
    { flags: '--from-git', description: 'find the tasks that commits on this branch completed' },
    { flags: '--write', description: 'with --from-git: mark them as completed in tasks.yaml' },
  ],
  examples: ['orch batch status', 'orch batch status --from-git --write'],
  run: (context, call) => {
    const { out, json, cwd } = context;
    const write = call.options.write === true;
    const isFromGit = call.options['from-git'] === true;
    if (write && !isFromGit)
      throw new OrchError('USAGE', '--write needs --from-git', {
        hint: 'Try: orch batch status --from-git --write',
      });
    return context.withOrch(async (orch) => {
      const spec = findSpec(orch, readText(call, 'spec') ?? null, cwd);
      const recovered = isFromGit ? await recoverBatches(orch, spec, { write }) : null;
      const status = recovered ?? (await batchStatus({ spec: spec.path }, orch));
      if (json) return printJson(out, status);
      out.print(showStatus(out, status));
      printDifferences(context, status.differs);
      if (recovered) out.print(showFromGit(recovered.fromGit, write));
    });
  },
});

function showStatus(out: Output, status: BatchStatus): string {
  const { spec, tasks, blocked, deferredIssues, lastBatch, total } = status;
  const all = tasks.completed.length + tasks.in_progress.length + tasks.pending.length;
  const waits = blocked.map(({ id, name, waitsFor }) => `  ${id} ${name}, waits for ${waitsFor.join(', ')}`);
  const issues = deferredIssues.map(({ batch, severity, description, location }) => {
    return cleanLine(
      `${severity}: ${description}${location === null ? '' : ` (${location})`}, from batch ${batch}`,
    );
  });
  return [
    `${out.paint('bold', spec.name)}: ${tasks.completed.length} of ${all} tasks completed, ${lastBatch} of ${total} batches`,
    showNext(out, status),
    ...(waits.length > 0 ? ['blocked', ...waits] : []),
    ...(issues.length > 0 ? ['deferred', ...issues.map((issue) => `  ${issue}`)] : []),
  ].join('\n');
}

function showFromGit(fromGit: readonly TaskFromGit[], isWritten: boolean): string {
  if (fromGit.length === 0) return 'tasks.yaml already has every task that commits on this branch completed';
  const lines = fromGit.map(({ id, commit }) => `  ${id}  ${commit}`);
  const title = isWritten
    ? 'marked as completed in tasks.yaml'
    : 'completed by commits, but not marked in tasks.yaml (mark them with --write)';
  return [title, ...lines].join('\n');
}
