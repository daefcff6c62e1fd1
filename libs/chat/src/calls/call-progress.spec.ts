import { describe, expect, it } from '@jest/globals';

import { ManualClock, Redactor, Secret } from '#platform';

import { CallProgress } from './call-progress.js';

const SECRET = 'correct-horse-battery';

function start() {
  const messages: unknown[] = [];
  const clock = new ManualClock();
  const emit = (_seq: number, { message = null }: { readonly message?: string | null }) => {
    messages.push(message);
  };
  const redactor = new Redactor([new Secret(SECRET)]);
  return { messages, clock, progress: new CallProgress(emit, { clock, redactor }) };
}

describe('CallProgress', () => {
  it('redacts secrets in the first event and in later ones', () => {
    const { messages, clock, progress } = start();
    progress.report({ message: `logging in with ${SECRET}` });
    progress.report({ message: 'Authorization: Bearer abcdefgh12345678' });
    clock.advance(500);
    expect(messages).toEqual(['logging in with [redacted]', 'Authorization: Bearer [redacted]']);
    progress.close();
  });

  it('redacts a message before it truncates it', () => {
    const { messages, progress } = start();
    progress.report({ message: 'x'.repeat(490) + SECRET });
    expect(messages).toEqual([`${'x'.repeat(490)}[redacted]`]);
    progress.close();
  });
});
