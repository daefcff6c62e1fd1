import { execute, type ExecutionResult } from 'graphql';

import type { GraphqlContext } from '#auth/api';
import type { CloseReason } from '#platform/api';

import { argsOf, type PreparedOperation } from '../documents/prepare-operation.js';
import type { EventEncoder } from './event-encoder.js';

/** Where the messages of one subscription go. */
export interface Outlet {
  /** Sends one execution result, as JSON text. */
  next(payload: string): void;
  /** Undefined: continue. Else resolves when the viewer has taken most of the sent data, rejects when it does not in time. */
  drained(): Promise<void> | undefined;
  /** An execution result as the viewer may see it. */
  toText(result: ExecutionResult): string;
}

/** One subscription on one socket. */
export interface SubscriptionInit {
  readonly prepared: PreparedOperation;
  readonly context: GraphqlContext;
  /** Batches of events. Each is pulled after the viewer has received the earlier batch. */
  readonly source: AsyncIterable<readonly object[]>;
  readonly encoder: EventEncoder | null;
  readonly outlet: Outlet;
}

/**
 * Runs a subscription on its own: it pulls batches, checks whether the viewer may still see them, and writes each event as a
 * message. To graphql-ws it is an iterator without values that ends when the subscription does. It has no queue: while a
 * viewer is slow, nothing is pulled for it.
 */
export class SubscriptionRun implements AsyncGenerator<never, void, undefined> {
  private running: Promise<void> | undefined;

  constructor(private readonly init: SubscriptionInit) {}

  /** Resolves when the subscription has ended; rejects with why it failed. */
  async next(): Promise<IteratorResult<never, void>> {
    this.running ??= this.run();
    await this.running;
    return { done: true, value: undefined };
  }

  /** The viewer has left: what waits is woken and freed. */
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
    // Nothing on the way of an event is awaited unless it must be: with many viewers each turn of the loop counts.
    try {
      for await (const batch of source) {
        const asked = context.lostAccess();
        if (this.isLost(asked instanceof Promise ? await asked : asked)) return;
        for (const event of batch) {
          // Other operations of the connection send too, so each event asks; after a wait, the right to read is asked again.
          const draining = outlet.drained();
          if (draining !== undefined) {
            await draining;
            if (this.isLost(await context.lostAccess())) return;
          }
          if (context.signal.aborted) return;
          // Awaiting a text that is there already would cost a turn of the loop for each event.
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
