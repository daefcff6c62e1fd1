import { describe, expect, it } from '@jest/globals';

import type { ToolDefinition } from '#models';

import { defineTool } from './define-tool.js';
import { resolveOffered } from './resolve-offered.js';
import type { JsonSchema, ToolRuntime } from './tool.js';
import { ToolRegistry } from './tool.registry.js';

const parameters = {
  type: 'object',
  properties: { a: { type: 'string', description: 'A' }, description: { type: 'number' } },
  required: ['a', 'description'],
};
const execute = (): string => '';
const registry = new ToolRegistry();
registry.register(defineTool({ name: 'server', description: 'd', input: parameters, effect: 'pure', execute }));
registry.register(defineTool({ name: 'theirs', description: 'd', input: parameters, runtime: 'client' }));
registry.register(defineTool({ name: 'off', description: 'd', input: parameters, enabled: false, execute }));

const advertise = (name: string, schema?: JsonSchema): ToolDefinition => ({
  type: 'function',
  function: { name, ...(schema && { parameters: schema }) },
});
const handling = (name: string, schema?: JsonSchema, runtime?: ToolRuntime): string | undefined =>
  resolveOffered([advertise(name, schema)], registry, {
    ...(runtime && { runtimes: { [name]: runtime } }),
    client: { deviceId: null, tools: {} },
  })[0]?.handling;

describe('resolveOffered', () => {
  it.each([
    ['server', undefined, 'server'],
    ['server', 'server', 'server'],
    ['server', 'client', 'client'],
    ['theirs', undefined, 'client'],
    ['theirs', 'server', 'unregistered'],
    ['off', undefined, 'unregistered'],
    ['unknown', undefined, 'client'],
    ['unknown', 'server', 'unregistered'],
    ['constructor', undefined, 'client'],
    ['__proto__', 'hybrid', 'client'],
  ] as const)('handles a call of the tool %s with the runtime %s by: %s', (name, runtime, expected) => {
    expect(handling(name, parameters, runtime)).toBe(expected);
  });

  it('ignores schema keywords without effect when it compares parameters', () => {
    const same = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      required: ['description', 'a'],
      additionalProperties: false,
      properties: { description: { type: 'number', title: 'N' }, a: { type: 'string' } },
      type: 'object',
    };
    expect(handling('server', same)).toBe('server');
  });

  it.each([
    [undefined],
    [{ ...parameters, required: ['a'] }],
    [{ ...parameters, properties: { a: { type: 'string' } } }],
    [{ ...parameters, properties: { ...parameters.properties, a: { type: 'string', enum: ['x'] } } }],
    [{ ...parameters, properties: { ...parameters.properties, more: {} } }],
  ])('does not run a server tool that was shown with other parameters', (schema) => {
    expect(handling('server', schema)).toBe('unregistered');
  });

  it('marks a tool as clientless when the request has no client', () => {
    const [offered] = resolveOffered([advertise('theirs', parameters)], registry);
    expect(offered?.handling).toBe('clientless');
  });

  it('sets the version of a tool to that of the server tool, else to a hash of its definition', () => {
    const version = (name: string, description: string) =>
      resolveOffered([{ type: 'function', function: { name, description, parameters } }], registry)[0]?.version;
    expect(version('server', 'as a request puts it')).toBe(registry.find('server')?.version);
    expect(version('own', 'a')).toMatch(/^[0-9a-f]{16}$/);
    expect(version('own', 'a')).not.toBe(version('own', 'b'));
  });

  it('refuses a server tool that changed after the job was accepted', () => {
    const pinned = (version: string) =>
      resolveOffered([advertise('server', parameters)], registry, { pins: { server: version } })[0]?.handling;
    expect(pinned(registry.find('server')?.version ?? '')).toBe('server');
    expect(pinned('another')).toBe('unregistered');
  });

  it('takes the effect from the request only for client tools', () => {
    const client = { deviceId: null, tools: { mine: { effect: 'pure' }, server: { effect: 'once' } } } as const;
    const offered = resolveOffered([advertise('mine'), advertise('server', parameters)], registry, { client });
    expect(offered.map(({ effect, sort }) => [effect, sort])).toEqual([
      ['pure', 'client'],
      ['pure', 'server'],
    ]);
  });

  it('uses the first of two tools with one name and keeps the order', () => {
    const offered = resolveOffered([advertise('b'), advertise('server', parameters), advertise('server')], registry);
    expect(offered.map(({ name, handling: how, effect }) => [name, how, effect])).toEqual([
      ['b', 'clientless', 'once'],
      ['server', 'server', 'pure'],
    ]);
  });
});
