import { Injectable } from '@nestjs/common';

import type { ExternalAnswer, ExternalCallEnd, ExternalChat, ExternalQuestion, ExternalReference } from '#chat';
import type { JobRun } from '#jobs';
import { waitUnlessAborted } from '#models';
import { AppError, crashpoint, systemClock } from '#platform';
import { modelTextOf, notRegistered } from '#tools';

import { replyDocuments } from './chat-reply.js';
import { promptOf, timelineOf, turnOf } from './chat-timeline.js';
import type { SyntrixClient, SyntrixDocument, ToolCallResult } from './syntrix-client.js';
import { SyntrixClients } from './syntrix-clients.service.js';
import { connectionNotFound, type SyntrixConnection } from './syntrix-connection.js';
import { SyntrixConnectionsRepository } from './syntrix-connections.repository.js';
import { SyntrixDeliveriesRepository } from './syntrix-deliveries.repository.js';
import { SYNTRIX, type SyntrixReference, SyntrixStarts } from './syntrix-starts.service.js';

const firstPauseMs = 1_000;
const longestPauseMs = 30_000;

/** Chats whose messages and tool calls are documents of a Syntrix database. */
@Injectable()
export class SyntrixChat implements ExternalChat {
  readonly source = SYNTRIX;

  constructor(
    private readonly connections: SyntrixConnectionsRepository,
    private readonly clients: SyntrixClients,
    private readonly deliveries: SyntrixDeliveriesRepository,
    private readonly starts: SyntrixStarts,
  ) {}

  async question(run: JobRun, reference: ExternalReference): Promise<ExternalQuestion> {
    const { chatPath, messageId, connection, client } = await this.open(run, reference, run.signal);
    const timeline = timelineOf(await client.fetchHistory(chatPath));
    const turn = turnOf(timeline, { chatPath, messageId });
    if (turn.type === 'skip') return turn;
    const { jobId } = run.job;
    const taken = { key: turn.key, jobId, newest: timeline.newest, retryOf: retryOf(run) };
    if (!(await this.deliveries.takeTurn(refOf(connection), taken)))
      return { type: 'skip', why: 'another job answers the turn' };
    const { systemPrompt, maxToolCalls, maxToolCallsScope: scope } = connection.settings;
    return { type: 'ask', ...promptOf(timeline, { systemPrompt, maxToolCalls, scope }) };
  }

  async writeAnswer(run: JobRun, reference: ExternalReference, answer: ExternalAnswer): Promise<boolean> {
    const { workspaceId, jobId } = run.job;
    const turn = await this.deliveries.turnOf(workspaceId, jobId);
    if (turn === null) throw new Error('the job has no turn');
    const documents = replyDocuments(answer, { ...turn, jobId, now: systemClock.now() });
    if (documents === null) return false;
    const opened = await this.open(run, reference, run.signal);
    const { client, chatPath } = opened;
    for (const document of documents.messages)
      await untilDone(run.signal, () => client.postMessage(chatPath, document));
    for (const document of documents.toolCalls) {
      await untilDone(run.signal, () => client.postToolCall(chatPath, document));
      crashpoint('after-tool-document');
    }
    const failed = documents.toolCalls.find(({ status }) => status === 'failed');
    if (failed !== undefined) await this.startNext(opened, failed, run.signal);
    return true;
  }

  async writeCallEnd(
    run: JobRun,
    reference: ExternalReference,
    end: ExternalCallEnd & { readonly signal: AbortSignal },
  ): Promise<void> {
    const { signal } = end;
    const opened = await this.open(run, reference, signal);
    const { documentPath } = opened;
    const result = resultOf(end);
    await untilDone(signal, () => opened.client.updateToolCall(documentPath, result));
    crashpoint('after-tool-update');
    if (result.status === 'success') return; // the update comes back as a delivery
    const id = documentPath.slice(documentPath.lastIndexOf('/') + 1);
    await this.startNext(opened, { id }, signal);
  }

  /** No delivery follows a failed call, so its job starts the next round. */
  private async startNext(
    { connection, reference }: Opened,
    document: SyntrixDocument,
    signal: AbortSignal,
  ): Promise<void> {
    const { chatPath, userId, token } = reference;
    const documentPath = `${chatPath}/${connection.settings.toolCollection}/${document.id}`;
    const about = { chatPath, userId, documentPath, messageId: null, token };
    await untilDone(signal, async () => {
      await this.starts.start(connection, { work: 'answer', document, reference: about });
    });
  }

  private async open({ job }: JobRun, stored: ExternalReference, signal: AbortSignal): Promise<Opened> {
    const reference = stored as unknown as SyntrixReference; // `SyntrixStarts` wrote it
    const { connectionId, chatPath, messageId, documentPath, token } = reference;
    const connection = await this.connections.load(job.workspaceId, connectionId);
    if (connection === null) throw connectionNotFound();
    const preIssued = token === null ? null : this.starts.open(connection, token);
    const client = await this.clients.open(connection, { preIssued, signal });
    return { connection, client, reference, chatPath, messageId, documentPath };
  }
}

interface Opened extends Pick<SyntrixReference, 'chatPath' | 'messageId' | 'documentPath'> {
  readonly connection: SyntrixConnection;
  readonly client: SyntrixClient;
  readonly reference: SyntrixReference;
}

function refOf({ workspaceId, id: connectionId }: SyntrixConnection) {
  return { workspaceId, connectionId };
}

function retryOf({ job }: JobRun): string | null {
  const { retryOf: retried } = job.input as { readonly retryOf?: string }; // a chat input
  return retried ?? null;
}

function resultOf({ call, failure }: ExternalCallEnd): ToolCallResult {
  if (call?.status === 'completed') return { status: 'success', result: toJsonText(call.result ?? '') };
  if (call !== null && call.error?.message === notRegistered(call.name))
    return { status: 'failed', error: `Unknown tool ${call.name}` };
  const error = call === null ? null : modelTextOf(call);
  return { status: 'failed', error: failure ?? error ?? 'The tool call was not made' };
}

/** Results are JSON as far as the tool returns JSON; a plain text becomes a JSON string. */
function toJsonText(text: string): string {
  try {
    JSON.parse(text);
    return text;
  } catch {
    return JSON.stringify(text);
  }
}

/** The answer exists, so it is written when the database is back, as long as the job may take. */
async function untilDone(signal: AbortSignal, write: () => Promise<void>): Promise<void> {
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(longestPauseMs, pauseMs * 2)) {
    try {
      await write();
      return;
    } catch (error) {
      if (!(error instanceof AppError) || !(error.retryable || error.code === 'thread_busy')) throw error;
      await waitUnlessAborted(pauseMs, systemClock, signal);
    }
  }
}
