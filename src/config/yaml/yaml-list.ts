import { Document, isMap, isSeq, parseDocument, type YAMLSeq } from 'yaml';

/** Writes a value as YAML. */
export function formatYaml(value: unknown): string {
  return String(new Document(value));
}

/** Adds entries to a list at the top of a document, which stays as it is otherwise; null if there is no such list. */
export function addToYamlList(text: string, list: string, entries: readonly unknown[]): string | null {
  const document = parseDocument(text);
  const found = isMap(document.contents) ? document.contents.get(list) : null;
  if (!isSeq(found)) return null;
  const sequence: YAMLSeq = found; // what is added was not parsed
  for (const entry of entries) sequence.add(document.createNode(entry));
  return String(document);
}
