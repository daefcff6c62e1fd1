import type { Interrupt } from '@nightshift/client';

import { CliError, usageError } from '../cli.errors.js';
import { exitCodes } from '../exit-code.js';
import { enumWords, jsonOf, wholeNumber } from '../words.js';
import type { Answer } from './ask-answer.js';
import { askedOf } from './asked.js';
import { commandsFor } from './how-to-answer.js';
import { questionActions, takesAction } from './offered-actions.js';
import { kindWord } from './show-request.js';

/** An answer in flags. */
export interface AnswerFlags {
  readonly yes?: boolean;
  readonly deny?: boolean;
  readonly arguments?: string;
  readonly hash?: string;
  readonly grant?: string;
  readonly action?: string;
  readonly data?: string;
  readonly decision?: string;
  readonly result?: string;
  readonly reason?: string;
}

const outcomes = ['HAPPENED', 'DID_NOT_HAPPEN', 'REPEAT', 'REPORT'] as const;

/** The flags that each kind of answer accepts. Any other flag is rejected: ignoring it would send a different answer. */
const flagsOfAnswer = {
  approval: ['yes', 'arguments', 'hash', 'grant', 'reason'],
  denial: ['deny', 'reason'],
  question: ['yes', 'deny', 'action', 'data', 'reason'],
  event: ['action', 'data', 'reason'],
  outcome: ['decision', 'result', 'reason'],
  retry: ['decision', 'reason'],
} as const satisfies Record<string, readonly (keyof AnswerFlags)[]>;

const answerFlags = [...new Set(Object.values(flagsOfAnswer).flat())];

/** The answer that the flags give to a request; null when they give none. Throws when they do not go with its kind. */
export function answerFrom(flags: AnswerFlags, request: Interrupt): Answer | null {
  const answer = flagsOf(request, flags);
  const given = answerFlags.filter((name) => flags[name] !== undefined);
  const taken: readonly string[] = answer === null ? [] : flagsOfAnswer[answer];
  const wrong = given.find((name) => !taken.includes(name));
  if (wrong !== undefined) throw wrongFlag(wrong, request, answer);
  if (answer === null) return null;
  const answered = toAnswer(answer, flags, request);
  return flags.reason === undefined ? answered : { ...answered, reason: flags.reason };
}

function wrongFlag(wrong: string, request: Interrupt, answer: Given | null): CliError {
  if (answer !== null) {
    const takes = flagsOfAnswer[answer].map((name) => `--${name}`).join(', ');
    return usageError(
      `--${wrong} cannot be used with this decision (${kindWord(request.kind)}).`,
      `Allowed: ${takes}.`,
    );
  }
  const message = `--${wrong} is not allowed for this request (${kindWord(request.kind)}).`;
  if (commandsFor(request, String).length === 0) return usageError(message);
  return usageError(message, (command) => `Commands that decide it:\n${commandsFor(request, command).join('\n')}`);
}

type Given = keyof typeof flagsOfAnswer;

function flagsOf(request: Interrupt, flags: AnswerFlags): Given | null {
  const { kind } = request;
  const { yes, deny, arguments: edited, decision } = flags;
  const approves = yes === true || edited !== undefined;
  if (approves && deny === true) throw usageError('--yes and --deny cannot be combined.');
  if (kind === 'TOOL_APPROVAL' && approves) return 'approval';
  if (kind === 'TOOL_APPROVAL' && deny === true) return 'denial';
  if (kind === 'HUMAN_INPUT') return questionFlags(request, flags);
  if (kind === 'WAIT') return askedOf(request).event !== undefined && flags.data !== undefined ? 'event' : null;
  if (kind === 'PROVIDER_UNAVAILABLE' || kind === 'PLUGIN_MISSING') return decision === undefined ? null : 'retry';
  return kind === 'UNKNOWN_OUTCOME' && decision !== undefined ? 'outcome' : null;
}

/** Yes and no are actions, where the question takes them. */
function questionFlags(request: Interrupt, { yes, deny, arguments: edited, action, data }: AnswerFlags): Given | null {
  const isWord = yes === true || deny === true;
  if (isWord && action !== undefined) throw usageError('--yes and --deny cannot be combined with --action.');
  if (edited !== undefined) return null;
  if (isWord) return takesAction(askedOf(request), yes === true ? 'APPROVE' : 'REJECT') ? 'question' : null;
  return action !== undefined || data !== undefined ? 'question' : null;
}

function toAnswer(given: Given, flags: AnswerFlags, request: Interrupt): Answer {
  switch (given) {
    case 'approval':
      return toApproval(flags, request);
    case 'denial':
      return { decision: 'DENY' };
    case 'event':
    case 'question': {
      const word = flags.yes === true ? 'approve' : flags.deny === true ? 'reject' : (flags.action ?? 'submit');
      const [action = 'SUBMIT'] = enumWords(word, questionActions, '--action');
      if (action === 'MODIFY' && flags.data === undefined) throw nothingInPlace(request);
      return { action, ...(flags.data !== undefined && { data: dataOf(flags.data, request) }) };
    }
    case 'retry': {
      const [decision = 'RETRY'] = enumWords(flags.decision ?? '', ['RETRY', 'GIVE_UP'] as const, '--decision');
      return { decision };
    }
    case 'outcome': {
      const [decision = 'REPORT'] = enumWords(flags.decision ?? '', outcomes, '--decision');
      if (flags.result !== undefined && decision !== 'HAPPENED')
        throw usageError('--result requires --decision happened.', 'Remove --result, or use --decision happened.');
      return { decision, ...(flags.result !== undefined && { result: flags.result }) };
    }
  }
}

/** Without `--data` the server would pass on the text as it was shown, irreversibly: hardly what a `modify` meant. */
function nothingInPlace(request: Interrupt): CliError {
  const isApprovable = takesAction(askedOf(request), 'APPROVE');
  return usageError('--action modify requires --data: the text that replaces the shown text.', (command) => {
    const action = command(`approve ${request.id} --action`);
    const asIs = isApprovable ? `\nTo continue with the text as it is: ${action} approve` : '';
    return `Add it: ${action} modify --data '…'${asIs}`;
  });
}

/** Approves the arguments that the request has at the time of the command; with `--hash`, only if their hash is this one. */
function toApproval({ arguments: edited, hash, grant }: AnswerFlags, request: Interrupt): Answer {
  const { argumentsHash } = askedOf(request);
  if (hash !== undefined && hash !== argumentsHash) {
    throw new CliError({
      exitCode: exitCodes.failed,
      code: 'arguments_changed',
      message: 'The arguments have changed since this hash was shown.',
      remedy: (command) => `Show them again: ${command(`approve ${request.id}`)}`,
    });
  }
  return {
    decision: 'APPROVE',
    argumentsHash,
    ...(edited !== undefined && { arguments: jsonOf(edited, '--arguments') }),
    ...(grant !== undefined && { grantMinutes: wholeNumber(grant, '--grant') }),
  };
}

/** Text where the form is a text or there is none, else JSON. */
function dataOf(text: string, request: Interrupt): unknown {
  const { schema } = askedOf(request);
  const type = typeof schema === 'object' && schema !== null && 'type' in schema ? schema.type : 'string';
  return type === 'string' ? text : jsonOf(text, '--data');
}
