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

/** What to answer, and what this client does meanwhile. */
export interface StartChat<Decision extends Approval = Approval>
  extends Omit<StartChatInput, 'tools' | 'clientTools'>, ServeOptions<Decision> {
  /** Tools that run here, declared with the start. */
  readonly tools?: ClientTools | undefined;
  /** Names of tools that run at the server. */
  readonly serverTools?: readonly string[] | undefined;
}

/** What to run, and what this client does meanwhile. */
export interface StartWorkflow<Decision extends Approval = Approval>
  extends StartWorkflowInput, Omit<ServeOptions<Decision>, 'tools'> {}

/** A job that was just started, and where it writes. */
export class StartedJob extends JobHandle {
  /** Our id of the thread, or the one that the start gave it. */
  readonly threadId: string | null;
  /** The assistant message that is written. */
  readonly messageId: string | null;
  /** Whether the idempotency key had started it before. */
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
   * Answers in a thread, in the background: on return the job is stored, exactly once, also when a reply got lost on the way.
   * With `tools`, `onApproval` or `onQuestion` this client serves the job until it has ended, or `signal` aborts. Throws
   * `no_websocket`, and starts nothing, where nothing could be followed.
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

  /** Runs a published workflow in the background, as `startChat` answers. */
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

  /** Asks the question of a failed or cancelled job again, as a new job. */
  async retryJob<const Decision extends Approval>(
    jobId: string,
    options: ServeOptions<Decision> = {},
  ): Promise<StartedJob> {
    const input = { jobId, idempotencyKey: randomText() };
    const { retryJob } = await this.start(RetryJobDocument, { input }, options);
    return this.started(retryJob, options);
  }

  /** A job by its id. Asks nothing. */
  job(id: string): JobHandle {
    return new JobHandle(this.connection, id);
  }

  /** Which features are on for the caller in this workspace, by name. A flag that the server does not have is absent. */
  async featureFlags(options: WaitOptions = {}): Promise<Readonly<Partial<Record<string, boolean>>>> {
    const { featureFlags } = await this.ask(FeatureFlagsDocument, {}, options);
    return Object.fromEntries(featureFlags.map(({ name, enabled }) => [name, enabled]));
  }

  /** Asks a query of your own; tried again when the connection fails. */
  query<TResult, TVariables>(
    document: TypedDocument<TResult, TVariables>,
    variables: TVariables,
    options: WaitOptions = {},
  ): Promise<TResult> {
    return this.ask(document, variables, options);
  }

  /** Sends a mutation of your own, once: a lost response throws `connection_lost`, and the outcome is unknown. */
  mutate<TResult, TVariables>(
    document: TypedDocument<TResult, TVariables>,
    variables: TVariables,
    { signal }: WaitOptions = {},
  ): Promise<TResult> {
    const options = asking(this.connection, signal, 'never');
    return this.connection.http.execute(document, variables, options);
  }

  /** A subscription of your own. After a lost connection it restarts with the same variables. */
  subscribe<TResult, TVariables extends object>(
    document: TypedDocument<TResult, TVariables>,
    variables: TVariables,
    { signal }: WaitOptions = {},
  ): AsyncGenerator<TResult, void, undefined> {
    return resubscribe(this.connection, document, { variables: () => variables, signal });
  }

  /** Ends everything that this client follows and serves, with the error `closed`. Jobs keep running. */
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

  /** A job that cannot be followed is not started: its caller would not see its events. */
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
