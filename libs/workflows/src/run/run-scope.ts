import type { JobConversations } from '#chat';
import type { JobRun } from '#jobs';

import type { NodeQuestions } from './node-questions.js';
import type { NodeServices } from './node-services.js';
import type { RunFacts } from './run-facts.js';

/** Everything one lease of a workflow job works with. */
export interface RunScope {
  readonly run: JobRun;
  readonly conversations: JobConversations;
  readonly questions: NodeQuestions;
  readonly services: NodeServices;
  readonly facts: RunFacts;
  /** How much a model can read, in tokens. */
  readonly contextTokens: number;
}
