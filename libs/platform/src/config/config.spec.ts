import { describe, expect, it } from '@jest/globals';

import { Config, ConfigError, describeSettings, queuesServed } from './config.js';

function problemsOf(environment: Record<string, string>): readonly string[] {
  try {
    Config.from(environment);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

describe('Config', () => {
  it('needs no variable', () => {
    expect(Config.from({}).values).toMatchObject({ ROLE: 'all', PORT: 4000, LEASE_MS: 30_000 });
  });

  it('treats an empty variable as absent', () => {
    expect(Config.from({ PORT: '', DATABASE_URL: '' }).values.PORT).toBe(4000);
  });

  it('adds the ports of http and https to OUTBOUND_PORTS', () => {
    expect(Config.from({ OUTBOUND_PORTS: '8443,443' }).values.OUTBOUND_PORTS).toEqual([80, 443, 8443]);
  });

  it.each([
    [{}, true],
    [{ HOST: '::1' }, true],
    [{ HOST: 'localhost' }, true],
    [{ TRIGGERS_ALLOW_UNSIGNED: 'false' }, false],
    [{ HOST: '0.0.0.0' }, false],
    [{ HOST: '127.evil.example' }, false],
    [{ HOST: '0.0.0.0', TRIGGERS_ALLOW_UNSIGNED: 'true' }, true],
    [{ DATABASE_URL: 'postgres://localhost/x' }, false],
    [{ ROLE: 'api' }, false],
    [{ NODE_ENV: 'production' }, false],
  ])('with %j sets TRIGGERS_ALLOW_UNSIGNED to %s', (environment, isAllowed) => {
    expect(Config.from(environment).values.TRIGGERS_ALLOW_UNSIGNED).toBe(isAllowed);
  });

  it.each([
    ['PORT', '70000', 'PORT must be a whole number from 0 to 65535.'],
    ['PORT', 'http', 'PORT must be a whole number from 0 to 65535.'],
    ['ROLE', 'boss', 'ROLE must be api, worker, tools or all.'],
    ['DATABASE_URL', 'mysql://x', 'DATABASE_URL must be a URL that starts with postgres:// or postgresql://.'],
    ['FEATURE_BACKGROUND_TOOLS', 'maybe', 'FEATURE_BACKGROUND_TOOLS must be true, false, on, off, 1 or 0.'],
  ])('names %s and its allowed values', (name, value, problem) => {
    expect(problemsOf({ [name]: value })).toEqual([problem]);
  });

  it('names every invalid variable once', () => {
    expect(problemsOf({ PORT: 'x', LEASE_MS: '1', JWT_ALGORITHMS: 'none,HS256' })).toHaveLength(3);
  });

  it('never repeats a value, which may be a secret', () => {
    expect(problemsOf({ NIGHTSHIFT_SECRET: 'short-canary' }).join()).not.toContain('canary');
  });

  it('freezes its values, and `with` returns a copy', () => {
    const config = Config.from({});

    expect(Object.isFrozen(config.values)).toBe(true);
    expect(config.with({ PORT: 1 }).values.PORT).toBe(1);
    expect(config.values.PORT).toBe(4000);
  });

  it('describes every setting with its allowed values and its meaning', () => {
    for (const { name, allowed, description } of describeSettings()) {
      expect({ name, allowed: allowed.length > 3, description: description.length > 5 }).toEqual({
        name,
        allowed: true,
        description: true,
      });
      expect(allowed).not.toBe('undefined');
    }
  });

  it('states the default that it uses', () => {
    const { values } = Config.from({});
    for (const { name, fallback } of describeSettings()) {
      const [, used] = Object.entries(values).find(([key]) => key === name) ?? [];
      expect({ name, fallback }).toEqual({ name, fallback: used?.toString() ?? null });
    }
  });

  it.each([
    ['api', undefined, []],
    ['worker', undefined, ['jobs']],
    ['tools', undefined, ['tool-execution']],
    ['all', undefined, ['jobs', 'tool-execution']],
    ['worker', 'tool-execution', ['tool-execution']],
    ['all', 'jobs', ['jobs']],
    ['api', 'jobs', []],
  ])('lets role %s with WORKER_QUEUES %s serve %j', (ROLE, WORKER_QUEUES, served) => {
    expect(queuesServed(Config.from({ ROLE, WORKER_QUEUES }).values)).toEqual(served);
  });

  it('rejects unknown queue names', () => {
    expect(problemsOf({ WORKER_QUEUES: 'jobs,mail' })).toEqual([
      'WORKER_QUEUES must be a comma-separated list of jobs and tool-execution.',
    ]);
  });
});
