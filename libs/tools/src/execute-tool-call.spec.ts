import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';

import { ManualClock, Redactor, Secret } from '#platform';

import { defineTool } from './define-tool.js';
import { executeToolCall, type ToolOutcome, type ToolRun } from './execute-tool-call.js';
import type { Tool, ToolContext } from './tool.js';
import { ToolArgumentsError } from './tools.errors.js';

interface Options {
  readonly args?: string;
  readonly effect?: Tool['effect'];
  readonly signal?: AbortSignal;
  readonly clock?: ManualClock;
  readonly redactor?: ToolRun['redactor'];
}

const input = z.object({ a: z.string(), n: z.number().default(7) });

function run(
  execute: (args: z.infer<typeof input>, context: ToolContext) => unknown,
  options: Options = {},
): Promise<ToolOutcome> {
  const clock = options.clock ?? new ManualClock();
  const tool = defineTool({ name: 'x', description: 'd', input, effect: options.effect ?? 'once', execute });
  const context: ToolContext = {
    workspaceId: 'w',
    jobId: 'j',
    threadId: null,
    principal: 'system',
    callId: 'call_1',
    idempotencyKey: 'j:1:1',
    epoch: 3,
    signal: options.signal ?? new AbortController().signal,
    now: () => clock.now(),
    progress: () => undefined,
  };
  const redactor = options.redactor === undefined ? {} : { redactor: options.redactor };
  return executeToolCall({
    tool,
    arguments: options.args ?? '{"a":"1"}',
    context,
    defaultTimeoutMs: 10_000,
    clock,
    ...redactor,
  });
}

const forever = (): Promise<never> => Promise.withResolvers<never>().promise;

describe('executeToolCall', () => {
  it('returns text unchanged and any other value as JSON', async () => {
    const results = [];
    for (const value of ['text', { a: [1] }, 5, null, undefined, true])
      results.push((await run(() => value)).modelText);
    expect(results).toEqual(['text', '{"a":[1]}', '5', 'null', '', 'true']);
  });

  it('passes parsed arguments and the context to the handler', async () => {
    const outcome = await run((args, context) => [args, context.idempotencyKey, context.epoch]);
    expect(outcome).toMatchObject({ status: 'completed', result: '[{"a":"1","n":7},"j:1:1",3]' });
  });

  it('measures the duration with the monotonic clock', async () => {
    const clock = new ManualClock();
    const outcome = await run(
      () => {
        clock.advance(25);
        return '';
      },
      { clock },
    );
    expect(outcome.durationMs).toBe(25);
  });

  it('does not call the handler with wrong arguments', async () => {
    let calls = 0;
    const outcome = await run(() => calls++, { args: '{}' });
    expect(outcome).toMatchObject({
      status: 'error',
      failure: { phase: 'validation', message: 'Missing required parameters: a' },
      modelText: 'Missing required parameters: a',
    });
    expect(calls).toBe(0);
  });

  it('reports a thrown Error, a rejection and a thrown value that is not an Error', async () => {
    const boom = await run(() => {
      throw new Error('boom');
    });
    expect(boom).toMatchObject({
      status: 'error',
      failure: { phase: 'execution', message: 'Error executing tool "x": boom' },
    });
    const rejected = await run(() => Promise.reject(new Error('later')));
    expect(rejected.modelText).toBe('Error executing tool "x": later');
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- what careless handlers do
    const strange = await run(() => Promise.reject({ toString: 1 }));
    expect(strange.modelText).toBe('Error executing tool "x": it failed without a reason');
  });

  it('reports ToolArgumentsError as a validation failure', async () => {
    const outcome = await run(() => {
      throw new ToolArgumentsError('no such city');
    });
    expect(outcome).toMatchObject({
      failure: { phase: 'validation', message: 'Error executing tool "x": no such city' },
    });
  });

  it('fails a call whose result cannot be serialized', async () => {
    const circular: Record<string, unknown> = {};
    circular['self'] = circular;
    expect(await run(() => circular)).toMatchObject({ status: 'error', failure: { phase: 'execution' } });
  });

  it('times out, aborts the handler and drops its late result', async () => {
    const clock = new ManualClock();
    const late = Promise.withResolvers<string>();
    const begun = Promise.withResolvers<undefined>();
    let reason: unknown;
    const pending = run(
      (_, { signal }) => {
        signal.addEventListener('abort', () => {
          reason = signal.reason;
        });
        begun.resolve(undefined);
        return late.promise;
      },
      { clock },
    );
    await begun.promise;
    clock.advance(10_000);
    const outcome = await pending;
    expect(outcome).toEqual({
      status: 'timed_out',
      failure: { phase: 'timeout', message: 'Handler timeout after 10000ms' },
      modelText: 'Handler timeout after 10000ms',
      durationMs: 10_000,
    });
    expect(reason).toBeInstanceOf(DOMException);
    late.reject(new Error('too late'));
    await expect(late.promise).rejects.toThrow('too late');
    expect(clock.pending).toBe(0);
  });

  it('ends as timed out when the handler throws after its abort', async () => {
    const clock = new ManualClock();
    const pending = run(
      (_, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            reject(new Error('aborted'));
          });
        }),
      { clock },
    );
    clock.advance(10_000);
    expect((await pending).status).toBe('timed_out');
  });

  it.each([
    ['once', 'interrupted', 'The tool was started but its outcome is unknown. It was not repeated.'],
    ['idempotent', 'cancelled', 'Tool execution cancelled'],
    ['pure', 'cancelled', 'Tool execution cancelled'],
  ] as const)('ends a stopped `%s` call as %s', async (effect, status, text) => {
    const controller = new AbortController();
    const clock = new ManualClock();
    const begun = Promise.withResolvers<undefined>();
    let seen = false;
    const pending = run(
      (_, { signal }) => {
        signal.addEventListener('abort', () => (seen = true));
        begun.resolve(undefined);
        return forever();
      },
      { effect, signal: controller.signal, clock },
    );
    await begun.promise;
    controller.abort(new Error('stop'));
    expect(await pending).toMatchObject({ status, modelText: text });
    expect([seen, clock.pending]).toEqual([true, 0]);
  });

  it('does not run the handler of a call that was stopped while its arguments were parsed', async () => {
    const controller = new AbortController();
    let calls = 0;
    const pending = run(() => calls++, { signal: controller.signal, effect: 'pure' });
    controller.abort();
    expect([(await pending).status, calls]).toEqual(['cancelled', 0]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(calls).toBe(0);
  });

  it('does not run the handler once the job is stopped', async () => {
    let calls = 0;
    const outcome = await run(() => calls++, { signal: AbortSignal.abort(), effect: 'once' });
    expect([outcome.status, calls]).toEqual(['cancelled', 0]);
  });

  it('redacts results and reasons', async () => {
    const redactor = new Redactor([new Secret('sk-secret')]).of('w');
    expect((await run(() => 'key sk-secret', { redactor })).modelText).toBe('key [redacted]');
    const failed = await run(
      () => {
        throw new Error('bad sk-secret');
      },
      { redactor },
    );
    expect(failed.modelText).toBe('Error executing tool "x": bad [redacted]');
  });

  it('keeps the result of a handler that returned before its call was aborted, although its redaction takes longer', async () => {
    const job = new AbortController();
    const redactor = {
      redact: (text: string) => text,
      redactLong: async (text: string) => {
        job.abort(new Error('the job was cancelled'));
        await new Promise(setImmediate);
        return text;
      },
    };
    const options = { redactor, signal: job.signal, effect: 'once' } as const;
    expect(await run(() => 'sent', options)).toMatchObject({ status: 'completed', result: 'sent' });
  });

  it('contains no part of a secret where a long error is truncated', async () => {
    const redactor = new Redactor([new Secret('sk-secret')]).of('w');
    const fail = () => {
      throw new Error(`${'x'.repeat(996)}sk-secret`);
    };
    expect((await run(fail, { redactor })).modelText).toBe(`Error executing tool "x": ${'x'.repeat(996)}[red`);
  });

  it('returns a preview of a large result, and the whole result beside it', async () => {
    const outcome = await run(() => 'x'.repeat(300_000));
    const [size, whole] = outcome.status === 'completed' ? [outcome.result.length, outcome.whole?.length] : [];
    expect([size, whole, outcome.modelText.length]).toEqual([131_072, 300_000, 131_072]);
    expect(outcome.modelText.endsWith('\n[truncated, 300000 bytes in total]')).toBe(true);
  });
});
