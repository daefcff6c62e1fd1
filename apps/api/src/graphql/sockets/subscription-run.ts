import { execute, type ExecutionResult } from 'graphql';

import type { GraphqlContext } from '#auth/api';
import type { CloseReason } from '#platform/api';

import { argsOf, type PreparedOperation } from '../documents/prepare-operation.js';
import type { EventEncoder } from './event-encoder.js';

/** The destination of the messages of one subscription. */
export interface Outlet {
  /** Sends one execution result, as JSON text. */
  next(payload: string): void;
  /** Undefined: continue. Else resolves when the viewer has read most of the sent data, and rejects if it does not read it in time. */
  drained(): Promise<void> | undefined;
  /** The execution result as text, without internal errors. */
  toText(result: ExecutionResult): string;
}

/** One subscription on one socket. */
export interface SubscriptionInit {
  readonly prepared: PreparedOperation;
  readonly context: GraphqlContext;
  /** Batches of events. The run pulls a batch after the viewer has received the earlier one. */
  readonly source: AsyncIterable<readonly object[]>;
  readonly encoder: EventEncoder | null;
  readonly outlet: Outlet;
}

/**
 * Runs one subscription: pulls batches, checks whether the viewer may still read them, and writes each event as a message. graphql-ws
 * receives an iterator without values that ends with the subscription. There is no queue: while a viewer is slow, the run pulls nothing for
 * it.
 */
export class SubscriptionRun implements AsyncGenerator<never, void, undefined> {
  private running: Promise<void> | undefined;

  constructor(private readonly init: SubscriptionInit) {}

  /** Resolves when the subscription has ended; rejects with the error if it failed. */
  async next(): Promise<IteratorResult<never, void>> {
    this.running ??= this.run();
    await this.running;
    return { done: true, value: undefined };
  }

  /** Ends the subscription because the viewer has left. */
  return(): Promise<IteratorResult<never, void>> {
    this.init.context.end();
    return Promise.resolve({ done: true, value: undefined });
  }

  throw(error: unknown): Promise<IteratorResult<never, void>> {
    this.init.context.end();
    return Promise.reject(error instanceof Error ? error : new Error(String(error)));
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  private async run(): Promise<void> {
    const { context, source, outlet } = this.init;
    // The loop awaits only what it must: with many viewers, each turn of the event loop counts.
    try {
      for await (const batch of source) {
        const asked = context.lostAccess();
        if (this.isLost(asked instanceof Promise ? await asked : asked)) return;
        for (const event of batch) {
          // Other operations of the connection also send data, so the loop checks before each event. After a wait, it checks the access again.
          const draining = outlet.drained();
          if (draining !== undefined) {
            await draining;
            if (this.isLost(await context.lostAccess())) return;
          }
          if (context.signal.aborted) return;
          // If the text is already there, an `await` would cost one turn of the event loop for each event.
          const text = this.encode(event);
          outlet.next(typeof text === 'string' ? text : await text);
        }
        const draining = outlet.drained();
        if (draining !== undefined) await draining;
      }
    } finally {
      context.end();
    }
  }

  private isLost(lost: CloseReason | null): boolean {
    if (lost !== null) this.init.context.close(lost);
    return lost !== null;
  }

  private encode(event: object): string | Promise<string> {
    return this.init.encoder?.encode(event) ?? this.executeOn(event);
  }

  private async executeOn(event: object): Promise<string> {
    const { prepared, context, outlet } = this.init;
    // The only root field may be inside a fragment; in either case that field reads the event.
    const fields = Object.keys(prepared.schema.getSubscriptionType()?.getFields() ?? {});
    const rootValue = Object.fromEntries(fields.map((field) => [field, event]));
    return outlet.toText(await execute({ ...argsOf(prepared, context), rootValue }));
  }
}
