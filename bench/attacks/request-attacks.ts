import { randomBytes, randomUUID } from 'node:crypto';

import type { Attack } from './attack.js';
import { sendMany } from './send.js';

/** A schema with many branches, each of which a validator turns into code. */
function expensiveSchema(index: number): object {
  const branches = Array.from({ length: 20 }, (_, i) => ({
    type: 'object',
    properties: Object.fromEntries(
      Array.from({ length: 10 }, (_, n) => [`p${index}_${i}_${n}`, { type: 'string', pattern: `^(a|b)*${n}c{1,20}$` }]),
    ),
    additionalProperties: false,
  }));
  return { type: 'object', properties: { value: { anyOf: branches } } };
}

function clientTools(count: number): object[] {
  return Array.from({ length: count }, (_, i) => ({
    type: 'function',
    function: { name: `tool_${i}`, parameters: expensiveSchema(i) },
  }));
}

function startWith(tools: readonly object[]): string {
  const runtimes = Object.fromEntries(tools.map((_, i) => [`tool_${i}`, 'client']));
  return JSON.stringify({
    ...{ _threadId: randomUUID(), _messageId: randomUUID(), _clientTools: true, _clientDeviceId: 'bench' },
    ...{ _toolRuntime: runtimes, tools, messages: [{ role: 'user', content: 'hi' }] },
  });
}

/** As many client tools as one request may declare, within its limit of characters, in schemas that are slow to compile. */
function allowedTools(): object[] {
  const schema = { type: 'object', properties: {} as Record<string, object> };
  for (let i = 0; i < 20; i++) schema.properties[`p${i}`] = { type: 'string', pattern: `^(x${i}|y)*z{1,9}$` };
  return Array.from({ length: 120 }, (_, i) => ({
    type: 'function',
    function: { name: `tool_${i}`, parameters: { ...schema, title: randomUUID() } },
  }));
}

const schemas: Attack = {
  name: 'tool-schemas',
  about: '100 starts, each with 950 client tools that are slow to compile, 10 at a time',
  run: (target, bounds, outcomes) => {
    const tools = clientTools(950);
    return sendMany({ target, bounds, outcomes }, { count: 100, width: 10 }, () => ({
      path: '/api/jobs',
      body: startWith(tools),
    }));
  },
};

const allowedSchemas: Attack = {
  name: 'allowed-schemas',
  about: '100 starts, each with 120 client tools, new each time and within the limits, 10 at a time',
  run: (target, bounds, outcomes) =>
    sendMany({ target, bounds, outcomes }, { count: 100, width: 10 }, () => ({
      path: '/api/jobs',
      body: startWith(allowedTools()),
    })),
};

interface Flood {
  readonly about: string;
  readonly width: number;
  readonly headers: () => Readonly<Record<string, string>>;
}

function flood(name: string, { about, width, headers }: Flood): Attack {
  return {
    name,
    about: `${about}, ${width} at a time`,
    run: (target, bounds, outcomes) =>
      sendMany({ target, bounds, outcomes }, { count: 1_000_000, width }, (i) => ({
        path: ['/api/jobs', '/v1/chat/completions', '/graphql', '/nowhere'][i % 4] ?? '/',
        body: '{}',
        isAuthenticated: false,
        headers: headers(),
      })),
  };
}

/** Attacks by many or by expensive requests. */
export const requestAttacks: readonly Attack[] = [
  schemas,
  allowedSchemas,
  flood('no-credential', { about: 'requests without a credential', width: 50, headers: () => ({}) }),
  flood('wrong-key', { about: 'requests with keys that do not exist', width: 50, headers: unknownKey }),
  flood('wrong-key-wide', { about: 'requests with keys that do not exist', width: 2_000, headers: unknownKey }),
];

/** A key of the right form, so that the server looks for it. */
function unknownKey() {
  return { authorization: `Bearer nsk_${randomBytes(6).toString('hex')}_${'x'.repeat(43)}` };
}
