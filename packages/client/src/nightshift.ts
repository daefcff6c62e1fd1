import { type ClientTools, toDeclarations } from './client-tool.js';
import { asking, type Connection, until } from './connection.js';
import { Files, toAttachments } from './files.js';
import {
  FeatureFlagsDocument,
  RetryJobDocument,
  StartChatDocument,
  type StartChatInput,
  type StartedFragment,
  StartWorkflowDocument,
  type StartWorkflowInput,
} from './generated/graphql.js';
import { Interrupts } from './interrupts.js';
import { JobHandle } from './job-handle.js';
import { Jobs } from './jobs.js';
import { NightshiftError } from './nightshift-error.js';
import { Notifications } from './notifications.js';
import { randomText } from './random-text.js';
import { resubscribe } from './resubscribe.js';
import type { Approval, ServeOptions } from './serve-options.js';
import { assertTaken } from './to-failure.js';
import type { TypedDocument } from './typed-document.js';
import type { WaitOptions } from './wait-options.js';

/** The input of a chat, and the handlers of this client. */
export interface StartChat<Decision extends Approval = Approval>
  extends Omit<StartChatInput, 'tools' | 'clientTools'>, ServeOptions<Decision> {
  /** Tools that this client runs; the start declares them. */
  readonly tools?: ClientTools | undefined;
  /** Names of tools that the server runs. */
  readonly serverTools?: readonly string[] | undefined;
}

/** The input of a workflow job, and the handlers of this client. */
export interface StartWorkflow<Decision extends Approval = Approval>
  extends StartWorkflowInput, Omit<ServeOptions<Decision>, 'tools'> {}

/** A job that was just started, with the ids of its thread and message. */
export class StartedJob extends JobHandle {
  /** The server id of the thread, or the id that the client chose at the start. */
  readonly threadId: string | null;
  /** The id of the assistant message that the job writes. */
  readonly messageId: string | null;
  /** Whether an earlier request with the same idempotency key started the job. */
  readonly replayed: boolean;

  constructor(connection: Connection, id: string, started: StartedFragment) {
    super(connection, id);
    this.threadId = started.threadId;
    this.messageId = started.messageId;
    this.replayed = started.replayed ?? false;
  }
}

/** A client of one server. */
export class Nightshift {
  readonly files: Files;
  readonly interrupts: Interrupts;
  readonly jobs: Jobs;
  readonly notifications: Notifications;

  constructor(
    private readonly connection: Connection,
    private readonly closer: AbortController,
  ) {
    this.files = new Files(connection);
    this.interrupts = new Interrupts(connection);
    this.jobs = new Jobs(connection);
    this.notifications = new Notifications(connection);
  }

  /**
   * Starts a chat in the background. When this returns, the job is stored exactly once, even if a response was lost. With `tools`,
   * `onApproval` or `onQuestion` this client serves the job until it ends or `signal` aborts. If the client cannot follow jobs, throws
   * `no_websocket` and starts nothing.
   */
  async startChat<const Decision extends Approval>(options: StartChat<Decision>): Promise<StartedJob> {
    const { tools, serverTools, attachments, onApproval, onQuestion, onError, signal, ...rest } = options;
    const input: StartChatInput = {
      idempotencyKey: randomText(),
      ...rest,
      ...(serverTools && { tools: serverTools }),
      ...(attachments && { attachments: toAttachments(attachments) }),
      ...(tools && { clientTools: toDeclarations(tools) }),
    };
    const { startChat } = await this.start(StartChatDocument, { input }, { signal });
    return this.started(startChat, { tools, onApproval, onQuestion, onError, signal });
  }

  /** Starts a published workflow in the background, with the same guarantees as `startChat`. */
  async startWorkflow<const Decision extends Approval>(options: StartWorkflow<Decision>): Promise<StartedJob> {
    const { attachments, onApproval, onQuestion, onError, signal, ...rest } = options;
    const input: StartWorkflowInput = {
      idempotencyKey: randomText(),
      ...rest,
      ...(attachments && { attachments: toAttachments(attachments) }),
    };
    const { startWorkflow } = await this.start(StartWorkflowDocument, { input }, { signal });
    return this.started(startWorkflow, { onApproval, onQuestion, onError, signal });
  }

  /** Repeats a failed or cancelled job as a new job. */
  async retryJob<const Decision extends Approval>(
    jobId: string,
    options: ServeOptions<Decision> = {},
  ): Promise<StartedJob> {
    const input = { jobId, idempotencyKey: randomText() };
    const { retryJob } = await this.start(RetryJobDocument, { input }, options);
    return this.started(retryJob, options);
  }

  /** A job by its id. Sends no request. */
  job(id: string): JobHandle {
    return new JobHandle(this.connection, id);
  }

  /** The feature flags of the caller in this workspace, by name. A flag that the server does not have is absent. */
  async featureFlags(options: WaitOptions = {}): Promise<Readonly<Partial<Record<string, boolean>>>> {
    const { featureFlags } = await this.ask(FeatureFlagsDocument, {}, options);
    return Object.fromEntries(featureFlags.map(({ name, enabled }) => [name, enabled]));
  }

  /** Sends your own query; repeats it when the connection fails. */
  query<TResult, TVariables>(
    document: TypedDocument<TResult, TVariables>,
    variables: TVariables,
    options: WaitOptions = {},
  ): Promise<TResult> {
    return this.ask(document, variables, options);
  }

  /** Sends your own mutation once. A lost response throws `connection_lost`; the outcome is then unknown. */
  mutate<TResult, TVariables>(
    document: TypedDocument<TResult, TVariables>,
    variables: TVariables,
    { signal }: WaitOptions = {},
  ): Promise<TResult> {
    const options = asking(this.connection, signal, 'never');
    return this.connection.http.execute(document, variables, options);
  }

  /** Starts your own subscription. After a lost connection it restarts with the same variables. */
  subscribe<TResult, TVariables extends object>(
    document: TypedDocument<TResult, TVariables>,
    variables: TVariables,
    { signal }: WaitOptions = {},
  ): AsyncGenerator<TResult, void, undefined> {
    return resubscribe(this.connection, document, { variables: () => variables, signal });
  }

  /** Ends everything that this client follows and serves, with the error `closed`. The jobs keep running. */
  close(): void {
    this.closer.abort(new NightshiftError('This client was closed', { code: 'closed' }));
    this.connection.sockets.close();
  }

  private ask<TResult, TVariables>(
    document: TypedDocument<TResult, TVariables>,
    variables: TVariables,
    { signal }: { readonly signal?: AbortSignal | undefined },
  ): Promise<TResult> {
    const options = asking(this.connection, signal);
    return this.connection.http.execute(document, variables, options);
  }

  /** Throws before the start if the client has no WebSocket: the caller could not see the events of the job. */
  private async start<TResult, TVariables>(
    ...asked: [TypedDocument<TResult, TVariables>, TVariables, { readonly signal?: AbortSignal | undefined }]
  ): Promise<TResult> {
    this.connection.sockets.assertThere();
    return this.ask(...asked);
  }

  private started(payload: StartedFragment, serving: ServeOptions): StartedJob {
    assertTaken(payload);
    if (payload.jobId === null) throw new NightshiftError('Nothing was started', { code: 'bad_response' });
    const job = new StartedJob(this.connection, payload.jobId, payload);
    const { tools, onApproval, onQuestion } = serving;
    if ((tools ?? onApproval ?? onQuestion) !== undefined)
      job.serve(serving).catch((error: unknown) => {
        if (!until(this.connection, serving.signal).aborted) serving.onError?.(error);
      });
    return job;
  }
}
