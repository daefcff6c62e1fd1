import { Injectable } from '@nestjs/common';

import type { Principal } from '#auth';
import { AnswersRepository } from '#chat';
import { Config, Redactor } from '#platform';
import { ToolCatalog } from '#tools';

import type { CallSecrets } from '../answer/call-text.js';

/** What telling an answer goes by. */
@Injectable()
export class AnswerContext {
  constructor(
    private readonly config: Config,
    private readonly catalog: ToolCatalog,
    private readonly redactor: Redactor,
    private readonly answers: AnswersRepository,
  ) {}

  get values(): Config['values'] {
    return this.config.values;
  }

  /** What of calls must not be shown in this workspace. */
  async secretsOf(workspaceId: string): Promise<CallSecrets> {
    const tools = await this.catalog.of(workspaceId);
    const redactor = this.redactor.of(workspaceId);
    return {
      sensitiveFieldsOf: (name) => tools.find(name)?.sensitiveFields ?? [],
      redact: (text) => redactor.redact(text),
    };
  }

  /** The agent that `auto` has become by now. */
  async agentOf(principal: Principal, answerId: string): Promise<string | null> {
    return (await this.answers.find(principal, answerId))?.agent ?? null;
  }
}
