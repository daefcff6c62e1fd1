import type { Interrupt } from '@nightshift/client';

import { CliError, usageError } from '../cli.errors.js';
import { enumWords, jsonOf, wholeNumber } from '../commands/words.js';
import { exitCodes } from '../exit-code.js';
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

/** The answer that the flags give to a request; null when they give none. Throws when they do not go with its kind. */
export function answerFrom(flags: AnswerFlags, request: Interrupt): Answer | null {
  const answer = flagsOf(request, flags);
  if (answer === null) {
    const given = ['yes', 'deny', 'arguments', 'action', 'data', 'decision', 'result'] as const;
    const wrong = given.find((name) => flags[name] !== undefined);
    if (wrong === undefined) return null;
    const kind = kindWord(request.kind);
    const commands = commandsFor(request);
    const remedy = commands.length === 0 ? undefined : `What answers it:\n${commands.join('\n')}`;
    throw usageError(`--${wrong} does not answer this request (${kind}).`, remedy);
  }
  const answered = toAnswer(answer, flags, request);
  return flags.reason === undefined ? answered : { ...answered, reason: flags.reason };
}

type Given = 'approval' | 'denial' | 'question' | 'outcome';

function flagsOf(request: Interrupt, flags: AnswerFlags): Given | null {
  const { kind } = request;
  const { yes, deny, arguments: edited, decision } = flags;
  const approves = yes === true || edited !== undefined;
  if (approves && deny === true) throw usageError('--yes and --deny do not go together.');
  if (kind === 'TOOL_APPROVAL' && approves) return 'approval';
  if (kind === 'TOOL_APPROVAL' && deny === true) return 'denial';
  if (kind === 'HUMAN_INPUT') return questionFlags(request, flags);
  if (kind === 'WAIT') return askedOf(request).event !== undefined && flags.data !== undefined ? 'question' : null;
  return kind === 'UNKNOWN_OUTCOME' && decision !== undefined ? 'outcome' : null;
}

/** Yes and no are actions, where the question takes them. */
function questionFlags(request: Interrupt, { yes, deny, arguments: edited, action, data }: AnswerFlags): Given | null {
  const isWord = yes === true || deny === true;
  if (isWord && action !== undefined) throw usageError('--yes and --deny do not go together with --action.');
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
    case 'question': {
      const word = flags.yes === true ? 'approve' : flags.deny === true ? 'reject' : (flags.action ?? 'submit');
      const [action = 'SUBMIT'] = enumWords(word, questionActions, '--action');
      if (action === 'MODIFY' && flags.data === undefined) throw nothingInPlace(request);
      return { action, ...(flags.data !== undefined && { data: dataOf(flags.data, request) }) };
    }
    case 'outcome': {
      const [decision = 'REPORT'] = enumWords(flags.decision ?? '', outcomes, '--decision');
      return { decision, ...(flags.result !== undefined && { result: flags.result }) };
    }
  }
}

/** The server lets what was shown go on, as the format has it, and that cannot be taken back: hardly what was meant. */
function nothingInPlace(request: Interrupt): CliError {
  const command = `nightshift approve ${request.id} --action`;
  const asIs = takesAction(askedOf(request), 'APPROVE') ? `\nTo let it go on as it is: ${command} approve` : '';
  return usageError(
    '--action modify needs --data: what goes on in place of what was shown.',
    `Say what: ${command} modify --data '…'${asIs}`,
  );
}

/** Approves exactly what is there now; with --hash, only if that is what was seen. */
function toApproval({ arguments: edited, hash, grant }: AnswerFlags, request: Interrupt): Answer {
  const { argumentsHash } = askedOf(request);
  if (hash !== undefined && hash !== argumentsHash) {
    throw new CliError({
      exitCode: exitCodes.failed,
      code: 'arguments_changed',
      message: 'The arguments are not those with this hash any more.',
      remedy: `Look again: nightshift approve ${request.id}`,
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
