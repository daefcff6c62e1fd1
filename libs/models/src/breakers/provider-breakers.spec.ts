import { describe, expect, it } from '@jest/globals';

import type { Model } from '../model/model.js';
import { ModelError } from '../model/models.errors.js';
import { ProviderBreakers } from './provider-breakers.js';

const failure = { code: 'model_unavailable', message: 'Down.', retryable: true, afterFirstByte: false } as const;
const options = { failures: 1, pauseMs: 60_000, maxPauseMs: 60_000 };

/** Counts the requests that reach the provider; it responds when `isUp`. */
function providers(maxBreakers: number) {
  const breakers = new ProviderBreakers(options, maxBreakers);
  const sent: string[] = [];
  const ask = async (modelName: string, isUp: boolean) => {
    const model: Model = {
      // eslint-disable-next-line @typescript-eslint/require-await -- a model streams
      async *stream() {
        sent.push(modelName);
        if (!isUp) throw new ModelError(failure);
        yield [{ type: 'text', text: 'Hi' }];
      },
    };
    const guarded = breakers.guard(model, { baseUrl: 'http://127.0.0.1', apiKey: null, modelName });
    const request = { model: modelName, messages: [], tools: [] };
    try {
      for await (const parts of guarded.stream(request, new AbortController().signal)) if (parts.length > 0) break;
    } catch (error) {
      if (!(error instanceof ModelError)) throw error;
    }
  };
  return { sent, ask };
}

describe('ProviderBreakers', () => {
  it('evicts the least recently used closed breaker and keeps open ones', async () => {
    const { sent, ask } = providers(2);
    await ask('down', false);
    for (const name of ['a', 'b', 'c']) await ask(name, true);
    await ask('down', false);
    expect(sent).toEqual(['down', 'a', 'b', 'c']);
  });

  it('evicts the least recently used breaker when all are open', async () => {
    const { sent, ask } = providers(2);
    for (const name of ['a', 'b', 'a', 'c', 'a', 'b']) await ask(name, false);
    expect(sent).toEqual(['a', 'b', 'c', 'b']);
  });
});
