import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  classifyError,
  classifyFromStatus,
  createExecutionError,
  formatOutput as formatThere,
  interpolateTemplate,
} from 'or3-workflow-core';

import { fillText, parseTemplate } from '../definition/template.js';
import { formatOutput } from '../nodes/output.node.js';
import { nextRetryMs } from '../nodes/retry-policy.js';
import { codeOfMessage, codeOfStatus } from '../nodes/to-node-error.js';

/** A text with these words in it, in any case and among others. */
function texts(...words: readonly string[]): fc.Arbitrary<string> {
  const word = fc.oneof(fc.constantFrom(...words), fc.string({ maxLength: 4 }));
  return fc.array(word, { maxLength: 5 }).map((parts) => parts.join(''));
}

describe('or3-workflow-core has the same rules', () => {
  it('for the code of a message', () => {
    const words = ['Rate Limit', '429', 'timeout', 'TIMED OUT', 'unauthorized', '401', '403', 'Network', 'fetch'];
    fc.assert(
      fc.property(texts(...words, 'ECONNREFUSED', 'validation', 'Invalid', ' '), (text) => {
        expect(codeOfMessage(text)).toBe(classifyError(new Error(text)));
      }),
      { numRuns: 500 },
    );
  });

  it('for the code of an error status', () => {
    const statuses = Array.from({ length: 200 }, (_, index) => 400 + index);
    expect(statuses.map(codeOfStatus)).toEqual(statuses.map(classifyFromStatus));
  });

  it('for whether and when a failure is retried', () => {
    const failures = fc.record({
      status: fc.constantFrom(400, 401, 408, 429, 500, 503),
      retryAfter: fc.option(fc.integer({ min: 1, max: 100 })),
      retries: fc.nat(8),
      baseDelay: fc.integer({ min: 1, max: 5_000 }),
      maxDelay: fc.integer({ min: 1, max: 60_000 }),
    });
    fc.assert(
      fc.property(failures, ({ status, retryAfter, retries, baseDelay, maxDelay }) => {
        const headers = retryAfter === null ? {} : { 'retry-after': String(retryAfter) };
        const cause = Object.assign(new Error('no'), { status, headers });
        const there = createExecutionError(cause, 'n', 'agent', undefined, retries + 1, 10, []);
        const code = codeOfStatus(status) ?? 'UNKNOWN';
        const rateLimit = retryAfter === null ? {} : { rateLimit: { retryAfterMs: retryAfter * 1_000 } };
        const retry = { maxRetries: 9, baseDelay, maxDelay, retryOn: [], skipOn: ['AUTH', 'VALIDATION'] };
        const failed = { error: { message: 'no', code, nodeId: 'n', ...rateLimit }, isFinal: false, retries };
        const delay = there.isRetryable() ? there.getSuggestedDelay(baseDelay, retries + 1, maxDelay) : null;
        expect(nextRetryMs({ mode: 'stop', retry }, failed)).toBe(delay);
      }),
    );
  });

  it('for templates with names that both define', () => {
    const outputs = { a: 'A {{b}}', b: '', input_1: '$& "' };
    const lookup = (name: string) => new Map(Object.entries(outputs)).get(name);
    fc.assert(
      fc.property(texts('{{a}}', '{{b}}', '{{input_1}}', '{{absent}}', '{', '}', '{{', '}}'), (template) => {
        expect(fillText(parseTemplate(template), lookup)).toBe(interpolateTemplate(template, outputs));
      }),
      { numRuns: 500 },
    );
  });

  it('for the formats of outputs', () => {
    const text = fc.oneof(fc.string(), fc.json());
    fc.assert(
      fc.property(text, fc.constantFrom('text', 'json', 'markdown'), (content, format) => {
        expect(formatOutput(content, format, null)).toBe(formatThere(content, format));
      }),
    );
  });
});
