import * as z from 'zod/mini';
import { isRecord } from '../checks.ts';
import { messageOf } from '../errors.ts';
import { isEpicId, parseEpicId } from '../ids.ts';
import { triggers } from '../types.ts';
import { parseSize, parseUsd } from '../units.ts';
import {
  budgetConsents,
  type Config,
  contextActions,
  defaultConfig,
  defaultGateTimeout,
  type Gate,
  noticeKinds,
  optionalTriggers,
  orchestrationFileUses,
  type Receiver,
  tiers,
  witnessActions,
} from './defaults.ts';
import {
  accepts,
  autoOr,
  command,
  describeValue,
  duration,
  durationOrOff,
  entry,
  lineOfText,
  list,
  longestTimer,
  oneOf,
  readWhole,
  readWord,
  section,
  trueOrFalse,
  value,
  whole,
} from './yaml/yaml-values.ts';

const epic = value(
  'an epic id (letters, digits, ".", "_" and "-", at most 64, starting with a letter or digit), or null',
  (given) => {
    if (given === null) return null;
    return typeof given === 'string' && isEpicId(given) ? parseEpicId(given) : undefined;
  },
  () => null,
  { type: ['string', 'null'], pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$' },
);

const trigger = value(
  optionalTriggers.join(', '),
  (given) => optionalTriggers.find((word) => word === given),
  (given) => {
    if (given === 'interval') return 'interval is set with checkpoint.interval';
    if (given === 'cost') return 'cost is set with checkpoint.cost';
    return triggers.some((word) => word === given) ? `${given} is always on: leave it out` : null;
  },
  { enum: [...optionalTriggers] },
);

const fraction = value(
  'a fraction of the budget above 0 and up to 1, such as 0.8',
  (given) => (typeof given === 'number' && given > 0 && given <= 1 ? given : undefined),
  (given) =>
    typeof given === 'number' && given > 1 && given <= 100
      ? `found ${given}; ${given}% is ${given / 100}`
      : null,
  { type: 'number', exclusiveMinimum: 0, maximum: 1 },
);

const size = value(
  'a size such as 10MB (KB, MB, GB) or a number of bytes, from 1 to 1024GB',
  (given) => {
    const bytes = typeof given === 'string' || typeof given === 'number' ? parseSize(String(given)) : null;
    return bytes !== null && bytes >= 1 && bytes <= 1024 ** 4 ? bytes : undefined;
  },
  () => null,
  { type: ['string', 'number'] },
);

const money = value(
  'dollars from 0 to 999999999.999999, such as 5 or 5.50, or null',
  (given) => {
    if (given === null || given === 'none') return null;
    const isAmount = typeof given === 'string' || typeof given === 'number';
    return (isAmount ? parseUsd(String(given)) : null) ?? undefined;
  },
  () => null,
  { type: ['number', 'string', 'null'], minimum: 0 },
);

const gate = entry({
  name: lineOfText,
  run: command,
  fix: z._default(z.nullable(command), null),
  timeout: z._default(duration('5m', '1ms', longestTimer), defaultGateTimeout),
});

/** What belongs to an entry is stored under its name. */
function refuseSameNames(
  gates: readonly { readonly name: string }[],
  refuse: (index: number, name: string) => void,
): void {
  const seen = new Set<string>();
  for (const [index, { name }] of gates.entries()) {
    if (seen.has(name)) refuse(index, name);
    seen.add(name);
  }
}

const gatesAllowed = 'auto, or a list of {name, run, fix, timeout} ([] for none)';
const distinctGates = list(gatesAllowed, gate).check((context) => {
  refuseSameNames(context.value, (index, name) =>
    context.issues.push({
      code: 'custom',
      path: [index, 'name'],
      message: `found ${describeValue(name)} twice; allowed: a name no other gate has`,
      input: name,
    }),
  );
});
const gateList = accepts(distinctGates, { kind: 'list', allowed: gatesAllowed, item: gate });

const address = value(
  'an http or https address without a password, or $NAME, an environment variable that holds one',
  (given) => {
    const word = readWord(given);
    if (word === undefined || /^\$[A-Za-z_]\w*$/.test(word)) return word;
    if (!URL.canParse(word)) return undefined;
    const { protocol, username, password } = new URL(word);
    return /^https?:$/.test(protocol) && username + password === '' ? word : undefined;
  },
  () => null,
  { type: 'string' },
);

const variableName = value(
  'the name of an environment variable, such as ORCH_HOOK_SECRET',
  (given) => (typeof given === 'string' && /^[A-Za-z_]\w*$/.test(given) ? given : undefined),
  () => null,
  { type: 'string', pattern: '^[A-Za-z_][A-Za-z0-9_]*$' },
);

const filePath = value(
  'a path on one line, such as ../notices.jsonl',
  (given) =>
    readWord(given) !== undefined && !/[\p{Control}\u2028\u2029]/u.test(String(given))
      ? String(given)
      : undefined,
  () => null,
  { type: 'string' },
);

const receiver = entry({
  name: lineOfText,
  on: z._default(list(`a list of ${noticeKinds.join(', ')}`, oneOf(noticeKinds)), [...noticeKinds]),
  webhook: z.optional(address),
  secret: z.optional(variableName),
  command: z.optional(command),
  file: z.optional(filePath),
});

/** Says where a notice goes; a text explains what is missing, or too much. */
function readPlace({
  webhook,
  secret,
  command: run,
  file,
}: z.output<typeof receiver>): Receiver['to'] | string {
  const given = [webhook, run, file].filter((one) => one !== undefined);
  if (given.length !== 1) return `found ${given.length} of webhook, command and file; allowed: one of them`;
  if (webhook !== undefined) return { kind: 'webhook', url: webhook, secret: secret ?? null };
  if (secret !== undefined) return 'found a secret without a webhook; allowed: only with a webhook';
  return run !== undefined ? { kind: 'command', run } : { kind: 'file', path: file ?? '' };
}

const receiversAllowed =
  'a list of {name, on, webhook, secret}, {name, on, command} or {name, on, file} ([] for none)';
const receivers = accepts(
  z.pipe(
    list(receiversAllowed, receiver),
    z.transform((given, context): Receiver[] => {
      const refuse = (path: (string | number)[], message: string) =>
        context.issues.push({ code: 'custom', path, message, input: given });
      refuseSameNames(given, (index, name) =>
        refuse([index, 'name'], `found ${describeValue(name)} twice; allowed: a name no other receiver has`),
      );
      return given.flatMap((one, index) => {
        const to = readPlace(one);
        if (typeof to === 'string') refuse([index], to);
        return typeof to === 'string' ? [] : [{ name: one.name, on: one.on, to }];
      });
    }),
  ),
  { kind: 'list', allowed: receiversAllowed, item: receiver },
);

const contextWindow = value(
  'auto, or a whole number of tokens from 1000 to 2000000',
  (given) => (given === 'auto' ? given : readWhole(given, 1_000, 2_000_000)),
  () => null,
  { anyOf: [{ const: 'auto' }, { type: 'integer', minimum: 1_000, maximum: 2_000_000 }] },
);

const pattern = value(
  'a JavaScript regular expression that does not match the empty string',
  (given) => (typeof given === 'string' && findPatternProblem(given) === null ? given : undefined),
  (given) =>
    typeof given === 'string' ? `found ${describeValue(given)}, ${findPatternProblem(given)}` : null,
  { type: 'string', minLength: 1 },
);

function findPatternProblem(source: string): string | null {
  try {
    return new RegExp(source).test('') ? 'which matches the empty string' : null;
  } catch (error) {
    const message = messageOf(error);
    return `which is invalid (${message.replace(/^.*: (?=[^:]*$)/s, '')})`;
  }
}

// git would take a word that starts with "-" for an option.
const remote = value(
  'the name or address of a git remote',
  (given) =>
    readWord(given) !== undefined && !/^-|[\s\p{Control}]/u.test(String(given)) ? String(given) : undefined,
  () => null,
  { type: 'string' },
);

const folder = value(
  'a path on one line, such as ../worktrees, or null',
  (given) => {
    if (given === null) return null;
    const isPath = readWord(given) !== undefined && !/[\p{Control}\u2028\u2029]/u.test(String(given));
    return isPath ? String(given) : undefined;
  },
  () => null,
  { type: ['string', 'null'] },
);

const price = value(
  'dollars per million tokens, from 0 to 1000000',
  (given) => (typeof given === 'number' && given >= 0 && given <= 1_000_000 ? given : undefined),
  () => null,
  { type: 'number', minimum: 0, maximum: 1_000_000 },
);
const priceOrNone = z._default(z.nullable(price), null);

const modelPrice = entry({
  input: price,
  output: price,
  cacheRead: priceOrNone,
  cacheWrite5m: priceOrNone,
  cacheWrite1h: priceOrNone,
});

// Zod silently drops this key, which could change an object's prototype.
const hasForbiddenKey = (given: unknown) => isRecord(given) && Object.hasOwn(given, '__proto__');

const priceList = z.pipe(
  value(
    'a mapping of models to {input, output, cacheRead, cacheWrite5m, cacheWrite1h}',
    (given) => (given === null ? {} : isRecord(given) && !hasForbiddenKey(given) ? given : undefined),
    (given) => (hasForbiddenKey(given) ? '__proto__ is not a model' : null),
  ),
  z.record(z.string(), modelPrice),
);
const prices = accepts(priceList, {
  kind: 'record',
  allowed: 'a mapping of models to {input, output, cacheRead, cacheWrite5m, cacheWrite1h}',
  item: modelPrice,
});

const names = list('a list of names', lineOfText);

const modelLists = z.pipe(
  value(
    'a mapping of agents to lists of models, the smallest first, such as { claude: [haiku, sonnet, opus] }',
    (given) => (isRecord(given) && !hasForbiddenKey(given) ? given : undefined),
    () => null,
  ),
  z.record(z.string(), names),
);
const routedModels = accepts(modelLists, {
  kind: 'record',
  allowed: 'a mapping of agents to lists of models, the smallest first',
  item: names,
});

/** Zod has its own copy of a default. */
const defaultModels = () =>
  Object.fromEntries(
    Object.entries(defaultConfig.routing.models).map(([agent, known]) => [agent, [...known]]),
  );

const routingRule = entry({
  labels: z.optional(names),
  files: z.optional(names),
  tier: oneOf(tiers),
});

const keeping = durationOrOff('30d', '1m', '36500d');

const { checkpoint, context, redact, sync, witness, routing, retention } = defaultConfig;

const sections = {
  epic: z._default(epic, defaultConfig.epic),
  checkpoint: section({
    interval: z._default(durationOrOff('15m', '1s', longestTimer), checkpoint.interval),
    on: z._default(
      z.pipe(
        list(`a list of ${optionalTriggers.join(', ')}`, trigger),
        z.transform((words) => [...new Set(words)]),
      ),
      [...checkpoint.on],
    ),
    cost: z._default(
      z.pipe(
        list('a list of fractions of the budget, such as [0.5, 0.8]', fraction),
        z.transform((fractions) => [...new Set(fractions)].sort((a, b) => a - b)),
      ),
      [...checkpoint.cost],
    ),
    keep: z._default(whole(1, 100), checkpoint.keep),
    snapshot: z._default(trueOrFalse, checkpoint.snapshot),
    maxFileSize: z._default(size, checkpoint.maxFileSize),
    stopGrace: z._default(duration('5s', '0s', '1h'), checkpoint.stopGrace),
  }),
  budget: z._default(money, defaultConfig.budget),
  gates: z._default(autoOr<readonly Gate[]>(gateList), 'auto'),
  context: section({
    window: z._default(contextWindow, context.window),
    critical: z._default(oneOf(contextActions), context.critical),
    emergency: z._default(oneOf(contextActions), context.emergency),
  }),
  redact: section({
    presets: z._default(trueOrFalse, redact.presets),
    patterns: z._default(list('a list of regular expressions', pattern), [...redact.patterns]),
  }),
  sync: section({
    remote: z._default(remote, sync.remote),
    snapshots: z._default(trueOrFalse, sync.snapshots),
    budgets: z._default(oneOf(budgetConsents), sync.budgets),
  }),
  witness: section({
    quiet: z._default(duration('5m', '1s', '7d'), witness.quiet),
    stuck: z._default(duration('30m', '1s', '7d'), witness.stuck),
    repeats: z._default(whole(3, 1000), witness.repeats),
    patience: z._default(duration('10m', '1s', '7d'), witness.patience),
    actions: z._default(
      list(`a list of ${witnessActions.join(', ')} ([] only watches)`, oneOf(witnessActions)),
      [...witness.actions],
    ),
  }),
  routing: section({
    models: z._default(routedModels, defaultModels()),
    rules: z._default(list('a list of {labels, files, tier}', routingRule), []),
    learn: z._default(trueOrFalse, routing.learn),
  }),
  notify: z._default(receivers, []),
  telemetry: z._default(trueOrFalse, defaultConfig.telemetry),
  orchestrationFile: z._default(oneOf(orchestrationFileUses), defaultConfig.orchestrationFile),
  worktrees: z._default(folder, defaultConfig.worktrees),
  prices: z._default(prices, {}),
  retention: section({
    failed: z._default(keeping, retention.failed),
    snapshots: z._default(keeping, retention.snapshots),
    trash: z._default(keeping, retention.trash),
    archive: z._default(keeping, retention.archive),
  }),
};

/** `interval` at the top level belongs to `checkpoint`. */
function findSection(key: string): string | null {
  for (const [name, inner] of Object.entries(defaultConfig))
    if (isRecord(inner) && Object.hasOwn(inner, key)) return `${name}.${key}`;
  return null;
}

/** The shape of the whole file. */
export const configShape: z.ZodMiniType<Config> = section(sections, findSection);
