import * as z from 'zod/mini';
import { documentShape } from '../../src/checkpoint/document/document-shape.ts';
import { configShape } from '../../src/config/config-shape.ts';
import { findAccepted } from '../../src/config/yaml/yaml-values.ts';
import { planShape } from '../../src/plan/plan-shape.ts';
import { runPart } from '../../src/state/state-shape.ts';

type Schema = z.core.JSONSchema.BaseSchema;

const draft = 'https://json-schema.org/draft/2020-12/schema';
const home = 'https://unpkg.com/@create-something/orchestration/templates/schemas';

/** The JSON Schema of a zod shape; for what stands in a YAML file, by what each shape says that it takes. */
function convert(shape: z.core.$ZodType): Schema {
  const { $schema: _, ...schema } = z.toJSONSchema(shape, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      // A default stands there as it is meant, not as it is written.
      delete jsonSchema.default;
      const taken = findAccepted(zodSchema);
      if (taken !== null) replace(jsonSchema, describe(taken));
    },
  });
  return schema;
}

function describe(taken: NonNullable<ReturnType<typeof findAccepted>>): Schema {
  switch (taken.kind) {
    case 'value':
      return { description: taken.allowed, ...taken.json };
    case 'mapping': {
      const { required = [], ...mapping } = convert(z.object(taken.shape));
      // A section that is not there is as good as an empty one.
      const needed = required.filter((key) => !mayBeNothing(taken.shape[key]));
      return {
        ...mapping,
        type: taken.orNothing ? ['object', 'null'] : 'object',
        ...(needed.length > 0 && { required: needed }),
        additionalProperties: false,
      } as Schema; // a list of types is as good as one
    }
    case 'list': {
      const [many, one] = [{ type: 'array' as const, items: convert(taken.item) }, convert(taken.item)];
      return { description: taken.allowed, ...(taken.orOne ? { anyOf: [many, one] } : many) };
    }
    case 'record':
      return { description: taken.allowed, type: 'object', additionalProperties: convert(taken.item) };
    case 'auto':
      return { anyOf: [{ const: 'auto' }, convert(taken.other)] };
    case 'either':
      return { anyOf: taken.shapes.map(convert) };
  }
}

function mayBeNothing(shape: z.core.$ZodType | undefined): boolean {
  const taken = shape && findAccepted(shape);
  return taken?.kind === 'mapping' && taken.orNothing;
}

function replace(schema: Schema, by: Schema): void {
  for (const key of Object.keys(schema)) delete schema[key];
  Object.assign(schema, by);
}

/** Every schema that the package ships, by the name of its file. */
export function makeSchemas(): Map<string, Schema> {
  const integrity = { type: 'string', pattern: '^sha256-[0-9a-f]{64}$' } as const;
  const { properties, required = [], ...document } = convert(documentShape);
  const all: [string, string, Schema][] = [
    ['config', 'Settings of orch: .orchestration/config.yaml', convert(configShape)],
    ['plan', 'A plan: tasks with dependencies, for orch run', convert(planShape)],
    [
      'checkpoint',
      'A checkpoint as it is stored, in .orchestration/checkpoints/<epic>/ of its commit',
      { ...document, properties: { ...properties, integrity }, required: [...required, 'integrity'] },
    ],
    [
      'run',
      'What a session finished, planned or acknowledged in a run: state.runs of a checkpoint',
      convert(runPart),
    ],
  ];
  return new Map(
    all.map(([name, title, schema]) => {
      const file = `${name}.schema.json`;
      return [file, { $schema: draft, $id: `${home}/${file}`, title, ...schema }];
    }),
  );
}
