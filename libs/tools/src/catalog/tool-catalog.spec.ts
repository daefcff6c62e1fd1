import { describe, expect, it } from '@jest/globals';

import { defineTool } from '../define-tool.js';
import { ToolRegistry } from '../tool.registry.js';
import { WorkspaceTools } from './tool-catalog.js';

describe('WorkspaceTools', () => {
  const registry = new ToolRegistry();
  const tool = (name: string, extra: object) =>
    defineTool({ name, description: name, input: { type: 'object' }, execute: () => name, ...extra });
  for (const one of [tool('on', { flag: 'a' }), tool('off', { flag: 'b', enabled: false }), tool('plain', {})])
    registry.register(one);
  const tools = new WorkspaceTools(registry, [tool('own', { flag: 'c' })]);

  it('names the flags of all its tools, also of disabled ones', () => {
    expect([...tools.flags()].sort()).toEqual(['a', 'b', 'c']);
  });

  it('offers no tool whose flag is off, also no disabled one', () => {
    const shown = tools.withoutFlags(tools.flags());
    expect(shown.list().map(({ name }) => name)).toEqual(['plain']);
    expect(['on', 'off', 'own', 'plain'].map((name) => shown.find(name)?.name)).toEqual([
      ...[undefined, undefined, undefined],
      'plain',
    ]);
  });
});
