import { describe, expect, it } from '@jest/globals';

import { Redactor, Secret } from '#platform';

import type { Model, ModelPart } from './model/model.js';
import { withoutSecrets } from './model-catalog.js';
import { StreamTurns } from './stream-turns.js';

const SECRET = 'correct-horse-"battery"';

async function redacted(parts: readonly ModelPart[]): Promise<readonly ModelPart[]> {
  const model: Model = {
    async *stream() {
      yield await Promise.resolve(parts);
    },
  };
  const redactor = new Redactor([new Secret(SECRET), new Secret('plain-secret')]).everything;
  let now = 0;
  const clean = withoutSecrets(model, redactor, new StreamTurns({ monotonic: () => now++ }));
  const all: ModelPart[] = [];
  for await (const batch of clean.stream({ model: 'm', messages: [] }, new AbortController().signal))
    all.push(...batch);
  return all;
}
const argumentsOf = async (text: string) => {
  const [part] = await redacted([{ type: 'tool-calls', calls: [{ callId: 'c', name: 'send', arguments: text }] }]);
  return part?.type === 'tool-calls' ? part.calls[0]?.arguments : undefined;
};

describe('withoutSecrets', () => {
  it('redacts known secrets in arguments of calls, in any JSON notation', async () => {
    expect(await argumentsOf('{"to":"a","text":"it is plain-secret."}')).toBe('{"to":"a","text":"it is [redacted]."}');
    expect(await argumentsOf(JSON.stringify({ text: SECRET }))).toBe('{"text":"[redacted]"}');
    expect(await argumentsOf(String.raw`{"deep":[{"x":"\u0070lain-secret"}]}`)).toBe('{"deep":[{"x":"[redacted]"}]}');
  });

  it('keeps any other text unchanged, also text that only looks like a secret', async () => {
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

  it('redacts a secret in arguments that are not valid JSON', async () => {
    expect(await argumentsOf('{"x":"plain-secret')).toBe('{"x":"[redacted]');
  });

  it('redacts a secret at any position of arguments above 64 KiB', async () => {
    for (const before of [0, 65_530, 70_000, 131_067])
      expect(await argumentsOf(`${' '.repeat(before)}plain-secret${' '.repeat(70_000)}`)).toBe(
        `${' '.repeat(before)}[redacted]${' '.repeat(70_000)}`,
      );
  });

  it('redacts a secret at any position of a long text', async () => {
    for (const before of [0, 8_185, 8_192, 16_380])
      expect(await redacted([{ type: 'text', text: `${'.'.repeat(before)}plain-secret${'.'.repeat(9_000)}` }])).toEqual(
        [{ type: 'text', text: `${'.'.repeat(before)}[redacted]${'.'.repeat(9_000)}` }],
      );
  });

  const callsOf = (...texts: string[]): ModelPart[] => [
    { type: 'tool-calls', calls: texts.map((text, index) => ({ callId: `c${index}`, name: 'send', arguments: text })) },
  ];
  it.each<[string, readonly ModelPart[]]>([
    ['calls with long arguments', callsOf(...Array.from({ length: 30 }, () => '%41'.repeat(20_000)))],
    ['the pieces of very long arguments', callsOf('%41'.repeat(600_000))],
    ['many parts of a batch', Array.from({ length: 100 }, () => ({ type: 'text', text: '.' }))],
    ['the pieces of a very long text', [{ type: 'text', text: 'x'.repeat(65_537) }]],
  ])('lets other work run between %s', async (_, parts) => {
    let hasRun = false;
    const other = new Promise<void>((resolve) => {
      setImmediate(() => {
        hasRun = true;
        resolve();
      });
    });
    expect(await redacted(parts)).toEqual(parts);
    expect(hasRun).toBe(true);
    await other;
  });

  it('keeps the spelling of numbers in arguments with a redacted secret', async () => {
    const text = String.raw`{"id":12345678901234567890,"x":1.50,"text":"correct-horse-\u005c\"battery\""}`;
    expect(await argumentsOf(text)).toContain('"id":12345678901234567890,"x":1.50');
    expect(await argumentsOf(text)).not.toContain('horse');
  });

  it('redacts known secrets in text and reasoning, also when one is split over two parts', async () => {
    const finish: ModelPart = {
      type: 'finish',
      finishReason: 'stop',
      usage: { promptTokens: 1, completionTokens: 1, totalTokens: 2, estimated: false },
    };
    const text = (value: string): ModelPart => ({ type: 'text', text: value });
    const reasoning = (value: string): ModelPart => ({ type: 'reasoning', text: value });
    const parts = [reasoning('Is it plain-'), text('It is plai'), reasoning('secret?'), text('n-secret.'), finish];
    const shown = await redacted(parts);
    const joined = (type: string) =>
      shown.map((part) => ('text' in part && part.type === type ? part.text : '')).join('');

    expect([joined('reasoning'), joined('text')]).toEqual(['Is it [redacted]?', 'It is [redacted].']);
    expect(shown.at(-1)).toEqual(finish);
  });

  it('emits the rest of a text that ends like a secret prefix before the calls', async () => {
    const calls: ModelPart = { type: 'tool-calls', calls: [] };
    expect(await redacted([{ type: 'text', text: 'It is plain' }, calls])).toEqual([
      { type: 'text', text: 'It is ' },
      { type: 'text', text: 'plain' },
      calls,
    ]);
  });
});
