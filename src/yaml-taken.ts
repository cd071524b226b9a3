import type * as z from 'zod/mini';

/** What a shape takes, for the JSON Schemas that editors read: zod itself only sees that anything is turned into something. */
export type Taken =
  | { readonly kind: 'value'; readonly allowed: string; readonly json: JsonSchema }
  | { readonly kind: 'mapping'; readonly shape: z.core.$ZodShape; readonly orNothing: boolean }
  | {
      readonly kind: 'list';
      readonly allowed: string;
      readonly item: z.core.$ZodType;
      /** A single one need not be written as a list. */
      readonly orOne?: true;
    }
  | { readonly kind: 'record'; readonly allowed: string; readonly item: z.core.$ZodType }
  | { readonly kind: 'auto'; readonly other: z.core.$ZodType };
export type JsonSchema = { readonly [keyword: string]: unknown };

const taken = new WeakMap<z.core.$ZodType, Taken>();

/** Notes what a shape takes. */
export function takes<Shape extends z.core.$ZodType>(shape: Shape, what: Taken): Shape {
  taken.set(shape, what);
  return shape;
}

export function whatTakes(shape: z.core.$ZodType): Taken | null {
  return taken.get(shape) ?? null;
}
