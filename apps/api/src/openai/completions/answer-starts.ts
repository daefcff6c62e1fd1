import { Injectable } from '@nestjs/common';

import type { MemberPrincipal } from '#auth';
import {
  type Answer,
  type AnswerSession,
  ChatService,
  DuplicateMessageFilter,
  isConcurrentWrite,
  type NewAnswer,
  newAnswerRow,
  sessionStepRow,
  type StartChat,
} from '#chat';
import type { PartRow, StartedJob } from '#jobs';
import { type Allowance, AppError, Config, newId } from '#platform';
import { StartWorkflowService } from '#workflows';

import { OpenAiError } from '../../errors/openai-error.js';
import type { ModelTarget } from '../models/model-directory.js';
import type { Mode } from '../request/choose-mode.js';
import type { CompletionRequest } from '../request/completion-request.js';
import { toWorkflowTurn } from '../request/workflow-turn.js';
import { AnswerLimiters } from './answer-limiters.js';

/** The input of a new response. */
export interface NewAnswerOrder {
  readonly target: ModelTarget;
  readonly request: CompletionRequest;
  readonly mode: Mode;
  /** The messages for the model. */
  readonly messages: StartChat['messages'];
  /** A call whose result is missing in `messages`; null: none is missing. */
  readonly unanswered: string | null;
  /** The client's name for its conversation; null: the client gave none. */
  readonly sessionId: string | null;
  /** The current session; null: its name is new. */
  readonly session: AnswerSession | null;
  /** Whether the request leaves the session unchanged and gets its own thread. */
  readonly isBeside: boolean;
  readonly idempotencyKey: string | null;
  /** For a response that resumes from results which an earlier request applied; see `NewAnswer`. */
  readonly applied: NewAnswer['applied'];
  readonly resumes: NewAnswer['resumes'];
}

/** The outcome. `read-again`: another request committed first, and all facts must be read again. */
export type StartedAnswer =
  | { readonly type: 'started'; readonly answer: Answer; readonly allowance: Allowance }
  | { readonly type: 'replayed' }
  | { readonly type: 'read-again' }
  | { readonly type: 'thread-busy' };

type ExtraRows = NonNullable<StartChat['extraRows']>;

/** The thread of a new job, and the rows to write with the job. */
interface Place {
  readonly threadRef: string;
  readonly threadIsNew: boolean;
  readonly extraRows: ExtraRows;
}

/** Starts jobs for OpenAI clients. The transaction that accepts a job also stores its response and the next step of its session. */
@Injectable()
export class AnswerStarts {
  constructor(
    private readonly chat: ChatService,
    private readonly workflows: StartWorkflowService,
    private readonly duplicates: DuplicateMessageFilter,
    private readonly limiters: AnswerLimiters,
    private readonly config: Config,
  ) {}

  /** Throws `OpenAiError` 400, `rate_limited` and what `ChatService.start` and `StartWorkflowService.start` throw. */
  async start(principal: MemberPrincipal, order: NewAnswerOrder): Promise<StartedAnswer> {
    this.assertFits(order);
    const limiter = this.limiters.of(order.target);
    const allowance = await limiter.take(principal);
    const answer = toNewAnswer(principal, order);
    try {
      const job = await this.accept(principal, order, placeOf(answer, order));
      if (!job.replayed) return { type: 'started', answer: toAnswer(principal, { answer, order, job }), allowance };
      limiter.giveBack(principal);
      return { type: 'replayed' };
    } catch (error) {
      limiter.giveBack(principal);
      if (isConcurrentWrite(error)) return { type: 'read-again' };
      if (error instanceof AppError && error.code === 'thread_busy') return { type: 'thread-busy' };
      throw error;
    }
  }

  /** The parser limits the messages that the client sends. The server adds a result for each call, so the total is checked again here. */
  private assertFits({ request, messages }: NewAnswerOrder): void {
    const { MAX_MESSAGES: max } = this.config.values;
    if (request.messages.length > max || messages.length <= max) return;
    const message = `Too many tool_calls in messages: with a result for each there are ${messages.length} messages, at most ${max}`;
    throw new OpenAiError({ status: 400, message, param: 'messages' });
  }

  private async accept(principal: MemberPrincipal, order: NewAnswerOrder, place: Place): Promise<StartedJob> {
    const { target, request, messages } = order;
    const common = {
      ...({ createThread: true, messageClientId: null, whenBusy: 'reject', providerKey: null } as const),
      ...place,
      idempotency: idempotencyOf(order),
      ...(request.about.metadata === undefined ? {} : { labels: request.about.metadata }),
    };
    if (target.type === 'workflow') {
      const { prompt, history, images } = toWorkflowTurn(messages);
      const attachments = images.map((url) => ({ type: 'image', url }) as const);
      const run = { workflowRef: target.workflowId, version: null, known: {}, resumeFrom: null };
      return this.workflows.start(principal, { ...common, ...run, prompt, history, attachments });
    }
    return this.chat.start(principal, {
      ...common,
      ...({ messages, history: 'request', backgroundMode: null } as const),
      alreadyStored: await this.countAlreadyStored(principal, order),
      ...answering(target),
      ...this.clientSide(order.mode),
      toolChoice: order.mode.toolChoice,
      parameters: request.parameters,
    });
  }

  /** How many of the messages the session's thread already has. */
  private async countAlreadyStored(principal: MemberPrincipal, order: NewAnswerOrder): Promise<number> {
    const { session, isBeside, unanswered: callId, messages } = order;
    if (session === null || isBeside || callId === null) return 0;
    return this.duplicates.count(principal, { threadId: session.threadId, callId }, messages);
  }

  /** Functions of the client run in the client only, even if a server tool has the same name. */
  private clientSide({ strictBy, tools }: Mode): Pick<StartChat, 'tools' | 'toolRuntimes' | 'client' | 'humanWait'> {
    const toolRuntimes = Object.fromEntries(tools.map(({ function: { name } }) => [name, 'client'] as const));
    if (strictBy === null) return { tools, toolRuntimes };
    const { OPENAI_PENDING_TTL_MS: timeoutMs, OPENAI_HUMAN_WAIT: humanWait } = this.config.values;
    const client = { deviceId: null, tools: {}, handedOver: { timeoutMs } };
    return { tools, toolRuntimes, client, ...(humanWait === 'reject' && { humanWait }) };
  }
}

function answering(target: Exclude<ModelTarget, { type: 'workflow' }>): Pick<StartChat, 'model' | 'agent'> {
  switch (target.type) {
    case 'agent':
      return { model: null, agent: { type: 'agent', ref: target.agent.id } };
    case 'auto':
      return { model: null, agent: { type: 'auto' } };
    case 'model':
      return { model: target.name };
  }
}

function idempotencyOf({ idempotencyKey: key, request }: NewAnswerOrder): NewAnswer['idempotency'] {
  return key === null ? null : { key, requestHash: request.bodyHash };
}

function toNewAnswer({ id: principal }: MemberPrincipal, order: NewAnswerOrder): NewAnswer {
  const { request, sessionId, target } = order;
  // With a single agent, no choice is needed later.
  const model = request.model === 'auto' && target.type === 'agent' ? target.agent.slug : request.model;
  return {
    ...{ id: newId(), principal, sessionId, model, format: formatOf(order) },
    ...{ afterSeq: 0, afterRound: 0, applied: order.applied, resumes: order.resumes },
    idempotency: idempotencyOf(order),
    about: Object.keys(request.about).length === 0 ? null : request.about,
  };
}

/** The agent of `auto`, and so its format, is not known yet. */
function formatOf({ mode, target }: NewAnswerOrder): NewAnswer['format'] {
  if (mode.format !== null) return mode.format;
  if (target.type === 'auto') return 'agent';
  return (target.type === 'agent' ? target.agent.toolEventFormat : null) ?? 'inline';
}

function placeOf(answer: NewAnswer, { sessionId, session, isBeside }: NewAnswerOrder): Place {
  const isOfSession = sessionId !== null && !isBeside;
  const known = isOfSession ? session : null;
  const threadRef = known?.threadId ?? newId();
  const { id: answerId, principal } = answer;
  const extraRows: ExtraRows = (job): readonly PartRow[] => {
    const row = newAnswerRow(job, answer);
    if (!isOfSession) return [row];
    const afterAnswerId = session?.latestId ?? null;
    return [row, sessionStepRow(job, { principal, sessionId, threadId: threadRef, answerId, afterAnswerId })];
  };
  return { threadRef, threadIsNew: known === null, extraRows };
}

/** The response as a read would return it right after the start. */
function toAnswer(
  { workspaceId, userId: createdBy }: MemberPrincipal,
  begun: { readonly answer: NewAnswer; readonly order: NewAnswerOrder; readonly job: StartedJob },
): Answer {
  const { answer, order, job } = begun;
  const { id, principal, sessionId, model, format, afterSeq, afterRound, idempotency } = answer;
  const kind = order.target.type === 'workflow' ? 'workflow' : 'chat';
  return {
    ...{ workspaceId, id, jobId: job.jobId, principal, sessionId, model, format, afterSeq, afterRound },
    requestHash: idempotency?.requestHash ?? null,
    job: { kind, status: job.status, lastSeq: 1, createdBy },
    state: 'busy',
    agent: null,
  };
}
