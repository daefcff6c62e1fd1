import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

import { afterAll, describe, expect, it } from '@jest/globals';

import { Secret, systemClock } from '#platform';

import { describeModel } from '../../../test/contracts/model.contract.js';
import { ScriptedModel } from '../../../test/harness/scripted-model.js';
import { createModelAgent, createOpenAiModel } from './openai-model.js';

const dispatcher = createModelAgent();

afterAll(async () => {
  await dispatcher.destroy();
});

describeModel('createOpenAiModel', (target, options) => createOpenAiModel(target, { ...options, dispatcher }));

describe('createOpenAiModel', () => {
  it('refuses an invalid base URL', () => {
    expect(() => createOpenAiModel({ baseUrl: 'file:///x', apiKey: null }, { clock: systemClock, dispatcher })).toThrow(
      expect.objectContaining({ code: 'invalid_base_url' }),
    );
  });

  const failureAt = async (baseUrl: string): Promise<unknown> => {
    const model = createOpenAiModel({ baseUrl, apiKey: null }, { clock: systemClock, dispatcher });
    const parts = model.stream({ model: 'm', messages: [] }, new AbortController().signal);
    return parts[Symbol.asyncIterator]()
      .next()
      .then(
        () => null,
        (error: unknown) => error,
      );
  };

  it('names an unknown host in the code and message of the failure', async () => {
    expect(await failureAt('http://provider.invalid/v1')).toMatchObject({
      ...{ code: 'model_host_not_found', retryable: true, afterFirstByte: false },
      message: expect.stringContaining('host name'),
    });
  });

  it('names a failed TLS handshake in the code and message of the failure', async () => {
    const plain = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.resume();
      socket.end('HTTP/1.1 400 Bad Request\r\n\r\n');
    });
    plain.listen(0, '127.0.0.1');
    await once(plain, 'listening');
    const failure = await failureAt(`https://127.0.0.1:${(plain.address() as AddressInfo).port}/v1`);
    plain.close();
    await once(plain, 'close');
    expect(failure).toMatchObject({
      ...{ code: 'model_tls_failed', retryable: true, afterFirstByte: false },
      message: expect.stringContaining('TLS'),
    });
  });

  it('names a closed port in the code and message of the failure', async () => {
    const closed = await ScriptedModel.start();
    const { url } = closed;
    await closed.close();
    expect(await failureAt(url)).toMatchObject({
      ...{ code: 'model_connection_refused', retryable: true, afterFirstByte: false },
      message: expect.stringContaining('refused the connection'),
    });
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
