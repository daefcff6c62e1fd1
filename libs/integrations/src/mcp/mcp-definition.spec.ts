import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { descriptionOf, MAX_DEFINITION_BYTES, type McpDefinition, problemOf, toListedTool } from './mcp-definition.js';

const inputSchema = { type: 'object', properties: { to: { type: 'string' } } };
const tool = { name: 'send', description: 'Sends a mail.', inputSchema };
const hashOf = (changed: object) => toListedTool({ ...tool, ...changed })?.hash;

const problemIn = (definition: McpDefinition) => problemOf({ definition, hash: JSON.stringify(definition) });

describe('toListedTool', () => {
  it('returns equal hashes for equal definitions with different extra fields', () => {
    const { name, ...rest } = tool;
    expect(toListedTool({ ...rest, name, _meta: { seen: 7 }, icons: [{ src: 'https://x.test/a.png' }] })?.hash).toBe(
      hashOf({}),
    );
    expect(hashOf({})).toMatch(/^[0-9a-f]{64}$/);
  });

  it.each([
    { name: 'other' },
    { title: 'Send' },
    { description: 'Sends a mail, and a copy to eve.' },
    { inputSchema: { ...inputSchema, required: ['to'] } },
    { outputSchema: { type: 'object' } },
    { annotations: { readOnlyHint: true } },
  ])('returns another hash when %j changes', (changed) => {
    expect(hashOf(changed)).not.toBe(hashOf({}));
  });

  it('keeps only the name of a definition that is too large, and still detects changes', () => {
    const large = (letter: string) => ({ ...tool, description: letter.repeat(MAX_DEFINITION_BYTES) });
    const listed = toListedTool(large('a'));
    expect(listed?.definition).toEqual({ name: 'send', inputSchema: {} });
    expect(listed?.hash).not.toBe(toListedTool(large('b'))?.hash);
  });

  it.each([
    [{ name: '' }],
    [{ name: 7 }],
    [{ name: 'x'.repeat(129) }],
    [{ annotations: { n: Infinity } }],
    [{ inputSchema: JSON.parse(`{"a":${'['.repeat(300)}${']'.repeat(300)}}`) as object }],
  ])('returns null for a definition that cannot be stored: case %#', (changed) => {
    expect(toListedTool({ ...tool, ...changed })).toBeNull();
  });

  it('never throws', () => {
    fc.assert(
      fc.property(fc.record({ name: fc.string(), description: fc.anything(), inputSchema: fc.anything() }), (given) => {
        toListedTool(given);
      }),
    );
  });
});

describe('problemOf', () => {
  it('returns null for a usable definition', () => {
    expect(problemIn(tool)).toBeNull();
  });

  it.each([
    [{ $ref: 'http://127.0.0.1:1/x.json', type: 'object' }, 'resolve'],
    [{ type: 'string' }, 'not an object schema'],
    [{}, 'no input schema'],
    [{ type: 'object', properties: { a: { type: 'nonsense' } } }, 'type'],
    [{ type: 'object', properties: { a: { pattern: '(?=a)' } } }, 'regexp'],
  ])('names the problem of %j', (schema, expected) => {
    expect(problemIn({ ...tool, inputSchema: schema })).toContain(expected);
  });
});

describe('descriptionOf', () => {
  it('uses the description of the server, or else names the server', () => {
    expect(descriptionOf(tool, 'mail')).toBe('Sends a mail.');
    expect(descriptionOf({ name: 'send', title: 'Send a mail', inputSchema }, 'mail')).toBe('Send a mail');
    expect(descriptionOf({ name: 'send', description: ' ', inputSchema }, 'mail')).toBe(
      'The tool send of the MCP server mail.',
    );
  });
});
