import { PassThrough } from 'node:stream';

import { describe, expect, it } from '@jest/globals';

import { Terminal } from '../terminal/terminal.js';
import { type OpenRequest, printOpenRequests } from './open-request.js';

const request: OpenRequest = {
  id: 'r1',
  title: 'Run send',
  preview: 'to: "ann"\nsubject: "Hi"',
  reason: 'Rule 0 of the workspace (send) asks for approval.',
  argumentsHash: 'abc',
  mayDecide: true,
};

function shown(...requests: readonly OpenRequest[]): string {
  const out = new PassThrough();
  printOpenRequests(new Terminal(out), requests, { url: 'http://here:1', keyFile: '/data/demo-api-key' });
  return String(out.read() ?? '');
}

describe('printOpenRequests', () => {
  it('prints what is requested, why, and how to approve it', () => {
    expect(shown(request).split('\n').slice(1, 5)).toEqual([
      '  - Run send {to: "ann", subject: "Hi"} (request r1)',
      '    Rule 0 of the workspace (send) asks for approval.',
      `    curl -s http://here:1/api/interrupts/r1/decision -H "authorization: Bearer $(cat '/data/demo-api-key')" \\`,
      `      -H 'content-type: application/json' -d '{"decision":"approve","argumentsHash":"abc"}'`,
    ]);
  });

  it('prints when another person decides, and which requests are not approvals', () => {
    expect(shown({ ...request, mayDecide: false })).toContain('Another user must decide');
    expect(shown({ ...request, argumentsHash: null, preview: null, title: 'Which\u001b[2J size?' })).toMatch(
      /- Which\[2J size\? \(request r1\)[^]*docs\/interrupts\.md/,
    );
  });
});
