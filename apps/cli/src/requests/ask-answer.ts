import type { Interrupt } from '@nightshift/client';
import type { ResolveInterruptInput } from '@nightshift/client/operations';

import { askForm } from './ask-form.js';
import { askedOf } from './asked.js';
import { editJson } from './edit-json.js';
import { offeredActions, type QuestionAction } from './offered-actions.js';
import { type Choice, LEFT, type Prompts } from './prompts.js';

/** An answer without the id of its request. */
export type Answer = Omit<ResolveInterruptInput, 'id'>;
/** `later`: not now. `LEFT`: the person wants to get out. */
export type Asking = Answer | 'later' | typeof LEFT;

/** What the person at the terminal can use. */
export interface AskTools {
  readonly prompts: Prompts;
  readonly editor: string | undefined;
  /** The arguments of the call as they can be shown, for an edit. */
  readonly argumentsOf: (request: Interrupt) => Promise<unknown>;
}

const LATER: Choice<'later'> = { value: 'later', label: 'Later', hint: 'the job keeps waiting' };

/** Asks the person for the answer to a request that was shown. */
export function askAnswer(request: Interrupt, tools: AskTools): Promise<Asking> {
  switch (request.kind) {
    case 'TOOL_APPROVAL':
      return askApproval(request, tools);
    case 'HUMAN_INPUT':
      return askQuestion(request, tools);
    case 'UNKNOWN_OUTCOME':
      return askOutcome(tools);
    case 'PROVIDER_UNAVAILABLE':
      return askRetry(tools, 'The job retries the provider automatically. Decide now?');
    case 'PLUGIN_MISSING':
      return askRetry(tools, 'The job looks for the plugin again automatically. Decide now?');
    case 'CLIENT_TOOL':
    case 'WAIT':
      return Promise.resolve('later');
  }
}

async function askApproval(request: Interrupt, tools: AskTools): Promise<Asking> {
  const { argumentsHash, isApprovable, allowsEdit } = askedOf(request);
  const approvals: readonly Choice<'approve' | 'edit'>[] = [
    { value: 'approve', label: 'Approve', hint: 'run it as shown' },
    ...(allowsEdit ? [{ value: 'edit', label: 'Edit', hint: 'change the arguments, then run it' } as const] : []),
  ];
  const deny: Choice<'deny'> = { value: 'deny', label: 'Deny', hint: 'the model reads that it was denied' };
  const chosen = await tools.prompts.choose(isApprovable ? 'Run it?' : 'It cannot be approved. Deny it?', [
    ...(isApprovable ? approvals : []),
    deny,
    LATER,
  ]);
  switch (chosen) {
    case LEFT:
    case 'later':
      return chosen;
    case 'approve':
      return { decision: 'APPROVE', argumentsHash };
    case 'deny':
      return askReason(tools.prompts, { decision: 'DENY' });
    case 'edit': {
      const value = await tools.argumentsOf(request);
      const edited = await editJson(tools.prompts, { title: 'Arguments', value, editor: tools.editor });
      return edited === LEFT
        ? askApproval(request, tools)
        : { decision: 'APPROVE', argumentsHash, arguments: edited.value };
    }
  }
}

async function askReason(prompts: Prompts, answer: Answer): Promise<Asking> {
  const reason = await prompts.line('Why? (may be left empty)', {
    check: (text) => (text.length > 500 ? 'At most 500 characters.' : undefined),
  });
  if (reason === LEFT) return LEFT;
  return reason === '' ? answer : { ...answer, reason };
}

const actionWords = {
  APPROVE: 'Continue',
  SUBMIT: 'Answer',
  MODIFY: 'Continue with other data',
  CUSTOM: 'Enter another answer',
  SKIP: 'Skip',
  REJECT: 'Reject',
} as const satisfies Record<QuestionAction, string>;

async function askQuestion(request: Interrupt, tools: AskTools): Promise<Asking> {
  const asked = askedOf(request);
  const own = asked.options.map(({ label }, at) => ({ value: `option ${at}`, label }));
  const actions = offeredActions(asked).map((action) => ({ value: action, label: actionWords[action] }));
  const chosen = await tools.prompts.choose('Your answer?', [...own, ...actions, LATER]);
  if (chosen === LEFT || chosen === 'later') return chosen;
  const option = asked.options[Number(/^option (\d+)$/.exec(chosen)?.[1] ?? -1)];
  if (option !== undefined) {
    return option.action === 'CUSTOM' ? { action: 'CUSTOM', data: option.id } : { action: option.action };
  }
  const action = chosen as QuestionAction; // a value that is not an option is one of the actions
  if (action === 'REJECT') return askReason(tools.prompts, { action });
  if (action === 'APPROVE' || action === 'SKIP') return { action };
  const form = action === 'SUBMIT' ? asked.schema : { type: 'string' };
  const filled = await askForm(tools.prompts, { title: 'Answer', schema: form, editor: tools.editor });
  return filled === LEFT ? LEFT : { action, data: filled.value };
}

async function askRetry({ prompts }: AskTools, question: string): Promise<Asking> {
  const chosen = await prompts.choose(question, [
    { value: 'RETRY', label: 'Retry now' },
    { value: 'GIVE_UP', label: 'Give up', hint: 'the job or its node fails' },
    LATER,
  ]);
  return chosen === LEFT || chosen === 'later' ? chosen : { decision: chosen };
}

async function askOutcome({ prompts, editor }: AskTools): Promise<Asking> {
  const chosen = await prompts.choose('Did it happen?', [
    { value: 'HAPPENED', label: 'Yes', hint: 'you enter its result' },
    { value: 'DID_NOT_HAPPEN', label: 'No', hint: 'the job continues without it' },
    { value: 'REPEAT', label: 'Repeat it', hint: 'with the same idempotency key' },
    { value: 'REPORT', label: 'Unknown', hint: 'the model reads that the outcome is unknown' },
    LATER,
  ]);
  if (chosen === LEFT || chosen === 'later') return chosen;
  if (chosen !== 'HAPPENED') return { decision: chosen };
  const result = await askForm(prompts, { title: 'What was its result?', schema: { type: 'string' }, editor });
  return result === LEFT ? LEFT : { decision: chosen, result: result.value };
}
