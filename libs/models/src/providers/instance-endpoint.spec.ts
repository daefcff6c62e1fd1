import { describe, expect, it } from '@jest/globals';

import { instanceEndpoint, ownKeyEndpoint } from './instance-endpoint.js';

const none = {
  MODEL_BASE_URL: undefined,
  MODEL_API_KEY: undefined,
  MODEL_NAME: undefined,
  OPENROUTER_API_KEY: undefined,
  OPENAI_API_KEY: undefined,
};
const own = { MODEL_BASE_URL: 'http://10.0.0.1/v1', MODEL_API_KEY: 'own-key', MODEL_NAME: 'own-model' };
const router = { OPENROUTER_API_KEY: 'router-key' };
const openAi = { OPENAI_API_KEY: 'openai-key' };

function shown(endpoint: ReturnType<typeof instanceEndpoint>): string | null {
  return endpoint === null
    ? null
    : [endpoint.baseUrl, endpoint.apiKey?.reveal() ?? 'no key', endpoint.defaultModel].join(' ');
}

describe('instanceEndpoint', () => {
  it.each([
    [{}, null],
    [own, 'http://10.0.0.1/v1 own-key own-model'],
    [{ ...own, ...router, ...openAi }, 'http://10.0.0.1/v1 own-key own-model'],
    [{ MODEL_BASE_URL: 'http://x/v1' }, 'http://x/v1 no key default'],
    [{ ...router, ...openAi }, 'https://openrouter.ai/api/v1 router-key openrouter/auto'],
    [{ ...router, MODEL_NAME: 'a/b' }, 'https://openrouter.ai/api/v1 router-key a/b'],
    [openAi, 'https://api.openai.com/v1 openai-key gpt-5-mini'],
  ])('returns, for the settings %j, the endpoint %s', (settings, endpoint) => {
    expect(shown(instanceEndpoint({ ...none, ...settings }))).toBe(endpoint);
  });
});

describe('ownKeyEndpoint', () => {
  it('returns the endpoint of the installation', () => {
    expect(ownKeyEndpoint({ ...none, ...own }).baseUrl).toBe('http://10.0.0.1/v1');
    expect(ownKeyEndpoint({ ...none, ...openAi }).baseUrl).toBe('https://api.openai.com/v1');
  });

  it('returns OpenRouter when the installation has no endpoint, or only the demo model', () => {
    const endpoint = 'https://openrouter.ai/api/v1 no key openrouter/auto';
    expect(shown(ownKeyEndpoint(none))).toBe(endpoint);
    expect(
      shown(ownKeyEndpoint({ ...none, MODEL_BASE_URL: 'http://127.0.0.1:1/v1', MODEL_NAME: 'nightshift-demo' })),
    ).toBe(endpoint);
  });
});
