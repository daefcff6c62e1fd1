import { readFileSync } from 'node:fs';

import { describe, expect, it } from '@jest/globals';

import { nodeTypes } from '../node-types.js';
import { errorCodes, IssueList, warningCodes } from './issue.js';

describe('the document of definitions', () => {
  const words = new Set(readFileSync('docs/workflow-definitions.md', 'utf8').match(/`[\w-]+`/g));

  it('names every code and every type', () => {
    const wanted = [...errorCodes, ...warningCodes, ...nodeTypes].map((word) => `\`${word}\``);
    expect(wanted.filter((word) => !words.has(word))).toEqual([]);
  });
});

describe('a list of issues', () => {
  it('stops at the limit, for errors and for warnings', () => {
    const issues = new IssueList();
    for (let index = 0; index < 600; index += 1) {
      issues.error('DANGLING_EDGE', { path: ['edges', index] }, 'x');
      issues.warning('DEAD_END_NODE', { path: ['nodes', index] }, 'x');
    }
    expect([issues.errors.length, issues.warnings.length]).toEqual([500, 500]);
  });

  it('points into the document', () => {
    const issues = new IssueList();
    issues.error('DATA_VALIDATION_ERROR', { path: ['nodes', 0, 'data', 'a/b~c'], nodeId: 'n' }, 'x');
    expect(issues.errors[0]).toMatchObject({ nodeId: 'n', path: '/nodes/0/data/a~1b~0c' });
  });
});
