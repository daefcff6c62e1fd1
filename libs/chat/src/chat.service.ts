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
import { Config, newId, SecretBox, toStorable, toStorableText } from '#platform';
import { type ClientSide, ToolCatalog } from '#tools';

import { AgentChoice, type AgentTerms, NOBODY } from './agents/agent-choice.js';
import {
  callNotRetried,
  handedOverNotRetried,
  nothingSaid,
  toolsSwitchedOff,
  tooManyMessages,
  unknownTool,
} from './chat.errors.js';
import { chatFormat, type ChatInput, toChatInput } from './chat-input.js';
import type { StartChat } from './start-chat.js';

const longestTitle = 80;

/** The settings and keys of this instance that accepting a chat needs, and its choice of who answers. */
@Injectable()
export class ChatInstance {
  constructor(
    readonly config: Config,
    readonly secretBox: SecretBox,
    readonly agents: AgentChoice,
  ) {}
}

/** Accepts chat jobs for the doors: checks the right, the tools and the model, and hands over to the job starter. */
@Injectable()
export class ChatService {
  constructor(
    private readonly starter: JobStarter,
    private readonly jobs: JobsRepository,
    private readonly models: ModelCatalog,
    private readonly catalog: ToolCatalog,
    private readonly instance: ChatInstance,
  ) {}

  /**
   * Accepts a job that answers in a thread; it is committed when this returns. Throws `forbidden` (a viewer), `not_found` (no
   * such thread for this principal, no such agent), `no_agents`, `missing_model_key`, `bad_request` with the field, and what
   * `JobStarter.start` throws (`sub_job_limit` and `sub_job_unwanted` of one below a call). A repeated key gives its job, whatever has become of its agent.
   */
  async start(principal: Principal, request: StartChat): Promise<StartedJob> {
    const { workspaceId, userId } = principal;
    assertCan(abilityOf(principal), { action: 'create', subject: 'Job', row: { workspaceId, createdBy: userId } });
    const terms = await this.termsOf(principal, request);
    if ('jobId' in terms) return terms;
    const toolPins = await this.check(workspaceId, request, terms);
    const jobId = newId();
    const { providerKey } = request;
    const { client, ...asked } = request;
    const wish = { workspaceId, wanted: terms.model ?? request.model, hasOwnKey: providerKey !== null };
    return this.starter.start({
      ...this.identityOf(principal, jobId),
      thread: {
        ref: request.threadRef ?? newId(),
        isNew: request.threadRef === null || request.threadIsNew === true,
        ...(request.threadRef === null || request.createThread ? { createTitle: titleOf(request.messages) } : {}),
      },
      messageClientId: request.messageClientId,
      model: await this.models.modelNameFor(wish),
      ...formatted(toInput({ ...asked, ...this.allowed(client) }, { ...terms.input, ...toolPins })),
      backgroundMode: request.backgroundMode,
      keyCipher:
        providerKey === null ? null : this.instance.secretBox.seal(providerKey, jobKeyPlace({ workspaceId, jobId })),
      ...(request.whenBusy === null ? {} : { whenBusy: request.whenBusy }),
      idempotency: request.idempotency,
      ...(request.below === undefined ? {} : { parent: request.below.parent }),
      ...(request.beside === undefined ? {} : { beside: request.beside({ workspaceId, jobId }) }),
    });
  }

  /**
   * Asks a failed or cancelled job's question again, as a new job of the same thread with history as it is now. Throws
   * `not_found`, `forbidden`, `conflict` for a job that is not over or completed well, and for one whose requester alone can go on with it, and what `start` says of tools.
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
    if (chat.tools.length > 0 && !this.instance.config.values.FEATURE_BACKGROUND_TOOLS) throw toolsSwitchedOff();
    // The key was erased with the job's end, and nobody else's is used in its place.
    if (chat.hasOwnKey === true) throw missingModelKey();
    const isAgents = agent !== undefined || routing !== undefined;
    const terms = isAgents ? await this.instance.agents.again(workspaceId, jobId, toChatInput(input)) : NOBODY;
    const pins = await this.pinsOf(workspaceId, chat.tools, terms);
    return this.starter.start({
      ...this.identityOf(principal, newId()),
      thread: job.threadId === null ? null : { ref: job.threadId },
      messageClientId: null,
      model: job.model,
      ...formatted({ ...chat, ...this.allowed(client), ...terms.input, ...pins, retryOf: jobId }),
      backgroundMode,
      keyCipher: null,
      retryOf: jobId,
      idempotency,
    });
  }

  /** Who answers; or the job itself, where its agent is gone and the request is a repetition. */
  private async termsOf(principal: Principal, { agent, idempotency }: StartChat): Promise<AgentTerms | StartedJob> {
    if (agent === undefined) return NOBODY;
    try {
      return await this.instance.agents.choose(principal, agent);
    } catch (error) {
      const { workspaceId, id } = principal;
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

  /** Where clients serve nothing now, no request has one behind it: its client tools are skipped, not waited for. */
  private allowed(client: ClientSide | undefined): { readonly client?: ClientSide } {
    return this.instance.config.values.FEATURE_CLIENT_TOOLS && client !== undefined ? { client } : {};
  }

  private async check(
    workspaceId: string,
    request: StartChat,
    terms: AgentTerms,
  ): Promise<Pick<ChatInput, 'toolPins'>> {
    const { FEATURE_BACKGROUND_TOOLS, MAX_MESSAGES } = this.instance.config.values;
    if (request.messages.length === 0) throw nothingSaid();
    if (request.messages.length > MAX_MESSAGES) throw tooManyMessages(MAX_MESSAGES);
    if (request.tools.length + terms.tools.length > 0 && !FEATURE_BACKGROUND_TOOLS) throw toolsSwitchedOff();
    return this.pinsOf(workspaceId, request.tools, terms);
  }

  /**
   * A job's tools stay what they were when it was accepted: one that has changed when it is called is refused. Where agents
   * answer, their tools are all there are.
   */
  private async pinsOf(
    workspaceId: string,
    wanted: StartChat['tools'],
    granted: AgentTerms,
  ): Promise<Pick<ChatInput, 'toolPins'>> {
    const asked = wanted.filter((tool) => typeof tool === 'string');
    const names = new Set([...asked, ...granted.tools]);
    if (names.size === 0) return {};
    const tools = await this.catalog.of(workspaceId);
    const pins = [...names].map((name) => {
      const tool = granted === NOBODY || granted.tools.includes(name) ? tools.find(name) : undefined;
      if (tool?.enabled !== true) throw unknownTool(name);
      return [name, tool.version] as const;
    });
    return { toolPins: Object.fromEntries(pins) };
  }
}

function toInput(request: StartChat, pinned: Pick<ChatInput, 'toolPins' | 'agent' | 'routing'>): ChatInput {
  const { messages, history, alreadySaid = 0, tools, toolRuntimes, client, humanWait } = request;
  const { toolApproval, toolChoice, parameters, providerDown } = request;
  const { callerPolicies = [], maxRounds } = request.below ?? {};
  const input: ChatInput = {
    messages,
    history,
    ...(alreadySaid === 0 ? {} : { alreadySaid }),
    tools,
    ...(Object.keys(toolRuntimes).length === 0 ? {} : { toolRuntimes }),
    ...(client === undefined ? {} : { client }),
    ...(humanWait === undefined ? {} : { humanWait }),
    ...pinned,
    ...(toolApproval === undefined ? {} : { toolApproval }),
    ...(callerPolicies.length === 0 ? {} : { callerPolicies }),
    ...(maxRounds === undefined ? {} : { maxRounds }),
    ...(providerDown === undefined ? {} : { providerDown }),
    ...(toolChoice === null ? {} : { toolChoice }),
    ...(Object.keys(parameters).length === 0 ? {} : { parameters }),
    ...(request.providerKey === null ? {} : { hasOwnKey: true }),
  };
  const stored: unknown = toStorable(input);
  return stored as ChatInput; // the same shape; only texts are normalised
}

function formatted(input: ChatInput): Pick<StartRequest, 'input' | 'format'> {
  return { input, format: chatFormat(input) };
}

/** The first line that a person said. */
function titleOf(messages: readonly ChatMessage[]): string {
  const first = messages.find(({ role }) => role === 'user')?.content;
  const text = typeof first === 'string' ? first : (first?.find((part) => part.type === 'text')?.text ?? '');
  const line = text.trim().split('\n', 1)[0] ?? '';
  const characters = Array.from(toStorableText(line));
  return characters.length > longestTitle ? `${characters.slice(0, longestTitle - 1).join('')}…` : characters.join('');
}
