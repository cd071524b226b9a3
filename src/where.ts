import { type Orch, type OrchOptions, openOrch } from './orch.ts';

/** An open repository, or where to find one; the current folder by default. */
export type Where = Orch | OrchOptions;

/** Uses an open repository, or opens one for this call. */
export async function using<T>(where: Where, work: (orch: Orch) => Promise<T>): Promise<T> {
  if ('git' in where) return work(where);
  const orch = await openOrch(where);
  try {
    return await work(orch);
  } finally {
    orch.close();
  }
}
