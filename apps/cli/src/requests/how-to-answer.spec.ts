import { describe, expect, it } from '@jest/globals';
import type { Interrupt } from '@nightshift/client';

import { howToAnswer } from './how-to-answer.js';

// As far as it is looked at.
const lines = (kind: Interrupt['kind'], request: object, mayDecide = true) =>
  howToAnswer({ id: 'i', kind, request, mayDecide } as Interrupt, (words) => words).map((line) =>
    line.replace('approve i ', ''),
  );
const option = (id: string, action: string) => ({ id, label: id, action });

describe('howToAnswer', () => {
  it('returns commands that approve or deny a tool call', () => {
    expect(lines('TOOL_APPROVAL', { approvable: true })).toEqual(['--yes', '--deny']);
    expect(lines('TOOL_APPROVAL', { approvable: false })).toEqual(['--deny']);
  });

  it('returns a command for each option of a workflow approval', () => {
    const options = [option('approve', 'approve'), option('reject', 'reject')];
    expect(lines('HUMAN_INPUT', { mode: 'approval', options })).toEqual(['--action approve', '--action reject']);
    const own = [option('continue', 'approve'), option("it's late", 'custom')];
    expect(lines('HUMAN_INPUT', { options: own })).toEqual([
      '--action approve',
      `--action custom --data 'it'\\''s late'`,
    ]);
  });

  it('returns the commands for a question, a form and the review of an output', () => {
    expect(lines('HUMAN_INPUT', { actions: ['submit', 'skip'] })).toEqual(["--data '…'", '--action skip']);
    expect(lines('HUMAN_INPUT', { inputSchema: {} })).toEqual(["--data '…'", '--action skip', '--action reject']);
    expect(lines('HUMAN_INPUT', { context: { output: 'so' } })).toEqual([
      ...['--action approve', "--action modify --data '…'", '--action reject'],
    ]);
  });

  it('offers no skip for a required form', () => {
    const form = { inputSchema: {}, dataRequired: true };
    expect(lines('HUMAN_INPUT', form)).toEqual(["--data '…'", '--action reject']);
    expect(lines('HUMAN_INPUT', { ...form, actions: ['submit', 'skip'] })).toEqual(["--data '…'"]);
  });

  it('shows example data for a form', () => {
    const form = (properties: object) => lines('HUMAN_INPUT', { inputSchema: { type: 'object', properties } })[0];
    expect(form({ to: { type: 'string' }, copies: { type: 'integer' }, size: { enum: ['S', "M's"] } })).toBe(
      `--data '{"to": "…", "copies": 0, "size": "S|M'\\''s"}'`,
    );
    expect(form({ [`long ${'x'.repeat(300)}`]: { type: 'string' } })).toBe("--data '…'");
    expect(lines('HUMAN_INPUT', { inputSchema: { type: 'boolean' } })[0]).toBe("--data 'true'");
  });

  it('returns a command with data for an awaited event, and no command for a wait until an instant', () => {
    expect(lines('WAIT', { key: 'wait', event: 'paid' })).toEqual(["--data '…'"]);
    expect(lines('WAIT', { key: 'wait' })).toEqual([]);
  });

  it('returns no command for a request that another person must answer', () => {
    expect(lines('TOOL_APPROVAL', { approvable: true }, false)).toEqual([]);
  });
});
