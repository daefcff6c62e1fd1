import { PassThrough } from 'node:stream';

import { describe, expect, it } from '@jest/globals';

import { readEnvironment } from '../environment.js';
import { createProgram } from '../program/cli.js';
import { completeWords } from './completion.command.js';

const program = createProgram(
  {
    words: [],
    version: '0.0.0',
    environment: readEnvironment({}),
    input: new PassThrough(),
    out: new PassThrough(),
    errors: new PassThrough(),
  },
  () => undefined,
);
const wordsAfter = (...words: string[]) => completeWords(program, words).map(({ word }) => word);

describe('completion', () => {
  it('completes commands and subcommands', () => {
    expect(wordsAfter('')).toEqual(expect.arrayContaining(['run', 'jobs', 'workflows', 'completion']));
    expect(wordsAfter('workf')).toEqual(['workflows']);
    expect(wordsAfter('--json', 'workflows', 'v')).toEqual(['validate']);
    expect(wordsAfter('notifications', '')).toEqual(['read']);
    expect(wordsAfter('complete')).toEqual([]);
  });

  it('completes the flags of a command and the global flags', () => {
    expect(wordsAfter('logs', '--f')).toEqual(['--follow']);
    expect(wordsAfter('serve', '--o')).toEqual(['--once']);
    expect(wordsAfter('notifications', '--u')).toEqual(['--unread', '--url']);
    expect(wordsAfter('notifications', 'read', '--a')).toEqual(['--all']);
    expect(wordsAfter('logs', '--j')).toEqual(['--json']);
  });

  it('completes the values of a flag that has a fixed set of them', () => {
    expect(wordsAfter('jobs', '--status', 'w')).toEqual(['waiting']);
    expect(wordsAfter('jobs', '-s', '')).toContain('queued');
    expect(wordsAfter('notifications', '--type', 'job')).toEqual(['job_completed', 'job_failed']);
    expect(wordsAfter('serve', '--role', '')).toEqual(['all', 'api', 'worker', 'tools']);
    expect(wordsAfter('run', '--model', '')).toEqual([]);
    expect(wordsAfter('completion', '')).toEqual(['bash', 'zsh', 'fish']);
  });

  it('offers nothing for prompts and ids', () => {
    expect(wordsAfter('run', 'hello', '')).toEqual([]);
    expect(wordsAfter('logs', '01a2', '')).toEqual([]);
  });
});
