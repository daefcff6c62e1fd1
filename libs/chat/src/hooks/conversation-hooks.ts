import { Injectable } from '@nestjs/common';
import type { HookedJob, HookEvent } from '@nightshift/plugin';

import type { ClaimedJob } from '#jobs';
import { defined, Redactor } from '#platform';
import {
  type Filtered,
  type FilteredResult,
  filterResult,
  hookResult,
  Hooks,
  type JsonObject,
  type ToolEffect,
  type ToolOutcome,
} from '#tools';

import type { LoopInput } from '../loop/loop-step.js';
import { HookedModel } from './hooked-model.js';

/** A call that the model has requested, as its hooks see it. */
interface RequestedStep {
  readonly callId: string;
  readonly tool: string;
  readonly arguments: JsonObject;
  readonly effect: ToolEffect;
  readonly approval: 'none' | 'required' | 'approved';
}

/** The hooks of one run of a conversation. */
export class StepHooks {
  private known: Promise<HookedJob> | undefined;

  constructor(
    private readonly services: ConversationHooks,
    private readonly run: { readonly job: ClaimedJob; readonly signal: AbortSignal },
    /** The name of the agent; null if there is none. */
    private readonly agent: string | null,
  ) {}

  /** Whether a hook of this kind may match; `tool`: for a call of this tool. */
  has(on: HookEvent, tool?: string): boolean {
    const { hooks } = this.services;
    return hooks.has(on) && hooks.has(on, { ...this.fields, ...defined({ tool }) });
  }

  /** The fields of every event of the conversation, except `userId`. */
  private get fields(): Omit<HookedJob, 'userId'> {
    const { workspaceId, jobId, threadId, principal, kind, workflowId: workflow, labels } = this.run.job;
    return { workspaceId, jobId, threadId, principal, kind, agent: this.agent, workflow, labels };
  }

  /** The model with its hooks. Null if there are no such hooks, or the conversation only makes a call. */
  modelOf({ model, modelName, limits }: Pick<LoopInput, 'model' | 'modelName' | 'limits'>): HookedModel | null {
    const { hooks } = this.services;
    if (modelName === '' || !(this.has('beforeModelCall') || this.has('afterModelCall'))) return null;
    return new HookedModel({ model, hooks, job: () => this.job(), maxOutputBytes: limits.maxOutputBytes });
  }

  /** `problemOf` returns what is wrong with changed arguments, or null. */
  async beforeCall(
    step: RequestedStep,
    problemOf: (args: JsonObject) => string | null,
  ): Promise<Filtered<'beforeToolCall'>> {
    return this.services.hooks.filter(
      'beforeToolCall',
      { ...(await this.job()), ...step },
      { signal: this.run.signal, problemOf: (event) => problemOf(event.arguments) },
    );
  }

  /** Runs the hooks on the end of a call. */
  async afterCall(
    call: { readonly callId: string; readonly tool: string; readonly arguments: JsonObject },
    outcome: ToolOutcome,
  ): Promise<FilteredResult> {
    const { hooks, redactor } = this.services;
    const redact = (text: string) => redactor.of(this.run.job.workspaceId).redact(text);
    return filterResult(hooks, { ...(await this.job()), ...call }, { outcome, redact });
  }

  /** The outcome of a call whose result a hook returned. */
  outcomeOf(callId: string, text: string): ToolOutcome {
    return hookResult(this.services.redactor.of(this.run.job.workspaceId).redact(text), callId);
  }

  private job(): Promise<HookedJob> {
    this.known ??= this.describe();
    return this.known;
  }

  private async describe(): Promise<HookedJob> {
    const { fields } = this;
    return { ...fields, userId: await this.services.hooks.userIdOf(fields.workspaceId, fields.principal) };
  }
}

/** Runs the hooks of plugins for conversations. */
@Injectable()
export class ConversationHooks {
  constructor(
    readonly hooks: Hooks,
    readonly redactor: Redactor,
  ) {}

  of(run: { readonly job: ClaimedJob; readonly signal: AbortSignal }, agent: string | null): StepHooks {
    return new StepHooks(this, run, agent);
  }
}
