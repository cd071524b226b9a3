export type Program = 'claude' | 'codex' | 'ccusage';
export const cache: string;
export const programs: {
  readonly [name in Program]: {
    readonly name: string;
    readonly version: string;
    readonly spec: string;
    readonly program: string;
  };
};
export function folderOf(name: Program): string;
export function programOf(name: Program): string | null;
