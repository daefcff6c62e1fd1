import { describe, expect, it } from '@jest/globals';

import type { ToolDefinition } from '#models';

import { clientToolProblem } from './client-tool-problem.js';

function tool(name: string, parameters?: Readonly<Record<string, unknown>>): ToolDefinition {
  return { type: 'function', function: { name, ...(parameters === undefined ? {} : { parameters }) } };
}

describe('clientToolProblem', () => {
  it('accepts named tools with an object schema, or without one', () => {
    expect(
      clientToolProblem([tool('a.b-c_D1'), tool('b', { type: 'object', properties: {} }), tool('c', {})]),
    ).toBeNull();
  });

  it.each([
    ['a name with a space', [tool('open file')], 'Client tool "open file" cannot be used: a name is'],
    ['a name that is too long', [tool('x'.repeat(65))], `Client tool "${'x'.repeat(64)}" cannot be used: a name is`],
    ['one name for two', [tool('a'), tool('a')], 'There are two client tools named "a"'],
    ['parameters of another type', [tool('a', { type: 'string' })], 'its parameters are not an object schema'],
    [
      'a schema that does not compile',
      [tool('a', { type: 'object', required: 'b' })],
      'The JSON Schema cannot be used',
    ],
    ['a schema to be fetched', [tool('a', { $ref: 'http://127.0.0.1/x' })], 'The JSON Schema cannot be used'],
    ['a definition without end', [tool('a', { title: 'x'.repeat(65_536) })], 'longer than 65536 characters'],
    [
      'too much altogether',
      Array.from({ length: 5 }, (_, i) => tool(`a${i}`, { title: 'x'.repeat(60_000) })),
      'longer than 262144 characters together',
    ],
    [
      'patterns that take too long to compile together',
      Array.from({ length: 95 }, (_, i) =>
        tool(`a${i}`, { properties: { p: { pattern: `^(a|b${i}){200}$` }, q: { pattern: `^(c|d${i}){200}$` } } }),
      ),
      'it has too many patterns, or they are too large together',
    ],
    [
      'schemas of too many parts together',
      Array.from({ length: 100 }, (_, i) => tool(`a${i}`, { anyOf: Array.from({ length: 800 }, () => ({})) })),
      'the schemas beside it have more than 20000 parts',
    ],
    [
      'too many, before a schema is looked at',
      Array.from({ length: 950 }, (_, i) => tool(`a${i}`, { type: 'object', required: 'b' })),
      'At most 128 client tools',
    ],
    ['too many', Array.from({ length: 129 }, (_, i) => tool(`a${i}`)), 'At most 128 client tools'],
  ])('names the problem of %s', (_, tools, problem) => {
    expect(clientToolProblem(tools)).toContain(problem);
  });
});
