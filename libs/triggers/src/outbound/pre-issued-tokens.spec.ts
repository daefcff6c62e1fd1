import { describe, expect, it } from '@jest/globals';

import { ManualClock, newId, Secret, SecretBox } from '#platform';

import { PreIssuedTokens } from './pre-issued-tokens.js';

const scope = { workspaceId: newId(), triggerId: newId(), database: 'acme', threadId: newId() };
const tokensWith = (box: SecretBox, clock = new ManualClock()) => {
  const tokens = new PreIssuedTokens(box);
  tokens.clock = clock;
  return tokens;
};
const [old, current] = [new Secret('an old secret of the server'), new Secret('a new secret of the server')];

describe('PreIssuedTokens', () => {
  it('opens its tokens for 10 minutes', () => {
    const clock = new ManualClock();
    const tokens = tokensWith(new SecretBox(current), clock);
    const token = tokens.mint(scope).reveal();
    clock.advance(10 * 60_000 - 1);
    expect(tokens.open(token)).toEqual(scope);
    clock.advance(1);
    expect(tokens.open(token)).toBeNull();
  });

  it('opens tokens of an earlier secret, and none of another server', () => {
    const token = tokensWith(new SecretBox(old)).mint(scope).reveal();
    expect(tokensWith(new SecretBox(current, [old])).open(token)).toEqual(scope);
    expect(tokensWith(new SecretBox(current)).open(token)).toBeNull();
  });

  it('opens no token that was changed', () => {
    const tokens = tokensWith(new SecretBox(current));
    const [kind = '', workspaceId = '', triggerId = '', sealed = ''] = tokens.mint(scope).reveal().split('.');
    const changed = [
      [kind, newId(), triggerId, sealed],
      [kind, workspaceId, newId(), sealed],
      [kind, workspaceId, triggerId, `${sealed.slice(0, -4)}AAAA`],
      [kind, workspaceId, triggerId, sealed, sealed],
      [kind, workspaceId, triggerId],
      ['nsk', workspaceId, triggerId, sealed],
    ];
    for (const parts of changed) expect(tokens.open(parts.join('.'))).toBeNull();
    expect(tokens.open('x'.repeat(100_000))).toBeNull();
  });
});
