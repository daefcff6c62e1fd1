import 'reflect-metadata';

import { describe, expect, it } from '@jest/globals';
import { Global, Module } from '@nestjs/common';

import {
  BUS,
  Config,
  createLogger,
  GuardedFetch,
  LOGGER,
  MemoryBus,
  Metrics,
  Postgres,
  PrismaService,
  Redactor,
  Secret,
  SecretBox,
  ToolSecretBox,
} from '#platform';
import { ToolRegistry } from '#tools';

import { openTestingModule } from '../../../../test/harness/testing-module.js';
import { WebToolsModule } from './web-tools.module.js';

/** The optional tools that a process with these settings has. */
async function toolsWith(env: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const fetch = new GuardedFetch();
  const secret = new Secret('a secret that is long enough for a box');
  const logger = createLogger({ level: 'silent' });
  const providers = [
    { provide: BUS, useValue: new MemoryBus({ logger }) },
    { provide: Config, useValue: Config.from(env) },
    { provide: GuardedFetch, useValue: fetch },
    { provide: LOGGER, useValue: logger },
    { provide: Metrics, useValue: new Metrics() },
    { provide: Postgres, useValue: {} },
    { provide: PrismaService, useValue: {} },
    { provide: Redactor, useValue: new Redactor() },
    { provide: SecretBox, useValue: new SecretBox(secret) },
    { provide: ToolSecretBox, useValue: new ToolSecretBox(secret) },
  ];
  @Global()
  @Module({ providers, exports: providers.map(({ provide }) => provide) })
  class TestPlatformModule {}
  const app = await openTestingModule({ imports: [TestPlatformModule, WebToolsModule] });
  const names = app
    .get(ToolRegistry)
    .list()
    .map(({ name }) => name);
  await app.close();
  await fetch.close();
  return names.filter((name) => ['coingecko_price', 'fetch_url', 'tavily_search', 'web_search'].includes(name));
}

describe('the tools of the web', () => {
  it.each<[Record<string, string>, string[]]>([
    [{}, ['tavily_search']],
    [{ FEATURE_FETCH_URL: 'on' }, ['fetch_url', 'tavily_search']],
    [{ FEATURE_COINGECKO_PRICE: 'on' }, ['coingecko_price', 'tavily_search']],
    [{ TAVILY_API_KEY: 'k' }, ['tavily_search', 'web_search']],
    [{ BRAVE_API_KEY: 'k', FEATURE_FETCH_URL: '1' }, ['fetch_url', 'tavily_search', 'web_search']],
    [{ SEARXNG_URL: 'http://127.0.0.1:8888' }, ['tavily_search', 'web_search']],
  ])('with the settings %j are %j', async (env, names) => {
    expect(await toolsWith(env)).toEqual(names);
  });
});
