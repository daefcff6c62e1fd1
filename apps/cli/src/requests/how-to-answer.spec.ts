import { describe, expect, it } from '@jest/globals';
import type { Interrupt } from '@nightshift/client';

import { howToAnswer } from './how-to-answer.js';

// As far as it is looked at.
const lines = (kind: Interrupt['kind'], request: object, mayDecide = true) =>
  howToAnswer({ id: 'i', kind, request, mayDecide } as Interrupt, (words) => words).map((line) =>
    line.replace('approve i ', ''),
  );
const option = (id: string, action: string) => ({ id, label: id, action });

describe('how to answer', () => {
  it('an approval', () => {
    expect(lines('TOOL_APPROVAL', { approvable: true })).toEqual(['--yes', '--deny']);
    expect(lines('TOOL_APPROVAL', { approvable: false })).toEqual(['--deny']);
  });

  it('an approval of a workflow, by the answers it has', () => {
    const options = [option('approve', 'approve'), option('reject', 'reject')];
    expect(lines('HUMAN_INPUT', { mode: 'approval', options })).toEqual(['--action approve', '--action reject']);
    const own = [option('continue', 'approve'), option("it's late", 'custom')];
    expect(lines('HUMAN_INPUT', { options: own })).toEqual([
      '--action approve',
      `--action custom --data 'it'\\''s late'`,
    ]);
  });

  it('a question, by its form, and the output of a node', () => {
    expect(lines('HUMAN_INPUT', { actions: ['submit', 'skip'] })).toEqual(["--data '…'", '--action skip']);
    expect(lines('HUMAN_INPUT', { inputSchema: {} })).toEqual(["--data '…'", '--action skip', '--action reject']);
    expect(lines('HUMAN_INPUT', { context: { output: 'so' } })).toEqual([
      ...['--action approve', "--action modify --data '…'", '--action reject'],
    ]);
  });

  it('a form that has to be filled in, not by passing it over', () => {
    const form = { inputSchema: {}, dataRequired: true };
    expect(lines('HUMAN_INPUT', form)).toEqual(["--data '…'", '--action reject']);
    expect(lines('HUMAN_INPUT', { ...form, actions: ['submit', 'skip'] })).toEqual(["--data '…'"]);
  });

  it('a form, by an example of it', () => {
    const form = (properties: object) => lines('HUMAN_INPUT', { inputSchema: { type: 'object', properties } })[0];
    expect(form({ to: { type: 'string' }, copies: { type: 'integer' }, size: { enum: ['S', "M's"] } })).toBe(
      `--data '{"to": "…", "copies": 0, "size": "S|M'\\''s"}'`,
    );
    expect(form({ [`long ${'x'.repeat(300)}`]: { type: 'string' } })).toBe("--data '…'");
    expect(lines('HUMAN_INPUT', { inputSchema: { type: 'boolean' } })[0]).toBe("--data 'true'");
  });

  it('a wait, by what came with its event; nothing where it is for an instant', () => {
    expect(lines('WAIT', { key: 'wait', event: 'paid' })).toEqual(["--data '…'"]);
    expect(lines('WAIT', { key: 'wait' })).toEqual([]);
  });

  it('prints nothing for a request that others must answer', () => {
    expect(lines('TOOL_APPROVAL', { approvable: true }, false)).toEqual([]);
  });
});
