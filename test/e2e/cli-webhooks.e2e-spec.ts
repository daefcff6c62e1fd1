import { afterAll, beforeAll, expect, it } from '@jest/globals';

import { runCli } from '../harness/cli.js';
import { type CliServer, startCliServer } from '../harness/cli-server.js';
import { eventually } from '../harness/eventually.js';
import { WebhookReceiver } from '../harness/webhook-receiver.js';

interface Payload {
  readonly endpoint: { readonly id: string; readonly enabled: boolean } | null;
  readonly secret: string | null;
  readonly userErrors: readonly { readonly code: string }[];
}

let receiver: WebhookReceiver;
let server: CliServer;

beforeAll(async () => {
  receiver = await WebhookReceiver.listen();
  server = await startCliServer(receiver.env);
});
afterAll(async () => {
  await server.close();
  await receiver.close();
});

const mutate = async (name: string, type: string, input: object): Promise<Payload> => {
  const query = `mutation ($input: ${type}!) { ${name}(input: $input) { endpoint { id enabled } secret userErrors { code } } }`;
  const response = await fetch(`${server.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${server.key}` },
    body: JSON.stringify({ query, variables: { input } }),
  });
  const { data } = (await response.json()) as { data: Record<string, Payload> };
  return data[name] as Payload;
};
const nightshift = async (...words: string[]) => (await runCli(['webhooks', ...words], { env: server.env })).stdout;
const ended = (id: string, status: string) =>
  eventually(`${id} is ${status}`, async () =>
    (await nightshift('log', '--status', status, '--json')).includes(id) ? true : undefined,
  );

it('manages an endpoint by its mutations, and tests and redelivers by the commands', async () => {
  const terms = { url: receiver.url(), events: ['JOB_COMPLETED'] };
  const { endpoint, secret } = await mutate('saveWebhookEndpoint', 'SaveWebhookEndpointInput', terms);
  const id = endpoint?.id ?? '';
  expect(secret).toMatch(/^whsec_/);
  receiver.answer = (response) => response.writeHead(400).end();
  const sent: string[] = [];
  for (let i = 0; i < 3; i++) {
    const { id: delivery } = JSON.parse(await nightshift('test', id, '--json')) as { id: string };
    await ended(delivery, 'dead');
    sent.push(delivery);
  }
  receiver.answer = (response) => response.writeHead(200).end();
  expect(await nightshift('redeliver', sent[0] ?? '')).toBe('1 webhook is sent again.\n');
  await ended(sent[0] ?? '', 'delivered');
  const range = ['--endpoint', id, '--from', '2026-01-01T00:00:00Z'];
  expect(await nightshift('redeliver', ...range)).toBe('2 webhooks are sent again.\n');
  for (const delivery of sent) await ended(delivery, 'delivered');

  expect((await mutate('rotateWebhookSecret', 'RotateWebhookSecretInput', { id })).secret).not.toBe(secret);
  const own = `whsec_${Buffer.alloc(32, 'k').toString('base64')}`;
  const rotated = await mutate('rotateWebhookSecret', 'RotateWebhookSecretInput', { id, secret: own });
  expect(rotated).toMatchObject({ secret: null, userErrors: [] });
  for (const enabled of [false, true]) {
    const input = { id, enabled };
    const set = await mutate('setWebhookEndpointEnabled', 'SetWebhookEndpointEnabledInput', input);
    expect(set.endpoint?.enabled).toBe(enabled);
  }
  await mutate('removeWebhookEndpoint', 'WebhookEndpointInput', { id });
  expect((await mutate('removeWebhookEndpoint', 'WebhookEndpointInput', { id })).userErrors).toMatchObject([
    { code: 'not_found' },
  ]);
});
