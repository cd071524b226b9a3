/** What is looked at of a folder; paths are relative to it. */
export type FolderReader = {
  /** The names in a folder of it; none where there is no such folder. */
  list(path: string): readonly string[];
  /** A file's text; null where there is none. */
  read(path: string): string | null;
};

/** In the order they are shown and started. */
export const gateNames = ['test', 'check', 'typecheck', 'lint', 'build'] as const;
export type GateName = (typeof gateNames)[number];

/** The gates of one ecosystem: shell lines by name. */
export type Found = { readonly ecosystem: string; readonly lines: { readonly [name in GateName]?: string } };
