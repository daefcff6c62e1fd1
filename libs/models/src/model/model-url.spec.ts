import { describe, expect, it } from '@jest/globals';

import { toChatCompletionsUrl } from './model-url.js';

describe('toChatCompletionsUrl', () => {
  it.each([
    ['https://api.openai.com/v1', 'https://api.openai.com', '/v1/chat/completions'],
    ['https://api.openai.com/v1/', 'https://api.openai.com', '/v1/chat/completions'],
    ['http://localhost:11434', 'http://localhost:11434', '/chat/completions'],
    ['https://x.test/v1/chat/completions', 'https://x.test', '/v1/chat/completions'],
    ['https://x.test/d/gpt?api-version=2', 'https://x.test', '/d/gpt/chat/completions?api-version=2'],
  ])('reads %s', (baseUrl, origin, path) => {
    expect(toChatCompletionsUrl(baseUrl)).toEqual({ origin, path });
  });

  it.each([
    '',
    'api.openai.com',
    'file:///etc/passwd',
    'ftp://x.test',
    'javascript:alert(1)',
    'https://me:pass@x.test/v1',
  ])('refuses "%s"', (baseUrl) => {
    expect(() => toChatCompletionsUrl(baseUrl)).toThrow(
      expect.objectContaining({ code: 'invalid_base_url', field: 'baseUrl' }),
    );
  });
});
