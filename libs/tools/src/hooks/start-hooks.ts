import { Injectable, type OnModuleInit } from '@nestjs/common';
import type { JsonObject } from '@nightshift/plugin';

import { jobLabels, StartFilters, type StartRequest } from '#jobs';

import { isMessageList } from './hook-outcome.js';
import { hookDenied } from './hooks.errors.js';
import { Hooks } from './hooks.js';

/** Members of an input that a hook may change: the text of the user. The other members were already checked against the user's rights. */
const changeable: ReadonlySet<string> = new Set(['messages', 'prompt', 'history']);
const MAX_TITLE_LENGTH = 80;

/** Runs the hooks of `beforeJobStart` for every start of a job. */
@Injectable()
export class StartHooks implements OnModuleInit {
  constructor(
    private readonly hooks: Hooks,
    private readonly filters: StartFilters,
  ) {}

  onModuleInit(): void {
    if (this.hooks.has('beforeJobStart')) this.filters.register((request) => this.filter(request));
  }

  /** Throws `hook_denied` and `hook_failed`. */
  private async filter(request: StartRequest): Promise<StartRequest> {
    const { workspaceId, jobId, kind, principal, thread, workflow, labels = {} } = request;
    const input: JsonObject = { ...request.input };
    const { event, end, applied } = await this.hooks.filter(
      'beforeJobStart',
      {
        ...{ workspaceId, jobId, kind, principal, input, labels },
        threadId: thread?.ref ?? null,
        userId: await this.hooks.userIdOf(workspaceId, principal),
        agent: agentIn(input),
        workflow: workflow?.id ?? null,
      },
      { problemOf: (changed) => problemOfInput(input, changed.input) ?? problemOfLabels(changed.labels) },
    );
    if (end !== null) throw hookDenied(end);
    if (applied.length === 0) return request;
    const title = thread?.createTitle === undefined ? {} : { createTitle: titleOf(event.input) };
    return {
      ...request,
      input: event.input,
      labels: event.labels,
      thread: thread === null ? null : { ...thread, ...title },
      appliedHooks: applied,
    };
  }
}

/** Each hook returned valid labels, but together they may be too many. */
function problemOfLabels(labels: object): string | null {
  return jobLabels.safeParse(labels).success ? null : 'the job would have too many labels';
}

function problemOfInput(before: JsonObject, after: JsonObject): string | null {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  for (const name of names) {
    const [old, now] = [before[name], after[name]];
    if (JSON.stringify(old) === JSON.stringify(now)) continue;
    if (!changeable.has(name) || old === undefined)
      return `it changed input.${name}: only ${[...changeable].join(', ')} of an input may be changed`;
    const isValid = typeof old === 'string' ? typeof now === 'string' : isMessageList(now);
    if (!isValid) return `input.${name} is invalid`;
  }
  return null;
}

function agentIn({ agent }: JsonObject): string | null {
  return typeof agent === 'object' && agent !== null && 'name' in agent && typeof agent.name === 'string'
    ? agent.name
    : null;
}

/** The first line of the user's text. */
function titleOf({ messages, prompt }: JsonObject): string {
  const list: readonly unknown[] = Array.isArray(messages) ? messages : [{ role: 'user', content: prompt }];
  for (const message of list)
    if (typeof message === 'object' && message !== null && 'role' in message && message.role === 'user') {
      const content = 'content' in message ? message.content : '';
      const line = typeof content === 'string' ? (content.trim().split('\n', 1)[0] ?? '') : '';
      return Array.from(line).slice(0, MAX_TITLE_LENGTH).join('');
    }
  return '';
}
