import { describe, expect, it } from '@jest/globals';

import { runArguments } from './run-arguments.js';
import { toToolCallItem } from './to-tool-call-item.js';

const proposed = '{"to": "ada", "n": 1}';

describe('runArguments', () => {
  it('runs the proposed arguments when no approval was requested or nothing was edited', () => {
    const asProposed = { arguments: proposed, proposedArguments: null };
    expect(runArguments({ arguments: proposed })).toEqual(asProposed);
    expect(runArguments({ arguments: proposed, approvedArguments: null })).toEqual(asProposed);
    expect(runArguments({ arguments: proposed, approvedArguments: proposed })).toEqual(asProposed);
  });

  it('returns the edited arguments of a person, with the proposed ones beside them', () => {
    const edit = { arguments: proposed, approvedArguments: '{"n":1,"to":"bob"}' };
    expect(runArguments(edit)).toEqual({ arguments: '{"n":1,"to":"bob"}', proposedArguments: proposed });
    expect(runArguments({ ...edit, approvedArguments: '{}' })).toEqual({
      arguments: '{}',
      proposedArguments: proposed,
    });
    expect(runArguments({ ...edit, arguments: 'no JSON' }).proposedArguments).toBe('no JSON');
  });

  it('reports no edit when only the notation differs', () => {
    const approvedArguments = '{"n":1,"to":"ada"}';
    expect(runArguments({ arguments: proposed, approvedArguments })).toEqual({
      arguments: approvedArguments,
      proposedArguments: null,
    });
  });

  it('shows viewers the arguments that ran', () => {
    const call = { callId: 'c', name: 'send', arguments: proposed, status: 'running' } as const;
    const shown = { args: '{}', proposedArgs: proposed };
    expect(toToolCallItem(call)).toEqual({ id: 'c', name: 'send', status: 'loading', args: proposed });
    expect(toToolCallItem({ ...call, approvedArguments: '{}' })).toMatchObject(shown);
    expect(toToolCallItem({ ...call, state: { approvedArguments: '{}' } })).toMatchObject(shown);
  });
});
