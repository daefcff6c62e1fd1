import { describe, expect, it } from '@jest/globals';

import { Config } from '#platform';

import { chooseModel } from './start.js';

async function choose(environment: Record<string, string>) {
  await using cleanUp = new AsyncDisposableStack();
  const { config, label } = await chooseModel(Config.from(environment), cleanUp);
  const url = config.values.MODEL_BASE_URL;
  const reached = url?.startsWith('http://127.0.0.1') === true ? (await fetch(`${url}/models`)).ok : undefined;
  return { label, values: config.values, reached };
}

describe('chooseModel', () => {
  it('starts the demo model when no other model is configured', async () => {
    const { label, values, reached } = await choose({});

    expect(label).toContain('a stand-in');
    expect(values.MODEL_NAME).toBe('nightshift-demo');
    expect(reached).toBe(true);
  });

  it('starts no demo model in a process that runs no jobs', async () => {
    const { label, reached } = await choose({ ROLE: 'tools' });

    expect([label, reached]).toEqual(['none: no jobs run here', undefined]);
  });

  it.each([
    [{ OPENROUTER_API_KEY: 'k' }, 'its default model at OpenRouter'],
    [{ OPENAI_API_KEY: 'k', MODEL_NAME: 'gpt-x' }, 'gpt-x at OpenAI'],
    [
      { MODEL_BASE_URL: 'http://models.example:8080/v1', OPENAI_API_KEY: 'k' },
      'its default model at models.example:8080',
    ],
  ])('uses the configured provider: %j', async (environment, label) => {
    const chosen = await choose(environment);

    expect(chosen.label).toBe(label);
    expect(chosen.values).toEqual(Config.from(environment).values);
  });
});
