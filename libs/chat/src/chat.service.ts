import { Injectable } from '@nestjs/common';

import { abilityOf, assertCan, type Principal, scopeOf } from '#auth';
import {
  isTerminal,
  jobNotFinished,
  jobNotFound,
  JobsRepository,
  JobStarter,
  type StartedJob,
  type StartRequest,
} from '#jobs';
import { type ChatMessage, jobKeyPlace, missingModelKey, ModelCatalog } from '#models';
import { Config, defined, newId, SecretBox, toStorable, toStorableText } from '#platform';
import { type ClientSide, ToolCatalog } from '#tools';

import { AgentChoice, NO_AGENT, type PinnedAgent } from './agents/agent-choice.js';
import { AttachedFiles } from './attachments/attached-files.service.js';
import {
  callNotRetried,
  handedOverNotRetried,
  missingMessages,
  toolsSwitchedOff,
  tooManyMessages,
  unknownTool,
} from './chat.errors.js';
import type { ExternalReference } from './external/external-chats.js';
import { chatFormat, type ChatInput, toChatInput, userMessagesSinceAnswer } from './input/chat-input.js';
import type { StartChat } from './input/start-chat.js';

const longestTitle = 80;

/** Accepts chat jobs for the endpoints: checks the right, the tools and the model, then calls the job starter. */
@Injectable()
export class ChatService {
  constructor(
    private readonly starter: JobStarter,
    private readonly jobs: JobsRepository,
    private readonly models: ModelCatalog,
    private readonly catalog: ToolCatalog,
    private readonly agents: AgentChoice,
    private readonly config: Config,
    private readonly secretBox: SecretBox,
    private readonly attached: AttachedFiles,
  ) {}

  /**
   * Accepts a job that answers in a thread; the job is committed on return. Throws `forbidden` (for a viewer), `not_found` (the principal has
   * no such thread, or the agent does not exist), `no_agents`, `missing_model_key`, `bad_request` with the field, and the errors of
   * `JobStarter.start` (for a sub-job also `sub_job_limit` and `sub_job_unwanted`). A repeated key returns its job, even if the agent or a
   * file does not exist any more.
   */
  async start(principal: Principal, given: StartChat): Promise<StartedJob> {
    const { workspaceId, userId } = principal;
    assertCan(abilityOf(principal), { action: 'create', subject: 'Job', row: { workspaceId, createdBy: userId } });
    const pinned = await this.pinnedAgentOf(principal, given);
    if ('jobId' in pinned) return pinned;
    const messages = await this.orStarted(principal, given, () => this.attached.accept(principal, given.messages));
    if ('jobId' in messages) return messages;
    const request = { ...given, messages };
    const toolPins = await this.check(principal, request, pinned);
    const jobId = newId();
    const { providerKey } = request;
    const { client, ...asked } = request;
    const isCall = request.external?.call !== undefined;
    const options = { workspaceId, wanted: pinned.model ?? request.model, hasOwnKey: providerKey !== null };
    const model = isCall ? '' : await this.models.modelNameFor(options);
    this.attached.assertReadable(model, userMessagesSinceAnswer(request.messages));
    return this.starter.start({
      ...this.identityOf(principal, jobId),
      thread: isCall ? null : threadOf(request),
      messageClientId: request.messageClientId,
      model,
      ...defined({ labels: request.labels }),
      ...agentIdOf(pinned),
      ...formatted(toInput({ ...asked, ...this.allowed(client) }, { ...pinned.input, ...toolPins })),
      ...externalOf(request.external?.reference),
      backgroundMode: request.backgroundMode,
      keyCipher: providerKey === null ? null : this.secretBox.seal(providerKey, jobKeyPlace({ workspaceId, jobId })),
      ...(request.whenBusy === null ? {} : { whenBusy: request.whenBusy }),
      ...defined({ maxQueued: request.maxQueued, startAt: request.startAt }),
      idempotency: request.idempotency,
      ...(request.subJob === undefined ? {} : { parent: request.subJob.parent }),
      ...(request.extraRows === undefined ? {} : { extraRows: request.extraRows({ workspaceId, jobId }) }),
    });
  }

  /**
   * Checks a chat that will be started later, and stores the files of its messages. Returns the messages with references in place of
   * contents. Throws the errors of `start` about the right, the agent, the tools, the model and the messages.
   */
  async acceptForLater(principal: Principal, request: StartChat): Promise<readonly ChatMessage[]> {
    const { workspaceId, userId } = principal;
    assertCan(abilityOf(principal), { action: 'create', subject: 'Job', row: { workspaceId, createdBy: userId } });
    const pinned = await this.pinnedAgentOf(principal, request);
    if ('jobId' in pinned) return request.messages;
    await this.check(principal, request, pinned);
    const wanted = pinned.model ?? request.model;
    const model = await this.models.modelNameFor({ workspaceId, wanted, hasOwnKey: false });
    const messages = await this.attached.accept(principal, request.messages);
    this.attached.assertReadable(model, messages);
    return messages;
  }

  /**
   * Retries a failed or cancelled job as a new job of the same thread, with the current history. Throws `not_found`, `forbidden`, `conflict`
   * (the job has not ended, has completed, or can only be continued by its requester), and the errors of `start` about tools.
   */
  async retry(
    principal: Principal,
    jobId: string,
    idempotency: StartRequest['idempotency'] = null,
  ): Promise<StartedJob> {
    const found = await this.jobs.findInputInScope(scopeOf(principal), jobId);
    if (found === null) throw jobNotFound();
    const { job, input, backgroundMode } = found;
    const { workspaceId, createdBy } = job;
    assertCan(abilityOf(principal), { action: 'retry', subject: 'Job', row: { workspaceId, createdBy } });
    if (!isTerminal(job.status) || job.status === 'completed') throw jobNotFinished();
    const { client, agent, routing, ...chat } = toChatInput(input);
    if (chat.call !== undefined) throw callNotRetried();
    if (client?.handedOver !== undefined) throw handedOverNotRetried();
    if (chat.tools.length > 0 && !this.config.values.FEATURE_BACKGROUND_TOOLS) throw toolsSwitchedOff();
    // The provider key was erased at the job's end. Another key must not replace it.
    if (chat.hasOwnKey === true) throw missingModelKey();
    const isAgents = agent !== undefined || routing !== undefined;
    const pinned = isAgents ? await this.agents.again(principal, jobId, toChatInput(input)) : NO_AGENT;
    const pins = await this.pinsOf(principal, chat.tools, pinned);
    return this.starter.start({
      ...this.identityOf(principal, newId()),
      thread: job.threadId === null ? null : { ref: job.threadId },
      messageClientId: null,
      model: job.model,
      labels: job.labels,
      ...agentIdOf(pinned),
      ...formatted({ ...chat, ...this.allowed(client), ...pinned.input, ...pins, retryOf: jobId }),
      ...externalOf(chat.external),
      backgroundMode,
      keyCipher: null,
      retryOf: jobId,
      idempotency,
    });
  }

  /** Finds the agent and pins it. If the agent does not exist any more, but the idempotency key started a job before, returns that job. */
  private async pinnedAgentOf(principal: Principal, given: StartChat): Promise<PinnedAgent | StartedJob> {
    const { agent } = given;
    return agent === undefined
      ? NO_AGENT
      : this.orStarted(principal, given, () => this.agents.choose(principal, agent));
  }

  /** Returns the result of `check`. If `check` rejects, but the idempotency key started a job before, returns that job. */
  private async orStarted<Value>(
    { workspaceId, id }: Principal,
    { idempotency }: StartChat,
    check: () => Promise<Value>,
  ): Promise<Value | StartedJob> {
    try {
      return await check();
    } catch (error) {
      const known =
        idempotency === null ? null : await this.starter.replay({ workspaceId, principal: id, idempotency });
      if (known === null) throw error;
      return known;
    }
  }

  private identityOf(principal: Principal, jobId: string) {
    const { id, workspaceId, userId } = principal;
    return { jobId, workspaceId, kind: 'chat', principal: id, createdBy: userId, retryOf: null } as const;
  }

  /** If client tools are switched off, requests have no client side: their client tools are skipped, and the job does not wait. */
  private allowed(client: ClientSide | undefined): { readonly client?: ClientSide } {
    return this.config.values.FEATURE_CLIENT_TOOLS && client !== undefined ? { client } : {};
  }

  private async check(
    principal: Principal,
    request: StartChat,
    pinned: PinnedAgent,
  ): Promise<Pick<ChatInput, 'toolPins'>> {
    const { FEATURE_BACKGROUND_TOOLS, MAX_MESSAGES } = this.config.values;
    if (request.messages.length === 0 && request.external === undefined) throw missingMessages();
    if (request.messages.length > MAX_MESSAGES) throw tooManyMessages(MAX_MESSAGES);
    if (request.tools.length + pinned.tools.length > 0 && !FEATURE_BACKGROUND_TOOLS) throw toolsSwitchedOff();
    return this.pinsOf(principal, request.tools, pinned);
  }

  /**
   * Pins the tools of a job to their current versions: calls of a tool that has changed since are refused. With an agent, the job gets only
   * the agent's tools.
   */
  private async pinsOf(
    principal: Principal,
    wanted: StartChat['tools'],
    granted: PinnedAgent,
  ): Promise<Pick<ChatInput, 'toolPins'>> {
    const asked = wanted.filter((tool) => typeof tool === 'string');
    const names = new Set([...asked, ...granted.tools]);
    if (names.size === 0) return {};
    const tools = await this.catalog.offeredTo(principal);
    const pins = [...names].map((name) => {
      const tool = granted === NO_AGENT || granted.tools.includes(name) ? tools.find(name) : undefined;
      if (tool?.enabled !== true) throw unknownTool(name);
      return [name, tool.version] as const;
    });
    return { toolPins: Object.fromEntries(pins) };
  }
}

function toInput(request: StartChat, pinned: Pick<ChatInput, 'toolPins' | 'agent' | 'routing'>): ChatInput {
  const { messages, history, alreadyStored = 0, tools, toolRuntimes, client, humanWait } = request;
  const { toolApproval, toolChoice, parameters, providerDown } = request;
  const { callerPolicies = [], maxRounds } = request.subJob ?? {};
  const input: ChatInput = {
    messages,
    history,
    ...(alreadyStored === 0 ? {} : { alreadySaid: alreadyStored }),
    tools,
    ...(Object.keys(toolRuntimes).length === 0 ? {} : { toolRuntimes }),
    ...defined({ client, humanWait }),
    ...pinned,
    ...defined({ toolApproval }),
    ...(callerPolicies.length === 0 ? {} : { callerPolicies }),
    ...defined({ maxRounds, providerDown }),
    ...(request.external === undefined ? {} : toExternal(request.external)),
    ...(toolChoice === null ? {} : { toolChoice }),
    ...(Object.keys(parameters).length === 0 ? {} : { parameters }),
    ...(request.providerKey === null ? {} : { hasOwnKey: true }),
  };
  const stored: unknown = toStorable(input);
  return stored as ChatInput; // `toStorable` keeps the shape; only texts are normalized
}

function toExternal({ reference, call }: NonNullable<StartChat['external']>): Pick<ChatInput, 'external' | 'call'> {
  return { external: reference, ...defined({ call }) };
}

function externalOf(reference: ExternalReference | undefined): Pick<StartRequest, 'externalUser' | 'queueOrder'> {
  if (reference === undefined) return {};
  return { externalUser: toStorableText(reference.userId), queueOrder: reference.order };
}

function threadOf(request: StartChat): NonNullable<StartRequest['thread']> {
  return {
    ref: request.threadRef ?? newId(),
    isNew: request.threadRef === null || request.threadIsNew === true,
    ...(request.threadRef === null || request.createThread ? { createTitle: titleOf(request.messages) } : {}),
  };
}

/** No agent's cap counts a job that has not chosen its agent. */
function agentIdOf({ input: { agent } }: PinnedAgent): Pick<StartRequest, 'agentId'> {
  return agent === undefined ? {} : { agentId: agent.id };
}

function formatted(input: ChatInput): Pick<StartRequest, 'input' | 'format'> {
  return { input, format: chatFormat(input) };
}

/** The first line of the first user message. */
function titleOf(messages: readonly ChatMessage[]): string {
  const first = messages.find(({ role }) => role === 'user')?.content;
  const text = typeof first === 'string' ? first : (first?.find((part) => part.type === 'text')?.text ?? '');
  const line = text.trim().split('\n', 1)[0] ?? '';
  const characters = Array.from(toStorableText(line));
  return characters.length > longestTitle ? `${characters.slice(0, longestTitle - 1).join('')}…` : characters.join('');
}
