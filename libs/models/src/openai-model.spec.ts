import { afterAll, describe, expect, it } from '@jest/globals';

import { Secret, systemClock } from '#platform';

import { describeModel } from '../../../test/contracts/model.contract.js';
import { createModelAgent, createOpenAiModel } from './openai-model.js';

const dispatcher = createModelAgent();

afterAll(async () => {
  await dispatcher.destroy();
});

describeModel('createOpenAiModel', (target, options) => createOpenAiModel(target, { ...options, dispatcher }));

describe('createOpenAiModel', () => {
  it('refuses a base URL that is none', () => {
    expect(() => createOpenAiModel({ baseUrl: 'file:///x', apiKey: null }, { clock: systemClock, dispatcher })).toThrow(
      expect.objectContaining({ code: 'invalid_base_url' }),
    );
  });

  it('refuses to send a key that would break its header', async () => {
    const model = createOpenAiModel(
      { baseUrl: 'http://127.0.0.1:9/v1', apiKey: new Secret('a\r\nx: y') },
      { clock: systemClock, dispatcher },
    );
    const next = model
      .stream({ model: 'm', messages: [] }, new AbortController().signal)
      [Symbol.asyncIterator]()
      .next();
    await expect(next).rejects.toMatchObject({ code: 'model_unauthorized', afterFirstByte: false });
  });
});
