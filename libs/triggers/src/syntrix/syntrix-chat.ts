import { Injectable } from '@nestjs/common';

import type { ExternalAnswer, ExternalCallEnd, ExternalChat, ExternalQuestion, ExternalReference } from '#chat';
import { isTerminal, type JobRef, type JobRun } from '#jobs';
import { AppError, crashpoint, Queues, systemClock, waitUnlessAborted } from '#platform';
import { modelTextOf, notRegistered } from '#tools';

import { replyDocuments } from './chat-reply.js';
import { promptOf, timelineOf, turnOf } from './chat-timeline.js';
import type { SyntrixClient, SyntrixDocument, ToolCallResult } from './syntrix-client.js';
import { SyntrixClients } from './syntrix-clients.service.js';
import { connectionNotFound, type SyntrixConnection } from './syntrix-connection.js';
import { SyntrixConnectionsRepository } from './syntrix-connections.repository.js';
import { SyntrixDeliveriesRepository } from './syntrix-deliveries.repository.js';
import { SYNTRIX, type SyntrixReference } from './syntrix-reference.js';
import { SyntrixStarts } from './syntrix-starts.service.js';

const firstPauseMs = 1_000;
const longestPauseMs = 30_000;
/** Timeout of writes after the end of a job; their queue message is retried. */
const lastWriteMs = 60_000;

/** Chats whose messages and tool calls are documents of a Syntrix database. */
@Injectable()
export class SyntrixChat implements ExternalChat {
  readonly source = SYNTRIX;

  constructor(
    private readonly connections: SyntrixConnectionsRepository,
    private readonly clients: SyntrixClients,
    private readonly deliveries: SyntrixDeliveriesRepository,
    private readonly starts: SyntrixStarts,
    private readonly queues: Queues,
  ) {}

  async question(run: JobRun, reference: ExternalReference): Promise<ExternalQuestion> {
    const { chatPath, messageId, connection, client } = await this.open(run.job, reference, run.signal);
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
    const opened = await this.open(run.job, reference, run.signal);
    const { client, chatPath } = opened;
    for (const document of documents.messages)
      await untilDone(run.signal, () => client.postMessage(chatPath, document));
    if (documents.toolCalls.length > 1) await this.deliveries.planDocuments(workspaceId, jobId, documents.toolCalls);
    await this.orLater(run.job, () => this.writeCalls(opened, documents.toolCalls, run.signal));
    return true;
  }

  /** Writes what the handler of a job could not write before the job ended. Throws if the job has not ended yet. */
  async writeEnd(ref: JobRef): Promise<void> {
    const job = await this.deliveries.jobOf(ref);
    if (job === null) return;
    if (!isTerminal(job.status)) throw new Error('the job has not ended yet');
    const signal = AbortSignal.timeout(lastWriteMs);
    const opened = await this.open(ref, { ...job.reference, source: SYNTRIX }, signal);
    if (job.isCall) {
      const error = job.error ?? 'The tool call was cancelled';
      await this.writeResult(opened, { status: 'failed', error }, signal);
      return;
    }
    const planned = await this.deliveries.plannedDocuments(ref);
    const { toolCalls } = planned.length === 0 ? { toolCalls: [] } : await opened.client.fetchHistory(opened.chatPath);
    const written = new Set(toolCalls.map(({ id }) => id));
    // A job that failed before its first document has written nothing, and writes nothing.
    if (planned.some(({ id }) => written.has(id))) await this.writeCalls(opened, planned, signal);
  }

  private async writeCalls(opened: Opened, calls: readonly SyntrixDocument[], signal: AbortSignal): Promise<void> {
    for (const document of calls) {
      await untilDone(signal, () => opened.client.postToolCall(opened.chatPath, document));
      crashpoint('after-tool-document');
    }
    const failed = calls.find(({ status }) => status === 'failed');
    if (failed !== undefined) await this.startNext(opened, failed, signal);
  }

  /** Errors that a job cannot handle before it ends; the write follows after the end. */
  private async orLater({ workspaceId, jobId }: JobRef, write: () => Promise<void>): Promise<void> {
    try {
      await write();
    } catch (error) {
      await this.queues.send(null, 'job.external-end', [{ data: { workspaceId, jobId } }]);
      throw error;
    }
  }

  async writeCallEnd(
    run: JobRun,
    reference: ExternalReference,
    end: ExternalCallEnd & { readonly signal: AbortSignal },
  ): Promise<void> {
    await this.orLater(run.job, async () => {
      const opened = await this.open(run.job, reference, end.signal);
      await this.writeResult(opened, resultOf(end), end.signal);
    });
  }

  private async writeResult(opened: Opened, result: ToolCallResult, signal: AbortSignal): Promise<void> {
    const { documentPath } = opened;
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
    const { chatPath, userId, order, token } = reference;
    const documentPath = `${chatPath}/${connection.settings.toolCollection}/${document.id}`;
    const about = { chatPath, userId, documentPath, messageId: null, order, token };
    await untilDone(signal, async () => {
      await this.starts.start(connection, { work: 'answer', document, reference: about });
    });
  }

  private async open(
    { workspaceId }: Pick<JobRef, 'workspaceId'>,
    stored: ExternalReference,
    signal: AbortSignal,
  ): Promise<Opened> {
    const reference = stored as unknown as SyntrixReference; // `SyntrixStarts` wrote it
    const { connectionId, chatPath, messageId, documentPath, token } = reference;
    const connection = await this.connections.load(workspaceId, connectionId);
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

/** The response exists, so the job writes it when the database is available again, within its time limit. */
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
