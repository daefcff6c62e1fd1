import { describe, expect, it } from '@jest/globals';

import { isElsewhere, mcpServerName, parseMcpSettings, secretsOf } from './mcp-settings.js';

const http = { transport: 'http', url: 'https://mcp.example/mcp' } as const;
const stdio = { transport: 'stdio', command: 'mcp-files' } as const;
const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`n${i}`, 'pure']));

describe('parseMcpSettings', () => {
  it('adds defaults for absent fields', () => {
    const common = { timeoutMs: null, isolated: false, trusted: false, effect: null, effects: {} };
    expect(parseMcpSettings(http)).toEqual({ ...http, headers: {}, ...common });
    expect(parseMcpSettings(stdio)).toEqual({ ...stdio, args: [], env: {}, ...common });
  });

  it('accepts credentials as references to secrets', () => {
    const headers = { Authorization: 'Bearer {{secret:GITHUB_TOKEN}}', 'X-Api-Key': '{{secret:KEY}}', 'X-Tenant': 'a' };
    const read = parseMcpSettings({ ...http, headers });
    expect(read).toMatchObject({ headers });
    expect(secretsOf(read)).toEqual(['GITHUB_TOKEN', 'KEY']);
    expect(secretsOf(parseMcpSettings({ ...stdio, env: { API_TOKEN: '{{secret:A}}', HOME: '/x' } }))).toEqual(['A']);
  });

  it.each([
    [{ ...http, url: 'ftp://x.test' }, 'url'],
    [{ ...http, url: 'nonsense' }, 'url'],
    [{ ...http, url: 'https://a:b@x.test' }, 'url'],
    [{ ...http, url: 'https://x.test/#a' }, 'url'],
    [{ ...http, url: 'https://x.test/?api_key=0123456789abcdef' }, 'url'],
    [{ ...http, headers: { Authorization: 'Bearer plain-text' } }, 'headers.Authorization'],
    [{ ...http, headers: { Authorization: 'plain-text' } }, 'headers'],
    [{ ...http, headers: { 'X-Note': 'sk-0123456789abcdef0123' } }, 'headers.X-Note'],
    [{ ...http, headers: { Host: 'x' } }, 'headers.Host'],
    [{ ...http, headers: { 'mcp-session-id': 'x' } }, 'headers.mcp-session-id'],
    [{ ...http, headers: { 'Idempotency-Key': 'x' } }, 'headers.Idempotency-Key'],
    [{ ...http, headers: { 'a b': 'x' } }, 'headers.a b'],
    [{ ...http, headers: { a: 'x\r\ny: z' } }, 'headers.a'],
    [{ ...http, timeoutMs: 0 }, 'timeoutMs'],
    [{ ...http, effect: 'none' }, 'effect'],
    [{ ...http, command: 'x' }, 'command'],
    [{ ...stdio, command: '' }, 'command'],
    [{ ...stdio, args: ['a\0'] }, 'args.0'],
    [{ ...stdio, env: { API_TOKEN: 'plain-text' } }, 'env'],
    [{ ...stdio, env: { __proto__x: 'x' } }, 'env.__proto__x'],
    [{ ...http, headers: many(101) }, 'headers'],
    [{ ...stdio, env: many(101) }, 'env'],
    [{ ...http, effects: many(201) }, 'effects'],
    [{ transport: 'carrier-pigeon' }, 'transport'],
  ])('refuses %j', (given, field) => {
    expect(() => parseMcpSettings(given)).toThrow(expect.objectContaining({ code: 'bad_request', field }));
  });

  it('does not contain the value in its error', () => {
    expect(() => parseMcpSettings({ ...http, headers: { Authorization: 'the-canary' } })).not.toThrow(/canary/);
  });
});

describe('isElsewhere', () => {
  it('returns true for another URL or other process arguments, false for other headers, variables or timeouts', () => {
    const [a, b] = [parseMcpSettings(http), parseMcpSettings(stdio)];
    expect(isElsewhere(a, parseMcpSettings({ ...http, headers: { 'X-A': 'b' }, timeoutMs: 5 }))).toBe(false);
    expect(isElsewhere(a, parseMcpSettings({ ...http, url: 'https://evil.example/mcp' }))).toBe(true);
    expect(isElsewhere(b, parseMcpSettings({ ...stdio, env: { A: 'b' } }))).toBe(false);
    expect(isElsewhere(b, parseMcpSettings({ ...stdio, args: ['--all'] }))).toBe(true);
    expect(isElsewhere(a, b)).toBe(true);
  });
});

describe('a server name', () => {
  it.each(['files', 'a', '0-_', 'x'.repeat(32)])('accepts %s', (name) => {
    expect(mcpServerName.safeParse(name).success).toBe(true);
  });

  it.each(['', 'A', 'a.b', 'a b', 'x'.repeat(33), 'ä'])('rejects %j', (name) => {
    expect(mcpServerName.safeParse(name).success).toBe(false);
  });
});
