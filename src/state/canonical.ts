/** JSON with sorted keys and no spaces, so that equal values give equal text. Keys with an undefined value are left out. */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value !== 'object') {
    if (typeof value === 'number' && !Number.isFinite(value)) throw new TypeError(`${value} is not JSON`);
    const text = JSON.stringify(value);
    if (text === undefined) throw new TypeError(`${typeof value} is not JSON`);
    return text;
  }
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const object = value as { readonly [key: string]: unknown };
  let text = '';
  for (const key of Object.keys(object).sort()) {
    const part = object[key];
    if (part !== undefined) text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${canonicalJson(part)}`;
  }
  return `{${text}}`;
}

/** A total order over JSON values. The order is arbitrary; it only has to be the same everywhere. */
export function compareJson(a: unknown, b: unknown): number {
  const [x, y] = [canonicalJson(a), canonicalJson(b)];
  return x === y ? 0 : x < y ? -1 : 1;
}
