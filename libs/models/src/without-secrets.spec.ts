import { describe, expect, it } from '@jest/globals';

import { Redactor, Secret } from '#platform';

import type { Model, ModelPart } from './model.js';
import { withoutSecrets } from './without-secrets.js';

const SECRET = 'correct-horse-"battery"';

async function said(parts: readonly ModelPart[]): Promise<readonly ModelPart[]> {
  const model: Model = {
    async *stream() {
      yield await Promise.resolve(parts);
    },
  };
  const redactor = new Redactor([new Secret(SECRET), new Secret('plain-secret')]).everything;
  const clean = withoutSecrets(model, (text) => redactor.redactKnown(text));
  const all: ModelPart[] = [];
  for await (const batch of clean.stream({ model: 'm', messages: [] }, new AbortController().signal))
    all.push(...batch);
  return all;
}
const argumentsOf = async (text: string) => {
  const [part] = await said([{ type: 'tool-calls', calls: [{ callId: 'c', name: 'send', arguments: text }] }]);
  return part?.type === 'tool-calls' ? part.calls[0]?.arguments : undefined;
};

describe('a model without secrets', () => {
  it('asks for no call that holds a known secret, however it is spelled', async () => {
    expect(await argumentsOf('{"to":"a","text":"it is plain-secret."}')).toBe('{"to":"a","text":"it is [redacted]."}');
    expect(await argumentsOf(JSON.stringify({ text: SECRET }))).toBe('{"text":"[redacted]"}');
    expect(await argumentsOf(String.raw`{"deep":[{"x":"\u0070lain-secret"}]}`)).toBe('{"deep":[{"x":"[redacted]"}]}');
  });

  it('leaves every other text as the model wrote it, also what only looks like a secret', async () => {
    for (const text of [
      '{ "a" : 1.0 }',
      '{"key":"sk-abcdefghijklmnopqrstuvwxyz"}',
      '{"cut":"of',
      '',
      '{"u":"\\u00e9"}',
    ]) {
      expect(await argumentsOf(text)).toBe(text);
    }
  });

  it('takes a secret out of what is no JSON as well', async () => {
    expect(await argumentsOf('{"x":"plain-secret')).toBe('{"x":"[redacted]');
  });

  it('hands on everything else', async () => {
    const parts: readonly ModelPart[] = [{ type: 'text', text: 'plain-secret' }];
    expect(await said(parts)).toEqual(parts);
  });
});
