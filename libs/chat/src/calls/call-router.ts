import { Injectable } from '@nestjs/common';

import {
  approvalRequest,
  CallGate,
  clientToolInterrupt,
  type GateDecision,
  type GateJob,
  humanInputInterrupt,
  operationOf,
} from '#approvals';
import type { NewInterrupt } from '#jobs';
import { Config, defined } from '#platform';
import {
  type CallState,
  type ClientSide,
  type ClientToolOptions,
  type JsonSchema,
  notRegistered,
  type OfferedTool,
  parseArguments,
  toAskedPerson,
  type Tool,
  ToolCatalog,
  toolChanged,
  ToolIsolation,
  validateArguments,
} from '#tools';

import { CallIdsRepository } from './call-ids.repository.js';
import type { CallRoute } from './call-route.js';
import { requesterOf } from './requester-of.js';

/** The parts of a job that the routing of all its calls depends on. */
export interface RouteContext {
  readonly job: GateJob;
  readonly offered: readonly OfferedTool[];
  readonly client: ClientSide | undefined;
  /** The result that the model reads after a call to an unknown tool; default `notRegistered`. */
  readonly unknownTool?: (name: string) => string;
}

/** A call to be routed. */
export interface RoutedCall {
  /** The id of the call's row. */
  readonly toolCallId: string;
  /** Id of the call's request, if the call needs one. Ids are created in the order of the calls, which is the order of the inbox. */
  readonly interruptId: string;
  readonly round: number;
  readonly ordinal: number;
  readonly callId: string;
  readonly name: string;
  /** JSON text as the model wrote it. */
  readonly arguments: string;
  /** Null if the call is new. */
  readonly state: CallState | null;
  /** Why a person must decide about the call, even if the policy allows it. */
  readonly mustAsk?: string;
  /** True if the route is not final; the use of a grant is then not recorded. */
  readonly isPreview?: boolean;
}

/** Asks the gate about a call and derives its route. */
@Injectable()
export class CallRouter {
  constructor(
    private readonly gate: CallGate,
    private readonly catalog: ToolCatalog,
    private readonly isolation: ToolIsolation,
    private readonly config: Config,
    private readonly callIds: CallIdsRepository,
  ) {}

  /** Reserves ids before the calls are stored; returns those that belong to another job of the same principal. */
  reserveIds(
    job: { readonly workspaceId: string; readonly principal: string; readonly jobId: string },
    callIds: readonly string[],
  ): Promise<ReadonlySet<string>> {
    return this.callIds.take(job, callIds);
  }

  async route(context: RouteContext, call: RoutedCall): Promise<CallRoute> {
    const { job, offered, unknownTool } = context;
    const offer = offered.find(({ name }) => name === call.name);
    // A request may contain the definition of a server tool. If the server has lost the tool, its definition looks like that of a client
    // tool.
    const isServers = call.state !== null && call.state.runtime !== 'client';
    const isClients = offer?.handling === 'client' && !isServers;
    const asked = {
      name: call.name,
      arguments: call.state?.approvedArguments ?? call.arguments,
      version: isClients ? offer.version : null,
      ...defined({ mustAsk: call.mustAsk, isPreview: call.isPreview }),
    };
    const tool = isClients ? null : ((await this.catalog.offeredTo(requesterOf(job))).find(call.name) ?? null);
    const answer =
      call.state === null
        ? await this.gate.judge(job, asked, tool)
        : await this.gate.recheck(job, { call: asked, tool, allowed: call.state });
    if (answer.type === 'refuse') return refused(call.name, answer.approval, { reason: answer.reason, unknownTool });
    const current = isClients ? offer.version : tool?.enabled === true ? tool.version : null;
    const proposed = call.state === null ? offer?.version : call.state.toolVersion;
    if (isChanged(proposed, current)) return refused(call.name, 'withdrawn', { text: toolChanged(call.name) });
    const isHandedOver = isClients && context.client?.handedOver !== undefined;
    if (answer.type === 'ask' || (isClients && !isHandedOver)) {
      // A function that the client runs has a schema of the client, which the server may be unable to compile.
      const schema = isHandedOver ? undefined : isClients ? offer.definition.function.parameters : tool?.parameters;
      const problem = problemOf(asked, schema);
      if (problem !== null) return problem;
    }
    if (answer.type === 'ask') return this.askFor(context, { call, tool, answer, version: asked.version });
    if (isClients) return this.leaveToClient(context, { call, offer, args: asked.arguments });
    if (tool === null && call.state !== null && (isServers || offer?.handling !== 'clientless'))
      return unavailable(call.name);
    // The tool was offered when the job was accepted and was withdrawn since. The model reads why, or the text for an unknown tool.
    if (tool?.enabled !== true || offer?.handling !== 'server')
      return refused(call.name, 'blocked', { text: tool?.withdrawn, unknownTool });
    if (tool.asks === 'person') {
      const question = questionOf(asked.arguments);
      if (question !== null) return this.askPerson(context, call, question);
    }
    const { approval, grantId } = answer;
    const allowed = { approval, grantId, toolVersion: tool.version };
    if (tool.isolation === 'job') return { type: 'sub-job', ...allowed };
    if (!(await this.isolation.sendsToQueue(job.workspaceId, tool))) return { type: 'run', ...allowed };
    return { type: 'queue', ttlMs: this.config.values.TOOL_QUEUE_TTL_MS, concurrency: tool.concurrency, ...allowed };
  }

  /** The schema of the arguments of a call. */
  async schemaOf({ job, offered, client }: RouteContext, name: string): Promise<JsonSchema> {
    const offer = offered.find((tool) => tool.name === name);
    const any = { type: 'object' };
    if (offer?.handling !== 'client') return (await this.catalog.of(job.workspaceId)).find(name)?.parameters ?? any;
    // A function that the client runs has a schema of the client, which the server may be unable to compile.
    return client?.handedOver === undefined ? (offer.definition.function.parameters ?? any) : any;
  }

  private askFor(
    { job }: RouteContext,
    asked: {
      call: RoutedCall;
      tool: Tool | null;
      version: string | null;
      answer: Extract<GateDecision, { type: 'ask' }>;
    },
  ): CallRoute {
    const { call, tool, version } = asked;
    const { verdict } = asked.answer;
    const { jobId, threadId, createdBy, agent } = job;
    const { round, ordinal, callId, name } = call;
    const expiresAt = verdict.timeoutMs === null ? null : Date.now() + verdict.timeoutMs;
    const request = approvalRequest({
      tool: { name, allowEdit: tool?.allowEdit ?? false, sensitiveFields: tool?.sensitiveFields ?? [] },
      arguments: call.arguments,
      jobId,
      round,
      ordinal,
      expiresAt: expiresAt === null ? null : new Date(expiresAt).toISOString(),
      agent,
      requester: createdBy,
      reason: verdict.rule.reason,
      adminRequired: verdict.locked,
    });
    const interrupt: NewInterrupt = {
      id: call.interruptId,
      kind: 'tool_approval',
      title: request.title,
      request: { ...request, operation: operationOf({ ...call, version }, tool) },
      toolCallId: call.toolCallId,
      callId,
      tool: name,
      threadId,
      requester: createdBy,
      decidableBy: verdict.decidableBy,
      fourEyes: verdict.fourEyes,
      adminRequired: verdict.locked,
      expireAction: verdict.expireAction,
      expiresAt,
    };
    return { type: 'open', status: 'awaiting_approval', executor: 'worker', interrupt };
  }

  /** Opens a question to a person. Until they answer it, the call waits like a call that a client runs. */
  private askPerson({ job }: RouteContext, call: RoutedCall, question: ReturnType<typeof toAskedPerson>): CallRoute {
    const interrupt = humanInputInterrupt({ id: call.interruptId, job, call, ...question });
    return { type: 'open', status: 'awaiting_client', executor: 'client', interrupt };
  }

  private leaveToClient(
    { job, client }: RouteContext,
    { call, offer, args }: { call: RoutedCall; offer: OfferedTool; args: string },
  ): CallRoute {
    const { callId, name, toolCallId, interruptId } = call;
    const handedOver = client?.handedOver;
    const wait =
      handedOver === undefined ? clientToolOptionsOf(client, name) : { ...handedOver, onTimeout: 'fail' as const };
    const interrupt = clientToolInterrupt({
      id: interruptId,
      toolCallId,
      job,
      call: { callId, name, arguments: args },
      definition: offer.definition,
      deviceId: client?.deviceId ?? null,
      ...defined({ wait }),
      isHandedOver: handedOver !== undefined,
      effect: offer.effect,
      toolTimeoutMs: this.config.values.TOOL_TIMEOUT_MS,
    });
    return { type: 'open', status: 'awaiting_client', executor: 'client', interrupt };
  }
}

function clientToolOptionsOf(client: ClientSide | undefined, name: string): ClientToolOptions | undefined {
  return client !== undefined && Object.hasOwn(client.tools, name) ? client.tools[name] : undefined;
}

/**
 * Whether the tool has changed since the call was proposed. False for a tool that does not exist any more: another check refuses its calls.
 */
function isChanged(proposed: string | null | undefined, current: string | null): boolean {
  return (proposed ?? null) !== null && current !== null && proposed !== current;
}

/** Returns null if the arguments are not a valid question; the tool then reports the error. */
function questionOf(text: string): ReturnType<typeof toAskedPerson> | null {
  const parsed = parseArguments(text);
  try {
    return parsed.ok ? toAskedPerson(parsed.value) : null;
  } catch {
    return null;
  }
}

function refused(
  name: string,
  approval: 'blocked' | 'withdrawn',
  why: {
    readonly text?: string | null | undefined;
    readonly reason?: string;
    readonly unknownTool?: ((name: string) => string) | undefined;
  },
): CallRoute {
  const reason = why.reason === undefined ? {} : { reason: why.reason };
  const failure = {
    phase: 'approval',
    message: why.text ?? (why.unknownTool ?? notRegistered)(name),
    ...reason,
  } as const;
  return { type: 'refused', status: 'denied', approval, failure };
}

/** The route of a stored call whose tool does not exist any more. */
function unavailable(name: string): CallRoute {
  const failure = { phase: 'execution', message: notRegistered(name), code: 'tool_unavailable' } as const;
  return { type: 'refused', status: 'error', approval: 'withdrawn', failure };
}

/** Refuses a call with invalid arguments before a request is opened. Returns null if its arguments are valid. */
function problemOf(
  call: { readonly name: string; readonly arguments: string },
  parameters: JsonSchema = { type: 'object' },
): CallRoute | null {
  const valid = validateArguments({ name: call.name, parameters }, call.arguments);
  if (valid.ok) return null;
  const failure = { phase: 'validation', message: valid.message } as const;
  return { type: 'refused', status: 'error', approval: null, failure };
}
