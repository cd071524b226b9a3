export type Agent = 'claude' | 'codex';
export const cache: string;
export const agents: {
  readonly [agent in Agent]: {
    readonly name: string;
    readonly version: string;
    readonly spec: string;
    readonly program: string;
  };
};
export function folderOf(agent: Agent): string;
export function programOf(agent: Agent): string | null;
