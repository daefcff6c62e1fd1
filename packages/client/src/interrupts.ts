import { asking, type Connection } from './connection.js';
import {
  InterruptActivityDocument,
  InterruptDocument,
  type InterruptFilterInput,
  InterruptsDocument,
  ResolveInterruptDocument,
  type ResolveInterruptInput,
} from './generated/graphql.js';
import type { Interrupt } from './interrupt.js';
import { type Page, type PageOptions, toPage } from './page.js';
import { resubscribe } from './resubscribe.js';
import { assertTaken } from './to-failure.js';
import type { WaitOptions } from './wait-options.js';

/** The requests of the workspace that the caller may see. */
export class Interrupts {
  constructor(private readonly connection: Connection) {}

  /** Lists requests, newest first. */
  async list(filter: InterruptFilterInput = {}, { signal, ...page }: PageOptions = {}): Promise<Page<Interrupt>> {
    const options = asking(this.connection, signal);
    const { interrupts } = await this.connection.http.execute(InterruptsDocument, { filter, ...page }, options);
    return toPage(interrupts);
  }

  /** One request; null: it does not exist, or the caller may not see it. */
  async get(id: string, { signal }: WaitOptions = {}): Promise<Interrupt | null> {
    const options = asking(this.connection, signal);
    return (await this.connection.http.execute(InterruptDocument, { id }, options)).interrupt;
  }

  /**
   * Decides a request. The first decision counts: repeating it returns the same outcome, a different one throws `already_answered`. An
   * approval repeats the `request.argumentsHash` that was shown.
   */
  async resolve(input: ResolveInterruptInput, { signal }: WaitOptions = {}): Promise<Interrupt | null> {
    const options = asking(this.connection, signal);
    const { resolveInterrupt } = await this.connection.http.execute(ResolveInterruptDocument, { input }, options);
    assertTaken(resolveInterrupt);
    return resolveInterrupt.interrupt;
  }

  /**
   * Yields the open requests (at most the newest 1,000), then each request when it is opened or settled, in its new state. After a lost
   * connection, yields the open requests again. Ends only when `signal` aborts, and throws its reason.
   */
  async *watch(
    filter: InterruptFilterInput = {},
    { signal }: WaitOptions = {},
  ): AsyncGenerator<Interrupt, void, undefined> {
    const watched = resubscribe(this.connection, InterruptActivityDocument, {
      variables: () => ({ filter }),
      signal,
    });
    for await (const { interruptActivity } of watched) yield interruptActivity;
  }
}
