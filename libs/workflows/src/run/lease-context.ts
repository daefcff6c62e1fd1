import type { JobConversations } from '#chat';
import type { JobRun } from '#jobs';

import type { NodeQuestions } from './node-questions.js';
import type { NodeServices } from './node-services.js';
import type { RunFacts } from './run-facts.js';

/** The dependencies and the state of one lease of a workflow job. */
export interface LeaseContext {
  readonly run: JobRun;
  readonly conversations: JobConversations;
  readonly questions: NodeQuestions;
  readonly services: NodeServices;
  readonly facts: RunFacts;
  /** The context window of the model, in tokens. */
  readonly contextTokens: number;
}
