import { describe, expect, it } from '@jest/globals';

import type { ToolEffect } from '#tools';

import type { McpAnnotations } from './mcp-definition.js';
import { effectOf } from './mcp-effect.js';

type Case = readonly [annotations: McpAnnotations | undefined, server: ToolEffect | null, tool: ToolEffect | null];

function effect([annotations, server, tool]: Case, trusted = false): ToolEffect {
  const effects = tool === null ? {} : { send: tool };
  return effectOf(
    { name: 'send', ...(annotations === undefined ? {} : { annotations }) },
    { effect: server, effects, trusted },
  );
}

const readOnly = { readOnlyHint: true };
const idempotent = { idempotentHint: true };

describe('effectOf', () => {
  it.each<[Case, ToolEffect]>([
    [[undefined, null, null], 'once'],
    [[{}, null, null], 'once'],
    [[{ readOnlyHint: false, idempotentHint: false }, null, null], 'once'],
    [[readOnly, null, null], 'pure'],
    [[idempotent, null, null], 'idempotent'],
    [[{ ...readOnly, ...idempotent }, null, null], 'pure'],
  ])('reads the hints of %j as %s', (given, expected) => {
    expect(effect(given)).toBe(expected);
  });

  it.each<[Case, ToolEffect]>([
    [[readOnly, 'once', null], 'once'],
    [[readOnly, null, 'idempotent'], 'idempotent'],
    [[readOnly, 'once', 'idempotent'], 'idempotent'],
    [[idempotent, 'once', null], 'once'],
  ])('lets settings make the effect stricter: %j is %s', (given, expected) => {
    expect(effect(given)).toBe(expected);
  });

  it.each<[Case, ToolEffect]>([
    [[undefined, 'pure', null], 'once'],
    [[undefined, null, 'idempotent'], 'once'],
    [[idempotent, 'pure', 'pure'], 'idempotent'],
  ])('ignores a setting that is weaker than the hints: %j is %s', (given, expected) => {
    expect(effect(given)).toBe(expected);
  });

  it('lets settings be weaker than the hints for a trusted server', () => {
    expect(effect([undefined, 'pure', null], true)).toBe('pure');
    expect(effect([idempotent, 'once', 'pure'], true)).toBe('pure');
  });

  it('ignores inherited settings', () => {
    const settings = { effect: null, effects: {}, trusted: true };
    expect(effectOf({ name: 'constructor' }, settings)).toBe('once');
  });
});
