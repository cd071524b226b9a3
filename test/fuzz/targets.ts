import type { Target } from './target.ts';
import { agentTargets } from './targets/agents.ts';
import { commandsTarget } from './targets/commands.ts';
import { documentTarget } from './targets/documents.ts';
import { gitTargets } from './targets/git.ts';
import { homeTargets } from './targets/home.ts';
import { journalTarget } from './targets/journal.ts';
import { redactionTargets } from './targets/redaction.ts';
import { settingsTargets } from './targets/settings.ts';
import { yamlTargets } from './targets/yaml.ts';

/** Everything that reads bytes of others. */
export const targets: readonly Target[] = [
  documentTarget,
  commandsTarget,
  journalTarget,
  ...gitTargets,
  ...agentTargets,
  ...yamlTargets,
  ...settingsTargets,
  ...homeTargets,
  ...redactionTargets,
];
