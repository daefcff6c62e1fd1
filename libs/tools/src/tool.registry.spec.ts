import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';

import { defineTool, isTool } from './define-tool.js';
import { ToolRegistry } from './tool.registry.js';

const input = { type: 'object', properties: {} };
const execute = (): string => 'done';

describe('defineTool', () => {
  it('uses the safest options as defaults', () => {
    const tool = defineTool({ name: 'x', description: 'd', input, execute });
    const { runtime, effect, timeoutMs, enabled, repeatable } = tool;
    expect({ runtime, effect, timeoutMs, enabled, repeatable }).toEqual({
      runtime: 'hybrid',
      effect: 'once',
      timeoutMs: null,
      enabled: true,
      repeatable: false,
    });
    expect([isTool(tool), isTool({ ...tool }), isTool(null)]).toEqual([true, false, false]);
  });

  it('publishes a zod input as a plain JSON Schema', () => {
    const zod = z.object({ a: z.string().describe('A'), b: z.number().optional(), c: z.enum(['x']).default('x') });
    expect(defineTool({ name: 'x', description: 'd', input: zod, execute }).parameters).toEqual({
      type: 'object',
      properties: {
        a: { type: 'string', description: 'A' },
        b: { type: 'number' },
        c: { type: 'string', enum: ['x'], default: 'x' },
      },
      required: ['a'],
    });
  });
});

describe('ToolRegistry', () => {
  const registered = (...tools: Parameters<typeof defineTool>[0][]): ToolRegistry => {
    const registry = new ToolRegistry();
    for (const tool of tools) registry.register(defineTool(tool));
    return registry;
  };

  it('lists enabled tools by name with their definitions', () => {
    const registry = registered(
      { name: 'b', description: 'B', input, execute },
      { name: 'a.c', description: 'A', input, runtime: 'client' },
      { name: 'off', description: 'O', input, execute, enabled: false },
    );
    expect(registry.list().map((tool) => tool.name)).toEqual(['a.c', 'b']);
    expect(registry.definitionOf('b')).toEqual({
      type: 'function',
      function: { name: 'b', description: 'B', parameters: input },
    });
    expect([registry.definitionOf('off'), registry.definitionOf('constructor')]).toEqual([undefined, undefined]);
  });

  it.each([
    [
      'a limit of calls in the worker',
      { name: 'x', description: 'd', input, execute, concurrency: 2 },
      'concurrency requires',
    ],
    [
      'a limit of no calls',
      { name: 'x', description: 'd', input, execute, isolation: 'queue' as const, concurrency: 0 },
      'concurrency is 1 to 100',
    ],
    [
      'a flag that is no name',
      { name: 'a', description: 'd', input, execute, flag: 'New Search' },
      'its flag is no name',
    ],
    ['a name with spaces', { name: 'a b', description: 'd', input, execute }, 'a name is'],
    ['an endless name', { name: 'a'.repeat(65), description: 'd', input, execute }, 'a name is'],
    ['no description', { name: 'a', description: ' ', input, execute }, 'no description'],
    ['no handler', { name: 'a', description: 'd', input }, 'no handler'],
    ['a list as input', { name: 'a', description: 'd', input: { type: 'array' }, execute }, 'not an object schema'],
    [
      'a broken schema',
      { name: 'a', description: 'd', input: { type: 'object', required: 5 }, execute },
      'cannot be used',
    ],
    [
      'a remote schema',
      { name: 'a', description: 'd', input: { type: 'object', $ref: 'http://x.test/' }, execute },
      'used',
    ],
    ['a time limit of 0', { name: 'a', description: 'd', input, execute, timeoutMs: 0 }, 'time limit'],
  ])('refuses %s', (_, spec, problem) => {
    expect(() => registered(spec)).toThrow(problem);
  });

  it('refuses a name that is taken', () => {
    const tool = { name: 'a', description: 'd', input, execute };
    expect(() => registered(tool, tool)).toThrow('Tool "a" cannot be registered: its name is taken.');
  });
});
