// `npm run demo:triggers [-- --once]`: lets a server answer a chat of a Syntrix database, and prints each step from the message to the reply.
import { once } from 'node:events';
import { parseArgs } from 'node:util';

import type { StoredDocument } from '../libs/triggers/src/syntrix/server/document-store.js';
import type { ServerDelivery, SyntrixServer } from '../libs/triggers/src/syntrix/server/syntrix-server.js';
import { type CliServer, startCliServer } from './harness/cli-server.js';
import { eventually } from './harness/eventually.js';
import { ask } from './harness/graphql.js';
import { connect, startSyntrix, workerTriggers } from './harness/syntrix-stage.js';

const chat = 'users/demo/orch-chats/demo';
const question = 'What is 17 * 23?';
const expected = '391';
const jobsQuery = `{ jobs(first: 20) { nodes {
  id status rounds { model finishReason } toolCalls { name status durationMs } } } }`;

interface Job {
  readonly id: string;
  readonly status: string;
  readonly rounds: readonly { readonly model: string; readonly finishReason: string }[];
  readonly toolCalls: readonly { readonly name: string; readonly status: string; readonly durationMs: number | null }[];
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

let askedAt = performance.now();
const seconds = () => ((performance.now() - askedAt) / 1_000).toFixed(2);
const step = (text: string) => {
  print(`${seconds().padStart(6)} s  ${text}`);
};

function printDelivery({ triggerId, documentId, attempts }: ServerDelivery): void {
  const status = attempts.at(-1) ?? 'failed';
  const isAccepted = status !== 'failed' && status < 300;
  step(`The trigger ${triggerId} delivers ${documentId}: ${isAccepted ? 'accepted' : 'not accepted'} (${status}).`);
}

function printDocument(document: StoredDocument): void {
  const { id, role, content, toolName, args, status, result, error } = document;
  const about = `(document ${id}${typeof status === 'string' ? `, ${status}` : ''})`;
  if (role === 'user') step(`The user asks: ${String(content)} ${about}`);
  else if (role === 'assistant') step(`A round ends with the reply: ${String(content).replaceAll('\n', ' ')} ${about}`);
  else if (status === 'pending') step(`A round asks for the tool ${String(toolName)} ${JSON.stringify(args)} ${about}`);
  else step(`The tool ${String(toolName)} has run: ${String(result ?? error)} ${about}`);
}

function describeJob({ id, status, rounds, toolCalls }: Job): string {
  const parts = [
    // The job of a tool call asks no model.
    ...(toolCalls.length > 0 ? [] : rounds.map(({ model, finishReason }) => `a round of ${model} (${finishReason})`)),
    ...toolCalls.map(({ name, status: end, durationMs }) => `${name} ${end.toLowerCase()} after ${durationMs ?? 0} ms`),
  ];
  return `Job ${id} ${status.toLowerCase()}: ${parts.join(', ')}.`;
}

/** Asks the question and waits until it is answered. Throws if the chat ends in another way. */
async function answerQuestion(nightshift: CliServer, syntrix: SyntrixServer, stop: AbortSignal): Promise<string> {
  askedAt = performance.now();
  syntrix.create(`${chat}/messages`, { id: 'm1', role: 'user', content: question, createdAt: Date.now() });
  const reply = await eventually('the reply is written', () => {
    stop.throwIfAborted();
    return syntrix.store.list(`${chat}/messages`).find(({ role }) => role === 'assistant');
  });
  const answered = seconds();
  await syntrix.settled();
  const jobs = await eventually('all jobs have completed', async () => {
    stop.throwIfAborted();
    const { data, errors } = await ask(nightshift, jobsQuery, { key: nightshift.key });
    if (errors.length > 0) throw new Error(JSON.stringify(errors));
    const found = (data as { jobs: { nodes: Job[] } }).jobs.nodes.toReversed(); // as the query asks
    return found.every(({ status }) => status === 'COMPLETED') ? found : undefined;
  });
  print('');
  for (const job of jobs) print(describeJob(job));
  const calls = syntrix.store.list(`${chat}/toolcall`);
  if (calls.length === 0 || calls.some(({ status }) => status !== 'success')) throw new Error('The tool did not run.');
  if (!String(reply['content']).includes(expected)) throw new Error(`The reply does not contain ${expected}.`);
  const { length: deliveries } = syntrix.deliveries;
  return `${deliveries} deliveries, ${jobs.length} jobs, ${calls.length} tool call and one reply in ${answered} s.`;
}

function printSuggestions({ url, folder }: CliServer, syntrix: SyntrixServer): void {
  const message = String.raw`{\"role\":\"user\",\"content\":\"What time is it in Tokyo?\",\"createdAt\":$(date +%s999)}`;
  print(`
Both servers keep running. Continue the chat, and read it:
  curl -s ${syntrix.url}/api/v1/${chat}/messages -d "${message}"
  curl -s ${syntrix.url}/api/v1/query -d '{"collection":"${chat}/messages"}'
The API is at ${url} (reference: ${url}/docs), and its key in ${folder}/data/demo-api-key.
Ctrl-C stops both servers and deletes their data.
`);
}

async function run(isOnce: boolean, stop: AbortSignal): Promise<void> {
  await using cleanUp = new AsyncDisposableStack();
  print('Nightshift starts with a Postgres of its own and the demo model ...');
  // The Syntrix server has an address of this machine.
  const nightshift = await startCliServer({ ALLOW_PRIVATE_TOOL_URLS: 'true' });
  cleanUp.defer(() => nightshift.close());
  const syntrix = await startSyntrix({
    onDelivery: printDelivery,
    onChange: (_, document) => {
      printDocument(document);
    },
  });
  cleanUp.defer(() => syntrix.close());
  const tools = ['calculate', 'get_current_time'];
  await connect(nightshift, syntrix, { key: nightshift.key, tools, maxToolCallsScope: 'TURN' });
  syntrix.triggers = workerTriggers(nightshift.url);
  print(`Nightshift: ${nightshift.url}. Syntrix database: ${syntrix.url}, with three triggers.\n`);
  print(`Done: ${await answerQuestion(nightshift, syntrix, stop)}`);
  if (isOnce) return;
  printSuggestions(nightshift, syntrix);
  if (!stop.aborted) await once(stop, 'abort');
}

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    stop.abort(new Error('It was interrupted.'));
  });
try {
  const { values } = parseArgs({ options: { once: { type: 'boolean', default: false } } });
  await run(values.once, stop.signal);
} catch (error) {
  process.stderr.write(`Failed: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
