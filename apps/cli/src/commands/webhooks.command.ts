import type { TypedDocument } from '@nightshift/client';
import type { Command } from 'commander';

import { usageError } from '../cli.errors.js';
import type { Context } from '../context.js';
import { type ExitCode, exitCodes } from '../exit-code.js';
import { showTable } from '../format/show-table.js';
import { documents } from '../operations.js';
import { enumWord, wholeNumber } from '../words.js';
import type { Perform } from './perform.js';
import { changed, type ConnectionPage, firstRows, noteMore, type Payload } from './replies.js';

/** The server takes so many dead letters at once. */
const onePass = 500;
const maxPasses = 20;
const statuses = ['PENDING', 'DELIVERED', 'DEAD'] as const;

interface ListedEndpoint {
  readonly id: string;
  readonly url: string;
  readonly events: readonly string[];
  readonly enabled: boolean;
  readonly disabledBecause: string | null;
}

interface ListedDelivery {
  readonly id: string;
  readonly type: string;
  readonly status: (typeof statuses)[number];
  readonly attempts: number;
  readonly reason: string | null;
  readonly createdAt: string;
  readonly attemptLog: readonly { readonly status: number | null; readonly durationMs: number }[];
}

type Resending = Payload & { readonly count: number | null };

const endpointsDocument: TypedDocument<
  { readonly webhookEndpoints: readonly ListedEndpoint[] },
  Record<string, never>
> = documents.webhookEndpoints;
const deliveriesDocument: TypedDocument<
  { readonly webhookDeliveries: ConnectionPage<ListedDelivery> },
  { readonly filter: object; readonly first: number; readonly after: string | undefined }
> = documents.webhookDeliveries;
const testDocument: TypedDocument<
  { readonly testWebhookEndpoint: Payload & { readonly delivery: { readonly id: string } | null } },
  { readonly id: string }
> = documents.testWebhookEndpoint;
const redeliverDocument: TypedDocument<{ readonly redeliverWebhook: Resending }, { readonly id: string }> =
  documents.redeliverWebhook;
const redeliverDeadDocument: TypedDocument<{ readonly redeliverDeadWebhooks: Resending }, { readonly input: object }> =
  documents.redeliverDeadWebhooks;

interface LogFlags {
  readonly endpoint?: string;
  readonly status?: string;
  readonly limit: string;
}

interface RedeliverFlags {
  readonly endpoint?: string;
  readonly from?: string;
  readonly to?: string;
}

/** `webhooks`: endpoints of the workspace, what was sent to them, and dead letters. */
export function addWebhooks(program: Command, perform: Perform): void {
  const webhooks = program
    .command('webhooks')
    .summary('webhook endpoints, what was sent to them, and dead letters')
    .description('Webhook endpoints of the workspace (docs/webhooks.md). Requires the role admin.');
  webhooks
    .command('list')
    .description('Lists the endpoints.')
    .action(() => perform(list));
  webhooks
    .command('log')
    .description('Lists deliveries, newest first.')
    .option('-e, --endpoint <id>', 'only of this endpoint')
    .option('-s, --status <word>', 'only these: pending, delivered, dead')
    .option('-n, --limit <number>', 'how many at most', '20')
    .action((flags: LogFlags) => perform((context) => log(context, flags)));
  webhooks
    .command('test')
    .description('Sends the event endpoint.test to an endpoint.')
    .argument('<endpoint>', 'its id')
    .action((id: string) => perform((context) => test(context, id)));
  webhooks
    .command('redeliver')
    .description('Sends a delivery again, or all dead letters of an endpoint or a time range.')
    .argument('[delivery]', 'its id')
    .option('-e, --endpoint <id>', 'the dead letters of this endpoint')
    .option('--from <time>', 'dead letters written at this time (ISO 8601) or later')
    .option('--to <time>', 'dead letters written before this time (ISO 8601)')
    .action((id: string | undefined, flags: RedeliverFlags) => perform((context) => redeliver(context, id, flags)));
}

/** The type of an event as webhooks contain it, from its name in GraphQL: `job.completed` from `JOB_COMPLETED`. */
function eventType(name: string): string {
  return name.toLowerCase().replace(/_([a-z]+)$/, '.$1');
}

async function list({ client, json, emit, screen }: Context): Promise<ExitCode> {
  const { webhookEndpoints: found } = await (await client()).query(endpointsDocument, {});
  if (json) for (const endpoint of found) emit(endpoint);
  else if (found.length === 0) screen.note('No webhook endpoints. Create one with the mutation saveWebhookEndpoint.');
  else {
    const rows = found.map(({ id, url, events, enabled, disabledBecause }) => [
      { text: id, paint: (text: string) => screen.ink('cyan', text) },
      { text: enabled ? 'enabled' : `disabled ${disabledBecause?.toLowerCase() ?? ''}`.trim() },
      { text: url },
      { text: events.map(eventType).join(', ') },
    ]);
    showTable(screen, ['ENDPOINT', 'STATE', 'URL', 'EVENTS'], rows);
  }
  return exitCodes.ok;
}

async function log(context: Context, flags: LogFlags): Promise<ExitCode> {
  const { json, emit, screen } = context;
  const { endpoint: endpointId, status } = flags;
  const filter = {
    ...(endpointId !== undefined && { endpointId }),
    ...(status !== undefined && { status: enumWord(status, statuses, '--status') }),
  };
  const limit = wholeNumber(flags.limit, '--limit', 1);
  const client = await context.client();
  const { rows: found, hasMore } = await firstRows(
    limit,
    async (page) => (await client.query(deliveriesDocument, { filter, ...page })).webhookDeliveries,
  );
  if (json) for (const delivery of found) emit(delivery);
  else if (found.length === 0) screen.note('No deliveries.');
  else {
    const rows = found.map(({ id, type, status: state, attempts, reason, createdAt, attemptLog }) => [
      { text: id, paint: (text: string) => screen.ink('cyan', text) },
      { text: createdAt },
      { text: type },
      { text: `${state.toLowerCase()}${reason === null ? '' : ` (${reason})`}` },
      { text: String(attempts) },
      { text: String(attemptLog.at(-1)?.durationMs ?? '') },
    ]);
    showTable(screen, ['DELIVERY', 'WRITTEN', 'EVENT', 'STATUS', 'ATTEMPTS', 'MS'], rows);
  }
  noteMore(context, limit, hasMore);
  return exitCodes.ok;
}

async function test({ client, command, json, emit, screen }: Context, id: string): Promise<ExitCode> {
  const { testWebhookEndpoint: payload } = await (await client()).mutate(testDocument, { id });
  const delivery = changed(payload, payload.delivery);
  if (json) emit(delivery);
  else
    screen.line(
      `Sending the test as delivery ${delivery.id}. See its result: ${command(`webhooks log --endpoint ${id}`)}`,
    );
  return exitCodes.ok;
}

async function redeliver(context: Context, id: string | undefined, flags: RedeliverFlags): Promise<ExitCode> {
  const { endpoint: endpointId, from, to } = flags;
  const isRange = [endpointId, from, to].some((flag) => flag !== undefined);
  if ((id !== undefined) === isRange) {
    throw usageError(
      'Name either a delivery, or --endpoint, --from or --to.',
      (write) => `List the dead letters: ${write('webhooks log --status dead')}`,
    );
  }
  const client = await context.client();
  let count = 0;
  if (id !== undefined) {
    const { redeliverWebhook: payload } = await client.mutate(redeliverDocument, { id });
    count = changed(payload, payload.count);
  } else {
    const input = { endpointId, from: instant(from, '--from'), to: instant(to, '--to') };
    // Those that fail at once are dead letters again, so the number of passes is bounded.
    for (let pass = 0, isFull = true; isFull && pass < maxPasses; pass++) {
      const { redeliverDeadWebhooks: payload } = await client.mutate(redeliverDeadDocument, { input });
      const some = changed(payload, payload.count);
      count += some;
      isFull = some === onePass;
    }
  }
  if (context.json) context.emit({ count });
  else context.screen.line(`${count} ${count === 1 ? 'webhook is' : 'webhooks are'} sent again.`);
  return exitCodes.ok;
}

function instant(text: string | undefined, flag: string): string | undefined {
  if (text === undefined) return undefined;
  const at = Date.parse(text);
  if (Number.isNaN(at)) throw usageError(`${flag} must be a time such as 2026-01-31T12:00:00Z, not "${text}".`);
  return new Date(at).toISOString();
}
