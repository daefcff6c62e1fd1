import { randomBytes } from 'node:crypto';

import { request } from 'undici';

import type { Attack } from './attack.js';
import { sendMany } from './send.js';

const megabyte = 1_048_576;

interface Operation {
  readonly about: string;
  readonly width: number;
  readonly query: string;
  /** As large as the limits allow, and different for each request. */
  readonly variables: (index: number) => object;
}

function operations(name: string, { about, width, query, variables }: Operation): Attack {
  return {
    name,
    about: `${about}, ${width} at a time`,
    run: (target, bounds, outcomes) =>
      sendMany({ target, bounds, outcomes }, { count: 1_000_000, width }, (i) => ({
        path: '/graphql',
        body: JSON.stringify({ query, variables: variables(i) }),
      })),
  };
}

/** A definition whose response template and schema are as large as they may be. */
const toolTests = operations('tool-tests', {
  about: 'test calls of HTTP tools with 500 KB of arguments',
  width: 20,
  query: 'mutation($input: TestToolInput!) { testTool(input: $input) { userErrors { code } } }',
  variables: (i) => ({
    input: {
      definition: {
        name: `tool_${i}`,
        description: 'A test',
        method: 'POST',
        url: 'https://192.0.2.1/{{path}}',
        parameters: { type: 'object', properties: { path: { type: 'string' }, items: { type: 'array' } } },
      },
      arguments: { path: 'x', items: Array.from({ length: 20_000 }, (_, n) => `item ${i} ${n}`) },
    },
  }),
});

const testTrigger = operations('trigger-tests', {
  about: 'test events of 500 KB for 20 triggers',
  width: 20,
  query: 'query($input: TestTriggerInput!) { testTrigger(input: $input) { __typename } }',
  variables: (i) => ({
    input: {
      ...{ type: 'create', collection: 'users/a/messages', documentId: `d${i}` },
      document: { role: 'user', list: Array.from({ length: 20_000 }, (_, n) => `value ${i} ${n}`) },
    },
  }),
});

/** Saves triggers that look at every element of a list, then tests them. */
const triggerTests: Attack = {
  ...testTrigger,
  run: async (target, bounds, outcomes) => {
    const query = 'mutation($input: SaveTriggerInput!) { saveTrigger(input: $input) { userErrors { code } } }';
    await sendMany({ target, bounds, outcomes }, { count: 20, width: 1 }, (i) => {
      const condition = 'list.all(a, list.exists(b, b == a))';
      const trigger = { triggerId: `slow-${i}`, collection: 'users/*/messages', events: ['create'], condition };
      const variables = { input: { definition: { ...trigger, url: 'https://192.0.2.1/' } } };
      return { path: '/graphql', body: JSON.stringify({ query, variables }) };
    });
    await testTrigger.run(target, bounds, outcomes);
  },
};

/** Every node is connected with the next one and the one after it. */
function largeWorkflow(i: number): object {
  const last = 199;
  const nodes = Array.from({ length: last + 1 }, (_, n) => ({
    id: `node${n}`,
    type: n === 0 ? 'start' : n === last ? 'output' : 'agent',
    position: { x: n, y: i },
    data: {
      label: `Node ${n}`,
      ...(n > 0 && n < last && { model: 'demo', prompt: `Step ${n} of ${i}. `.repeat(100) }),
    },
  }));
  const edges = nodes
    .slice(0, -2)
    .flatMap(({ id }, n) => [1, 2].map((step) => ({ id: `${id}-${step}`, source: id, target: `node${n + step}` })));
  return { meta: { version: '2.0.0', id: `large-${i}`, name: 'Large' }, nodes, edges };
}

const workflowChecks = operations('workflow-checks', {
  about: 'checks of workflows with 200 nodes',
  width: 20,
  query: 'query($definition: JSON!) { validateWorkflow(definition: $definition) { __typename } }',
  variables: (i) => ({ definition: largeWorkflow(i) }),
});

const uploads: Attack = {
  name: 'file-uploads',
  about: 'uploads of 10 MB, all different, 16 at a time',
  run: (target, bounds, outcomes) => {
    const content = Buffer.from(randomBytes(5 * megabyte).toString('hex'));
    return sendMany({ target, bounds, outcomes }, { count: 1_000_000, width: 16 }, (i) => ({
      path: '/api/files',
      headers: { 'content-type': 'text/plain' },
      body: Buffer.concat([Buffer.from(`${i} ${randomBytes(8).toString('hex')}`), content.subarray(100)]),
    }));
  },
};

const downloads: Attack = {
  name: 'file-downloads',
  about: 'downloads of 10 MB, 10 at a time',
  run: async (target, bounds, outcomes) => {
    const reply = await request(new URL('/api/files', target.url), {
      method: 'POST',
      headers: { 'content-type': 'text/plain', authorization: `Bearer ${target.apiKey}` },
      body: Buffer.alloc(10 * megabyte - 100, 'x'),
    });
    const { hash } = (await reply.body.json()) as { hash: string }; // docs/files.md
    await sendMany({ target, bounds, outcomes }, { count: 1_000_000, width: 10 }, () => ({
      method: 'GET',
      path: `/api/files/${hash}`,
    }));
  },
};

/** Attacks on features that do much work for one request. */
export const featureAttacks: readonly Attack[] = [toolTests, triggerTests, workflowChecks, uploads, downloads];
