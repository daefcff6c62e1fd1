import { describe, expect, it } from '@jest/globals';
import type { Interrupt } from '@nightshift/client';

import { CliError } from '../cli.errors.js';
import { commandLine } from '../command-line.js';
import { type AnswerFlags, answerFrom } from './answer-from.js';

// As far as it is looked at.
const request = (kind: Interrupt['kind'], more: object = {}) => ({ id: 'i', kind, request: more }) as Interrupt;
const approval = request('TOOL_APPROVAL', { argumentsHash: 'h', approvable: true });
const command = commandLine('nightshift', {});
const refusalOf = (flags: AnswerFlags, asked: Interrupt) => {
  try {
    answerFrom(flags, asked);
  } catch (error) {
    return error instanceof CliError ? error : undefined;
  }
  return undefined;
};
const usage: unknown = expect.objectContaining({ exitCode: 2 });

describe('answerFrom', () => {
  it('approves the shown arguments, or edited ones', () => {
    expect(answerFrom({ yes: true, grant: '10' }, approval)).toEqual({
      ...{ decision: 'APPROVE', argumentsHash: 'h', grantMinutes: 10 },
    });
    expect(answerFrom({ arguments: '{"a":1}', reason: 'so' }, approval)).toEqual({
      ...{ decision: 'APPROVE', argumentsHash: 'h', arguments: { a: 1 }, reason: 'so' },
    });
    expect(answerFrom({ deny: true }, approval)).toEqual({ decision: 'DENY' });
  });

  it('refuses an approval when --hash differs from the hash of the request', () => {
    expect(answerFrom({ yes: true, hash: 'h' }, approval)).toMatchObject({ argumentsHash: 'h' });
    expect(() => answerFrom({ yes: true, hash: 'other' }, approval)).toThrow(
      expect.objectContaining({ code: 'arguments_changed', exitCode: 1 }),
    );
  });

  it("returns the event's data for a wait, and nothing for a wait until an instant", () => {
    expect(answerFrom({ data: '{"paid":3}' }, request('WAIT', { event: 'paid' }))).toEqual({
      ...{ action: 'SUBMIT', data: '{"paid":3}' },
    });
    expect(() => answerFrom({ data: 'x' }, request('WAIT'))).toThrow(usage);
    expect(() => answerFrom({ yes: true }, request('WAIT', { event: 'paid' }))).toThrow(usage);
  });

  it('reads --data as text or JSON, as the schema of the question requires', () => {
    expect(answerFrom({ data: '42' }, request('HUMAN_INPUT', { inputSchema: { type: 'string' } }))).toEqual({
      ...{ action: 'SUBMIT', data: '42' },
    });
    expect(answerFrom({ data: '{"n":42}' }, request('HUMAN_INPUT', { inputSchema: { type: 'object' } }))).toEqual({
      ...{ action: 'SUBMIT', data: { n: 42 } },
    });
    expect(answerFrom({ action: 'skip' }, request('HUMAN_INPUT'))).toEqual({ action: 'SKIP' });
  });

  it('approves with --yes and rejects with --deny a question that offers both', () => {
    const options = [
      { id: 'continue', label: 'Continue', action: 'approve' },
      { id: 'stop', label: 'Stop', action: 'reject' },
    ];
    for (const question of [request('HUMAN_INPUT'), request('HUMAN_INPUT', { options })]) {
      expect(answerFrom({ yes: true }, question)).toEqual({ action: 'APPROVE' });
      expect(answerFrom({ deny: true, reason: 'no' }, question)).toEqual({ action: 'REJECT', reason: 'no' });
    }
    expect(() => answerFrom({ yes: true, action: 'skip' }, request('HUMAN_INPUT'))).toThrow(usage);
  });

  it('refuses --action modify without --data', () => {
    const review = request('HUMAN_INPUT', { mode: 'review', context: { output: 'so' } });
    const refused = refusalOf({ action: 'modify' }, review);
    expect(refused).toMatchObject({ exitCode: 2, message: expect.stringContaining('--data') });
    expect(refused?.remedyWith(command)).toMatch(
      /nightshift approve i --action modify --data '…'\n.*nightshift approve i --action approve$/,
    );
    expect(answerFrom({ action: 'modify', data: '' }, review)).toEqual({ action: 'MODIFY', data: '' });
  });

  it('refuses flags of another kind of request, and prints the valid ones', () => {
    const form = request('HUMAN_INPUT', { inputSchema: { type: 'string' }, actions: ['submit', 'skip'] });
    const refused = refusalOf({ yes: true }, form);
    expect(refused?.exitCode).toBe(2);
    expect(refused?.remedyWith(command)).toContain("approve i --data '…'\nnightshift approve i --action skip");
    expect(refusalOf({ action: 'approve' }, approval)?.remedyWith(command)).toContain('nightshift approve i --yes');
  });

  it('returns none without flags, and rejects flags of another kind', () => {
    expect(answerFrom({}, approval)).toBeNull();
    expect(() => answerFrom({ data: 'x' }, approval)).toThrow(usage);
    expect(() => answerFrom({ yes: true }, request('UNKNOWN_OUTCOME'))).toThrow(usage);
    expect(() => answerFrom({ yes: true, deny: true }, approval)).toThrow(usage);
    expect(() => answerFrom({ decision: 'perhaps' }, request('UNKNOWN_OUTCOME'))).toThrow(usage);
  });

  it.each<[string, AnswerFlags, Interrupt]>([
    ['--data', { decision: 'happened', data: 'sent' }, request('UNKNOWN_OUTCOME')],
    ['--result', { decision: 'repeat', result: 'x' }, request('UNKNOWN_OUTCOME')],
    ['--grant', { deny: true, grant: '5' }, approval],
    ['--grant', { grant: '5' }, approval],
    ['--reason', { reason: 'why' }, approval],
    ['--data', { yes: true, data: 'x' }, approval],
    ['--result', { data: 'x', result: 'x' }, request('HUMAN_INPUT')],
    ['--hash', { data: 'x', hash: 'x' }, request('HUMAN_INPUT')],
  ])('rejects %s for a kind of answer that does not allow it: %j', (flag, flags, asked) => {
    expect(() => answerFrom(flags, asked)).toThrow(
      expect.objectContaining({ exitCode: 2, message: expect.stringContaining(flag) }),
    );
  });
});
