import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { offeredName } from './offered-name.js';

describe('offeredName', () => {
  it('returns server.tool if it is a valid name', () => {
    expect(offeredName('files', 'read_file')).toBe('files.read_file');
    expect(offeredName('a', 'b.c-d')).toBe('a.b.c-d');
  });

  it('returns a valid tool name that begins with the server', () => {
    fc.assert(
      fc.property(
        fc.stringMatching(/^[a-z0-9_-]{1,32}$/),
        fc.string({ minLength: 1, maxLength: 128 }),
        (server, tool) => {
          const name = offeredName(server, tool);
          expect(name).toMatch(/^[A-Za-z0-9_.-]{1,64}$/);
          expect(name.startsWith(`${server}.`)).toBe(true);
          expect(offeredName(server, tool)).toBe(name);
        },
      ),
    );
  });

  it('returns different names for tools that would get the same name', () => {
    const long = 'x'.repeat(100);
    const tools = ['get/file', 'get file', 'get_file', `${long}1`, `${long}2`, '日本', '月本'];
    expect(new Set(tools.map((tool) => offeredName('files', tool))).size).toBe(tools.length);
  });
});
