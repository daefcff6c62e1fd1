import { describe, expect, it } from '@jest/globals';

import { parseTrigger, toMilliseconds } from './trigger-definition.js';

const valid = {
  triggerId: 'on-user-message',
  collection: 'users/*/orch-chats/*/messages',
  events: ['create'],
  condition: "role == 'user'",
  url: '/webhook/llm',
};

const parse = (changes: object = {}) => parseTrigger({ ...valid, ...changes }, { database: 'default' });

describe('parseTrigger', () => {
  it('fills the defaults', () => {
    expect(parse()).toMatchObject({
      database: 'default',
      version: null,
      timeout: 15_000,
      retryPolicy: { maxAttempts: 3, initialBackoff: 1_000, maxBackoff: 30_000 },
      secretsRef: null,
      concurrency: 16,
      rateLimit: null,
      includeBefore: true,
      issueToken: false,
    });
  });

  it.each([
    [{ triggerId: undefined }, 'trigger id is required'],
    [{ triggerId: 'a b' }, 'invalid trigger id: a b'],
    [{ triggerId: 'x'.repeat(129) }, `invalid trigger id: ${'x'.repeat(129)}`],
    [{ database: '' }, 'database field cannot be empty'],
    [{ collection: '' }, 'collection is required'],
    [{ collection: 'a/[z' }, 'invalid collection: a class has no end'],
    [{ events: [] }, 'at least one event is required'],
    [{ events: ['create', 'upsert'] }, 'invalid event type: upsert'],
    [{ url: undefined }, 'url is required'],
    [{ url: 'ftp://host/x' }, 'url must use http or https scheme: ftp://host/x'],
    [{ url: 'host/x' }, 'url must use http or https scheme: host/x'],
    [{ url: '//host/x' }, 'url must use http or https scheme: //host/x'],
    [{ url: 'https:///x' }, 'url must have a host: https:///x'],
    [{ condition: 'role ==' }, /^invalid condition: /],
    [{ condition: "'text'" }, 'invalid condition: gives string where a bool is needed'],
    [{ filters: ['true', 'now()'] }, 'invalid condition: uses now(), which triggers do not have'],
    [{ timeout: '31s' }, 'timeout must be 1 to 30000 ms'],
    [{ timeout: 'soon' }, 'invalid duration of timeout: "soon"'],
    [{ retryPolicy: { maxAttempts: 21 } }, 'maxAttempts must be a whole number from 1 to 20'],
    [{ source: 'webhook' }, 'start is required'],
    [{ start: { kind: 'workflow' }, url: undefined }, 'start.workflow is required'],
    [{ start: { prompt: 'document.' }, url: undefined }, /^invalid start.prompt: /],
    [{ start: { attachments: '[' }, url: undefined }, /^invalid start.attachments: /],
    [{ start: {} }, 'url and start exclude each other'],
    [{ secretsRef: 'x'.repeat(257) }, 'secretsRef must have at most 256 characters'],
    [{ start: { model: 'x'.repeat(257) }, url: undefined }, 'model must have at most 256 characters'],
    [{ start: { agent: 'x'.repeat(257) }, url: undefined }, 'agent must have at most 256 characters'],
    [{ start: { kind: 'workflow', workflow: 'x'.repeat(257) } }, 'workflow must have at most 256 characters'],
  ])('refuses %j', (changes, message) => {
    expect(() => parse(changes)).toThrow(message);
  });

  it('reads `tenant` as the database and numbers as nanoseconds', () => {
    const retryPolicy = { maxAttempts: 5, initialBackoff: 2_000_000_000, maxBackoff: '1m' };
    expect(parse({ tenant: 'acme', timeout: 10_000_000_000, retryPolicy })).toMatchObject({
      database: 'acme',
      timeout: 10_000,
      retryPolicy: { maxAttempts: 5, initialBackoff: 2_000, maxBackoff: 60_000 },
    });
  });

  it.each([0, '0', '0s'])('reads %j and an empty text of the old format as not set', (zero) => {
    const retryPolicy = { maxAttempts: 0, initialBackoff: zero, maxBackoff: zero };
    expect(parse({ timeout: zero, retryPolicy, secretsRef: '', concurrency: 0, rateLimit: 0 })).toEqual(parse());
  });

  it('reads a trigger that starts a workflow by a webhook', () => {
    const start = { kind: 'workflow', workflow: 'triage', prompt: "'New: ' + title", delay: '5m' };
    expect(parseTrigger({ triggerId: 'issues', source: 'webhook', start }, { database: 'acme' })).toMatchObject({
      collection: null,
      events: [],
      url: null,
      start: { kind: 'workflow', workflow: 'triage', prompt: "'New: ' + title", thread: null, delay: 300_000 },
    });
  });
});

describe('toMilliseconds', () => {
  it.each([
    ['500ms', 500],
    ['1s', 1_000],
    ['1m30s', 90_000],
    ['1.5h', 5_400_000],
    [1_000_000, 1],
    ['0', 0],
    ['5', null],
    ['-1s', null],
    ['1s ', null],
    [-1, null],
    [true, null],
  ])('reads %j as %j', (given, ms) => {
    expect(toMilliseconds(given)).toBe(ms);
  });
});
