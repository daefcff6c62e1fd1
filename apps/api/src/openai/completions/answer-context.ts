import { Injectable } from '@nestjs/common';

import type { Principal } from '#auth';
import { type Answer, AnswersRepository, type ToolEventFormat } from '#chat';
import { RefusedWaits } from '#jobs';
import { Config, Redactor } from '#platform';
import { ToolCatalog } from '#tools';

import type { CallSecrets } from '../answer/call-text.js';

/** The settings and stores that sending a response needs. */
@Injectable()
export class AnswerContext {
  constructor(
    private readonly config: Config,
    private readonly catalog: ToolCatalog,
    private readonly redactor: Redactor,
    private readonly answers: AnswersRepository,
    private readonly waits: RefusedWaits,
  ) {}

  get values(): Config['values'] {
    return this.config.values;
  }

  /** How to hide secrets of calls in this workspace. */
  async secretsOf(workspaceId: string): Promise<CallSecrets> {
    const tools = await this.catalog.of(workspaceId);
    const redactor = this.redactor.of(workspaceId);
    return {
      sensitiveFieldsOf: (name) => tools.find(name)?.sensitiveFields ?? [],
      redact: (text) => redactor.redact(text),
      redactCut: (text) => redactor.redactCut(text),
    };
  }

  /** Whether the job of a response must not wait for a person. If so, the job is cancelled. */
  async refusesToWait({ workspaceId, jobId }: Answer): Promise<boolean> {
    return this.waits.refuse({ workspaceId, jobId });
  }

  /** Whether the server has begun to run a `once` tool for the job. */
  async hasRunOnce(answer: Answer): Promise<boolean> {
    return this.answers.hasRunOnce(answer);
  }

  /** The tool event format of the agent that the job chose. */
  async formatOfChosen(answer: Answer): Promise<ToolEventFormat> {
    return (await this.answers.formatOfChosen(answer)) ?? 'inline';
  }

  /** The agent that answers `auto`, if the job has chosen one. */
  async agentOf(principal: Principal, answerId: string): Promise<string | null> {
    return (await this.answers.find(principal, answerId))?.agent ?? null;
  }
}
