import { describe, expect, it } from 'vitest';
import * as codexHooks from '../../src/agents/codex/codex-hooks.ts';

describe('orch in the hooks of Codex', () => {
  const options = { command: ['/opt/orch/bin/orch'], shared: false };

  it('are added behind those that are there, and taken out again', () => {
    const mine =
      '{"description": "x", "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]}}\n';
    for (const text of [mine, '{}', null]) {
      const added = codexHooks.addOrch(text, options);
      if ('problem' in added) throw new Error(added.problem);
      const { hooks } = JSON.parse(added.text);
      expect(Object.keys(hooks)).toHaveLength(8);
      expect(hooks.SessionEnd[0].hooks[0].timeout).toBe(3);
      expect(hooks.Stop.at(-1).hooks[0].command).toBe('/opt/orch/bin/orch hook codex');
      expect(hooks.Stop).toHaveLength(text === mine ? 2 : 1);
      expect(codexHooks.addOrch(added.text, options)).toEqual(added);
      expect(codexHooks.removeOrch(added.text)).toEqual({ text });
    }
    expect(codexHooks.addOrch('{,}', options)).toHaveProperty('problem');
    expect(codexHooks.removeOrch('{,}')).toHaveProperty('problem');
  });
});
