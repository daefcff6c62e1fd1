import { inspect } from 'node:util';

const REDACTED = '[redacted]';

/**
 * A text that must not be printed. `toString`, `toJSON` and Node's inspect return `[redacted]`, and the value is a private field, so that
 * serializers do not find it. Only code that sends the value to its owner calls `reveal`.
 */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** Returns the text. Do not store, log or concatenate it beyond the call that needs it. */
  reveal(): string {
    return this.#value;
  }

  /** The last four characters, by which people distinguish keys; empty for a text with fewer than 12 characters. */
  hint(): string {
    return this.#value.length < 12 ? '' : this.#value.slice(-4);
  }

  toString(): string {
    return REDACTED;
  }

  toJSON(): string {
    return REDACTED;
  }

  [inspect.custom](): string {
    return REDACTED;
  }
}
