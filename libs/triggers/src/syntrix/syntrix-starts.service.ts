import { Injectable } from '@nestjs/common';

import { type Principal, PrincipalsRepository } from '#auth';
import { ChatService, type StartChat } from '#chat';
import { BackgroundJobs } from '#jobs';
import type { ChatMessage } from '#models';
import { AppError, Config, crashpoint, defined, Secret, SecretBox, type SecretPlace } from '#platform';
import { ToolCatalog } from '#tools';

import type { SyntrixDocument } from './syntrix-client.js';
import type { SyntrixConnection } from './syntrix-connection.js';
import { deliveryRow, isAcceptedBefore } from './syntrix-deliveries.repository.js';
import { sha256, type SyntrixDelivery } from './syntrix-delivery.js';
import { SYNTRIX, type SyntrixReference } from './syntrix-reference.js';

/** Jobs of a chat that wait for earlier ones. Only the job of the last message asks the model, so a burst of messages is cheap. */
const maxQueued = 1_000;

/** A job to start for a document. */
export interface SyntrixStart {
  readonly work: 'answer' | 'call';
  readonly document: SyntrixDocument;
  readonly reference: Omit<SyntrixReference, 'connectionId'>;
  /** The delivery that asks for it, to be marked as accepted with the job. */
  readonly deliveryKey?: string;
}

/** Starts the jobs of a connection, for the principal who saved it. A document starts one job of each kind, however often it is delivered. */
@Injectable()
export class SyntrixStarts {
  constructor(
    private readonly chats: ChatService,
    private readonly principals: PrincipalsRepository,
    private readonly catalog: ToolCatalog,
    private readonly secretBox: SecretBox,
    private readonly config: Config,
    private readonly background: BackgroundJobs,
  ) {}

  /** The job is committed on return. Throws the errors of `ChatService.start`, and `forbidden` if the member who saved the connection has left. */
  async start(connection: SyntrixConnection, start: SyntrixStart): Promise<void> {
    this.background.assertOn(); // no client follows the job
    const { workspaceId, id: connectionId, settings } = connection;
    const { work, reference, document } = start;
    const saver = await this.principals.find(workspaceId, connection.createdBy);
    if (saver === null) throw ownerGone();
    // The user stays, so that a chat keeps its thread when another member saves the connection.
    const principal = { ...saver, userId: connection.owner ?? saver.userId };
    const isCall = work === 'call';
    const call = isCall ? { name: textOf(document['toolName']), arguments: argumentsOf(document['args']) } : undefined;
    const key = `syntrix:${connectionId}:${sha256(`${work} ${reference.documentPath}`)}`;
    // An idempotency key belongs to the principal, and another member may save the connection again.
    const keys = start.deliveryKey === undefined ? [key] : [key, start.deliveryKey];
    const request: StartChat = {
      threadRef: `syntrix:${connectionId}:${sha256(reference.chatPath).slice(0, 32)}`,
      createThread: true,
      messageClientId: null,
      model: settings.model,
      messages: isCall || reference.messageId === null ? [] : [messageOf(document)],
      history: 'request',
      tools: await this.toolsOf(
        principal,
        settings.tools.filter((name) => call === undefined || name === call.name),
      ),
      ...{ toolRuntimes: {}, toolChoice: null, parameters: {}, providerKey: null, backgroundMode: null },
      whenBusy: 'enqueue',
      idempotency: { key, requestHash: sha256(key) },
      external: {
        reference: { ...reference, source: SYNTRIX, connectionId },
        ...defined({ call }),
      },
      ...{ maxQueued, extraRows: (job) => keys.map((of) => deliveryRow(job, { connectionId, key: of })) },
    };
    try {
      await this.chats.start(principal, request);
      crashpoint('delivery-accepted');
    } catch (error) {
      if (!isAcceptedBefore(error)) throw error;
    }
  }

  seal(connection: SyntrixConnection, token: string): string {
    return Buffer.from(this.secretBox.seal(new Secret(token), tokenPlace(connection))).toString('base64');
  }

  open(connection: SyntrixConnection, sealed: string): Secret {
    return this.secretBox.open(Buffer.from(sealed, 'base64'), tokenPlace(connection));
  }

  /** Returns the existing tools, because a removed tool must not stop the chats. */
  private async toolsOf(principal: Principal, names: readonly string[]): Promise<readonly string[]> {
    if (!this.config.values.FEATURE_BACKGROUND_TOOLS || names.length === 0) return [];
    const tools = await this.catalog.offeredTo(principal);
    return names.filter((name) => tools.find(name)?.enabled === true);
  }
}

/** The reference that a job stores to the document of a delivery. */
export function referenceOf(
  { chat, documentPath, documentId, isToolCall, order }: SyntrixDelivery,
  token: string | null,
): SyntrixStart['reference'] {
  const { chatPath, userId } = chat;
  return { chatPath, userId, documentPath, messageId: isToolCall ? null : documentId, order, token };
}

/** The database may refuse a token, but never sees one that was issued for another connection. */
function tokenPlace({ workspaceId, id }: SyntrixConnection): SecretPlace {
  return { workspaceId, table: 'syntrix_connection', row: id, field: 'pre_issued_token' };
}

function messageOf({ content }: SyntrixDocument): ChatMessage {
  return { role: 'user', content: textOf(content) };
}

function argumentsOf(args: unknown): string {
  return typeof args === 'string' ? args : JSON.stringify(args ?? {});
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The rights of a connection are those of the member who saved it. */
function ownerGone(): AppError {
  const message =
    'The member who saved this Syntrix connection is no longer in the workspace. An admin must save it again.';
  return new AppError({ code: 'forbidden', message });
}
